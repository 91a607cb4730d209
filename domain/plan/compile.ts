/**
 * From a policy and one observation of the service to the plan, or everything that stands against it (design: "The plan is
 * made once"). Nothing here talks to anyone, and nobody reads the policy after this.
 */
import { WITHDRAWAL_CURRENCIES } from '../currencies.ts';
import { boundFromCost, boundFromRate } from './price-bounds.ts';
import { brokenPaymentLimit, brokenTradeLimit, type Gross } from './limits.ts';
import type { Problem } from '../problems.ts';
import { compare, decimalPlaces, isPositive, round, subtract } from '../money.ts';
import type { Guard, Limits, Money, Policy, ReferenceRates } from '../policy.ts';
import type { Pair, Trade } from '../service/records.ts';
import { generationOf, reference, type RunName } from '../references.ts';
import type { ServiceFacts } from '../service/facts.ts';
import { fixedAmountOf, legIdOf, totalsOf } from './amounts.ts';
import { accountIdForm, type Observation } from './observation.ts';
import type {
  SendWindows,
  Leg,
  LegAmount,
  LegNotNeeded,
  LegReason,
  Payment,
  Plan,
  PlanGuard,
} from './plan.ts';

export type CompileInput = {
  readonly run: RunName;
  readonly policy: Policy;
  readonly policyHash: string;
  readonly date: string;
  readonly sendWindows: SendWindows;
  readonly referenceRates: ReferenceRates | null;
  readonly observation: Observation;
  /** By the operator's service file; the policy may have its own for settlement. */
  readonly lateAfterMs: ServiceFacts['lateAfterMs'];
  /** Decimals of a currency, by the table and the operator's service file. */
  readonly decimalsOf: (currency: string) => number;
  readonly madeFor: string;
};

export type CompileResult =
  | { readonly ok: true; readonly plan: Plan }
  | {
      readonly ok: false;
      /** Why none can be made: the run ends before any quote. */ readonly problems: readonly Problem[];
    };

/** Makes the plan, or says everything that stands against it. Upholds M4 (what is executed is what was planned). */
export function compilePlan(input: CompileInput): CompileResult {
  const { policy, observation, run, sendWindows } = input;
  const problems: Problem[] = [];
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
  if (observation.observedAtMs > sendWindows.tradesUntilMs && !found) {
    problems.push({
      code: 'PLAN_WINDOW_PASSED',
      item: null,
      message: `The business date ${input.date} is over in ${policy.zone}: yesterday's reasons do not trade today.`,
      fix: 'Start a run with today’s date as its id.',
    });
  }
  const guard = compileGuard(input);
  const { legs, notNeeded } = compileLegs(input, found, guard);
  const payments = compilePayments(input, legs);
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
      sendWindows,
      quote: policy.quote,
      settle: policy.settle,
      lateAfterMs: {
        ...input.lateAfterMs,
        ...(policy.settle.lateAfterMs !== null && { settlement: policy.settle.lateAfterMs }),
      },
      shortfall: policy.shortfall,
      limits: policy.limits,
      legs,
      notNeeded,
      payments,
      totals: totalsOf(legs, payments),
      madeAtMs: observation.observedAtMs,
      foundRecords: found,
      madeFor: input.madeFor,
    }),
  };
}

