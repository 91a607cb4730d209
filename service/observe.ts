/**
 * One observation of the service before a plan is made: balances, withdrawal accounts, and what is already there under
 * the run's name. Reads only; used by the activity that makes the plan and by `plan`.
 */
import type { Observation } from '../domain/plan.ts';
import { isOfRun } from '../domain/plan.ts';
import type { LenientRecord, Page, Trade, Withdrawal } from '../domain/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Reply } from '../domain/reply.ts';
import type { ServiceClient } from './client.ts';
import { pages, type PageRequest } from './pages.ts';

/** What was seen, or the reply that stopped it. */
export type Observed =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly reply: Reply<unknown> };

/**
 * @param accounts ids of withdrawal accounts that the policy names; others are not kept
 * @param sinceMs how far back the lists are read, epoch milliseconds
 */
export async function observeService(
  client: ServiceClient,
  options: {
    readonly run: RunName;
    readonly accounts: readonly string[];
    readonly sinceMs: number;
    readonly nowMs: number;
    readonly onReply?: (reply: Reply<unknown>) => void;
  },
): Promise<Observed> {
  const { run, accounts, sinceMs, nowMs, onReply = () => {} } = options;
  const [balances, trades, withdrawals, registered] = await Promise.all([
    client.balances(),
    sweep(client.listTrades, {
      sinceMs,
      wanted: (trade: Trade) => isOfRun(run, trade.clientReferenceId),
      onReply,
    }),
    sweep(client.listWithdrawals, {
      sinceMs,
      wanted: (record: Withdrawal) => isOfRun(run, record.tag),
      onReply,
    }),
    readAccounts(client, accounts),
  ]);
  const stopped = [balances, trades.stopped, withdrawals.stopped].find(
    (reply) => reply !== null && reply.kind !== 'DONE',
  );
  if (stopped !== undefined && stopped !== null) return { ok: false, reply: stopped };
  if (balances.kind !== 'DONE') return { ok: false, reply: balances };
  return {
    ok: true,
    observation: {
      credentials: { mode: client.mode, organisation: client.organisation, keyName: client.keyName },
      observedAtMs: nowMs,
      balances: balances.value,
      accounts: registered.records,
      accountsComplete: registered.stopped === null,
      trades: trades.records,
      withdrawals: withdrawals.records,
    },
  };
}

/** Records kept by a sweep; `stopped` is the reply that cut it short, null when every page was read. */
export type Swept<T> = { readonly records: readonly T[]; readonly stopped: Reply<unknown> | null };

/** Reads a list newest first back to `sinceMs` and keeps what is wanted, each record once. */
export async function sweep<T extends { readonly id: string; readonly createdAt: string }>(
  list: (page: PageRequest) => Promise<Reply<Page<T>>>,
  options: {
    readonly sinceMs: number;
    readonly wanted: (record: T) => boolean;
    readonly onReply?: (reply: Reply<unknown>) => void;
  },
): Promise<Swept<T>> {
  const kept = new Map<string, T>();
  for await (const reply of pages(list, { direction: 'older' })) {
    options.onReply?.(reply);
    if (reply.kind !== 'DONE') return { records: [...kept.values()], stopped: reply };
    for (const record of reply.value.items) if (options.wanted(record)) kept.set(record.id, record);
    // Every record of the page is older, so that a list out of order cannot end the sweep early.
    const { items } = reply.value;
    if (items.length > 0 && items.every((record) => Date.parse(record.createdAt) < options.sinceMs)) break;
  }
  return { records: [...kept.values()], stopped: null };
}

/** The named accounts, reading pages only until all of them have been seen. */
async function readAccounts(
  client: ServiceClient,
  accounts: readonly string[],
): Promise<Swept<LenientRecord>> {
  const wanted = new Set(accounts);
  const kept: LenientRecord[] = [];
  if (wanted.size === 0) return { records: kept, stopped: null };
  for await (const reply of pages(client.listWithdrawalAccounts, { direction: 'older' })) {
    if (reply.kind !== 'DONE') return { records: kept, stopped: reply };
    kept.push(...reply.value.items.filter((record) => wanted.delete(record.id)));
    if (wanted.size === 0) break;
  }
  return { records: kept, stopped: null };
}
