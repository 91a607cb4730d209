/** A report for people: sentences, tables, and the one sentence of truth about where a run stands. Pure. */
import type { Report, Waiting } from '../domain/report.ts';
import type { Hold, Problem } from '../domain/stepper.ts';
import type { Progress } from '../workflows/names.ts';
import { plain } from './safe.ts';
import { paragraphOf, clockTime, count, sentence, table, wrap, type Paint } from './text.ts';
import { instructionLines } from './instruction-text.ts';

/** The whole report. `uiUrl`: the run in the Temporal UI, null when its address is not known. */
export function reportText(options: {
  readonly report: Report;
  readonly uiUrl: string | null;
  readonly width: number;
  readonly paint: Paint;
}): string {
  const { width, paint, uiUrl } = options;
  const report = plain(options.report);
  const sections = [
    [
      `${paint.strong(report.run)}: ${paintStatus(report.status, paint)}`,
      ...(report.startedBy === null ? [] : [wrap(`Started by ${report.startedBy}.`, width)]),
    ].join('\n'),
    wrap(summarise(report).join('\n'), width),
    legsTable(report, width),
    paymentsTable(report, width),
    totalsTable(report, width),
    problemsText(report, width),
    instructionsText(report, width),
    uiUrl === null ? '' : `Temporal UI: ${uiUrl}`,
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

function paintStatus(status: Report['status'], paint: Paint): string {
  if (status === 'COMPLETED') return paint.good(status);
  return status === 'RUNNING' ? status : status === 'HELD' ? paint.warn(status) : paint.bad(status);
}

/** One sentence per item. */
function summarise(report: Report): string[] {
  const legs = report.legs.map((leg) => {
    const traded = `${leg.sellAmount ?? '?'} ${leg.sell} for ${leg.buyAmount ?? '?'} ${leg.buy}`;
    switch (leg.outcome) {
      case 'TRADED':
        return `Traded ${traded} at ${leg.rate ?? '?'} (trade ${leg.tradeId ?? '?'})${settledText(leg.settled)}.`;
      case 'NOT_TRADED':
        return `Not traded: ${leg.sell} for ${leg.buy} (${leg.id}).`;
      case 'NEEDS_HUMAN':
        return `Needs a person: ${leg.sell} for ${leg.buy} (${leg.id}).`;
      case 'PENDING':
        return `Not traded yet: ${leg.sell} for ${leg.buy} (${leg.id}).`;
    }
  });
  const payments = report.payments.map((payment) => {
    const what = `${payment.amount ?? 'the proceeds in'} ${payment.currency} to ${payment.account}`;
    switch (payment.outcome) {
      case 'PAID':
        return `Paid ${what} (withdrawal ${payment.withdrawalId ?? '?'}, ${payment.status ?? '?'}).`;
      case 'NOT_PAID':
        return `Not paid: ${what} (${payment.id}).`;
      case 'NEEDS_HUMAN':
        return `Needs a person: ${what} (${payment.id}).`;
      case 'PENDING':
        return payment.withdrawalId === null
          ? `Not sent yet: ${what} (${payment.id}).`
          : `Sent, not paid yet: ${what} (withdrawal ${payment.withdrawalId}, ${payment.status ?? '?'}).`;
    }
  });
  const all = [...legs, ...payments];
  if (all.length > 0) return all;
  return [NO_ITEMS[report.status]];
}

/** What to say of a run without legs and payments. */
const NO_ITEMS: Readonly<Record<Report['status'], string>> = {
  COMPLETED: 'There was nothing to do.',
  PARTIAL: 'Nothing was planned.',
  FAILED: 'No plan was made; nothing was sent.',
  CANCELLED: 'It was cancelled before there was a plan; nothing was sent.',
  HELD: 'There is no plan yet; nothing was sent.',
  RUNNING: 'There is no plan yet; nothing was sent.',
};

function settledText(settled: boolean | null): string {
  return settled === true ? ', settled' : settled === false ? ', will not settle' : '';
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
      { title: 'TRADE' },
    ],
    report.legs.map((leg) => [
      leg.id,
      `${leg.sellAmount ?? '-'} ${leg.sell}`,
      `${leg.buyAmount ?? '-'} ${leg.buy}`,
      leg.rate ?? '-',
      leg.outcome,
      leg.tradeId ?? '-',
    ]),
    width,
  );
}

