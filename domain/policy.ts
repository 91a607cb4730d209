/**
 * A policy after loading: a fully populated, frozen record (design: "Fields"). `language/` makes it from
 * YAML; the plan is compiled from it. Every default is already filled in; null means "the policy does not ask for this".
 */
import type { SettlementWindow } from './service/records.ts';

/** How many units of `currency` one unit of `per` costs: `16.90 MXN per USD` is `{ value: '16.90', currency: 'MXN', per: 'USD' }`. */
export type Rate = { readonly value: string; readonly currency: string; readonly per: string };

/** An amount with its currency: `400000.00 USD`. */
export type Money = { readonly value: string; readonly currency: string };

/** The common head of every kind of policy. */
export type PolicyHead = {
  readonly name: string;
  readonly environment: 'sandbox' | 'live';
  /** IANA zone in which business dates are counted. */
  readonly zone: string;
  /** Null: it runs when it is started. */
  readonly schedule: Schedule | null;
  readonly quote: QuoteSettings;
  /** Null: no price guard (refused by `check` in live). */
  readonly guard: Guard | null;
  readonly settle: SettleSettings;
  /** What a lack of money does to an item: `skip` ends it, `hold` waits for money. */
  readonly shortfall: 'skip' | 'hold';
  readonly limits: Limits | null;
};

/** When a policy is started by itself: at one time of day in its zone. What a run does does not depend on it. */
export type Schedule = {
  readonly at: TimeOfDay;
  /** Days of the week by ISO 8601 (1 is Monday), at least one, in order. */
  readonly weekdays: readonly number[];
  /** Days off: dates that the policy lists, or a calendar (`calendar/holidays.ts` knows its dates). */
  readonly holidays:
    | { readonly kind: 'dates'; readonly dates: readonly string[] }
    | { readonly kind: 'calendar'; readonly name: string };
  /** Dates that are left out besides. */
  readonly skip: readonly string[];
  /** The first and the last date; null: no bound. */
  readonly start: string | null;
  readonly end: string | null;
};

/** By the clocks of a zone. */
export type TimeOfDay = { readonly hour: number; readonly minute: number };

export type QuoteSettings = {
  readonly validForSeconds: 3 | 15 | 30 | 45 | 60;
  readonly settlement: SettlementWindow;
  readonly maxQuotes: number;
};

/** The price guard: equal passes. Where both bound a conversion, the stricter one counts. */
export type Guard = {
  /** Literal bounds: of a convert policy one at most, of a rebalancing one at most for each way of each pair. */
  readonly worstRates: readonly WorstRate[];
  /** Null: no reference rates bound a price. */
  readonly reference: ReferenceGuard | null;
};

/** The worst price at which `sell` is sold for `buy`; the rate stands as it was written, in either direction. */
export type WorstRate = { readonly sell: string; readonly buy: string; readonly rate: Rate };

/** A cost bound in basis points against reference rates from a file. */
export type ReferenceGuard = {
  readonly file: string;
  readonly maxAgeMs: number;
  readonly worstCostBps: string;
};

/** The file of rates that a guard names; null: it names none. */
export function referenceFileOf(guard: Guard | null): string | null {
  return guard?.reference?.file ?? null;
}

export type SettleSettings = {
  readonly until: 'funds' | 'status';
  /** After this long it says so and goes on waiting; null: never says so. */
  readonly lateAfterMs: number | null;
};

/** Size limits (`limits.ts`); null or empty where the policy states none. */
export type Limits = {
  readonly perTrade: Money | null;
  /** Gross: this currency's side, sold or bought, of every leg of the run. */
  readonly perRun: Money | null;
  /** The same of every leg of all runs of the policy on one business date. */
  readonly perDay: Money | null;
  /** At most one per currency that is paid. */
  readonly perPayment: readonly Money[];
  readonly paidPerRun: readonly Money[];
};

/** What the conversion is counted in. */
export type ConvertAmount =
  | { readonly kind: 'sell'; readonly value: string }
  | { readonly kind: 'buy'; readonly value: string }
  /** Everything withdrawable above `keep`. */
  | { readonly kind: 'sell-all'; readonly keep: string };

