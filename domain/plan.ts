/**
 * The plan of a run: what will be sent, fixed once (design: "The plan is made once"). Types and the pure compile step
 * from a policy and one observation of the service. Nothing here talks to anyone; a plan is frozen plain data.
 */
import { WITHDRAWAL_CURRENCIES } from './currencies.ts';
import { boundFromCost, boundFromRate, keepsGuard, type PriceBound } from './guard.ts';
import { brokenPaymentLimit, brokenTradeLimit, type Gross } from './limits.ts';
import { compare, decimalPlaces, equal, isPositive, multiply, round, subtract, sum } from './money.ts';
import type {
  ConvertAmount,
  Limits,
  Money,
  Policy,
  QuoteSettings,
  ReferenceRates,
  SettleSettings,
} from './policy.ts';
import type { Balances, LenientRecord, Mode, Pair, Trade, Withdrawal } from './records.ts';
import { generationOf, reference, runPrefix, type RunName } from './references.ts';
import type { ServiceFacts } from './service-facts.ts';

/** Moments between which writes may be sent, epoch milliseconds (design: "Before every write"). */
export type Fences = {
  readonly opensAtMs: number;
  readonly tradesUntilMs: number;
  readonly withdrawalsUntilMs: number;
};

/** Which credentials the plan was made with: items leave under no other organisation, mode or (unproven) key. */
export type Credentials = { readonly mode: Mode; readonly organisation: string; readonly keyName: string };

/** Amount of a leg: the side that is asked for. `fixed` is false for an amount computed from live balances. */
export type LegAmount = { readonly side: 'buy' | 'sell'; readonly value: string; readonly fixed: boolean };

/** One conversion. */
export type Leg = {
  readonly id: string;
  readonly reference: string;
  readonly sell: string;
  readonly buy: string;
  /** Null: computed from balances once, forgotten since, and not computed again; a person decides. */
  readonly amount: LegAmount | null;
};

/** One planned withdrawal. */
export type Payment = {
  readonly id: string;
  /** Reference of the first generation. */
  readonly reference: string;
  readonly account: string;
  readonly currency: string;
  readonly amount:
    | { readonly kind: 'fixed'; readonly value: string }
    /** What the leg brought, cut to the currency's decimals by the named rounding. */
    | {
        readonly kind: 'proceeds';
        readonly leg: string;
        readonly rounding: 'down' | 'half-even';
        readonly decimals: number;
      };
  /**
   * The leg that must be traded before; null when the payment stands alone. One that is not in the plan brings nothing
   * (nothing was there to sell), so that the payment is not paid.
   */
  readonly dependsOn: string | null;
};

export type Plan = {
  readonly version: 1;
  /** Layout of the bodies' bytes; another layout would be another key's bytes. */
  readonly bodyLayout: 1;
  readonly run: RunName;
  readonly credentials: Credentials;
  /** The text stays in the input of the workflow that made the plan. */
  readonly policy: { readonly name: string; readonly hash: string };
  readonly zone: string;
  readonly date: string;
  readonly fences: Fences;
  readonly quote: QuoteSettings;
  readonly guard: PlanGuard | null;
  readonly settle: SettleSettings;
  /** When it is said that settlement of a leg, or an accepted payment, is late. */
  readonly lateAfterMs: ServiceFacts['lateAfterMs'];
  readonly shortfall: 'skip' | 'hold';
  readonly limits: Limits | null;
  readonly legs: readonly Leg[];
  readonly payments: readonly Payment[];
  /** Epoch milliseconds at which the service was observed. */
  readonly pinnedAtMs: number;
  /** The service had records under this run's name already: somebody has sent for it, though Temporal forgot. */
  readonly foundRecords: boolean;
  /** `originalExecutionRunId` of the run that made the plan: tells "freshly made by me" from all else, identifies no money. */
  readonly pinnedFor: string;
};

