/** A plan in words: every number with its reason. Pure. */
import { type PriceBound } from '../domain/guard.ts';
import { compare, divide, multiply, subtract } from '../domain/money.ts';
import {
  notCovered,
  type CompileInput,
  type Leg,
  type Observation,
  type Payment,
  type Plan,
} from '../domain/plan.ts';
import { runName, workflowIdOf } from '../domain/references.ts';
import type { Problem } from '../domain/stepper.ts';
import { formatDuration, settlesBeforeMs } from '../language/business-date.ts';
import { capital, count, sentence, wrap, zonedTime, type Paint } from './text.ts';

/** What `plan --json` prints, but for the exit code. */
export type PlanDocument = {
  readonly run: string;
  readonly workflowId: string;
  readonly policy: { readonly name: string; readonly hash: string };
  readonly date: string;
  readonly zone: string;
  readonly fences: {
    readonly opensAt: string;
    readonly tradesUntil: string;
    readonly withdrawalsUntil: string;
  };
  readonly quote: Plan['quote'];
  readonly guard: string | null;
  readonly settle: Plan['settle'];
  readonly limits: Plan['limits'];
  readonly shortfall: Plan['shortfall'];
  readonly legs: readonly {
    readonly id: string;
    readonly reference: string;
    readonly sell: string;
    readonly buy: string;
    readonly side: 'buy' | 'sell' | null;
    readonly amount: string | null;
    readonly why: string;
    /** `BUY per SELL` below which the guard refuses; null without a guard. */
    readonly worstRate: string | null;
    readonly available: string;
  }[];
  readonly payments: readonly {
    readonly id: string;
    readonly reference: string;
    readonly account: string;
    readonly currency: string;
    /** Null: known after the trade. */
    readonly amount: string | null;
    readonly why: string;
    readonly dependsOn: string | null;
  }[];
  /** What is at the service already under this run's name: adopted, never repeated. */
  readonly found: { readonly trades: readonly string[]; readonly withdrawals: readonly string[] };
  readonly problems: readonly Problem[];
  /** Worth a thought, and no reason against the run. */
  readonly remarks: readonly string[];
};

export function planDocument(plan: Plan, input: CompileInput): PlanDocument {
  const { observation } = input;
  const shortfall = shortfallOf(plan, observation);
  return {
    run: runName(plan.run),
    workflowId: workflowIdOf(plan.credentials.mode, plan.run),
    policy: { name: plan.policy.name, hash: plan.policy.hash },
    date: plan.date,
    zone: plan.zone,
    fences: {
      opensAt: new Date(plan.fences.opensAtMs).toISOString(),
      tradesUntil: new Date(plan.fences.tradesUntilMs).toISOString(),
      withdrawalsUntil: new Date(plan.fences.withdrawalsUntilMs).toISOString(),
    },
    quote: plan.quote,
    guard: plan.guard?.text ?? null,
    settle: plan.settle,
    limits: plan.limits,
    shortfall: plan.shortfall,
    legs: plan.legs.map((leg) => ({
      id: leg.id,
      reference: leg.reference,
      sell: leg.sell,
      buy: leg.buy,
      side: leg.amount?.side ?? null,
      amount: leg.amount?.value ?? null,
      why: whyLeg(leg, input),
      worstRate: plan.guard?.bound ? worstRateOf(plan.guard.bound) : null,
      available: availableIn(observation, leg.sell),
    })),
    payments: plan.payments.map((payment) => ({
      id: payment.id,
      reference: payment.reference,
      account: payment.account,
      currency: payment.currency,
      amount: payment.amount.kind === 'fixed' ? payment.amount.value : null,
      why: whyPayment(payment),
      dependsOn: payment.dependsOn,
    })),
    found: {
      trades: observation.trades.map((trade) => trade.id),
      withdrawals: observation.withdrawals.map((withdrawal) => withdrawal.id),
    },
    problems: shortfall === null ? [] : [shortfall],
    remarks: remarksOf(plan),
  };
}

/** What is worth a thought before the run, and is no reason against it. */
function remarksOf(plan: Plan): readonly string[] {
  const { date, fences, payments, quote } = plan;
  const uncovered = notCovered(plan);
  const settledMs = settlesBeforeMs(date, quote.settlement);
  const isLate = payments.length > 0 && settledMs > fences.withdrawalsUntilMs - DAY_MS;
  return [
    ...(uncovered === null ? [] : [`${uncovered} What is missing must be there as a balance.`]),
    ...(isLate
      ? [
          `What is bought on ${date} and settles ${quote.settlement} may come as late as ${zonedTime(settledMs, 'UTC')}, less than a day before withdrawals stop. A holiday in between is too much: run it earlier in the week.`,
        ]
      : []),
  ];
}

const DAY_MS = 86_400_000;

