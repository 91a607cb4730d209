/** What a reset would do, for people and as data. Pure. */
import type { ResetPoint } from '../../operations/replay/points.ts';
import type { ExplainedItem, ResetExplained } from '../../operations/replay/explain.ts';
import { plain } from '../terminal/safe.ts';
import { clockTime, count, pad, span, table, wrap } from '../terminal/text.ts';
import { money } from './amount-text.ts';
import { instructionLines } from './instruction-text.ts';

/** Up to this many items are named one by one. When there are more, they are only counted by their fate. */
const MOST_ITEMS = 50;

export function explainedText(
  explained: ResetExplained,
  { nowMs, width }: { readonly nowMs: number; readonly width: number },
): string {
  const safe = plain(explained);
  const { run, status, point, items, isUnplanned, said, insteadOfReplay } = safe;
  const instead =
    insteadOfReplay === null
      ? ''
      : ` No reset lets it go on, and \`replay\` refuses it. Type instead: \`${insteadOfReplay}\`.`;
  const head = `${run} is ${status}. This is what a reset to event ${point.eventId} does${whichText(safe)}; nothing is paid or traded twice, whatever event you choose.${instead}`;
  const sections = [
    wrap(head, width),
    isUnplanned
      ? wrap('There is no plan yet: one is made, and what it finds is carried out.', width)
      : itemsText(items, width),
    wrap(safetyText(safe), width),
    said.length === 0
      ? wrap('Nobody has said anything about it that would count again.', width)
      : [
          wrap('What people said stands outside its history, and counts again:', width),
          ...instructionLines({ evidence: said }).map((line) => wrap(`  ${line}`, width, '    ')),
        ].join('\n'),
    wrap(signalsText(safe), width),
    pointsText(safe, nowMs, width),
  ];
  return sections.filter((section) => section !== '').join('\n\n');
}

/** Says which event `replay` would take; empty where it takes none. */
function whichText({ point, recommended, insteadOfReplay }: ResetExplained): string {
  if (insteadOfReplay !== null) return '';
  const isBest = point.eventId === recommended.eventId;
  return isBest ? ' (the one that `replay` takes)' : ` (\`replay\` takes ${recommended.eventId})`;
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
  const titles = [
    { title: 'ITEM' },
    { title: 'AMOUNT', right: true },
    { title: 'NOW' },
    { title: 'AFTER A RESET' },
  ];
  const rows = items.map(({ item, amount, currency, outcome, fate }) => [
    item,
    money(amount, currency),
    outcome,
    fate,
  ]);
  return table(titles, rows, width);
}

function safetyText(explained: ResetExplained): string {
  const hasPaymentToTry = explained.items.some(
    ({ kind, fate }) => kind === 'payment' && fate === 'is tried again',
  );
  const ofPayments =
    'A payment that cannot be sent even then (its account, another batch) waits until no earlier send of it can appear, a day by default: mend the cause first, or say afterwards that it was not executed (`npx cambist resolve`), which ends it within minutes.';
  return hasPaymentToTry ? `${safetyOfTrades(explained)} ${ofPayments}` : safetyOfTrades(explained);
}

function safetyOfTrades({ safetyWait, isUnplanned }: ResetExplained): string {
  if (safetyWait === null) return 'Safety wait: none for a trade, since no leg is tried again.';
  const { items, lastsMs, by, why } = safetyWait;
  const which = isUnplanned ? 'where its plan trades something' : `for ${items.join(', ')}`;
  const whose =
    by === 'service file'
      ? 'by the service file of this terminal'
      : 'by the defaults, as this terminal has no service file';
  return `Safety wait: yes, ${which}, about ${span(lastsMs)} ${whose}; the worker goes by its own. ${why}`;
}

function signalsText({ signals }: ResetExplained): string {
  if (signals.length === 0) return '';
  const names = signals.map(({ name, count: times }) => `${name} (${count(times, 'time')})`).join(', ');
  return `Signals after the event come once more: ${names}. They make it look, and decide nothing.`;
}

/** This many of the first and of the last events are listed, and also those that the text names. */
const FIRST_EVENTS = 10;
const LAST_EVENTS = 25;

/** One line for each event; a long step goes on below it. */
function pointsText(explained: ResetExplained, nowMs: number, width: number): string {
  const { points, point, recommended, insteadOfReplay } = explained;
  const taken = insteadOfReplay === null ? recommended.eventId : null;
  const times = points.map(({ atMs }) => clockTime(atMs, nowMs));
  const timeWidth = Math.max(2, ...times.map((time) => time.length));
  const line = (event: string, time: string, step: string): string => {
    const head = `${pad(event, 5, 'left')}  ${pad(time, timeWidth)}  `;
    return `${head}${wrap(step, width - head.length).replaceAll('\n', `\n${' '.repeat(head.length)}`)}`;
  };
  const isLeftOut = (eventId: number, index: number): boolean => {
    const isBetween = index >= FIRST_EVENTS && index < points.length - LAST_EVENTS;
    return isBetween && eventId !== taken && eventId !== point.eventId;
  };
  let leftOut = 0;
  const rows = points.flatMap(({ eventId, kind, step }, index) => {
    if (isLeftOut(eventId, index)) {
      leftOut += 1;
      return [];
    }
    const before = leftOut === 0 ? [] : [`${pad('…', 5, 'left')}  ${leftOut} more; --json has them all`];
    leftOut = 0;
    const remarks = [
      ...(kind === 'WorkflowTaskCompleted' ? [] : [kind]),
      ...(eventId === taken ? ['`replay` takes it'] : []),
      ...(eventId === point.eventId && eventId !== taken ? ['explained here'] : []),
    ];
    const more = remarks.length === 0 ? '' : ` (${remarks.join(', ')})`;
    return [...before, line(String(eventId), times[index] ?? '', `${step}${more}`)];
  });
  return [line('EVENT', 'AT', 'STEP'), ...rows].join('\n');
}

/** The same for `--json`. */
export function explainedDocument({
  run,
  status,
  point,
  recommended,
  insteadOfReplay,
  points,
  items,
  isUnplanned,
  safetyWait,
  signals,
  said,
}: ResetExplained) {
  return {
    run,
    status,
    event: shown(point),
    recommended: shown(recommended),
    insteadOfReplay,
    events: points.map(shown),
    isUnplanned,
    items,
    safetyWait,
    signals,
    said,
  };
}

function shown({ eventId, kind, atMs, step }: ResetPoint) {
  return { eventId, kind, at: new Date(atMs).toISOString(), step };
}
