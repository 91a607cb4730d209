/**
 * A policy after loading: a complete, frozen record (design: "Fields"). `language/` makes it from YAML; the plan is compiled
 * from it. Every default is filled in; null means "the policy does not ask for this".
 */
import type { SettlementWindow } from './service/records.ts';

/**
 * How many units of `currency` one unit of `per` costs: `16.90 MXN per USD` is `{ value: '16.90', currency: 'MXN', per:
 * 'USD' }`.
 */
export type Rate = { readonly value: string; readonly currency: string; readonly per: string };

/** An amount with its currency: `400000.00 USD`. */
export type Money = { readonly value: string; readonly currency: string };

/** The common head of every kind of policy. */
export type PolicyHead = {
  readonly name: string;
  readonly environment: 'sandbox' | 'live';
  /** The IANA zone in which business dates are counted. */
  readonly zone: string;
  /** Null: the policy runs only when a person starts it. */
  readonly schedule: Schedule | null;
  /** Null: no price guard (refused by `check` in live). */
  readonly guard: Guard | null;
  readonly rules: PolicyRules;
  /** At most one for each currency. They are only told: what a run does never depends on them. */
  readonly cutoffs: readonly Cutoff[];
};

/** After this time of day in the zone (IANA), what is sent in the currency has the value of the next day. */
export type Cutoff = { readonly currency: string; readonly at: TimeOfDay; readonly zone: string };

/** The rules by which a run executes its plan. The plan has them as the policy states them. */
export type PolicyRules = {
  readonly quote: QuoteSettings;
  readonly settle: SettleSettings;
  /** What happens to an item that lacks money: `skip` ends it, `hold` waits for money. */
  readonly shortfall: 'skip' | 'hold';
  readonly limits: Limits | null;
  /** Why the guard may lie ten times and more below the price; null: it may not, since such a guard is a mistake. */
  readonly unusualGuard: string | null;
};

/** When a policy starts by itself: at one time of day in its zone. What a run does never depends on the schedule. */
export type Schedule = {
  readonly at: TimeOfDay;
  /** Days of the week by ISO 8601 (1 is Monday), at least one, in order. */
  readonly weekdays: readonly number[];
  /** Days off: dates that the policy lists, or a calendar (`calendar/holidays.ts` knows its dates). */
  readonly holidays:
    | { readonly kind: 'dates'; readonly dates: readonly string[] }
    | { readonly kind: 'calendar'; readonly name: string };
  /** Other dates that are left out. */
  readonly skip: readonly string[];
  /** The first and the last date; null: no bound. */
  readonly start: string | null;
  readonly end: string | null;
};

/** A time of day in the local time of a zone. */
export type TimeOfDay = { readonly hour: number; readonly minute: number };

export type QuoteSettings = {
  readonly validForSeconds: 3 | 15 | 30 | 45 | 60;
  readonly settlement: SettlementWindow;
  readonly maxQuotes: number;
};

/** The price guard. A price equal to the bound passes. When both parts bound a conversion, the stricter bound counts. */
export type Guard = {
  /** Literal bounds: a convert policy has at most one, and a rebalancing at most one for each direction of each pair. */
  readonly worstRates: readonly WorstRate[];
  /** Null: no reference rates bound a price. */
  readonly reference: ReferenceGuard | null;
};

/** The worst price at which `sell` is sold for `buy`. The rate is kept as it was written, in either direction. */
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

/** The file, beside the policy, of the only accounts that may be paid; null: it names none. */
export function destinationsFileOf(policy: Policy): string | null {
  return policy.kind === 'payout' ? policy.payout.destinations : null;
}

export type SettleSettings = {
  readonly until: 'funds' | 'status';
  /**
   * So long after the trade, the run says that settlement is late, and goes on waiting. Milliseconds; null: the policy does
   * not say, and the operator's service facts do (`ServiceFacts.lateAfterMs`).
   */
  readonly lateAfterMs: number | null;
};

/** Size limits (`limits.ts`); null or empty where the policy states none. */
export type Limits = {
  readonly perTrade: Money | null;
  /** A gross limit: it counts this currency's side, sold or bought, of every leg of the run. */
  readonly perRun: Money | null;
  /** The same for every leg of all runs of the policy on one business date. */
  readonly perDay: Money | null;
  /** At most one for each currency in which the policy pays. */
  readonly perPayment: readonly Money[];
  readonly paidPerRun: readonly Money[];
};

/** The amount of a conversion, on the side that the policy fixes. */
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

/**
 * The balance that a rebalancing keeps of one currency. Percentages refer to the total of all its currencies, valued in the
 * base.
 */
