/** Schedules in Temporal: what would change, and what their starts led to; as text and as data. Pure. */
import { DateTime } from 'luxon';
import { runName } from '../../domain/references.ts';
import { SEAL_KEY_MISSING, keyMissingText } from '../../domain/unreadable.ts';
import { minuteText } from '../../domain/waits.ts';
import type { LeftOut } from '../../operations/schedules/files.ts';
import type { KeptSchedule, ScheduleFacts } from '../../operations/schedules/spec.ts';
import type { Start } from '../../operations/schedules/came.ts';
import type { ScheduleChange } from '../../operations/schedules/kept.ts';
import type { Missed } from '../../operations/schedules/missed.ts';
import type { ScheduleView } from '../../operations/schedules/starts.ts';
import { clockOf } from '../../domain/clock.ts';
import { plain } from '../terminal/safe.ts';
import { count, table, wrap } from '../terminal/text.ts';
import { limitTexts } from './amount-text.ts';
import { weekdaysText } from './schedule-text.ts';

/** What would happen to one schedule, one line each; none where nothing changes. */
export function changeLines(change: ScheduleChange): readonly string[] {
  switch (change.kind) {
    case 'same':
      return [];
    case 'create':
      return [`+ ${change.name}: new, ${whenText(change.after)}`];
    case 'delete':
      return [`- ${change.name}: no file has it any more; it is deleted (${whenText(change.before)})`];
    case 'update': {
      const paused = change.isPaused ? ' (it is paused, and stays so)' : '';
      return [
        `~ ${change.name}: changed${paused}`,
        ...differenceLines(change.before, change.after).map((line) => `    ${line}`),
      ];
    }
  }
}

/** What a schedule may trade or pay by itself after this change; null when the change allows nothing new. */
export function armedLine(change: ScheduleChange): string | null {
  if (change.kind !== 'create' && change.kind !== 'update') return null;
  const { limits } = change.wanted.policy.rules;
  const bounds = limits === null ? 'without limits' : `at most ${limitTexts(limits).join(', ')}`;
  const paused = change.kind === 'update' && change.isPaused ? '; paused until it is resumed' : '';
  return `${change.name}: unattended at ${whenText(change.after)}; ${bounds}${paused}`;
}

/** One line for each reason, with its files. */
export function leftOutLines(left: readonly LeftOut[]): readonly string[] {
  return [...new Set(left.map(({ why }) => why))].map((reason) => {
    const files = left.filter(({ why }) => why === reason).map(({ file }) => file);
    return `Left out, ${reason}: ${files.join(', ')}`;
  });
}

/** `09:30 Europe/Paris on weekdays, until 2027-03-31, 12 dates left out`. */
function whenText(facts: ScheduleFacts): string {
  const { at, zone, weekdays, leftOut, start, end } = facts;
  return [
    `${at ?? 'other times'} ${zone ?? 'UTC'} ${daysText(weekdays)}`,
    start === null ? [] : `from ${start}`,
    end === null ? [] : `until ${end}`,
    leftOut.length === 0 ? [] : `${count(leftOut.length, 'date')} left out`,
  ]
    .flat()
    .join(', ');
}

function daysText(weekdays: ScheduleFacts['weekdays']): string {
  return weekdays === null ? 'on other days' : weekdaysText(weekdays);
}

function differenceLines(before: ScheduleFacts, after: ScheduleFacts): readonly string[] {
  const pairs: readonly (readonly [what: string, before: string, after: string])[] = [
    ['time', before.at ?? 'others', after.at ?? 'others'],
    ['zone', before.zone ?? 'UTC', after.zone ?? 'UTC'],
    ['days', daysText(before.weekdays), daysText(after.weekdays)],
    ['first date', before.start ?? 'none', after.start ?? 'none'],
    ['last date', before.end ?? 'none', after.end ?? 'none'],
    ['file', before.policyFile ?? 'none', after.policyFile ?? 'none'],
    ['task queue', before.taskQueue, after.taskQueue],
    ['rules', before.rules, after.rules],
  ];
  return [
    ...pairs.filter(([, was, is]) => was !== is).map(([what, was, is]) => `${what}: ${was}, now ${is}`),
    ...datesLine('left out from now on', without(after.leftOut, before.leftOut)),
    ...datesLine('no longer left out', without(before.leftOut, after.leftOut)),
    ...(before.policyText === after.policyText ? [] : ['the policy’s text, as shown below']),
  ];
}

