/** A plan in words: every number with its reason. Pure. */
import { distanceOf, keepsGuard, type Distance, type PriceBound } from '../../domain/plan/price-bounds.ts';
import { unpayableOf, type PlanBatch } from '../../domain/batch.ts';
import { farBounds } from '../../domain/plan/far-bounds.ts';
import { pastCutoffs } from '../../operations/start/past-cutoffs.ts';
import type { IndicativePrice } from '../../operations/start/indicative-price.ts';
import { divide, equal, multiply, subtract } from '../../domain/money.ts';
import { fixedAmountOf, notCovered } from '../../domain/plan/amounts.ts';
import type { CompileInput } from '../../domain/plan/compile-input.ts';
import { expectedOf, leftOf, type Expected } from '../../domain/plan/cost.ts';
import type { Leg, Payment, Plan } from '../../domain/plan/plan.ts';
import type { Observation } from '../../domain/plan/observation.ts';
import { runName, workflowIdOf } from '../../domain/references.ts';
import type { Money, PolicyRules } from '../../domain/policy.ts';
import type { Problem } from '../../domain/problems.ts';
import { minuteText } from '../../domain/waits.ts';
import { formatDuration, settlesBeforeMs } from '../../calendar/business-date.ts';
import { sentence } from '../../language/text/printable.ts';
import { clockOf, type Clock } from '../../domain/clock.ts';
import { capital, count, wrap, type Paint } from '../terminal/text.ts';
import { limitTexts, money, rateText } from './amount-text.ts';
import { closedDayLines } from './closed-days-text.ts';
import { costText, expectedTable } from './cost-text.ts';
import {
  decisionLines,
  leftOfBatchTable,
  leftTable,
  positionsTable,
  type PositionAndPaid,
} from './positions-text.ts';
import { availableIn, shortfallOf } from './shortfall-text.ts';

/** The document that `plan --json` prints, without the exit code. */
export type PlanDocument = {
  readonly run: string;
  readonly workflowId: string;
  readonly policy: { readonly name: string; readonly hash: string };
  readonly date: string;
  readonly zone: string;
  readonly sendWindows: {
    readonly opensAt: string;
    readonly tradesUntil: string;
    readonly withdrawalsUntil: string;
  };
  readonly legs: readonly {
    readonly id: string;
    readonly reference: string;
    readonly sell: string;
    readonly buy: string;
    /** The price guard in words; null without one. */
    readonly guard: string | null;
    readonly side: 'buy' | 'sell' | null;
    readonly amount: string | null;
    readonly why: string;
    /** `BUY per SELL` below which the guard refuses; null without a guard. */
    readonly worstRate: string | null;
    readonly available: string;
    /**
     * What it should bring, by a quote (`--quote`), otherwise by the reference rates, otherwise at the worst rate; null: not
     * known.
     */
    readonly expected: Expected | null;
    /** Why there is no quote though the person asked for one; null: there is one, or the person asked for none. */
    readonly noQuote: string | null;
  }[];
  /** Where each currency of a rebalancing stands, what decided its trades, and what is left; empty for other kinds. */
  readonly positions: readonly PositionAndPaid[];
  readonly payments: readonly {
    readonly id: string;
    readonly reference: string;
    readonly account: string;
    readonly currency: string;
    /** Null while it is not known: the trade decides it. */
    readonly amount: string | null;
    readonly why: string;
    readonly dependsOn: string | null;
  }[];
  /** What a payout pays, in sums; null for other kinds, whose payments are listed. */
  readonly batch: {
    readonly payments: number;
    readonly totals: readonly Money[];
    /** The sums that are funded and paid. The service already says that the rest cannot be paid. */
    readonly payable: readonly Money[];
  } | null;
  /** The records that the service already has under this run's name. The run adopts them and never repeats them. */
  readonly found: { readonly trades: readonly string[]; readonly withdrawals: readonly string[] };
  readonly problems: readonly Problem[];
  /** Things that a person should consider before the run. None of them stops it. */
  readonly remarks: readonly string[];
};