/** Money that is missing now for what a leg sells; null when it is there, or only a quote can tell. */
export function shortfallOf(plan: Plan, observation: Observation): Problem | null {
  // What is traded already needs no money any more.
  if (observation.trades.length > 0) return null;
  const [first] = plan.payments;
  if (plan.legs.length === 0 && first !== undefined) {
    return {
      code: 'SHORTFALL',
      item: first.id,
      message: `There is nothing to sell, so no ${first.currency} comes in: ${count(plan.payments.length, 'payment')} would end as not paid.`,
      fix: 'Bring money in, or leave less behind (`keep`).',
    };
  }
  for (const leg of plan.legs) {
    if (leg.amount?.side !== 'sell') continue;
    const available = availableIn(observation, leg.sell);
    if (compare(available, leg.amount.value) >= 0) continue;
    const consequence =
      plan.shortfall === 'skip'
        ? '`shortfall: skip`: the leg would not be traded, and no quote asked for'
        : '`shortfall: hold`: the run would wait for money';
    return {
      code: 'SHORTFALL',
      item: leg.id,
      message: `The leg sells ${leg.amount.value} ${leg.sell}, but ${available} ${leg.sell} are withdrawable: ${subtract(leg.amount.value, available)} are missing (${consequence}).`,
      fix: `Bring ${leg.sell} in, or lower the amount.`,
    };
  }
  return null;
}

/** The plan for a person. */
export function explainPlan(plan: Plan, input: CompileInput, width: number, paint: Paint): string {
  const { observation } = input;
  const shortfall = shortfallOf(plan, observation);
  const sections: string[][] = [
    [
      `${paint.strong(`Plan of ${runName(plan.run)}`)} (${plan.credentials.mode.toLowerCase()}, workflow ${workflowIdOf(plan.credentials.mode, plan.run)})`,
      `The date is ${plan.date}, counted in ${plan.zone} by the policy.`,
    ],
    ...(plan.legs.length === 0 ? [[nothingToSell(plan, input)]] : []),
    ...plan.legs.map((leg) => explainLeg(leg, plan, input, paint)),
    ...plan.payments.map((payment) => explainPayment(payment, observation, paint)),
    [
      paint.strong('Settlement'),
      plan.settle.until === 'funds'
        ? 'Payments go out when the withdrawable balance covers them (`settle.until: funds`).'
        : 'Payments go out when the service calls the trade settled (`settle.until: status`).',
      `After ${formatDuration(plan.lateAfterMs.settlement)} it says that it is late, and goes on waiting.`,
    ],
    [
      paint.strong('When it may send'),
      `Nothing before ${zonedTime(plan.fences.opensAtMs, plan.zone)}, when the date begins.`,
      `Trades until ${zonedTime(plan.fences.tradesUntilMs, plan.zone)}: the date’s end and 2 h, so that yesterday’s reasons do not trade today.`,
      `Withdrawals until ${zonedTime(plan.fences.withdrawalsUntilMs, plan.zone)}: 5 days 12 h after 00:00 UTC of the date, inside the 7 days for which the service remembers their keys.`,
    ],
    [
      paint.strong('References'),
      'Every trade and withdrawal carries its reference; its idempotency key is made from the reference (a trade’s also from its quote), the mode, the organisation and nothing else. Whatever is repeated, reset or started twice uses the same ones.',
    ],
    foundText(observation, paint),
    shortfall === null ? [] : [`${paint.warn(shortfall.code)}: ${shortfall.message} ${shortfall.fix}`],
    ...remarksOf(plan).map((remark) => [`${paint.warn('Note')}: ${remark}`]),
  ];
  return sections
    .filter((section) => section.length > 0)
    .map(([head = '', ...rest]) =>
      [wrap(head, width), ...rest.map((line) => wrap(`  ${line}`, width, '  '))].join('\n'),
    )
    .join('\n\n');
}

function explainLeg(leg: Leg, plan: Plan, input: CompileInput, paint: Paint): string[] {
  const { observation } = input;
  const amount =
    leg.amount === null
      ? `${leg.sell} for ${leg.buy}, amount not known`
      : leg.amount.side === 'sell'
        ? `sell ${leg.amount.value} ${leg.sell} for ${leg.buy}`
        : `buy ${leg.amount.value} ${leg.buy} for ${leg.sell}`;
  const { validForSeconds, settlement, maxQuotes } = plan.quote;
  return [
    `${paint.strong(`Leg ${leg.id}`)}: ${amount}`,
    capital(sentence(whyLeg(leg, input))),
    `Reference: ${leg.reference}`,
    `Withdrawable now: ${availableIn(observation, leg.sell)} ${leg.sell}. Short of it: \`shortfall: ${plan.shortfall}\`, ${plan.shortfall === 'skip' ? 'the leg is not traded' : 'it waits for money'}.`,
    `Quote: valid for ${validForSeconds} s, settles ${settlement}; at most ${maxQuotes} quotes, each under the same reference.`,
    guardText(leg, plan),
    limitsText(plan),
  ];
}