/** The price guard in words and as a bound; `staleAtMs` is when its reference rates are too old, null without any. */
export type PlanGuard = {
  /** Null: there is no rate to hold a price against, so that nothing new is traded. */
  readonly bound: PriceBound | null;
  readonly text: string;
  readonly staleAtMs: number | null;
};

/** A withdrawal account as the service lists it. */
export type RegisteredAccount = LenientRecord & {
  /** Its status is one of those that the service facts name as unusable; any other status proves nothing. */
  readonly isUnusable: boolean;
};

/** What one reading of the service found before the plan is made. */
export type Observation = {
  readonly credentials: Credentials;
  readonly observedAtMs: number;
  /** Rows of the policy's currencies only. */
  readonly balances: Balances;
  /** The withdrawal accounts that the policy names and the list shows; whether every page of it was read. */
  readonly accounts: readonly RegisteredAccount[];
  readonly accountsComplete: boolean;
  /** The forms of the ids in that list (`accountIdForm`): an id in another form may name a listed account all the same. */
  readonly accountIdForms: readonly string[];
  /** Rows of the policy's currencies; null when the pairs could not be read, which proves nothing. */
  readonly pairs: readonly Pair[] | null;
  /** Trades and withdrawals found under this run's prefix. */
  readonly trades: readonly Trade[];
  readonly withdrawals: readonly Withdrawal[];
};

/** Why no plan can be made; the run ends before any quote. */
export type PlanProblem = {
  readonly code:
    | 'PLAN_ACCOUNT_MISSING'
    | 'PLAN_ACCOUNT_CURRENCY'
    | 'PLAN_ACCOUNT_UNUSABLE'
    | 'PLAN_CURRENCY_NOT_WITHDRAWABLE'
    | 'PLAN_PAIR_NOT_OFFERED'
    | 'PLAN_AMOUNT_OUTSIDE_PAIR'
    | 'PLAN_AMOUNT_DECIMALS'
    | 'PLAN_ENVIRONMENT'
    | 'PLAN_REFERENCE_MISSING'
    | 'PLAN_REFERENCE_TOO_OLD'
    | 'PLAN_REFERENCE_FROM_THE_FUTURE'
    | 'PLAN_OVER_LIMIT'
    | 'PLAN_FENCE_PASSED';
  readonly item: string | null;
  readonly message: string;
  readonly fix: string;
};

export type CompileInput = {
  readonly run: RunName;
  readonly policy: Policy;
  readonly policyHash: string;
  readonly date: string;
  readonly fences: Fences;
  readonly referenceRates: ReferenceRates | null;
  readonly observation: Observation;
  /** By the operator's service file; the policy may have its own for settlement. */
  readonly lateAfterMs: ServiceFacts['lateAfterMs'];
  /** Decimals of a currency, by the table and the operator's service file. */
  readonly decimalsOf: (currency: string) => number;
  readonly pinnedFor: string;
};

export type CompileResult =
  | { readonly ok: true; readonly plan: Plan }
  | { readonly ok: false; readonly problems: readonly PlanProblem[] };

