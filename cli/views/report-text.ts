/** A report for people: sentences, tables, and one true sentence on how a run stands. Pure. */
import { amountText, decimalsOf } from '../../domain/currencies.ts';
import {
  isWorseThanPlanned,
  type Report,
  type ReportLeg,
  type ReportPayment,
  seenAs,
} from '../../domain/run/report.ts';
import type { Money } from '../../domain/policy.ts';
import type { Problem } from '../../domain/problems.ts';
import { safetyWaitSentence, type Waiting } from '../../domain/waits.ts';
import { isPlanned, leftOutOf, lookingIn, mainWait, type Progress } from '../../domain/run/progress.ts';
import { plain } from '../terminal/safe.ts';
import { sentence } from '../../language/text/printable.ts';
import { clockOf, type Clock } from '../../domain/clock.ts';
import { paragraphOf, count, table, wrap, type Paint } from '../terminal/text.ts';
import { cellMoney, money, rateText } from './amount-text.ts';
import { instructionLines } from './instruction-text.ts';
import { costsTable } from './cost-text.ts';
import { reasonsText } from './reason-text.ts';
import { decisionLines, positionsTable, settledTable } from './positions-text.ts';

/** The whole report. `uiUrl`: the run in the Temporal UI, null when its address is not known. */
export function reportText(options: {
  readonly report: Report;
  readonly uiUrl: string | null;
  readonly nowMs: number;
  readonly width: number;
  readonly paint: Paint;
}): string {
  const { width, paint, uiUrl } = options;
  const report = plain(options.report);
  const clock = clockOf(report.zone, options.nowMs);
  // In the order in which they are read, so that the first time names the zone.
  const sections = [
    [
      `${paint.strong(report.run)}: ${paintStatus(report.status, paint)}`,
      ...pastLines(report, clock).map((line) => wrap(line, width)),
    ].join('\n'),
    wrap(summarise(report, clock).join('\n'), width),
    positionsText(report, width),
    legsTable(report, width),
    costsText(report, width),
    leftText(report, width),
    paymentsTable(report, width),
    totalsTable(report, width),
    problemsText(report, width, clock),
    wrap(leftOutText(report), width),
    instructionsText(report, width, clock),
    uiUrl === null ? '' : `Temporal UI: ${uiUrl}`,
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function paintStatus(status: Report['status'], paint: Paint): string {
  if (status === 'COMPLETED') return paint.good(status);
  return status === 'RUNNING' ? status : status === 'HELD' ? paint.warn(status) : paint.bad(status);
}

/** The payments that the next start of an ended run pays again. Nobody's yes to something else should cover them unseen. */
export function openAgainLine(
  payments: readonly Pick<ReportPayment, 'id' | 'amount' | 'currency'>[],
): string {
  const named = payments
    .slice(0, MOST_OPEN)
    .map(({ id, amount, currency }) => `${id}${amount === null ? '' : `, ${money(amount, currency)}`}`);
  const more = payments.length > MOST_OPEN ? `; and ${payments.length - MOST_OPEN} more` : '';
  return `Also open: ${named.join('; ')}${more}. A person has said that ${payments.length === 1 ? 'it is' : 'they are'} paid again: the next start of the run does that.`;
}

/** So many payments are named. */
const MOST_OPEN = 5;

/** Who started the run, when it began and ended, and its resets. */
export function pastLines(
  { startedBy, startedAt, endedAt, resets }: Pick<Report, 'startedBy' | 'startedAt' | 'endedAt' | 'resets'>,
  clock: Clock,
): readonly string[] {
  const by = startedBy === null ? '' : ` by ${startedBy}`;
  const at = startedAt === null ? '' : ` at ${clock.atText(startedAt)}`;
  const ended = endedAt === null ? '' : `nded at ${clock.atText(endedAt)}.`;
  const started = by === '' && at === '' ? '' : `Started${by}${at}`;
  const first =
    started === ''
      ? ended === ''
        ? ''
        : `E${ended}`
      : ended === ''
        ? `${started}.`
        : `${started}, e${ended}`;
  return [...(first === '' ? [] : [first]), ...resets.map((reset) => resetLine(reset, clock))];
}

function resetLine({ at, eventId, why, before }: Report['resets'][number], clock: Clock): string {
  const isOpen = before === 'RUNNING' || before === 'HELD';
  const stood = before === null ? '' : isOpen ? `, while it was ${before}` : `, after it had ended ${before}`;
  const reason = why === null ? 'no reason was given' : `the reason given is "${why}"`;
  return `Reset at ${clock.atText(at)} to event ${eventId}${stood}; ${reason}.`;
}

/** One sentence per item. */
function summarise(report: Report, clock: Clock): string[] {
  const settled = seenAs('settled', report);
  const paid = seenAs('paid', report);
  const legs = report.legs.map((leg) => {
    const traded = `${money(leg.sellAmount, leg.sell)} for ${money(leg.buyAmount, leg.buy)}`;
    const lost = lostReply(report, leg.id, leg.tradeId);
    switch (leg.outcome) {
      case 'TRADED':
        return `Traded ${traded} at ${leg.rate === null ? '?' : rateText(leg.rate)} (trade ${leg.tradeId ?? '?'})${when(', made at ', leg.tradedAt, clock)}${settledText(leg, settled.get(leg.id), clock)}.${requotesText(report, leg)}${lost}`;
      case 'NOT_TRADED':
        return `Not traded: ${leg.sell} for ${leg.buy} (${leg.id}).`;
      case 'NEEDS_HUMAN':
        return `Needs a person: ${leg.sell} for ${leg.buy} (${leg.id}).`;
      case 'PENDING':
        return `${isInDoubt(report, leg) ? 'In doubt whether it was traded' : 'Not traded yet'}: ${leg.sell} for ${leg.buy} (${leg.id}).`;
    }
  });
  if (isLong(report)) return [...legs, `${countedText(report)}.`];
  const payments = report.payments.map((payment) => {
    const amount =
      payment.amount === null
        ? `what the trade leaves for it in ${payment.currency}`
        : money(payment.amount, payment.currency);
    const what = `${amount} to ${payment.account}`;
    const more = `${generationText(payment)}${lostReply(report, payment.id, payment.withdrawalId)}`;
    switch (payment.outcome) {
      case 'PAID':
        return `Paid ${what} (withdrawal ${payment.withdrawalId ?? '?'}, ${payment.status ?? '?'})${when(', sent at ', payment.sentAt, clock)}${when(', seen paid at ', paid.get(payment.id) ?? null, clock)}.${more}`;
      case 'NOT_PAID':
        return `Not paid: ${what} (${payment.id}).`;
      case 'NEEDS_HUMAN':
        return `Needs a person: ${what} (${payment.id}).`;
      case 'PENDING':
        return payment.withdrawalId === null
          ? `${isInDoubt(report, payment) ? 'In doubt whether it was sent' : 'Not sent yet'}: ${what} (${payment.id}).`
          : `Sent, not paid yet: ${what} (withdrawal ${payment.withdrawalId}, ${payment.status ?? '?'})${when(', sent at ', payment.sentAt, clock)}.${more}`;
    }
  });
  const all = [...legs, ...payments];
  if (all.length > 0) return all;
  return [NO_ITEMS[report.status]];
}

/** Empty where the time is not known. */
function when(words: string, utc: string | null, clock: Clock): string {
  return utc === null ? '' : `${words}${clock.atText(utc)}`;
}

/** True when an item may have been executed, so that a person must not do it by hand. */
function isInDoubt({ problems }: Report, { id }: { readonly id: string }): boolean {
  return problems.some(({ code, item }) => code === 'IN_DOUBT' && item === id);
}

/**
 * Up to this many payments are listed one by one. When there are more, only payments that are not paid are listed, and at
 * most this many.
 */
const SHOWN_PAYMENTS = 50;

function isLong({ payments }: Pick<Report, 'payments'>): boolean {
  return payments.length > SHOWN_PAYMENTS;
}

/** `1990 of 2000 payments are paid, 7 are not paid (5 wrong currency, 2 cancelled), 3 are in need of a person`. */
function countedText({ payments, problems }: Report): string {
  const of = (outcome: ReportPayment['outcome']): ReportPayment[] =>
    payments.filter((payment) => payment.outcome === outcome);
  const unpaid = of('NOT_PAID');
  const codes = new Map(problems.map(({ item, code }) => [item, code]));
  const why = reasonsText(
    unpaid.flatMap(({ id }) => codes.get(id) ?? []).map((code) => ({ code, payments: 1 })),
    unpaid.length,
  );
  const pending = of('PENDING');
  const sent = pending.filter(({ withdrawalId }) => withdrawalId !== null).length;
  const others: readonly (readonly [number, string])[] = [
    [unpaid.length, `not paid${why === '' ? '' : ` (${why})`}`],
    [of('NEEDS_HUMAN').length, 'in need of a person'],
    [sent, 'sent and not paid yet'],
    [pending.length - sent, 'not sent yet'],
  ];
  return [
    `${of('PAID').length} of ${payments.length} payments are paid`,
    ...others.flatMap(([number, what]) =>
      number === 0 ? [] : [`${number} ${number === 1 ? 'is' : 'are'} ${what}`],
    ),
  ].join(', ');
}

/** What to say of a run without legs and payments. */
const NO_ITEMS: Readonly<Record<Report['status'], string>> = {
  COMPLETED: 'There was nothing to do.',
  PARTIAL: 'Nothing was planned.',
  FAILED: 'Not started: no plan could be made. Nothing was sent.',
  CANCELLED: 'It was cancelled before there was a plan. Nothing was sent.',
  HELD: 'There is no plan yet. Nothing was sent.',
  RUNNING: 'There is no plan yet. Nothing was sent.',
  TERMINATED: 'It was ended in Temporal before there was a plan. Nothing was sent.',
  TIMED_OUT: 'It was ended in Temporal before there was a plan. Nothing was sent.',
};

/** @param seenAt when the run saw that it is settled; undefined: it was settled when the run found it */
function settledText({ settled }: ReportLeg, seenAt: string | undefined, clock: Clock): string {
  if (settled === true)
    return seenAt === undefined ? ', settled' : `, seen settled at ${clock.atText(seenAt)}`;
  return settled === false ? ', will not settle' : '';
}

/** The quotes that the service gave for a leg, newest last, as far as this Temporal run knows them. */
function quotesOf({ evidence }: Report, { id }: ReportLeg) {
  return evidence.flatMap(({ item, quote }) => (item === id && quote !== null ? [quote] : []));
}

/** How often a quote could not be traded and another one was asked for; empty where the first one was traded. */
function requotesText(report: Report, leg: ReportLeg): string {
  const requotes = quotesOf(report, leg).length - 1;
  return requotes < 1 ? '' : ` It was quoted again ${requotes === 1 ? 'once' : `${requotes} times`}.`;
}

/** The positions from which a rebalancing was planned, and why it traded what it did. */
function positionsText({ positions }: Report, width: number): string {
  if (positions.length === 0) return '';
  const why = decisionLines(positions).map((line) => wrap(line, width));
  return [wrap('When it was planned:', width), positionsTable(positions, width), ...why].join('\n');
}

/** What is left after the trades of a rebalancing; empty for a batch, which pays away what its trades bring. */
function leftText({ positions, totals }: Report, width: number): string {
  if (positions.length === 0 || totals.length > 0) return '';
  return [wrap('Once what it traded has settled:', width), settledTable(positions, width)].join('\n');
}

/** What was planned, quoted and traded, and what that cost; empty where there are no reference rates. */
function costsText(report: Report, width: number): string {
  if (report.legs.every(({ cost }) => cost === null)) return '';
  const rows = report.legs.map((leg) => {
    const quoted = quotesOf(report, leg);
    const traded = quoted.find(({ id }) => id === leg.quoteId) ?? null;
    return { leg, traded };
  });
  return [wrap('Costs against the reference rates:', width), costsTable(rows, width)].join('\n');
}

function legsTable(report: Report, width: number): string {
  if (report.legs.length === 0) return '';
  return table(
    [
      { title: 'LEG' },
      { title: 'SELL', right: true },
      { title: 'BUY', right: true },
      { title: 'RATE', right: true },
      { title: 'OUTCOME' },
    ],
    report.legs.map((leg) => [
      leg.id,
      cellMoney(leg.sellAmount, leg.sell),
      cellMoney(leg.buyAmount, leg.buy),
      leg.rate === null ? '-' : rateText(leg.rate),
      leg.outcome,
    ]),
    width,
  );
}

function paymentsTable(report: Report, width: number): string {
  if (report.payments.length === 0 || isLong(report)) return '';
  return table(
    [
      { title: 'PAYMENT' },
      { title: 'AMOUNT', right: true },
      { title: 'ACCOUNT' },
      { title: 'OUTCOME' },
      { title: 'WITHDRAWAL' },
    ],
    report.payments.map((payment) => [
      payment.id,
      money(payment.amount, payment.currency),
      payment.account,
      payment.outcome,
      payment.withdrawalId ?? '-',
    ]),
    width,
  );
}

function totalsTable(report: Report, width: number): string {
  if (report.totals.length === 0) return '';
  return table(
    [
      { title: 'TOTAL' },
      { title: 'PLANNED', right: true },
      { title: 'PAID', right: true },
      { title: 'NOT PAID', right: true },
      { title: 'NEEDS A PERSON', right: true },
    ],
    report.totals.map((total) => {
      const { currency } = total;
      const cell = (amount: string, outcome: ReportPayment['outcome'] | null): string =>
        totalText(report, currency, amount, outcome);
      return [
        currency,
        cell(total.planned, null),
        cell(total.paid, 'PAID'),
        cell(total.notPaid, 'NOT_PAID'),
        cell(total.needsHuman, 'NEEDS_HUMAN'),
      ];
    }),
    width,
  );
}

/** A sum. It names payments of proceeds whose amount is not known yet, because that amount is not 0. */
function totalText(
  report: Report,
  currency: string,
  amount: string,
  outcome: ReportPayment['outcome'] | null,
): string {
  const unknown = report.payments.filter(
    (payment) =>
      payment.currency === currency &&
      payment.amount === null &&
      (outcome === null || payment.outcome === outcome),
  );
  const known = amountText(amount, decimalsOf(currency, {}));
  if (unknown.length === 0) return known;
  return /^0(\.0*)?$/.test(amount) ? 'proceeds' : `${known} + proceeds`;
}

/** The generation of a payment that was issued again; empty for the first. */
function generationText({ reference }: ReportPayment): string {
  const [, generation] = /~(\d+)$/.exec(reference) ?? [];
  return generation === undefined ? '' : ` It is generation ${generation} of this payment: ${reference}.`;
}

/**
 * Says that a reply was lost, and that nothing was sent twice because of it. People who watched the service want to
 * know that.
 */
function lostReply({ evidence }: Report, item: string, recordId: string | null): string {
  if (recordId === null) return '';
  const sends = evidence.filter(
    ({ item: of, call }) => of === item && (call === 'send trade' || call === 'send withdrawal'),
  );
  const lost = sends.findLastIndex(({ result }) => result === NO_ANSWER);
  if (lost === -1) return '';
  return sends.slice(lost + 1).some(({ result }) => result === SUCCESS)
    ? ' A reply was lost. The service gave it again for the same request under the same key, and nothing was sent twice.'
    : ' A reply was lost. The run found at the service what had been done, and sent nothing twice.';
}

/** The name of this result in the evidence of a call (`nameOf`). */
const NO_ANSWER = 'NO_ANSWER';
const SUCCESS = 'success';

/**
 * The problems, the rarest kind first. Where many items have the same one, their advice stands once above them. Of many
 * payments only the first of each kind are shown.
 */
function problemsText(report: Report, width: number, clock: Clock): string {
  const kinds = new Map<string, Problem[]>();
  for (const problem of report.problems) {
    const key = JSON.stringify([problem.code, problem.fix]);
    kinds.set(key, [...(kinds.get(key) ?? []), problem]);
  }
  const isOfMany = isLong(report);
  const most = isOfMany ? Math.max(FEWEST_OF_A_KIND, Math.floor(SHOWN_PAYMENTS / kinds.size)) : Infinity;
  const payments = new Map(report.payments.map((payment) => [payment.id, payment]));
  return [...kinds.values()]
    .toSorted((a, b) => a.length - b.length)
    .map((problems) => {
      const [only] = problems;
      const isTable = problems.length > 1 || (isOfMany && payments.has(only?.item ?? ''));
      if (isTable || only === undefined) return kindText(problems, { payments, most, width, clock });
      const { code, item: place, message, fix } = only;
      return paragraphOf({ code, place, message: clock.retold(message), fix: clock.retold(fix) }, width);
    })
    .join('\n');
}

/** At least so many of each kind are shown. */
const FEWEST_OF_A_KIND = 3;

function kindText(
  problems: readonly Problem[],
  {
    payments,
    most,
    width,
    clock,
  }: {
    readonly payments: ReadonlyMap<string, ReportPayment>;
    readonly most: number;
    readonly width: number;
    readonly clock: Clock;
  },
): string {
  const [first] = problems;
  if (first === undefined) return '';
  const noun = problems.every(({ item }) => payments.has(item ?? '')) ? 'payment' : 'item';
  const more = problems.length - most;
  return [
    wrap(`${count(problems.length, noun)}, ${first.code}: ${clock.retold(sentence(first.fix))}`, width),
    ...problems.slice(0, most).map(({ item, message }) => {
      const payment = payments.get(item ?? '');
      const what = payment === undefined ? '' : `${whatOf(payment)}. `;
      return wrap(`  ${item ?? 'the run'}: ${what}${clock.retold(sentence(message))}`, width, '    ');
    }),
    ...(more > 0 ? [`  and ${more} more (--json has them all)`] : []),
  ].join('\n');
}

function whatOf({ outcome, amount, currency, account }: ReportPayment): string {
  return `${outcome}, ${money(amount, currency)} to ${account}`;
}

/** Who decided what; empty when no person has said anything. */
function instructionsText(report: Report, width: number, clock: Clock): string {
  const lines = instructionLines(report, clock).map((line) => wrap(`  ${line}`, width, '    '));
  return lines.length === 0 ? '' : ['Said by people:', ...lines].join('\n');
}

/** What would unblock a wait: the advice of its problem, and a command where a person must decide. */
export function unblocking(report: Report, { reason, problem }: Waiting): string {
  const advice = sentence(problem.fix);
  if (reason !== 'person' || problem.item === null) return advice;
  const command = `npx cambist resolve ${report.run} ${problem.item}`;
  if (!isWorseThanPlanned(problem)) return `${advice} Decide: ${command} (--executed ID or --not-executed).`;
  const tradeId = report.legs.find(({ id }) => id === problem.item)?.tradeId ?? 'TRADE_ID';
  return `${advice} To accept it: ${command} --accept ${tradeId} --evidence TEXT --by NAME.`;
}

/**
 * One true sentence: the state, when the run looks again, and what would unblock it.
 * @param clock of the message in which it stands; absent: it stands alone
 */
export function statusSentence(
  report: Report,
  progress: Progress,
  nowMs: number,
  clock = clockOf(report.zone, nowMs),
): string {
  return tellStatus(plain(report), plain(progress), nowMs, clock);
}

function tellStatus(report: Report, progress: Progress, nowMs: number, clock: Clock): string {
  const counted = doneText(report, progress);
  const wait = mainWait(progress);
  const cancelled = cancelText(progress);
  switch (report.status) {
    case 'HELD':
    case 'RUNNING': {
      const isHeld = report.status === 'HELD';
      if (wait === null && !isHeld) return runningText(report, progress, counted);
      const how = isHeld ? 'is held' : 'is waiting';
      const told = `${report.run} ${cancelled === null ? how : `is ${cancelled}, and ${how}`} (${counted})`;
      if (wait === null) return `${told}.`;
      const by = isHeld ? ` by ${wait.problem.code}` : '';
      const since = wait.sinceMs === undefined ? '' : ` since ${clock.at(wait.sinceMs)}`;
      const why = `${told}${by}${since}: ${clock.retold(unstopped(wait.problem.message))}`;
      if (wait.safeAtMs !== undefined)
        return `${why}; ${clock.retold(safetyWaitSentence(wait.problem, wait.safeAtMs, nowMs))}${ofBatch(progress)}`;
      const again = wait.wakeAtMs > nowMs ? `; it looks again by itself at ${clock.at(wait.wakeAtMs)}` : '';
      // When the advice is to do nothing, it also says what follows by itself, so the sentence does not repeat that.
      const advice = clock.retold(unblocking(report, wait));
      const others = ofBatch(progress);
      return isNothingToDo(wait.problem.fix)
        ? `${why}${again}, nothing to do.${others}`
        : `${why}${again}. ${advice}${others}`;
    }
    case 'COMPLETED':
      return `${report.run} is completed (${counted}); there is nothing left to do.`;
    case 'PARTIAL':
    case 'FAILED':
    case 'CANCELLED':
    case 'TERMINATED':
    case 'TIMED_OUT': {
      const [problem] = report.problems;
      const isOfPayments = progress.batch !== null && problem?.item === 'payments';
      const advice = problem === undefined ? '' : ` ${sentence(problem.fix)}`;
      const why =
        problem === undefined || (isOfPayments && problem.code !== 'BATCH_STOPPED')
          ? ''
          : ` ${problem.code}: ${sentence(problem.message)}${isOfPayments ? '' : advice}`;
      return `${report.run} ended ${report.status} (${counted}).${clock.retold(`${why}${ofBatch(progress)}${toBringText(progress.batch?.leftOut ?? [])}${isOfPayments ? advice : ''}`)}`;
    }
  }
}

/** A run that waits for nothing that people should know. */
function runningText({ run }: Report, progress: Progress, counted: string): string {
  const cancelled = cancelText(progress);
  const current = progress.items.find(({ step }) => !/^(made|TRADED|PAID|NOT_)/.test(step));
  const doing = current === undefined ? 'about to end' : `${current.id}: ${current.step}`;
  return cancelled === null
    ? `${run} is running (${counted}); now ${doing}.`
    : `${run} is ${cancelled} (${counted}): what is under way ends first; now ${doing}.`;
}

/**
 * Why payments of a batch are not paid, and what payments of it wait for where they wait for several things: how many for
 * each. Empty where there is nothing to say.
 */
function ofBatch({ batch }: Progress): string {
  if (batch === null) return '';
  const { counts, unpaid, held } = batch;
  const waiting = held.reduce((sum, { payments }) => sum + payments, 0);
  const isMixed = new Set(held.map(({ code }) => code)).size > 1;
  return [
    ...(counts.notPaid === 0 || unpaid.length === 0
      ? []
      : [` ${counts.notPaid} not paid: ${reasonsText(unpaid, counts.notPaid)}.`]),
    ...(isMixed ? [` ${waiting} wait: ${reasonsText(held, waiting)}.`] : []),
  ].join('');
}

/** The money that a report of a run that has ended asks for; empty where the plan had left out nothing. */
function leftOutText(report: Report): string {
  const isOver = report.status === 'PARTIAL' || report.status === 'FAILED';
  return isOver ? toBringText(leftOutOf(report)).trimStart() : '';
}

/** The money to bring before what the plan had left out is tried again; empty where nothing was left out. */
function toBringText(leftOut: readonly Money[]): string {
  const sums = leftOut.map(({ value, currency }) => money(value, currency)).join(', ');
  return sums === ''
    ? ''
    : ` The plan left some of these out, and its trades buy no money for them. Bring in up to ${sums} for those that you mend, then reset the run.`;
}

/** `being cancelled by ana`; null when the run is not being cancelled, or has ended. */
function cancelText({ cancel }: Progress): string | null {
  if (cancel === undefined) return null;
  return cancel.by === null ? 'being cancelled' : `being cancelled by ${cancel.by}`;
}

/**
 * How much is done. For a batch whose payments were not read one by one, the batch's counts tell it; before there is a plan,
 * the number of submitted payments.
 */
function doneText(report: Report, progress: Progress): string {
  const { batch, submitted } = progress;
  if (!isPlanned(progress))
    return submitted === undefined ? 'no plan yet' : `no plan yet, ${count(submitted, 'payment')} submitted`;
  const items = [...report.legs, ...(batch === null ? report.payments : [])];
  const done = items.filter((item) => item.outcome === 'TRADED' || item.outcome === 'PAID').length;
  const { planned = 0, paid = 0 } = batch?.counts ?? {};
  const all = items.length + planned;
  if (all === 0) return 'no item';
  const counted = `${done + paid} of ${count(all, 'item')} done`;
  const looking = lookingIn(progress);
  return looking === 0 ? counted : `looking: ${counted} as far as seen, ${looking} to be looked up`;
}

/** True for an advice which only says that the run goes on by itself. */
function isNothingToDo(fix: string): boolean {
  return fix.startsWith('Nothing to do');
}

function unstopped(text: string): string {
  return text.replace(/\.$/, '');
}
