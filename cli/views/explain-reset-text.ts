/** What a reset would do, for people and as data. Pure. */
import type { ResetPoint } from '../../operations/replay/points.ts';
import type { ExplainedItem, ResetExplained } from '../../operations/replay/explain.ts';
import { plain } from '../terminal/safe.ts';
import { clockOf, type Clock } from '../../domain/clock.ts';
import { span, table, wrap } from '../terminal/text.ts';
import { money } from './amount-text.ts';
import { instructionLines } from './instruction-text.ts';
import { toBring, toBringLines } from './to-bring-text.ts';

/** Up to this many items are named one by one. When there are more, they are only counted by their fate. */
const MOST_ITEMS = 50;

export function explainedText(
  explained: ResetExplained,
  { nowMs, width }: { readonly nowMs: number; readonly width: number },
): string {
  const safe = plain(explained);
  const { run, status, point, items, isUnplanned, said, otherCommand } = safe;
  const clock = clockOf(safe.zone, nowMs);
  const instead =
    otherCommand === null
      ? ''
      : ` No reset lets it go on, and \`replay\` refuses it. Type instead: \`${otherCommand}\`.`;
  return [
    wrap(
      `${run} is ${status}. This is what a reset to event ${point.eventId} does; nothing is paid or traded twice, whatever event you choose.${instead}`,
      width,
    ),
    ...toBringLines(safe.next).map((line) => wrap(line, width)),
    isUnplanned
      ? wrap('There is no plan yet. The reset makes one, and carries it out.', width)
      : itemsText(items, width),
    wrap(safetyText(safe), width),
    ...(said.length === 0
      ? []
      : [
          wrap('What people have said is kept outside the history of the run, and counts again:', width),
          ...instructionLines({ evidence: said }, clock).map((line) => wrap(`  ${line}`, width, '    ')),
        ]),
    pointsText(safe, clock, width),
  ].join('\n\n');
}

function itemsText(items: readonly ExplainedItem[], width: number): string {
  if (items.length > MOST_ITEMS) {
    const counts = new Map<string, number>();
    for (const { kind, outcome, fate } of items) {
      const key = `${kind}, ${outcome}: ${fate}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return [...counts].map(([what, number]) => wrap(`  ${number} x ${what}`, width, '    ')).join('\n');
  }
  return table(
    [{ title: 'ITEM' }, { title: 'AMOUNT', right: true }, { title: 'NOW' }, { title: 'AFTER A RESET' }],
    items.map(({ item, amount, currency, outcome, fate }) => [item, money(amount, currency), outcome, fate]),
    width,
  );
}

function safetyText({ safetyWait, isUnplanned, items }: ResetExplained): string {
  const which = isUnplanned ? 'if its plan trades something' : `for ${safetyWait?.items.join(', ')}`;
  const ofTrades =
    safetyWait === null
      ? 'Safety wait: none.'
      : `Safety wait: yes, ${which}, about ${span(safetyWait.lastsMs)}; the worker uses its own service file.`;
  const hasPaymentToTry = items.some(({ kind, fate }) => kind === 'payment' && fate === 'is tried again');
  return hasPaymentToTry
    ? `${ofTrades} Mend the cause before the reset. A payment that may have been sent before, and still cannot be sent after the reset, waits until it is certain that it was not sent: a day by default.`
    : ofTrades;
}

/** This many of the first and of the last events are listed. */
const FIRST_EVENTS = 10;
const LAST_EVENTS = 25;

/** One line for each event; a long step goes on below it. */
function pointsText(explained: ResetExplained, clock: Clock, width: number): string {
  const { points, point, recommended, otherCommand } = explained;
  const taken = otherCommand === null ? recommended.eventId : null;
  const listed = points.filter(
    ({ eventId }, index) =>
      index < FIRST_EVENTS || index >= points.length - LAST_EVENTS || eventId === point.eventId,
  );
  const lines = listed.map(({ eventId, kind, atMs, step }) => {
    const remarks = [
      ...(kind === 'WorkflowTaskCompleted' ? [] : [kind]),
      ...(eventId === taken ? ['`replay` takes it'] : []),
    ];
    const more = remarks.length === 0 ? '' : ` (${remarks.join(', ')})`;
    return wrap(`${eventId}  ${clock.at(atMs)}  ${step}${more}`, width, '    ');
  });
  const leftOut = points.length - listed.length;
  const rest = leftOut === 0 ? [] : [`${leftOut} more in between; --json has them all`];
  return ['EVENT  AT  STEP', ...lines, ...rest].join('\n');
}

/** The same for `--json`. */
export function explainedDocument({ point, recommended, points, next, ...more }: ResetExplained) {
  return {
    ...more,
    toBring: toBring(next),
    event: shown(point),
    recommended: shown(recommended),
    events: points.map(shown),
  };
}

function shown({ eventId, kind, atMs, step }: ResetPoint) {
  return { eventId, kind, at: new Date(atMs).toISOString(), step };
}
