/**
 * One observation of the service before a plan is made: balances, withdrawal accounts, and what is already there under
 * the run's name. Reads only; used by the activity that makes the plan and by `plan`.
 */
import type { Observation } from '../domain/plan.ts';
import { isOfRun } from '../domain/plan.ts';
import type { LenientRecord, Trade, Withdrawal } from '../domain/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Reply } from '../domain/reply.ts';
import type { ServiceClient } from './client.ts';
import { scanList, type Scanned } from './list-scan.ts';
import { pages } from './pages.ts';

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
    readonly signal?: AbortSignal;
  },
): Promise<Observed> {
  const { run, accounts, sinceMs, nowMs, onReply = () => {}, signal } = options;
  const given = signal === undefined ? {} : { signal };
  const [balances, trades, withdrawals, registered] = await Promise.all([
    client.balances(),
    scanList(client.listTrades, {
      sinceMs,
      wanted: (trade: Trade) => isOfRun(run, trade.clientReferenceId),
      onReply,
      ...given,
    }),
    scanList(client.listWithdrawals, {
      sinceMs,
      wanted: (record: Withdrawal) => isOfRun(run, record.tag),
      onReply,
      ...given,
    }),
    readAccounts(client, accounts, given),
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

/** The named accounts, reading pages only until all of them have been seen. */
async function readAccounts(
  client: ServiceClient,
  accounts: readonly string[],
  given: { readonly signal?: AbortSignal },
): Promise<Scanned<LenientRecord>> {
  const wanted = new Set(accounts);
  const kept: LenientRecord[] = [];
  if (wanted.size === 0) return { records: kept, stopped: null };
  for await (const reply of pages(client.listWithdrawalAccounts, { direction: 'older', ...given })) {
    if (reply.kind !== 'DONE') return { records: kept, stopped: reply };
    kept.push(...reply.value.items.filter((record) => wanted.delete(record.id)));
    if (wanted.size === 0) break;
  }
  return { records: kept, stopped: null };
}