/** Makes the plan, or says everything that stands against it. Upholds M4 (what is executed is what was planned). */
export function compilePlan(input: CompileInput): CompileResult {
  const { policy, observation, run, fences } = input;
  const problems: PlanProblem[] = [];
  const environment = observation.credentials.mode === 'LIVE' ? 'live' : 'sandbox';
  if (policy.environment !== environment) {
    problems.push({
      code: 'PLAN_ENVIRONMENT',
      item: null,
      message: `The policy says environment "${policy.environment}", the worker runs in "${environment}".`,
      fix: 'Run it with a worker of that environment (CAMBIST_APP_MODE), or change `environment:` in the policy.',
    });
  }
  const found = observation.trades.length > 0 || observation.withdrawals.length > 0;
  if (observation.observedAtMs > fences.tradesUntilMs && !found) {
    problems.push({
      code: 'PLAN_FENCE_PASSED',
      item: null,
      message: `The business date ${input.date} is over in ${policy.zone}: yesterday's reasons do not trade today.`,
      fix: 'Start a run with today’s date as its id.',
    });
  }
  const legs = compileLegs(input, found);
  const payments = compilePayments(input, legs);
  const guard = compileGuard(input);
  // Where something was sent already, a plan must be there to follow it: what stands against more is told item by item.
  if (!found)
    problems.push(
      ...accountProblems(payments, observation),
      ...withdrawalCurrencyProblems(payments),
      ...pairProblems(legs, observation.pairs),
      ...decimalsProblems(legs, payments, input.decimalsOf),
      ...limitProblems(legs, payments, policy.limits),
      ...guardProblems(input, guard),
    );
  if (problems.length > 0) return { ok: false, problems };
  return {
    ok: true,
    plan: Object.freeze({
      version: 1,
      bodyLayout: 1,
      run,
      credentials: observation.credentials,
      policy: { name: policy.name, hash: input.policyHash },
      zone: policy.zone,
      date: input.date,
      fences,
      quote: policy.quote,
      guard,
      settle: policy.settle,
      lateAfterMs: {
        ...input.lateAfterMs,
        ...(policy.settle.lateAfterMs !== null && { settlement: policy.settle.lateAfterMs }),
      },
      shortfall: policy.shortfall,
      limits: policy.limits,
      legs,
      payments,
      pinnedAtMs: observation.observedAtMs,
      foundRecords: found,
      pinnedFor: input.pinnedFor,
    }),
  };
}

/** The leg of a convert policy. Nothing left to sell makes no leg at all. */
function compileLegs(input: CompileInput, found: boolean): Leg[] {
  const { sell, buy, amount } = input.policy.convert;
  const id = legIdOf(input.policy);
  const leg = { id, reference: reference(input.run, id), sell, buy };
  const fixed = legAmount(amount, sell, input);
  if (amount.kind !== 'sell-all') return [{ ...leg, amount: fixed }];
  // Amounts from live balances: taken from the record where one is found, never computed twice.
  const record = input.observation.trades.find(
    (trade) => generationOf(leg.reference, trade.clientReferenceId ?? '') === 1,
  );
  if (record !== undefined) return [{ ...leg, amount: amountOfTrade(record) }];
  if (found) return [{ ...leg, amount: null }];
  return isPositive(fixed.value) ? [{ ...leg, amount: fixed }] : [];
}

function legIdOf({ convert }: Policy): string {
  return `${convert.sell}-${convert.buy}-1`.toLowerCase();
}

function legAmount(amount: ConvertAmount, sell: string, input: CompileInput): LegAmount {
  if (amount.kind !== 'sell-all') return { side: amount.kind, value: amount.value, fixed: true };
  const row = input.observation.balances.balances.find((balance) => balance.currency === sell);
  const above = subtract(row?.withdrawable ?? '0', amount.keep);
  return { side: 'sell', value: round(above, input.decimalsOf(sell), 'down'), fixed: false };
}

function amountOfTrade(trade: Trade): LegAmount | null {
  if (trade.sellAmount !== null) return { side: 'sell', value: trade.sellAmount, fixed: false };
  if (trade.buyAmount !== null) return { side: 'buy', value: trade.buyAmount, fixed: false };
  return null;
}

/** Every payment of the policy is in the plan, also where there is no leg (M3); only proceeds of no leg are no payment. */
function compilePayments(input: CompileInput, legs: readonly Leg[]): Payment[] {
  const leg = legIdOf(input.policy);
  const currency = input.policy.convert.buy;
  return input.policy.withdraw.flatMap((spec): Payment[] => {
    const payment = {
      id: spec.id,
      reference: reference(input.run, spec.id),
      account: spec.account,
      currency,
      dependsOn: leg,
    };
    if (spec.amount.kind === 'fixed') return [{ ...payment, amount: spec.amount }];
    if (legs.length === 0) return [];
    return [{ ...payment, amount: { ...spec.amount, leg, decimals: input.decimalsOf(currency) } }];
  });
}

