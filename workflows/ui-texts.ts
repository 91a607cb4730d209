/**
 * What the Temporal UI shows of a run, for people who have never read this program: a line beside each
 * activity and timer, and the current details in Markdown. Their times are in the policy's zone, once the plan has told it. Pure.
 */
import { keptClockOf } from '../domain/clock.ts';
import { moneyText } from '../domain/currencies.ts';
import type { Leg } from '../domain/plan/plan.ts';
import { runName, type RunName } from '../domain/references.ts';
import { goOnCommand } from '../domain/replacement.ts';
import type {
  LegCall,
  PaymentsCall,
  SettlementCall,
  TradedCall,
  WithdrawalsCall,
} from '../domain/run/calls.ts';
import { legOutcome, paymentOutcome, tradeOf } from '../domain/run/items.ts';
import { isRefusedAgain, withNames, type Problem } from '../domain/problems.ts';
import {
  countsOf,
  heldIn,
  heldOf,
  leftOutIn,
  mergedHeld,
  unpaidOf,
  type Held,
  type Unpaid,
} from '../domain/run/chunk-state.ts';
import { leadingWait, missingIn } from '../domain/run/missing.ts';
import { lookingText, unseenOf } from '../domain/run/progress.ts';
import { leftIn, makeReport, shownWaits, statusOf } from '../domain/run/report.ts';
import type { RunState } from '../domain/run/state.ts';
import { shownFirst, type WaitReason, type Waiting, minuteText } from '../domain/waits.ts';
import { adviceOf, meaningOf } from '../domain/writes/step.ts';

/** The details show at most this many waits or problems, and this many items. The report shows all of them. */
const MOST_LINES = 20;
/** Temporal takes 400 bytes beside an activity or a timer. */
const LONGEST_SUMMARY = 160;

/** @param isCancelled the run is cancelled: the call sends nothing new, and finds out whether anything was sent before */
export function summaryOfQuote(call: LegCall | TradedCall, isCancelled: boolean): string {
  const what = whatIsTraded(call.leg);
  if ('traded' in call) return `See whether a person has accepted the trade of ${what}`;
  const { doubt, phase } = call.state;
  if (doubt !== null) return `Safety wait: look whether ${what} was traded`;
  if (isCancelled || call.unwanted !== null || phase.kind === 'refused') return endOfLeg(what);
  return phase.kind === 'spent' ? `Look whether ${what} was traded` : `Price for ${what}`;
}

/** @param isCancelled as in `summaryOfQuote` */
export function summaryOfTrade({ leg, unwanted }: LegCall, isCancelled: boolean): string {
  const what = whatIsTraded(leg);
  return isCancelled || unwanted !== null ? endOfLeg(what) : `Trade ${what}`;
}

function endOfLeg(what: string): string {
  return `Record ${what} as not traded, unless the service shows a trade`;
}

/** @param isCancelled as in `summaryOfQuote`; a chunk of a batch does not know whether its run is cancelled */
export function summaryOfPayments({ items }: PaymentsCall, isCancelled = false): string {
  const [first] = items;
  if (first === undefined) return 'Pay nothing';
  const { id, account, currency } = first.payment;
  if (isCancelled || items.every(({ wanted }) => wanted.unwanted !== null))
    return items.length > 1
      ? `Record ${items.length} payments as not paid, unless they were sent, ${id} first`
      : `Record ${id} as not paid, unless it was sent`;
  if (items.length > 1) return `Pay ${items.length} payments, ${id} first`;
  const amount = first.wanted.amount === null ? currency : moneyText(first.wanted.amount, currency);
  return short(`Pay ${id} ${amount} to ${account}`);
}

export function summaryOfSettlement({ leg, currency }: SettlementCall): string {
  return `Until the ${currency} of ${leg} have come`;
}

export function summaryOfWithdrawals({ items }: WithdrawalsCall): string {
  const [first] = items;
  if (items.length === 1 && first !== undefined) return `Until ${first.id} is paid`;
  return `Until ${items.length} payments are paid`;
}

/** For what an item waits, behind "waits for". */
const WAITS_FOR: Readonly<Record<WaitReason, string>> = {
  halt: 'a person who types `resume`',
  person: 'a person',
  approval: 'people who approve it',
  configuration: 'a configuration',
  outage: 'the service or a worker that is away',
  money: 'money',
  doubt: 'the end of a doubt',
  settlement: 'settlement',
  turn: 'its turn',
  sale: 'a sale of its run',
  opening: 'its date',
  service: 'the service',
};

/**
 * The text beside a timer. The newest timer stands on the first page of a workflow, also where no worker answers. So while the
 * workflow is held, its text first says for what. It names no account.
 * @param why what the timer is for
 * @param nowMs when it starts
 */