function paymentsTable(report: Report, width: number): string {
  if (report.payments.length === 0) return '';
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
      `${payment.amount ?? '-'} ${payment.currency}`,
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
    report.totals.map((total) => [
      total.currency,
      total.planned,
      total.paid,
      total.notPaid,
      total.needsHuman,
    ]),
    width,
  );
}

function problemsText(report: Report, width: number): string {
  return report.problems
    .map(({ code, item, message, fix }) => paragraphOf({ code, place: item, message, fix }, width))
    .join('\n');
}

/** Who decided what; empty when nobody said anything. */
function instructionsText(report: Report, width: number): string {
  const lines = instructionLines(report).map((line) => wrap(`  ${line}`, width, '    '));
  return lines.length === 0 ? '' : ['Said by people:', ...lines].join('\n');
}

/** What somebody has to know first, when a run waits for several things. */
const HOLD_ORDER: readonly Hold[] = [
  'person',
  'configuration',
  'outage',
  'money',
  'doubt',
  'settlement',
  'opening',
  'service',
];

/** What a run waits for above all; null when it waits for nothing but the service's own pace. */
export function mainWait(progress: Progress): Waiting | null {
  const waits = progress.items.flatMap(({ waiting }) =>
    waiting === null || waiting.hold === 'service' ? [] : [waiting],
  );
  return waits.toSorted((a, b) => HOLD_ORDER.indexOf(a.hold) - HOLD_ORDER.indexOf(b.hold))[0] ?? null;
}

/** True for what is said of a trade that came out worse than its guard, or above a limit. */
export function isWorseThanPlanned({ code }: Problem): boolean {
  return code.startsWith('EXECUTED_');
}

/** What would unblock a wait: the problem's own advice, and the command where a person is to decide. */
export function unblocking(report: Report, { hold, problem }: Waiting): string {
  const advice = sentence(problem.fix);
  if (hold !== 'person' || problem.item === null) return advice;
  const command = `cambist resolve ${report.run} ${problem.item}`;
  if (!isWorseThanPlanned(problem)) return `${advice} Decide: ${command} (--executed ID or --not-executed).`;
  const tradeId = report.legs.find(({ id }) => id === problem.item)?.tradeId ?? 'TRADE_ID';
  return `${advice} To accept it: ${command} --accept ${tradeId} --evidence TEXT --by NAME.`;
}

/** One sentence of truth: the state, the next wake-up, and what would unblock it. */
export function statusSentence(report: Report, progress: Progress, nowMs: number): string {
  return tellStatus(plain(report), plain(progress), nowMs);
}

function tellStatus(report: Report, progress: Progress, nowMs: number): string {
  const items = [...report.legs, ...report.payments];
  const done = items.filter((item) => item.outcome === 'TRADED' || item.outcome === 'PAID').length;
  const counted = items.length === 0 ? 'no item' : `${done} of ${count(items.length, 'item')} done`;
  const wait = mainWait(progress);
  switch (report.status) {
    case 'HELD': {
      if (wait === null) return `${report.run} is held (${counted}).`;
      const again =
        wait.wakeAtMs > nowMs ? `; it looks again by itself at ${clockTime(wait.wakeAtMs, nowMs)}` : '';
      return `${report.run} is held (${counted}) by ${wait.problem.code}: ${unstopped(wait.problem.message)}${again}. ${unblocking(report, wait)}`;
    }
    case 'RUNNING': {
      const current = progress.items.find(({ step }) => !/^(pinned|TRADED|PAID|NOT_)/.test(step));
      const doing = current === undefined ? 'about to end' : `${current.id}: ${current.step}`;
      return `${report.run} is running (${counted}); now ${doing}.`;
    }
    case 'COMPLETED':
      return `${report.run} is completed (${counted}); there is nothing left to do.`;
    case 'PARTIAL':
    case 'FAILED':
    case 'CANCELLED': {
      const [problem] = report.problems;
      const why =
        problem === undefined
          ? ''
          : ` ${problem.code}: ${sentence(problem.message)} ${sentence(problem.fix)}`;
      return `${report.run} ended ${report.status} (${counted}).${why}`;
    }
  }
}

function unstopped(text: string): string {
  return text.replace(/\.$/, '');
}