/** `wac` of `wac_7Hk2mQ9vT4xR`, or `uuid`: lists show each account under an id of one form. */
export function accountIdForm(id: string): string {
  return /^([a-z]{3,5})_/.exec(id)?.[1] ?? 'uuid';
}

/**
 * What the service already says against the accounts: money is never converted for a payment that is known to be
 * impossible. Missing counts only from a *complete* list; what cannot be read proves nothing.
 */
function accountProblems(payments: readonly Payment[], observation: Observation): PlanProblem[] {
  return payments.flatMap((payment): PlanProblem[] => {
    const item = payment.id;
    const account = observation.accounts.find((record) => record.id === payment.account);
    if (account === undefined) {
      const { accountsComplete, accountIdForms } = observation;
      const usesOtherForms =
        accountIdForms.length > 0 && !accountIdForms.includes(accountIdForm(payment.account));
      if (!accountsComplete || usesOtherForms) return [];
      return [
        {
          code: 'PLAN_ACCOUNT_MISSING',
          item,
          message: `Withdrawal account "${payment.account}" of payment "${item}" is not registered at the service.`,
          fix: 'Register the account at the service, or correct `account:` in the policy.',
        },
      ];
    }
    const problems: PlanProblem[] = [];
    if (account.isUnusable) {
      problems.push({
        code: 'PLAN_ACCOUNT_UNUSABLE',
        item,
        message: `Withdrawal account "${payment.account}" of payment "${item}" is ${account.status ?? 'of no status'}: the service pays nothing to it.`,
        fix: 'Have the account verified at the service, or name another one; then start the run again.',
      });
    }
    if (account.currency !== null && account.currency !== payment.currency) {
      problems.push({
        code: 'PLAN_ACCOUNT_CURRENCY',
        item,
        message: `Withdrawal account "${payment.account}" takes ${account.currency}, payment "${item}" is in ${payment.currency}.`,
        fix: `Name an account that takes ${payment.currency}.`,
      });
    }
    return problems;
  });
}

/** Heading "POST /fx/withdrawals" names the currencies that can be withdrawn. */
function withdrawalCurrencyProblems(payments: readonly Payment[]): PlanProblem[] {
  return payments
    .filter(({ currency }) => !WITHDRAWAL_CURRENCIES.includes(currency))
    .map(({ id, currency }) => ({
      code: 'PLAN_CURRENCY_NOT_WITHDRAWABLE',
      item: id,
      message: `Payment "${id}" is in ${currency}, which is not among the currencies that the service lets one withdraw.`,
      fix: 'Pay in another currency, or leave `withdraw` out to only convert.',
    }));
}

/** A pair that is not in the list, or an amount outside its bounds. A bound itself proves nothing: it may be inclusive. */
function pairProblems(legs: readonly Leg[], pairs: readonly Pair[] | null): PlanProblem[] {
  if (pairs === null) return [];
  return legs.flatMap(({ id, sell, buy, amount }): PlanProblem[] => {
    const pair = pairs.find((row) => row.sellCurrency === sell && row.buyCurrency === buy);
    if (pair === undefined) {
      return [
        {
          code: 'PLAN_PAIR_NOT_OFFERED',
          item: id,
          message: `The service offers no conversion of ${sell} to ${buy}.`,
          fix: 'Ask the operator of the service to offer the pair, or convert through another currency by two policies.',
        },
      ];
    }
    // The bounds are in the sold currency; what a bought amount sells, only a quote tells.
    if (amount?.side !== 'sell') return [];
    const { minTradeAmount, maxTradeAmount } = pair;
    const isBelow = compare(amount.value, minTradeAmount) < 0;
    if (!isBelow && compare(amount.value, maxTradeAmount) <= 0) return [];
    return [
      {
        code: 'PLAN_AMOUNT_OUTSIDE_PAIR',
        item: id,
        message: `The leg sells ${amount.value} ${sell}; for ${buy} the service takes from ${minTradeAmount} to ${maxTradeAmount} ${sell} in one trade.`,
        fix: isBelow ? 'Sell more in one run.' : 'Sell less in one run, or ask the operator of the service.',
      },
    ];
  });
}