export function summaryOfTimer(state: RunState, why: string, nowMs: number): string {
  const told = keptClockOf(state.plan?.zone ?? null, nowMs).retold(why);
  if (statusOf(state) !== 'HELD') return told;
  const [first] = shownFirst(shownWaits(state));
  // A settlement that comes in good time holds nothing up.
  if (first === undefined || first.problem.code === 'AWAITING_SETTLEMENT') return told;
  return short(`HELD: ${heldBy(state, first)}. ${told}`);
}

function heldBy(state: RunState, { reason, problem: { code, item } }: Waiting): string {
  const held = mergedHeld([...heldIn(state.payments), ...heldOf(state.chunks)]);
  const same = held.filter((row) => row.reason === reason);
  const payments = paymentsOf(same);
  const more = paymentsOf(held) - payments;
  const only = state.payments.find(({ waiting }) => waiting?.reason === reason)?.payment.id ?? '1 payment';
  const who = payments > 1 ? `${payments} payments wait` : `${payments === 1 ? only : (item ?? 'it')} waits`;
  const what =
    reason === 'money' && payments > 0
      ? missingIn([], same)
          .map(({ needed, currency }) => moneyText(needed, currency))
          .join(' and ')
      : `${WAITS_FOR[reason]} (${code})`;
  return `${who} for ${what}${more === 0 ? '' : `; ${more} more wait`}`;
}

function paymentsOf(held: readonly Held[]): number {
  return held.reduce((sum, { payments }) => sum + payments, 0);
}

/** What a run that has ended has left undone, and what a person can do then. */
export function endOf(state: RunState): string {
  const { legs, payments, chunks, run } = state;
  const outcomes = [...legs.map(legOutcome), ...payments.map(paymentOutcome)];
  const { planned, paid } = countsOf(chunks);
  const done = outcomes.filter((outcome) => outcome === 'TRADED' || outcome === 'PAID').length + paid;
  const all = outcomes.length + planned;
  const isCancelled = statusOf(state) === 'CANCELLED';
  if (done === all && leftIn(state).length > 0)
    return `Ended: ${all === 0 ? 'no trade was planned' : 'every trade of the plan is made'}, and not every currency is at its target. Once the cause is mended, a run under another id computes from the balances at that time. The whole report: \`npx cambist report ${runName(run)}\`.`;
  const what =
    done === 0
      ? `nothing was traded or paid of ${all} item${all === 1 ? '' : 's'}`
      : `${done} of ${all} items ${done === 1 ? 'is' : 'are'} done, the others are not`;
  const next = isCancelled
    ? `What was cancelled is not sent until a person types \`${goOnCommand(run)}\`; where another run has taken its place, it never is.`
    : isRefusedAgain(makeReport(state).problems)
      ? 'A reset would end in the same way: the report says beside each problem what helps.'
      : `Mend the cause, then type \`npx cambist replay ${runName(run)}\`, or press Reset and choose any event: what is not done is tried again, nothing is traded or paid twice.`;
  return `${isCancelled ? 'Cancelled' : 'Ended'}: ${what}. ${next} The whole report: \`npx cambist report ${runName(run)}\`.`;
}

const BEING_CANCELLED =
  ', being cancelled: what is under way ends first. Nothing more is sent until a person types `--go-on`; where another run takes its place, nothing ever is.';

/**
 * How each leg and payment stands, what the run waits for, and which command to type.
 * @param isAgain the run was started or reset once more
 * @param nowMs when they are written
 */
export function detailsOf(state: RunState, isAgain: boolean, nowMs: number): string {
  const { run, legs, payments, chunks } = state;
  const status = statusOf(state);
  const waits = waitsToShow(state);
  const rows = [
    ...legs.map((record) => {
      const traded = tradeOf(record);
      const { id, sell, buy } = record.leg;
      const what =
        traded === null
          ? whatIsTraded(record.leg)
          : `${moneyText(traded.sellAmount, sell)} → ${moneyText(traded.buyAmount, buy)}`;
      return [id, what, legOutcome(record)];
    }),
    ...payments.map((record) => {
      const { id, account, currency } = record.payment;
      const amount = record.amount === null ? currency : moneyText(record.amount, currency);
      return [id, `${amount} to ${account}`, paymentOutcome(record)];
    }),
  ];
  const { planned, accepted, paid, notPaid, needsHuman } = countsOf(chunks);
  if (planned > 0)
    rows.push([
      'batch',
      `${planned} payments: ${lookingText(unseenOf(state, chunks, isAgain), { planned })}${accepted} accepted, ${paid} paid, ${notPaid} not paid, ${needsHuman} need a person`,
      paid === planned ? 'PAID' : '',
    ]);
  const isUndone = state.ended && status !== 'COMPLETED';
  const { retold } = keptClockOf(state.plan?.zone ?? null, nowMs);
  const whys = isUndone ? makeReport(state).problems.map(problemLine) : waits.map(waitLine);
  return [
    `**${status}**${state.cancelled && !state.ended ? BEING_CANCELLED : ''}`,
    ...(isUndone ? ['', endOf(state), ''] : []),
    ...bounded(whys, 'lines').map(retold),
    ...unpaidInBatch(state).map((line) => retold(`- ${asMarkdown(line)}`)),
    ...(rows.length === 0 ? [] : ['', '| item | what | outcome |', '| - | - | - |']),
    ...bounded(
      rows.map((cells) => `| ${cells.join(' | ')} |`),
      'items',
    ),
    '',
    'How it stands, and what to do:',
    '',
    '```sh',
    `npx cambist status ${runName(run)}`,
    '```',
  ].join('\n');
}