function without(dates: readonly string[], others: readonly string[]): readonly string[] {
  return dates.filter((date) => !others.includes(date));
}

function datesLine(what: string, dates: readonly string[]): readonly string[] {
  return dates.length === 0 ? [] : [`${what}: ${dates.join(', ')}`];
}

/** The schedules as a table, and below it which of them are paused and which runs are missing. */
export function schedulesText(views: readonly ScheduleView[], width: number): string {
  const rows = views.map(({ kept, starts }) => {
    const [last] = starts;
    return [
      kept.name,
      `${kept.facts.at ?? '?'} ${kept.facts.zone ?? 'UTC'}`,
      kept.isPaused ? 'paused' : nextText(kept),
      last === undefined ? '' : last.run.id,
      kept.missingKey === null ? (last === undefined ? 'not yet' : cameText(last)) : SEAL_KEY_MISSING,
    ];
  });
  const titles = ['SCHEDULE', 'WHEN', 'NEXT', 'LAST', 'CAME TO'].map((title) => ({ title }));
  const notes = views.flatMap(({ kept: { name, facts, missingKey, isPaused, note }, missed }) => [
    ...(missingKey === null ? [] : [`${name}: ${SEAL_KEY_MISSING}: ${keyMissingText(missingKey)}`]),
    ...(isPaused ? [`${name} is paused${note === null ? '' : `: ${note}`}`] : []),
    // Without a moment of now, each time has its date.
    ...missed.map(missedLine).map(clockOf(facts.zone, 0).retold),
  ]);
  const below = plain(notes).map((line) => wrap(line, width, '  '));
  return [table(titles, rows, width), ...(below.length > 0 ? ['', ...below] : [])].join('\n');
}

function nextText({ nextMs, facts }: KeptSchedule): string {
  const [next] = nextMs;
  if (next === undefined) return 'none';
  return DateTime.fromMillis(next, { zone: facts.zone ?? 'UTC' }).toFormat('yyyy-MM-dd HH:mm');
}

/** One start in a word or two: the state of its run, or why there is none. */
function cameText({ came, runState }: Start): string {
  switch (came.kind) {
    case 'done':
      return came.result.kind === 'day off' ? 'day off' : (runState ?? 'forgotten');
    case 'refused':
      return runState ?? came.problems[0]?.code ?? 'refused';
    case 'under way':
      return came.isTaken ? 'starting' : 'no worker';
    case 'not started':
      return runState ?? 'missed';
    case 'forgotten':
      return runState ?? 'forgotten';
  }
}

/** The same as a sentence. */
export function toldOf({ came }: Start): string {
  switch (came.kind) {
    case 'done':
      return came.result.line;
    case 'refused':
      return came.problems.map(({ code, message }) => `${code}: ${message}`).join(' ');
    case 'under way':
    case 'not started':
    case 'forgotten':
      return 'the start was ended in Temporal before it was done; nothing is known of a run.';
  }
}

/** `daily-treasury.2026-11-23 was to start at 2026-11-23 08:30 UTC. SCHEDULE_MISSED: …` */
export function missedLine({ run, nominalMs, why }: Missed): string {
  return `${runName(run)} was to start at ${minuteText(nominalMs)}. ${why.code}: ${why.message}`;
}

/** A schedule as data. */
export function scheduleDocument({ kept, starts, missed }: ScheduleView): Record<string, unknown> {
  const { name, scheduleId, facts, missingKey, isPaused, note, nextMs } = kept;
  const { at, zone, weekdays, leftOut, start, end } = facts;
  return {
    policy: name,
    scheduleId,
    at,
    zone,
    weekdays,
    leftOut,
    start,
    end,
    missingKey,
    paused: isPaused,
    note,
    next: isPaused ? [] : nextMs.map(instant),
    last: starts.map(startDocument),
    missed: missed.map(missedDocument),
  };
}

/** A start as data. */
export function startDocument({
  run,
  nominalMs,
  workflowId,
  came,
  runState,
}: Start): Record<string, unknown> {
  return {
    run: runName(run),
    at: instant(nominalMs),
    workflowId,
    outcome: came.kind === 'done' ? came.result.kind : came.kind,
    line: came.kind === 'done' ? came.result.line : null,
    problems: came.kind === 'refused' ? came.problems : [],
    state: runState,
  };
}

export function missedDocument({ run, nominalMs, why }: Missed): Record<string, unknown> {
  return { run: runName(run), at: instant(nominalMs), code: why.code, message: why.message };
}

function instant(ms: number): string {
  return new Date(ms).toISOString();
}