/** What the guard lets through, as a rate and as the amount of the other side. */
function guardText(leg: Leg, plan: Plan): string {
  if (plan.guard === null) return 'Guard: none, any price is taken.';
  const { bound, text } = plan.guard;
  if (bound === null) return `Guard: ${text}: nothing new is traded.`;
  const rate = worstRateOf(bound);
  const base = `Guard: ${text}. A price below ${rate} ${leg.buy} per ${leg.sell} is not traded; exactly that passes.`;
  if (leg.amount === null) return base;
  return leg.amount.side === 'sell'
    ? `${base} For ${leg.amount.value} ${leg.sell} at least ${divide(multiply(leg.amount.value, bound.sellFactor), bound.buyFactor, 12)} ${leg.buy} must come.`
    : `${base} For ${leg.amount.value} ${leg.buy} at most ${divide(multiply(leg.amount.value, bound.buyFactor), bound.sellFactor, 12)} ${leg.sell} may go.`;
}

/** Bought ÷ sold at which the guard still passes, 12 significant digits. */
function worstRateOf(bound: PriceBound): string {
  return divide(bound.sellFactor, bound.buyFactor, 12);
}

function limitsText(plan: Plan): string {
  const { limits } = plan;
  if (limits === null) return 'Limits: none.';
  const texts = [
    ...(limits.perTrade === null ? [] : [`${limits.perTrade.value} ${limits.perTrade.currency} per trade`]),
    ...(limits.perRun === null ? [] : [`${limits.perRun.value} ${limits.perRun.currency} per run`]),
    ...limits.perPayment.map(({ value, currency }) => `${value} ${currency} per payment`),
    ...limits.paidPerRun.map(({ value, currency }) => `${value} ${currency} paid per run`),
  ];
  return `Limits: ${texts.join(', ')}; the amount keeps them, a quote that does not is not traded.`;
}

function whyLeg(leg: Leg, input: CompileInput): string {
  const { amount } = input.policy.convert;
  if (leg.amount === null)
    return 'the amount came from balances that have changed since; it is not computed a second time, a person decides';
  if (leg.amount.fixed) return `the amount is fixed by the policy (convert.amount.${leg.amount.side})`;
  if (amount.kind !== 'sell-all' || input.observation.trades.length > 0)
    return 'the amount is that of the trade that is at the service already';
  const available = availableIn(input.observation, leg.sell);
  return `all that is withdrawable, ${available} ${leg.sell}, less the ${amount.keep} that the policy keeps`;
}

function nothingToSell(plan: Plan, input: CompileInput): string {
  const { convert } = input.policy;
  const available = availableIn(input.observation, convert.sell);
  const keep = convert.amount.kind === 'sell-all' ? convert.amount.keep : '0';
  const outcome = plan.payments.length === 0 ? ' The run would end as completed.' : '';
  return `There is nothing to sell: ${available} ${convert.sell} are withdrawable, and the policy keeps ${keep}.${outcome}`;
}

function explainPayment(payment: Payment, observation: Observation, paint: Paint): string[] {
  const amount =
    payment.amount.kind === 'fixed'
      ? `${payment.amount.value} ${payment.currency}`
      : `the proceeds in ${payment.currency}`;
  const account = observation.accounts.find((record) => record.id === payment.account);
  const accountText =
    account === undefined
      ? 'The list of withdrawal accounts could not be read whole, so the account is not checked yet.'
      : `The account is registered${account.status === null ? '' : `, ${account.status}`}${account.currency === null ? '' : `, takes ${account.currency}`}.`;
  return [
    `${paint.strong(`Payment ${payment.id}`)}: ${amount} to ${payment.account}`,
    capital(sentence(whyPayment(payment))),
    `Reference: ${payment.reference}`,
    accountText,
    payment.dependsOn === null
      ? 'It depends on no leg.'
      : `It is paid only if leg ${payment.dependsOn} is traded.`,
  ];
}

function whyPayment(payment: Payment): string {
  const { amount } = payment;
  if (amount.kind === 'fixed') return 'the amount is fixed by the policy';
  const rounding = amount.rounding === 'down' ? 'down' : 'half to even';
  return `the amount is what leg ${amount.leg} brings, rounded ${rounding} to the ${amount.decimals} decimals of ${payment.currency}; known after the trade`;
}

function foundText(observation: Observation, paint: Paint): string[] {
  const { trades, withdrawals } = observation;
  if (trades.length === 0 && withdrawals.length === 0) return [];
  return [
    paint.strong('Already at the service under this name'),
    ...trades.map((trade) => `Trade ${trade.id}, ${trade.status}: adopted, not repeated.`),
    ...withdrawals.map(
      (withdrawal) => `Withdrawal ${withdrawal.id}, ${withdrawal.status}: adopted, not repeated.`,
    ),
  ];
}

function availableIn(observation: Observation, currency: string): string {
  return observation.balances.balances.find((row) => row.currency === currency)?.withdrawable ?? '0';
}
