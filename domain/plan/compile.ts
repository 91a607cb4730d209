/**
 * Makes the plan from a policy and one reading of the service, or tells every reason against it (design: "The plan is made
 * once"). Nothing here calls the service or Temporal. Later the policy is read only to compare the plan with it.
 */
import type { PlanBatch } from '../batch.ts';
import { moneyText, WITHDRAWAL_CURRENCIES } from '../currencies.ts';
import { compare, decimalPlaces } from '../money.ts';
import { inPlace } from '../replacement.ts';
import type { Limits } from '../policy.ts';
import type { Problem } from '../problems.ts';
import type { Pair } from '../service/records.ts';
import { fixedAmountOf, plannedMoneyOf, totalsOf } from './amounts.ts';
import type { CompileInput } from './compile-input.ts';
import { legsOfConvert, paymentsOfConvert } from './convert-items.ts';
import { guardProblems } from './leg-guard.ts';
import { brokenPaymentLimit, brokenTradeLimit, type Gross } from './limits.ts';
import { accountIdForm, type Observation } from './observation.ts';
import type { Leg, Payment, Plan } from './plan.ts';
import { legsOfPayout } from './payout-items.ts';
import { legsOfRebalance } from './rebalance-items.ts';

export type CompileResult =
  | { readonly ok: true; readonly plan: Plan }
  | {
      readonly ok: false;
      /** Why none can be made: the run ends before any quote. */ readonly problems: readonly Problem[];
    };

/** Makes the plan, or tells every reason against it. Upholds M4 (what is executed is what was planned). */
export function compilePlan(input: CompileInput): CompileResult {
  const { policy, observation, run, sendWindows } = input;
  const problems: Problem[] = [];
  const environment = observation.credentials.mode === 'LIVE' ? 'live' : 'sandbox';
  if (policy.environment !== environment) {
    problems.push({
      code: 'PLAN_ENVIRONMENT',
      item: null,
      message: `The policy is for ${policy.environment}, but the worker is for ${environment}.`,
      fix: 'Run it with a worker of that environment (CAMBIST_APP_MODE), or change `environment:` in the policy if you mean it.',
    });
  }
  const found = observation.trades.length > 0 || observation.withdrawals.length > 0;
  // A payout may use the money that is there, for as long as its keys are kept.
  const untilMs = policy.kind === 'payout' ? sendWindows.withdrawalsUntilMs : sendWindows.tradesUntilMs;
  if (observation.observedAtMs > untilMs && !found) {
    problems.push({
      code: 'PLAN_WINDOW_PASSED',
      item: null,
      message: `The date of the run, ${input.date}, is over in ${policy.zone}, and a run trades only on its own date.`,
      fix: 'Start a run with today’s date as its id.',
    });
  }
  const { legs, notNeeded, positions, payments } = itemsOf(input, found);
  // When something was sent already, there must be a plan to follow it. The reasons against sending more are then told for
  // each item.
  if (!found)
    problems.push(
      ...accountProblems(payments, observation),
      ...withdrawalCurrencyProblems(payments),
      ...pairProblems(legs, observation.pairs),
      ...decimalsProblems(legs, payments, input.decimalsOf),
      ...limitProblems(legs, payments, policy.rules.limits, observation.tradedOnDate),
      ...guardProblems(input),
    );
  if (problems.length > 0) return { ok: false, problems };
  const batch = batchOf(input);
  const { lateAfterMs } = policy.rules.settle;
  return {
    ok: true,
    plan: Object.freeze({
      version: 1,
      ...inPlace(input),
      bodyLayout: 1,
      run,
      credentials: observation.credentials,
      policy: { name: policy.name, hash: input.policyHash },
      zone: policy.zone,
      date: input.date,
      sendWindows,
      rules: policy.rules,
      lateAfterMs: {
        ...input.lateAfterMs,
        ...(lateAfterMs !== null && { settlement: lateAfterMs }),
      },
      legs,
      notNeeded,
      positions,
      payments,
      batch,
      totals: totalsOf({ legs, payments, batch }),
      madeAtMs: observation.observedAtMs,
      foundRecords: found,
      madeFor: input.madeFor,
    }),
  };
}

/** The batch, with the rules of the policy for paying it. */
function batchOf({ policy, batch }: CompileInput): PlanBatch | null {
  return policy.kind !== 'payout' || batch === null ? null : { ...batch, rules: policy.payout.rules };
}