export function planDocument(
  plan: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
): PlanDocument {
  const { observation } = input;
  const shortfall = shortfallOf(plan, observation);
  return {
    run: runName(plan.run),
    workflowId: workflowIdOf(plan.credentials.mode, plan.run),
    policy: { name: plan.policy.name, hash: plan.policy.hash },
    date: plan.date,
    zone: plan.zone,
    sendWindows: {
      opensAt: new Date(plan.sendWindows.opensAtMs).toISOString(),
      tradesUntil: new Date(plan.sendWindows.tradesUntilMs).toISOString(),
      withdrawalsUntil: new Date(plan.sendWindows.withdrawalsUntilMs).toISOString(),
    },
    ...plan.rules,
    legs: plan.legs.map((leg) => ({
      id: leg.id,
      reference: leg.reference,
      sell: leg.sell,
      buy: leg.buy,
      side: leg.amount?.side ?? null,
      amount: leg.amount?.value ?? null,
      guard: leg.guard?.text ?? null,
      why: whyLeg(leg),
      worstRate: leg.guard?.bound ? worstRateOf(leg.guard.bound) : null,
      available: availableIn(observation, leg.sell),
      expected: expectation(leg, input, prices),
      noQuote: noQuoteOf(leg, prices),
    })),
    positions: positionsAndAfter(plan, input, prices),
    payments: plan.payments.map((payment) => ({
      id: payment.id,
      reference: payment.reference,
      account: payment.account,
      currency: payment.currency,
      amount: fixedAmountOf(payment),
      why: amountText(payment).why,
      dependsOn: payment.dependsOn,
    })),
    batch:
      plan.batch === null
        ? null
        : { payments: plan.batch.payments, totals: plan.batch.totals, payable: plan.batch.payable },
    found: {
      trades: observation.trades.map((trade) => trade.id),
      withdrawals: observation.withdrawals.map((withdrawal) => withdrawal.id),
    },
    problems: shortfall === null ? [] : [shortfall],
    remarks: remarksOf(plan, input),
  };
}

/** Things that a person should consider before the run. None of them stops it. */
function remarksOf(plan: Plan, { policy, referenceRates, observation }: CompileInput): readonly string[] {
  const { date, sendWindows, payments, batch, rules } = plan;
  const uncovered = notCovered(plan);
  const settledMs = settlesBeforeMs(date, rules.quote.settlement);
  const isLate = payments.length > 0 && settledMs > sendWindows.withdrawalsUntilMs - DAY_MS;
  return [
    ...(uncovered === null ? [] : [`${uncovered} The rest must already be there as a balance.`]),
    ...(isLate
      ? [
          `What is bought on ${date} and settles ${rules.quote.settlement} may come as late as ${minuteText(settledMs)}. That is less than a day before the last moment at which its payments may be sent, and with one holiday in between it comes too late. Run it earlier in the week.`,
        ]
      : []),
    ...farBounds(policy, referenceRates),
    ...(rules.unusualGuard === null
      ? []
      : [`The policy says why its guard is unusual: "${rules.unusualGuard}".`]),
    ...closedDayLines(plan),
    ...pastCutoffs(
      policy,
      (batch?.payable ?? []).map(({ currency }) => currency),
      observation.observedAtMs,
    ),
  ];
}

const DAY_MS = 86_400_000;

