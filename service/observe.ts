/**
 * One observation of the service before a plan is made: balances, withdrawal accounts, pairs, and what is already there
 * under the run's name. Reads only; used by the activity that makes the plan and by `plan`, so that both say the same.
 */
import { onTheWay } from '../domain/plan/on-the-way.ts';
import type { Observation, RegisteredAccount } from '../domain/plan/observation.ts';
import { accountIdForm, isOfRun, isOfRunsOn } from '../domain/plan/observation.ts';
import { sumsOf } from '../domain/plan/amounts.ts';
import { currenciesOf, plansWithBalances, type Money, type Policy } from '../domain/policy.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Reply } from '../domain/service/reply.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { ServiceReader } from './client.ts';
import { scanList } from './list-scan.ts';
import { pages } from './pages.ts';

/** The longest window and the days of grace after it, a weekend and more in between. */
export const UNSETTLED_LOOK_BACK_MS = 8 * 86_400_000;

/** What was seen, or the reply that stopped it. */
export type Observed =
  | { readonly ok: true; readonly observation: Observation }
  | { readonly ok: false; readonly reply: Reply<unknown> };

/**
 * Only what the policy's plan needs is kept.
 * @param facts which statuses make an account unusable, and which a settled trade has
 * @param sinceMs how far back the lists are read, epoch milliseconds
 */
export async function observeService(
  client: ServiceReader,
  options: {
    readonly run: RunName;
    readonly policy: Policy;
    /** Currencies in which a batch pays. */
    readonly paid?: readonly string[];
    /** The business date of the run. */
    readonly date: string;
    readonly facts: Pick<ServiceFacts, 'accountStatuses' | 'tradeStatuses' | 'saleLeavesWithdrawable'>;
    readonly sinceMs: number;
    readonly nowMs: number;
    /** From when on a trade counts as settled though no status says so, epoch milliseconds. */
    readonly settledBy: (trade: Trade) => number;
    readonly onReply?: (reply: Reply<unknown>) => void;
    readonly signal?: AbortSignal;
  },
): Promise<Observed> {
  const { run, policy, date, facts, sinceMs, nowMs, settledBy, onReply = () => {}, signal } = options;
  const { currencies, accounts, onBalances } = needsOf(policy, options.paid ?? []);
  const isOurs = (trade: Trade): boolean => isOfRun(run, trade.clientReferenceId);
  const countsDay = (policy.rules.limits?.perDay ?? null) !== null;
  const isOfDate = ({ clientReferenceId, status }: Trade): boolean =>
    countsDay &&
    isOfRunsOn(run.policy, date, clientReferenceId) &&
    !isOfRun(run, clientReferenceId) &&
    !facts.tradeStatuses.failed.includes(status);
  const isOfBalances = ({ sellCurrency, buyCurrency }: Trade): boolean =>
    onBalances && (currencies.includes(sellCurrency) || currencies.includes(buyCurrency));
  const given = signal === undefined ? {} : { signal };
  const [balances, pairs, trades, withdrawals, registered] = await Promise.all([
    client.balances(),
    client.pairs(),
    scanList(client.listTrades, {
      sinceMs: onBalances ? Math.min(sinceMs, nowMs - UNSETTLED_LOOK_BACK_MS) : sinceMs,
      wanted: (trade: Trade) => isOurs(trade) || isOfDate(trade) || isOfBalances(trade),
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
      wanted: accounts,
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
      onTheWay: onTheWay(trades.records.filter(isOfBalances), facts, nowMs, settledBy),
      // Only Temporal knows of other runs' plans.
      reserved: [],
      tradedOnDate: tradedIn(trades.records.filter(isOfDate)),
      trades: trades.records.filter(isOurs),
      withdrawals: withdrawals.records,
    },
  };
}

/** What trades have sold and bought, for each currency. */
export function tradedIn(trades: readonly Trade[]): readonly Money[] {
  return sumsOf(
    trades.flatMap(({ sellCurrency, buyCurrency, sellAmount, buyAmount, executedAmount }) => [
      { currency: sellCurrency, value: sellAmount ?? executedAmount },
      { currency: buyCurrency, value: buyAmount ?? executedAmount },
    ]),
  );
}

/** What a policy needs to be seen; `onBalances`: amounts come from balances, so that what is on its way counts too. */
function needsOf(
  policy: Policy,
  paid: readonly string[],
): {
  readonly currencies: readonly string[];
  readonly accounts: readonly string[];
  readonly onBalances: boolean;
} {
  switch (policy.kind) {
    case 'convert': {
      const { sell, buy } = policy.convert;
      const accounts = policy.withdraw.map((spec) => spec.account);
      return { currencies: [sell, buy], accounts, onBalances: plansWithBalances(policy) };
    }
    case 'rebalance': {
      return { currencies: currenciesOf(policy.rebalance), accounts: [], onBalances: true };
    }
    case 'payout': {
      const { fund } = policy.payout;
      return {
        currencies: [...new Set([...(fund.kind === 'none' ? [] : [fund.from]), ...paid])],
        accounts: [],
        onBalances: plansWithBalances(policy),
      };
    }
  }
}

/** Whether each of these accounts is there, and usable. */
export type Accounts = Pick<Observation, 'accounts' | 'accountsComplete' | 'accountIdForms'>;

/** The wanted accounts, reading pages only until all of them have been seen. */
export async function readAccounts(
  client: ServiceReader,
  options: {
    readonly wanted: readonly string[];
    readonly unusable: readonly string[];
    readonly signal?: AbortSignal;
  },
): Promise<Accounts> {
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