type Items = Pick<Plan, 'legs' | 'notNeeded' | 'positions' | 'payments'>;

function itemsOf(input: CompileInput, found: boolean): Items {
  const { policy } = input;
  switch (policy.kind) {
    case 'convert': {
      const own = { ...input, policy };
      const { legs, notNeeded } = legsOfConvert(own, found);
      return { legs, notNeeded, positions: [], payments: paymentsOfConvert(own, legs.length > 0) };
    }
    case 'rebalance':
      return {
        ...legsOfRebalance(input, policy.rebalance, { found, waitsForBase: false }),
        notNeeded: [],
        payments: [],
      };
    case 'payout':
      return { ...legsOfPayout(input, policy.payout.fund, found), notNeeded: [], payments: [] };
  }
}

/**
 * What the service already says against the accounts. Money is never converted for a payment that is known to be impossible.
 * A missing account counts only if the list is *complete*. Something that cannot be read proves nothing.
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
          message: `The service does not know withdrawal account "${payment.account}" of payment "${item}".`,
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
        fix: 'Have the account verified at the service, then type `npx cambist replay RUN`, or reset the run. Or name another account in the policy.',
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
      message: `Payment "${id}" is in ${currency}, and the service does not pay out ${currency}.`,
      fix: 'Pay in another currency, or leave `withdraw` out to only convert.',
    }));
}

/**
 * Problems of a pair that is not in the list, or of an amount outside the pair's bounds. An amount equal to a bound proves
 * nothing, since the bound may be inclusive.
 */
function pairProblems(legs: readonly Leg[], pairs: readonly Pair[] | null): Problem[] {
  if (pairs === null) return [];
  return legs.flatMap(({ id, sell, buy, amount }): Problem[] => {
    const pair = pairs.find((row) => row.sellCurrency === sell && row.buyCurrency === buy);
    if (pair === undefined) {
      return [
        {
          code: 'PLAN_PAIR_NOT_OFFERED',
          item: id,
          message: `The service does not convert ${sell} to ${buy}.`,
          fix: 'Ask the operator of the service to offer the pair, or convert through another currency by two policies.',
        },
      ];
    }
    // The bounds are in the sold currency. When the bought amount is fixed, only a quote tells how much is sold.
    if (amount?.side !== 'sell') return [];
    const { minTradeAmount, maxTradeAmount } = pair;
    const isBelow = compare(amount.value, minTradeAmount) < 0;
    if (!isBelow && compare(amount.value, maxTradeAmount) <= 0) return [];
    return [
      {
        code: 'PLAN_AMOUNT_OUTSIDE_PAIR',
        item: id,
        message: `The leg sells ${moneyText(amount.value, sell)}; for ${buy} the service takes from ${moneyText(minTradeAmount, sell)} to ${moneyText(maxTradeAmount, sell)} in one trade.`,
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

/**
 * Checks the limits on amounts that are known before a quote, also on sums over the run. The others are checked once they
 * are known.
 */
function limitProblems(
  legs: readonly Leg[],
  payments: readonly Payment[],
  limits: Limits | null,
  onDate: Gross,
): Problem[] {
  const problem = (item: string, message: string | null): Problem[] =>
    message === null
      ? []
      : [
          {
            code: 'PLAN_OVER_LIMIT',
            item,
            message,
            fix: 'Lower the amount, or raise the limit if you mean it.',
          },
        ];
  const gross = legs.map(plannedGross);
  const paid = payments.map((payment) => {
    const value = fixedAmountOf(payment);
    return value === null ? null : { value, currency: payment.currency };
  });
  return [
    ...legs.flatMap((leg, index) =>
      problem(
        leg.id,
        brokenTradeLimit(limits, gross[index] ?? [], { inRun: gross.slice(0, index).flat(), onDate }),
      ),
    ),
    ...payments.flatMap((payment, index) => {
      const money = paid[index];
      const before = paid.slice(0, index).flatMap((one) => one ?? []);
      return problem(payment.id, money ? brokenPaymentLimit(limits, money, before) : null);
    }),
  ];
}

function plannedGross(leg: Leg): Gross {
  const planned = plannedMoneyOf(leg);
  return planned === null ? [] : [planned];
}