/** The most important first. Where a batch waits for money, one line tells the sums that are missing. */
function waitsToShow(state: RunState): readonly Waiting[] {
  const waits = shownFirst(shownWaits(state));
  const first = state.chunks.length === 0 ? null : leadingWait(waits, heldOf(state.chunks));
  return first?.reason === 'money' ? [first, ...waits.filter(({ reason }) => reason !== 'money')] : waits;
}

/**
 * The codes with which payments of a batch have ended unpaid, the most frequent ones first: how many payments
 * each, and what to do.
 */
export function unpaidInBatch({ chunks, stopped, run, plan }: RunState): readonly string[] {
  const lines = unpaidLines(run, unpaidOf(chunks), countsOf(chunks).notPaid, stopped);
  const leftOut = leftOutIn(chunks, plan?.batch ?? null).map(({ value, currency }) =>
    moneyText(value, currency),
  );
  const toBring =
    leftOut.length === 0
      ? []
      : [
          `The trades of the plan buy no money for the payments that it left out. Bring in up to ${leftOut.join(', ')} for those that you mend, then reset.`,
        ];
  return lines.length === 0
    ? []
    : [...lines, ...toBring, `All of them, one by one: \`npx cambist report ${runName(run)}\`.`];
}

const MOST_UNPAID = 8;

/**
 * @param notPaid how many payments were not paid, also those whose code is not known
 * @param stopped why nothing more is sent; null: nothing has stopped the batch
 */
export function unpaidLines(
  run: RunName,
  unpaid: readonly Unpaid[],
  notPaid: number,
  stopped: Problem | null = null,
): readonly string[] {
  const shown = unpaid.slice(0, MOST_UNPAID);
  const others = notPaid - shown.reduce((sum, { payments }) => sum + payments, 0);
  return [
    ...shown.map(({ code, payments }) => {
      const why = code === stopped?.code ? stopped.message : meaningOf(code);
      return `\`${code}\` ${paymentsText(payments)}: ${why} ${withNames(adviceOf(code), run)}`;
    }),
    ...(others > 0 && unpaid.length > 0 ? [othersText(others)] : []),
  ];
}

function othersText(number: number): string {
  return number === 1 ? '1 more payment is not paid.' : `${number} more payments are not paid.`;
}

function paymentsText(number: number): string {
  return number === 1 ? '1 payment' : `${number} payments`;
}

function problemLine({ code, item, message, fix }: Problem): string {
  const whose = item === null ? '' : `${item}: `;
  return `- \`${code}\` ${whose}${asMarkdown(`${message} ${fix}`)}`;
}

/** What waits, since when, and when the run looks again; times are in UTC. */
export function waitLine({ problem, wakeAtMs, sinceMs, reason, safeAtMs }: Waiting): string {
  const since = sinceMs === undefined ? '' : ` Since ${minuteText(sinceMs)}.`;
  // A run that waits for settlement asks the service every few seconds, so no time is shown. The problem of a safety wait says
  // when the wait ends.
  const next =
    reason === 'settlement' || safeAtMs !== undefined ? '' : ` Looks again at ${minuteText(wakeAtMs)}.`;
  return `${problemLine(problem)}${since}${next}`;
}

function bounded(lines: readonly string[], what: string): readonly string[] {
  const more = lines.length - MOST_LINES;
  return more <= 0
    ? lines
    : [...lines.slice(0, MOST_LINES), '', `And ${more} more ${what}; the report shows all of them.`];
}

/** Writes commands and options as code, because Markdown would turn `--` into a dash. Code stays as it is. */
export function asMarkdown(text: string): string {
  return text
    .split('`')
    .map((part, index) =>
      index % 2 === 1
        ? `\`${part}\``
        : part.replaceAll(/npx cambist(?: [\w./…-]+)+|--[a-z][a-z-]*(?: [A-Z]+\b)?/g, '`$&`'),
    )
    .join('');
}

function short(text: string): string {
  return text.length <= LONGEST_SUMMARY ? text : `${text.slice(0, LONGEST_SUMMARY - 1)}…`;
}

function whatIsTraded({ sell, buy, amount }: Leg): string {
  if (amount === null) return `${sell} → ${buy}`;
  return amount.side === 'sell'
    ? `${moneyText(amount.value, sell)} → ${buy}`
    : `${sell} → ${moneyText(amount.value, buy)}`;
}