/** The leg of a convert policy. Nothing left to sell makes no leg at all. */
function compileLegs(
  input: CompileInput,
  found: boolean,
  guard: PlanGuard | null,
): { readonly legs: readonly Leg[]; readonly notNeeded: readonly LegNotNeeded[] } {
  const { sell, buy, amount } = input.policy.convert;
  const id = legIdOf(input.policy);
  const leg = { id, reference: reference(input.run, id), sell, buy, guard };
  const one = (planned: LegAmount | null, why: LegReason) => ({
    legs: [{ ...leg, amount: planned, why }],
    notNeeded: [],
  });
  switch (amount.kind) {
    case 'sell':
    case 'buy':
      return one({ side: amount.kind, value: amount.value, fixed: true }, { kind: 'fixed' });
    case 'sell-all': {
      // Amounts from live balances: taken from the record where one is found, never computed twice.
      const record = input.observation.trades.find(
        (trade) => generationOf(leg.reference, trade.clientReferenceId ?? '') === 1,
      );
      if (record !== undefined) return one(amountOfTrade(record), { kind: 'found' });
      if (found) return one(null, { kind: 'forgotten' });
      const row = input.observation.balances.balances.find((balance) => balance.currency === sell);
      const available = row?.withdrawable ?? '0';
      const { keep } = amount;
      const value = round(subtract(available, keep), input.decimalsOf(sell), 'down');
      if (!isPositive(value)) return { legs: [], notNeeded: [{ id, sell, buy, available, keep }] };
      return one({ side: 'sell', value, fixed: false }, { kind: 'all above', available, keep });
    }
  }
}

function amountOfTrade(trade: Trade): LegAmount | null {
  if (trade.sellAmount !== null) return { side: 'sell', value: trade.sellAmount, fixed: false };
  if (trade.buyAmount !== null) return { side: 'buy', value: trade.buyAmount, fixed: false };
  return null;
}

/** Every payment of the policy is in the plan, also where there is no leg (M3); only what no leg brings is no payment. */
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
    switch (spec.amount.kind) {
      case 'fixed':
        return [{ ...payment, amount: spec.amount }];
      case 'proceeds':
      case 'rest':
        if (legs.length === 0) return [];
        return [{ ...payment, amount: { ...spec.amount, leg, decimals: input.decimalsOf(currency) } }];
    }
  });
}

/**
 * What the service already says against the accounts: money is never converted for a payment that is known to be
 * impossible. Missing counts only from a *complete* list; what cannot be read proves nothing.
 */
function accountProblems(payments: readonly Payment[], observation: Observation): Problem[] {
  return payments.flatMap((payment): Problem[] => {
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
    const problems: Problem[] = [];
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
function withdrawalCurrencyProblems(payments: readonly Payment[]): Problem[] {
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
function pairProblems(legs: readonly Leg[], pairs: readonly Pair[] | null): Problem[] {
  if (pairs === null) return [];
  return legs.flatMap(({ id, sell, buy, amount }): Problem[] => {
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
): Problem[] {
  const amounts = [
    ...legs.flatMap((leg) => plannedGross(leg).map((money) => ({ item: leg.id, ...money }))),
    ...payments.flatMap((payment) => {
      const value = fixedAmountOf(payment);
      return value === null ? [] : [{ item: payment.id, value, currency: payment.currency }];
    }),
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
function limitProblems(legs: readonly Leg[], payments: readonly Payment[], limits: Limits | null): Problem[] {
  const problem = (item: string, message: string | null): Problem[] =>
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
  const paid = payments.map((payment) => {
    const value = fixedAmountOf(payment);
    return value === null ? null : { value, currency: payment.currency };
  });
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

/** How much later than the worker's clock the rates may have been fixed. */
const RATES_AHEAD_MS = 60_000;

function compileGuard(input: CompileInput): PlanGuard | null {
  const { guard, convert } = input.policy;
  if (guard === null) return null;
  switch (guard.kind) {
    case 'worst-rate': {
      const text = `not worse than ${guard.rate.value} ${guard.rate.currency} per ${guard.rate.per}`;
      return { bound: boundFromRate(guard.rate, convert), text, staleAtMs: null };
    }
    case 'reference':
      return referenceGuard(input, guard);
  }
}

function referenceGuard(input: CompileInput, guard: Extract<Guard, { kind: 'reference' }>): PlanGuard {
  const { referenceRates } = input;
  const { convert } = input.policy;
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
function guardProblems(input: CompileInput, compiled: PlanGuard | null): Problem[] {
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

function plannedGross({ amount, sell, buy }: Leg): Gross {
  if (amount === null) return [];
  return [{ value: amount.value, currency: amount.side === 'sell' ? sell : buy } satisfies Money];
}