/** The plan for a person. */
export function explainPlan(
  plan: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
  { width, paint }: { readonly width: number; readonly paint: Paint },
): string {
  const { observation } = input;
  const shortfall = shortfallOf(plan, observation);
  const clock = clockOf(plan.zone, plan.madeAtMs);
  const sections: string[][] = [
    [
      `${paint.strong(`Plan of ${runName(plan.run)}`)} (${plan.credentials.mode.toLowerCase()}, workflow ${workflowIdOf(plan.credentials.mode, plan.run)})`,
      `The date is ${plan.date}, in ${plan.zone}, the time zone of the policy.`,
    ],
    ...nothingToSell(plan).map((line) => [line]),
    ...currencies(plan, width, paint),
    ...(plan.positions.length === 0
      ? plan.legs.map((leg) => explainLeg(leg, plan, input, prices, paint))
      : tradesOfRebalancing(plan, input, prices, width, paint)),
    afterwards(plan, input, prices, width, paint),
    ...plan.payments.map((payment) => explainPayment(payment, observation, paint)),
    plan.batch === null ? [] : [paint.strong('Batch'), ...explainBatch(plan.batch)],
    [
      paint.strong('Settlement'),
      ...(paysNothing(plan) ? [] : [SETTLED_BY[plan.rules.settle.until]]),
      `After ${formatDuration(plan.lateAfterMs.settlement)} the run says that the settlement is late, and goes on waiting.`,
    ],
    [
      paint.strong('When it may send'),
      `Nothing before ${clock.at(plan.sendWindows.opensAtMs)}, when the date begins.`,
      `Trades until ${clock.at(plan.sendWindows.tradesUntilMs)}: 2 h after the date ends, so that a plan of one day is not traded on the next.`,
      ...(paysNothing(plan) ? [] : [withdrawalsUntil(plan, clock)]),
    ],
    [
      paint.strong('References'),
      'Every trade and withdrawal carries its reference. Its idempotency key is made only from the reference, the mode and the organisation, and for a trade also from the quote. A run that is repeated, reset or started twice uses the same references and keys.',
    ],
    foundText(observation, paint),
    shortfall === null ? [] : [`${paint.warn(shortfall.code)}: ${shortfall.message} ${shortfall.fix}`],
    ...remarksOf(plan, input).map((remark) => [`${paint.warn('Note')}: ${clock.retold(remark)}`]),
  ];
  return sections
    .filter((section) => section.length > 0)
    .map(([head = '', ...rest]) =>
      [wrap(head, width), ...rest.map((line) => wrap(`  ${line}`, width, '  '))].join('\n'),
    )
    .join('\n\n');
}

function paysNothing({ payments, batch }: Plan): boolean {
  return payments.length === 0 && batch === null;
}

function explainBatch(batch: PlanBatch): readonly string[] {
  const { payments, totals } = batch;
  const sums = totals.map(({ currency, value }) => money(value, currency)).join(', ');
  const unpaid = unpayableOf(batch).length;
  const cannot =
    unpaid === 0
      ? []
      : [`Of these, ${unpaid} cannot be paid and would not be funded; they are listed below.`];
  return [`It has ${count(payments, 'payment')}: ${sums}.`, ...cannot];
}

function withdrawalsUntil({ sendWindows }: Plan, clock: Clock): string {
  return `Withdrawals until ${clock.at(sendWindows.withdrawalsUntilMs)}, within the 7 days for which the service remembers their keys.`;
}

const SETTLED_BY: Readonly<Record<PolicyRules['settle']['until'], string>> = {
  funds: 'Payments go out when the withdrawable balance covers them (`settle.until: funds`).',
  status: 'Payments go out when the service calls the trade settled (`settle.until: status`).',
};

function explainLeg(
  leg: Leg,
  plan: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
  paint: Paint,
): string[] {
  const amount =
    leg.amount === null
      ? `${leg.sell} for ${leg.buy}, amount not known`
      : leg.amount.side === 'sell'
        ? `sell ${money(leg.amount.value, leg.sell)} for ${leg.buy}`
        : `buy ${money(leg.amount.value, leg.buy)} for ${leg.sell}`;
  return [
    `${paint.strong(`Leg ${leg.id}`)}: ${amount}`,
    capital(sentence(whyLeg(leg))),
    `Reference: ${leg.reference}`,
    `Withdrawable now: ${money(availableIn(input.observation, leg.sell), leg.sell)}. ${shortfallText(plan.rules)}`,
    quoteText(plan.rules),
    ...priceLines(leg, plan, input, prices),
    guardText(leg),
    limitsText(plan.rules),
  ];
}