/** One withdrawal that the policy asks for, in the bought currency. */
export type WithdrawSpec = {
  readonly id: string;
  readonly account: string;
  readonly amount:
    | { readonly kind: 'fixed'; readonly value: string }
    | { readonly kind: 'proceeds' | 'rest'; readonly rounding: 'down' | 'half-even' };
};

export type ConvertPolicy = PolicyHead & {
  readonly kind: 'convert';
  readonly convert: { readonly sell: string; readonly buy: string; readonly amount: ConvertAmount };
  readonly withdraw: readonly WithdrawSpec[];
};

/** What a rebalancing keeps of one currency. Percentages are of the total of all its currencies, valued in the base. */
export type Target = {
  readonly currency: string;
  readonly goal:
    /** Back to `keep` when it is further from it than `band`. */
    | { readonly kind: 'keep'; readonly keep: string; readonly band: string }
    /** The same, in percent of the total. */
    | { readonly kind: 'share'; readonly sharePercent: string; readonly bandPercent: string }
    /** Bought up to `min`, sold down to `max`; at least one of the two is there. */
    | { readonly kind: 'range'; readonly min: string | null; readonly max: string | null };
};

export type RebalancePolicy = PolicyHead & {
  readonly kind: 'rebalance';
  readonly rebalance: {
    /** What is too much is sold for it, what is missing is bought with it; purchases leave at least `min`. */
    readonly base: { readonly currency: string; readonly min: string | null };
    /** In the order of the policy: the first ones get the base's money first. */
    readonly targets: readonly Target[];
    readonly neverSell: readonly string[];
    /** Worth of the smallest trade, in the base. */
    readonly minTrade: string | null;
    /** The most trades of one run; null: no limit. */
    readonly maxTrades: number | null;
  };
};

/** The currencies of a rebalancing, its base first. */
export function currenciesOf({ base, targets }: RebalancePolicy['rebalance']): readonly string[] {
  return [base.currency, ...targets.map(({ currency }) => currency)];
}

/** Payments out of a batch file, funded by trades out of one currency, or paid from what is there. */
export type PayoutPolicy = Omit<PolicyHead, 'schedule'> & {
  readonly kind: 'payout';
  /** Whoever has a file starts it. */
  readonly schedule: null;
  readonly payout: {
    readonly fund: PayoutFund;
    readonly columns: BatchColumns;
    /** How many payments are sent side by side at most. */
    readonly parallel: number;
    /** Null where the policy states none of it. */
    readonly stopAfter: StopRule | null;
    /** So many payments must be accepted before the others are sent; null: none. */
    readonly canary: number | null;
    /** An item that another batch of the policy has paid or holds within this time is refused. */
    readonly dedupeMs: number;
    /** The file, beside the policy, that lists the accounts that may be paid; null: any account may. */
    readonly destinations: string | null;
  };
};

/** Where the money comes from. */
export type PayoutFund =
  /** What is missing of a currency is bought with `from`, in one trade. */
  | { readonly kind: 'net'; readonly from: string }
  /** Nothing is traded. */
  | { readonly kind: 'none' };

/** What the columns of a batch file are called that Cambist reads. */
export type BatchColumns = {
  readonly id: string;
  readonly account: string;
  readonly currency: string;
  readonly amount: string;
};

/** When a batch stops by itself; at least one is there, and the first one that is reached counts. */
export type StopRule = {
  /** So many refused payments. */
  readonly failed: number | null;
  /** So many of the payments sent so far, in percent. */
  readonly ratioPercent: string | null;
  /** So many refusals with the same code, one after the other. */
  readonly sameCode: number | null;
};

/** Every kind. */
export type Policy = ConvertPolicy | RebalancePolicy | PayoutPolicy;

/**
 * Whether it plans with balances that other runs must not spend meanwhile. A conversion of a fixed amount does not: it is
 * asked for whatever is there.
 */
export function plansWithBalances(policy: Policy): boolean {
  switch (policy.kind) {
    case 'convert':
      return policy.convert.amount.kind === 'sell-all';
    case 'rebalance':
      return true;
    case 'payout':
      return policy.payout.fund.kind === 'net';
  }
}

/** Reference rates with the moment they were fixed. */
export type ReferenceRates = { readonly asOf: string; readonly rates: readonly Rate[] };