function decimalsProblems(
  legs: readonly Leg[],
  payments: readonly Payment[],
  decimalsOf: CompileInput['decimalsOf'],
): PlanProblem[] {
  const amounts = [
    ...legs.flatMap((leg) => plannedGross(leg).map((money) => ({ item: leg.id, ...money }))),
    ...payments.flatMap(({ id, currency, amount }) =>
      amount.kind === 'fixed' ? [{ item: id, value: amount.value, currency }] : [],
    ),
  ];
  return amounts
    .filter(({ value, currency }) => decimalPlaces(value) > decimalsOf(currency))
    .map(({ item, value, currency }) => ({
      code: 'PLAN_AMOUNT_DECIMALS',
      item,
      message: `${value} ${currency} has ${decimalPlaces(value)} decimals; ${currency} has ${decimalsOf(currency)}.`,
      fix: 'Write the amount with fewer decimals, or set `decimals` in the service file if the service takes more.',
    }));
}

/** The limits on amounts that are known before a quote, sums over the run included; the rest is checked when it is known. */
function limitProblems(
  legs: readonly Leg[],
  payments: readonly Payment[],
  limits: Limits | null,
): PlanProblem[] {
  const problem = (item: string, message: string | null): PlanProblem[] =>
    message === null
      ? []
      : [
          {
            code: 'PLAN_OVER_LIMIT',
            item,
            message,
            fix: 'Lower the amount, or raise the limit on purpose.',
          },
        ];
  const gross = legs.map(plannedGross);
  const paid = payments.map(({ currency, amount }) =>
    amount.kind === 'fixed' ? { value: amount.value, currency } : null,
  );
  return [
    ...legs.flatMap((leg, index) =>
      problem(leg.id, brokenTradeLimit(limits, gross[index] ?? [], gross.slice(0, index))),
    ),
    ...payments.flatMap((payment, index) => {
      const money = paid[index];
      const before = paid.slice(0, index).flatMap((one) => one ?? []);
      return problem(payment.id, money ? brokenPaymentLimit(limits, money, before) : null);
    }),
  ];
}

/**
 * Why the fixed payments may get less than they need from the conversion, in one sentence; null when the leg is sure to
 * bring it. No reason against a plan: the balance may cover the rest, or the price be better than the guard's worst.
 */
export function notCovered({ legs, payments, guard }: Plan): string | null {
  const [leg] = legs;
  const fixed = payments.flatMap(({ amount }) => (amount.kind === 'fixed' ? [amount.value] : []));
  if (leg === undefined || leg.amount === null || fixed.length === 0) return null;
  const total = sum(fixed);
  const { side, value } = leg.amount;
  const what = `The payments add up to ${total} ${leg.buy}`;
  if (side === 'buy')
    return compare(total, value) > 0 ? `${what}; the leg buys only ${value} ${leg.buy}.` : null;
  const bound = guard?.bound ?? null;
  if (bound === null) return `${what}; no guard says what ${value} ${leg.sell} bring at least.`;
  return keepsGuard(bound, value, total) &&
    !equal(multiply(total, bound.buyFactor), multiply(value, bound.sellFactor))
    ? `${what}; at the worst price that the guard lets pass, ${value} ${leg.sell} bring less.`
    : null;
}