function shortfallText({ shortfall }: PolicyRules): string {
  return `If money is missing, ${shortfall === 'skip' ? 'the leg is not traded' : 'the leg waits for it'} (\`shortfall: ${shortfall}\`).`;
}

function quoteText({ quote }: PolicyRules): string {
  const { validForSeconds, settlement, maxQuotes } = quote;
  return `Quote: valid for ${validForSeconds} s, settles ${settlement}; at most ${maxQuotes} quotes, each under the same reference.`;
}

/** What is said of a quote, by the guard; empty where there is none. A policy that says why its guard is unusual has answered. */
function verdictOf(
  { guard }: Leg,
  { sellAmount, buyAmount }: Expected,
  { unusualGuard }: PolicyRules,
): string {
  const bound = guard?.bound ?? null;
  if (bound === null) return '';
  if (!keepsGuard(bound, sellAmount, buyAmount)) return ' The guard refuses it.';
  return TAKEN[unusualGuard === null ? distanceOf(bound, sellAmount, buyAmount) : 'near'];
}

/** What is said of a price that keeps the guard. */
const TAKEN: Readonly<Record<Distance, string>> = {
  near: ' The guard allows it.',
  far: ' The guard allows it, and would allow a price that is a fifth worse: see that you mean its rate.',
  unusual:
    ' The guard would allow a price that is ten times worse, and so any price. Nothing is traded, unless `guard.unusual` says why.',
  'upside down': ' The rate of the guard is inverted, so it would allow any price. Nothing is traded.',
};

/** The price of a leg now, and whether the guard takes it; without a quote, the expected price. */
function priceLines(
  leg: Leg,
  { rules }: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
): readonly string[] {
  const { sell, buy } = leg;
  const why = noQuoteOf(leg, prices);
  const none = why === null ? [] : [`No price now: ${why}`];
  const expected = expectation(leg, input, prices);
  if (expected === null) return none;
  const { by, sellAmount, buyAmount, rate, cost } = expected;
  const price = `${rateText(rate)} ${buy} per ${sell} (${money(buyAmount, buy)} for ${money(sellAmount, sell)})`;
  switch (by) {
    case 'reference rate':
      return [
        ...none,
        `Expected: ${price}, by the reference rates; only a quote tells what it costs (--quote).`,
      ];
    case 'worst rate':
      return none;
    case 'quote': {
      const verdict = verdictOf(leg, expected, rules);
      const costs = cost === null ? '' : ` It costs ${costText(cost)} against the reference rates.`;
      return [`Price now: ${price}, by a quote that is not traded.${verdict}${costs}`];
    }
  }
}

function expectation(
  leg: Leg,
  { decimalsOf }: CompileInput,
  prices: readonly IndicativePrice[],
): Expected | null {
  const price = prices.find((one) => one.leg === leg.id);
  return expectedOf(leg, price?.kind === 'quoted' ? price.sides : null, decimalsOf);
}

function noQuoteOf({ id }: Leg, prices: readonly IndicativePrice[]): string | null {
  const price = prices.find((one) => one.leg === id);
  return price?.kind === 'not quoted' ? price.why : null;
}

function positionsAndAfter(
  { positions, legs, batch }: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
): readonly PositionAndPaid[] {
  const trades = legs.flatMap((leg) => {
    const expected = expectation(leg, input, prices);
    return expected === null ? [] : [{ ...leg, ...expected }];
  });
  return positions.map((position) => {
    const after = leftOf(position, trades);
    const paid = batch?.payable.find(({ currency }) => currency === position.currency)?.value ?? '0';
    const left = after.projected === null ? null : subtract(after.projected, paid);
    return { ...position, after: { ...after, paid, left } };
  });
}