export type Target = {
  readonly currency: string;
  readonly goal:
    /** A trade brings the balance back to `keep` when it differs from it by more than `band`. */
    | { readonly kind: 'keep'; readonly keep: string; readonly band: string }
    /** The same, in percent of the total. */
    | { readonly kind: 'share'; readonly sharePercent: string; readonly bandPercent: string }
    /** Bought up to `min`, sold down to `max`; at least one of the two is stated. */
    | { readonly kind: 'range'; readonly min: string | null; readonly max: string | null };
};

export type RebalancePolicy = PolicyHead & {
  readonly kind: 'rebalance';
  readonly rebalance: {
    /**
     * Currencies with too much are sold for it, and missing currencies are bought with it. Purchases leave at least `min` of
     * it.
     */
    readonly base: { readonly currency: string; readonly min: string | null };
    /** In the order of the policy: the base's money goes to the first ones first. */
    readonly targets: readonly Target[];
    readonly neverSell: readonly string[];
    /** The least worth of a trade, in the base. */
    readonly minTrade: string | null;
    /** The most trades of one run; null: no limit. */
    readonly maxTrades: number | null;
  };
};

/** The currencies of a rebalancing, its base first. */
export function currenciesOf({ base, targets }: RebalancePolicy['rebalance']): readonly string[] {
  return [base.currency, ...targets.map(({ currency }) => currency)];
}

/** Payments from a batch file. Trades out of one currency fund them, or the run pays them from the balances. */
export type PayoutPolicy = Omit<PolicyHead, 'schedule'> & {
  readonly kind: 'payout';
  /** A person with a file starts it, so it has no schedule. */
  readonly schedule: null;
  readonly payout: {
    readonly fund: PayoutFund;
    readonly format: BatchFormat;
    readonly rules: PayoutRules;
    /** The file, beside the policy, that lists the accounts that may be paid; null: any account may be paid. */
    readonly destinations: string | null;
  };
};

/** The rules by which a batch is paid. The plan has them as the policy states them. */
export type PayoutRules = {
  /** At most this many payments are sent side by side. */
  readonly parallel: number;
  /** Null when the policy states no rule. */
  readonly stopAfter: StopRule | null;
  /** This many payments must be accepted before the others are sent; null: none. */
  readonly canary: number | null;
  /** A payment is refused when another batch of the policy has paid it or holds it within this time. */
  readonly dedupeMs: number;
};

/** Where the money for the payments comes from. */
export type PayoutFund =
  /** The missing amount of each currency is bought with `from`, in one trade. */
  | { readonly kind: 'net'; readonly from: string }
  /** Nothing is traded. */
  | { readonly kind: 'none' };

/** How a batch file is written, as its policy declares it. Nothing of it is guessed. */
export type BatchFormat = {
  readonly columns: BatchColumns;
  /** True: the text of the id's column is made into an id (`idOf`). False: it is the id. */
  readonly slugs: boolean;
  readonly numbers: BatchNumbers;
  readonly encoding: BatchEncoding;
  /** A row with each of these texts in its column, by the column's name, is no payment: a row of totals. Null: every row is one. */
  readonly ignore: Readonly<Record<string, string>> | null;
};

/**
 * How amounts are written. `group` separates thousands: `space` is any blank, also one that does not break the line, and `'` is either
 * apostrophe. Null: nothing separates them.
 */
export type BatchNumbers = {
  readonly decimal: '.' | ',';
  readonly group: '.' | ',' | "'" | 'space' | null;
};

export const BATCH_ENCODINGS = ['utf-8', 'windows-1252', 'utf-16'] as const;
export type BatchEncoding = (typeof BATCH_ENCODINGS)[number];

/** The names of the columns of a batch file that Cambist reads. */
export type BatchColumns = {
  readonly id: string;
  readonly account: string;
  readonly currency: string;
  readonly amount: string;
};

/** When a batch stops by itself. At least one rule is stated, and the first one that is reached counts. */
export type StopRule = {
  /** This many refused payments. */
  readonly failed: number | null;
  /** This percentage of the payments sent so far. */
  readonly ratioPercent: string | null;
  /** This many refusals with the same code, one after the other. */
  readonly sameCode: number | null;
};

/** A policy of any kind. */
export type Policy = ConvertPolicy | RebalancePolicy | PayoutPolicy;

/**
 * True when the policy plans with balances that other runs must not spend in the meantime. A conversion of a fixed amount
 * does not: it is asked for whatever the balance is.
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

/** Reference rates, with the moment at which they were fixed. */
export type ReferenceRates = { readonly asOf: string; readonly rates: readonly Rate[] };