function plannedGross({ amount, sell, buy }: Leg): Gross {
  if (amount === null) return [];
  return [{ value: amount.value, currency: amount.side === 'sell' ? sell : buy } satisfies Money];
}

/** How much later than the worker's clock the rates may have been fixed. */
const RATES_AHEAD_MS = 60_000;

function compileGuard(input: CompileInput): PlanGuard | null {
  const { guard, convert } = input.policy;
  const { referenceRates } = input;
  if (guard === null) return null;
  if (guard.kind === 'worst-rate') {
    const text = `not worse than ${guard.rate.value} ${guard.rate.currency} per ${guard.rate.per}`;
    return { bound: boundFromRate(guard.rate, convert), text, staleAtMs: null };
  }
  const bound = referenceRates && boundFromCost(referenceRates.rates, guard.worstCostBps, convert);
  if (referenceRates === null || bound === null)
    return { bound: null, text: `against ${guard.file}, which gives no such rate`, staleAtMs: 0 };
  if (isFromTheFuture(input))
    return { bound: null, text: `against ${guard.file}, which is of a time to come`, staleAtMs: 0 };
  const text = `at most ${guard.worstCostBps} bps worse than ${guard.file} of ${referenceRates.asOf}`;
  return { bound, text, staleAtMs: Date.parse(referenceRates.asOf) + guard.maxAgeMs };
}

/** Rates of a time to come are a mistake, and would count as fresh for too long. */
function isFromTheFuture({ referenceRates, observation }: CompileInput): boolean {
  return (
    referenceRates !== null && Date.parse(referenceRates.asOf) > observation.observedAtMs + RATES_AHEAD_MS
  );
}

/** No quote can be held against rates that are missing, too old or from the future. */
function guardProblems(input: CompileInput, compiled: PlanGuard | null): PlanProblem[] {
  const { guard, convert } = input.policy;
  if (guard?.kind !== 'reference' || compiled === null) return [];
  const asOf = input.referenceRates?.asOf ?? '';
  if (isFromTheFuture(input)) {
    return [
      {
        code: 'PLAN_REFERENCE_FROM_THE_FUTURE',
        item: null,
        message: `Reference file "${guard.file}" is of ${asOf}, a time to come.`,
        fix: 'Correct `as_of` to the moment at which the rates were fixed, then run again.',
      },
    ];
  }
  if (compiled.bound === null)
    return [
      {
        code: 'PLAN_REFERENCE_MISSING',
        item: null,
        message: `Reference file "${guard.file}" gives no rate between ${convert.sell} and ${convert.buy}.`,
        fix: `Add a line such as "1.0832 ${convert.buy} per ${convert.sell}" to it.`,
      },
    ];
  if (compiled.staleAtMs === null || input.observation.observedAtMs <= compiled.staleAtMs) return [];
  return [
    {
      code: 'PLAN_REFERENCE_TOO_OLD',
      item: null,
      message: `Reference file "${guard.file}" is of ${asOf}: older than max_age allows.`,
      fix: 'Bring the file up to date, then run again.',
    },
  ];
}

/** True when a trade or withdrawal record names something of this run. */
export function isOfRun(run: RunName, text: string | null): boolean {
  return text !== null && text.startsWith(runPrefix(run));
}

/**
 * What the plan says otherwise than the policy that it is said to be made from, in one sentence; null when they agree in
 * all that the policy fixes literally. A plan is data that somebody may have changed: no account, currency or amount of
 * it counts against the policy.
 */