/** All legs in one table, then the facts that hold for all of them, told once, and what is left afterwards. */
function tradesOfRebalancing(
  plan: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
  width: number,
  paint: Paint,
): string[][] {
  const { legs } = plan;
  const [first] = legs;
  if (first === undefined) return [];
  const expected = legs.map((leg) => ({ leg, expected: expectation(leg, input, prices) }));
  const missing = legs.flatMap((leg) => {
    const why = noQuoteOf(leg, prices);
    return why === null ? [] : [`No quote for ${leg.id}: ${why}`];
  });
  const odd = expected.flatMap(({ leg, expected: price }) => {
    const verdict = price?.by === 'quote' ? verdictOf(leg, price, plan.rules) : '';
    return verdict === '' || verdict === TAKEN.near ? [] : [`The quote for ${leg.id}:${verdict}`];
  });
  return [
    [
      paint.strong('Trades'),
      ...expectedTable(expected, width - 2).split('\n'),
      expectedBy(
        expected.flatMap((one) => one.expected?.by ?? []),
        prices,
      ),
      ...missing,
      ...odd,
      ...legs.map(boundText),
      quoteText(plan.rules),
      shortfallText(plan.rules),
      limitsText(plan.rules),
      `Each trade has a reference of its own, such as ${first.reference}.`,
    ],
  ];
}

/** What is left when all is done; empty when nothing is traded or paid. */
function afterwards(
  plan: Plan,
  input: CompileInput,
  prices: readonly IndicativePrice[],
  width: number,
  paint: Paint,
): string[] {
  const { positions, legs, batch } = plan;
  if (positions.length === 0 || (legs.length === 0 && batch === null)) return [];
  const all = positionsAndAfter(plan, input, prices);
  const settled =
    'BALANCE is what is left after the sales; PROJECTED adds what is bought, once it has settled';
  return [
    paint.strong('Afterwards'),
    ...(batch === null ? leftTable(all, width - 2) : leftOfBatchTable(all, width - 2)).split('\n'),
    batch === null ? `${settled}.` : `${settled}; LEFT is what is left of PROJECTED once the batch is paid.`,
  ];
}

/** From what the numbers of a table of trades are computed. */
function expectedBy(all: readonly Expected['by'][], prices: readonly IndicativePrice[]): string {
  const by = [...new Set(all)].map((one) => EXPECTED_BY[one]);
  const more = prices.length === 0 ? ' With --quote the command asks the service for quotes.' : '';
  return `EXPECTED is by ${by.join(', else by ')}.${more}`;
}

const EXPECTED_BY: Readonly<Record<Expected['by'], string>> = {
  quote: 'quotes of this moment, which are not traded',
  'reference rate': 'the reference rates',
  'worst rate': 'the worst rates',
};

/** The lowest rate that the guard of a leg takes, in short. */
function boundText({ id, sell, buy, guard }: Leg): string {
  if (guard === null) return `${id}: no guard, any price is taken.`;
  if (guard.bound === null) return `${id}: nothing new is traded (${guard.text}).`;
  return `${id}: not traded below ${boundRateText(guard.bound)} ${buy} per ${sell} (${guard.text}).`;
}

/** The worst price that the guard takes, as a rate and as the amount of the other side. */
function guardText(leg: Leg): string {
  if (leg.guard === null) return 'Guard: none, any price is taken.';
  const { bound, text } = leg.guard;
  if (bound === null) return `Guard: ${text}: nothing new is traded.`;
  const base = `Guard: ${text}. A price below ${boundRateText(bound)} ${leg.buy} per ${leg.sell} is not traded; that price itself is.`;
  if (leg.amount === null) return base;
  return leg.amount.side === 'sell'
    ? `${base} For ${money(leg.amount.value, leg.sell)} at least ${money(divide(multiply(leg.amount.value, bound.sellFactor), bound.buyFactor, 12), leg.buy)} must come.`
    : `${base} For ${money(leg.amount.value, leg.buy)} at most ${money(divide(multiply(leg.amount.value, bound.buyFactor), bound.sellFactor, 12), leg.sell)} may go.`;
}

function boundRateText(bound: PriceBound): string {
  const rate = worstRateOf(bound);
  return `${equal(rateText(rate), rate) ? '' : 'about '}${rateText(rate)}`;
}

/** Bought ÷ sold at the worst price that the guard takes, with 12 significant digits. */
function worstRateOf(bound: PriceBound): string {
  return divide(bound.sellFactor, bound.buyFactor, 12);
}

