/**
 * One observation of the service before a plan is made: balances, withdrawal accounts, pairs, and what is already there
 * under the run's name. Reads only; used by the activity that makes the plan and by `plan`, so that both say the same.
 */
import type { Observation, RegisteredAccount } from '../domain/plan/observation.ts';
import { accountIdForm, isOfRun } from '../domain/plan/observation.ts';
import type { Policy } from '../domain/policy.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { ServiceClient } from './client.ts';
import { scanList } from './list-scan.ts';
import { pages } from './pages.ts';

/** What was seen, or the reply that stopped it. */
export type Observed =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly reply: Reply<unknown> };

/**
 * Only what the policy's plan needs is kept.
 * @param facts which statuses make an account unusable
 * @param sinceMs how far back the lists are read, epoch milliseconds
 */
export async function observeService(
  client: ServiceClient,
  options: {
    readonly run: RunName;
    readonly policy: Pick<Policy, 'convert' | 'withdraw'>;
    readonly facts: Pick<ServiceFacts, 'accountStatuses'>;
    readonly sinceMs: number;
    readonly nowMs: number;
    readonly onReply?: (reply: Reply<unknown>) => void;
    readonly signal?: AbortSignal;
  },
): Promise<Observed> {
  const { run, policy, facts, sinceMs, nowMs, onReply = () => {}, signal } = options;
  const currencies: readonly string[] = [policy.convert.sell, policy.convert.buy];
  const given = signal === undefined ? {} : { signal };
  const [balances, pairs, trades, withdrawals, registered] = await Promise.all([
    client.balances(),
    client.pairs(),
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
    readAccounts(client, {
      wanted: policy.withdraw.map((spec) => spec.account),
      unusable: facts.accountStatuses.unusable,
      ...given,
    }),
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
      balances: {
        balances: balances.value.balances.filter((row) => currencies.includes(row.currency)),
      },
      ...registered,
      pairs:
        pairs.kind === 'DONE'
          ? pairs.value.filter(
              (pair) => currencies.includes(pair.sellCurrency) && currencies.includes(pair.buyCurrency),
            )
          : null,
      trades: trades.records,
      withdrawals: withdrawals.records,
    },
  };
}

/** The wanted accounts, reading pages only until all of them have been seen. */
async function readAccounts(
  client: ServiceClient,
  options: {
    readonly wanted: readonly string[];
    readonly unusable: readonly string[];
    readonly signal?: AbortSignal;
  },
): Promise<Pick<Observation, 'accounts' | 'accountsComplete' | 'accountIdForms'>> {
  const { signal } = options;
  const wanted = new Set(options.wanted);
  const unusable = new Set(options.unusable.map((status) => status.toUpperCase()));
  const accounts: RegisteredAccount[] = [];
  const forms = new Set<string>();
  const told = (accountsComplete: boolean) => ({ accounts, accountsComplete, accountIdForms: [...forms] });
  if (wanted.size === 0) return told(true);
  for await (const reply of pages(client.listWithdrawalAccounts, {
    direction: 'older',
    ...(signal === undefined ? {} : { signal }),
  })) {
    if (reply.kind !== 'DONE') return told(false);
    for (const { id, status, currency } of reply.value.items) {
      forms.add(accountIdForm(id));
      if (!wanted.delete(id)) continue;
      const isUnusable = status !== null && unusable.has(status.toUpperCase());
      accounts.push({ id, status, currency, isUnusable });
    }
    if (wanted.size === 0) break;
  }
  return told(true);
}