export function planContradicts(plan: Plan, policy: Policy): string | null {
  const { convert } = policy;
  if (plan.policy.name !== policy.name || plan.run.policy !== policy.name)
    return `The plan is of policy "${plan.policy.name}", not of "${policy.name}".`;
  if (plan.zone !== policy.zone)
    return `The plan counts dates in ${plan.zone}, the policy in ${policy.zone}.`;
  const [leg, ...moreLegs] = plan.legs;
  if (moreLegs.length > 0) return `The plan has ${plan.legs.length} legs, the policy one conversion.`;
  if (leg === undefined && convert.amount.kind !== 'sell-all')
    return 'The plan has no leg, the policy converts a fixed amount.';
  if (leg !== undefined) {
    const difference = legContradicts(leg, plan, policy);
    if (difference !== null) return difference;
  }
  const specs = policy.withdraw.filter((spec) => leg !== undefined || spec.amount.kind === 'fixed');
  if (plan.payments.length !== specs.length)
    return `The plan has ${plan.payments.length} payments, the policy ${specs.length}.`;
  for (const [index, spec] of specs.entries()) {
    const payment = plan.payments[index];
    const difference = payment === undefined ? null : paymentContradicts(payment, spec, plan, policy);
    if (difference !== null) return difference;
  }
  for (const field of ['quote', 'settle', 'shortfall', 'limits'] as const) {
    if (canonical(plan[field]) !== canonical(policy[field]))
      return `The plan says otherwise than the policy about \`${field}\`.`;
  }
  return guardContradicts(plan.guard, policy) ? 'The plan has another price guard than the policy.' : null;
}

function legContradicts(leg: Leg, plan: Plan, policy: Policy): string | null {
  const { sell, buy, amount } = policy.convert;
  const id = legIdOf(policy);
  if (leg.id !== id || leg.reference !== reference(plan.run, id))
    return `The plan calls its leg "${leg.reference}", the policy makes it "${reference(plan.run, id)}".`;
  if (leg.sell !== sell || leg.buy !== buy)
    return `Leg "${id}" of the plan sells ${leg.sell} for ${leg.buy}, the policy ${sell} for ${buy}.`;
  if (amount.kind === 'sell-all')
    return leg.amount?.fixed === true
      ? `The plan fixes the amount of leg "${id}", the policy does not.`
      : null;
  const isSame =
    leg.amount?.fixed === true && leg.amount.side === amount.kind && equal(leg.amount.value, amount.value);
  if (isSame) return null;
  const planned = leg.amount === null ? 'nothing known' : `${leg.amount.side} ${leg.amount.value}`;
  return `Leg "${id}" of the plan has the amount "${planned}", the policy "${amount.kind} ${amount.value}".`;
}

function paymentContradicts(
  payment: Payment,
  spec: Policy['withdraw'][number],
  plan: Plan,
  policy: Policy,
): string | null {
  const { id, account, amount } = spec;
  const leg = legIdOf(policy);
  if (payment.id !== id || payment.reference !== reference(plan.run, id))
    return `The plan has payment "${payment.reference}" where the policy has "${reference(plan.run, id)}".`;
  if (payment.account !== account)
    return `Payment "${id}" of the plan goes to ${payment.account}, the policy pays ${account}.`;
  if (payment.currency !== policy.convert.buy)
    return `Payment "${id}" of the plan is in ${payment.currency}, the policy pays ${policy.convert.buy}.`;
  if (payment.dependsOn !== leg) return `Payment "${id}" of the plan does not depend on leg "${leg}".`;
  const isSame =
    amount.kind === 'fixed'
      ? payment.amount.kind === 'fixed' && equal(payment.amount.value, amount.value)
      : payment.amount.kind === 'proceeds' &&
        payment.amount.leg === leg &&
        payment.amount.rounding === amount.rounding;
  return isSame ? null : `Payment "${id}" of the plan has another amount than the policy.`;
}

function guardContradicts(guard: PlanGuard | null, policy: Policy): boolean {
  if (policy.guard === null || guard === null) return policy.guard !== guard;
  // The bound of reference rates depends on their file, which the policy only names.
  if (policy.guard.kind === 'reference') return false;
  return canonical(guard.bound) !== canonical(boundFromRate(policy.guard.rate, policy.convert));
}

/** The same text for the same data, whatever the order of its fields. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === 'object' && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}