function limitsText({ limits }: PolicyRules): string {
  if (limits === null) return 'Limits: none.';
  return `Limits: ${limitTexts(limits).join(', ')}; the amount is within them, and a quote beyond them is not traded.`;
}

function whyLeg({ amount, sell, why }: Leg): string {
  switch (why.kind) {
    case 'fixed':
      return `the amount is fixed by the policy (convert.amount.${amount?.side ?? 'sell'})`;
    case 'all above':
      return `all that is withdrawable, ${money(why.available, sell)}, less the ${money(why.keep, sell)} that the policy keeps`;
    case 'target':
      return `it brings ${why.currency} back to its target (see above)`;
    case 'found':
      return 'the amount is that of the trade that the service already has';
    case 'forgotten':
      return 'the amount was computed from balances that have changed since, and is not computed again: a person decides';
  }
}

/** The table of a rebalancing; empty for other kinds. */
function currencies({ positions, legs, batch }: Plan, width: number, paint: Paint): string[][] {
  if (positions.length === 0) return [];
  return [
    [
      paint.strong('Currencies'),
      ...positionsTable(positions, width - 2).split('\n'),
      ...decisionLines(positions),
      ...(legs.length > 0
        ? []
        : [
            batch === null
              ? 'Nothing is traded: the run would end as completed.'
              : 'Nothing has to be traded.',
          ]),
    ],
  ];
}

function nothingToSell({ notNeeded, payments }: Plan): readonly string[] {
  const outcome = payments.length === 0 ? ' The run would end as completed.' : '';
  return notNeeded.map(
    ({ sell, available, keep }) =>
      `There is nothing to sell: ${money(available, sell)} are withdrawable, and the policy keeps ${money(keep, sell)}.${outcome}`,
  );
}

function explainPayment(payment: Payment, observation: Observation, paint: Paint): string[] {
  const { what, why } = amountText(payment);
  const account = observation.accounts.find((record) => record.id === payment.account);
  const accountText =
    account === undefined
      ? 'The list of withdrawal accounts could not be read whole, so the account is not checked yet.'
      : `The account is registered${account.status === null ? '' : `, ${account.status}`}${account.currency === null ? '' : `, takes ${account.currency}`}.`;
  return [
    `${paint.strong(`Payment ${payment.id}`)}: ${what} to ${payment.account}`,
    capital(sentence(why)),
    `Reference: ${payment.reference}`,
    accountText,
    payment.dependsOn === null
      ? 'It depends on no leg.'
      : `It is paid only if leg ${payment.dependsOn} is traded.`,
  ];
}

/** The amount that is paid, and why it is this amount. */
function amountText({ amount, currency }: Payment): { readonly what: string; readonly why: string } {
  if (amount.kind === 'fixed')
    return { what: money(amount.value, currency), why: 'the amount is fixed by the policy' };
  const rounding = amount.rounding === 'down' ? 'down' : 'half to even';
  const rounded = `rounded ${rounding} to the ${amount.decimals} decimals of ${currency}; known after the trade`;
  switch (amount.kind) {
    case 'proceeds':
      return {
        what: `the proceeds in ${currency}`,
        why: `the amount is all that leg ${amount.leg} brings, ${rounded}`,
      };
    case 'rest':
      return {
        what: `the rest in ${currency}`,
        why: `the amount is all that leg ${amount.leg} brings, less the fixed payments, ${rounded}`,
      };
  }
}

function foundText(observation: Observation, paint: Paint): string[] {
  const { trades, withdrawals } = observation;
  if (trades.length === 0 && withdrawals.length === 0) return [];
  return [
    paint.strong('Already at the service with this reference'),
    ...trades.map((trade) => `Trade ${trade.id}, ${trade.status}: adopted, not repeated.`),
    ...withdrawals.map(
      (withdrawal) => `Withdrawal ${withdrawal.id}, ${withdrawal.status}: adopted, not repeated.`,
    ),
  ];
}
