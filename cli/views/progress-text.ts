/** The progress of a run for a terminal: a drawing that is drawn again and again, or one line per step. Pure. */
import type { Progress } from '../../domain/run/progress.ts';
import { safetyWaitSentence } from '../../domain/waits.ts';
import { plain } from '../terminal/safe.ts';
import { sentence } from '../../language/text/printable.ts';
import { standingTable } from './batch-text.ts';
import { clockOf, type Clock } from '../../domain/clock.ts';
import { capital, countdown, pad, span, wrap, type Paint } from '../terminal/text.ts';

type Item = Progress['items'][number];

const BEING_CANCELLED = 'being cancelled: what is under way ends first';

const FRAMES = ['|', '/', '-', '\\'];

/** The run as a small tree: each leg and payment, its step, and what it waits for and until when. */
export function drawProgress(options: {
  readonly name: string;
  readonly progress: Progress | null;
  readonly startedAtMs: number;
  readonly nowMs: number;
  /** The policy's; null: not known. */
  readonly zone: string | null;
  readonly silence: string | null;
  /** How fast its batch is sent, in words; empty: not known. */
  readonly pace: string;
  readonly width: number;
  readonly paint: Paint;
}): string {
  const { nowMs, width, paint, pace } = options;
  const { name, progress } = plain({ name: options.name, progress: options.progress });
  const clock = clockOf(options.zone, nowMs);
  const since = span(nowMs - options.startedAtMs);
  const status = progress?.status ?? 'STARTING';
  const cancelled = progress?.cancel === undefined ? '' : `  ${BEING_CANCELLED}`;
  const head = `${paint.strong(name)}  ${status === 'HELD' ? paint.warn(status) : status}${cancelled}  ${paint.faint(since)}`;
  const items = progress?.items ?? [];
  const idWidth = Math.max(0, ...items.map(({ id }) => id.length));
  const lines = items.flatMap((item) => {
    const mark = markOf(item, nowMs, paint);
    const line = `  ${mark} ${pad(item.id, idWidth)}  ${item.step}`;
    const more = item.kind === 'batch' ? batchLines(progress, pace, width) : [];
    if (item.waiting === null) return [line, ...more];
    const wait = wrap(`      ${waitText(item.waiting, nowMs, clock)}`, width, '      ');
    return [line, ...more, item.waiting.reason === 'service' ? paint.faint(wait) : paint.warn(wait)];
  });
  const silence = options.silence === null ? [] : [paint.warn(`  ${options.silence}; the run is not lost`)];
  return [head, ...lines, ...silence].join('\n');
}

/** Counts and money by state, and how fast the batch is sent. */
function batchLines(progress: Progress | null, pace: string, width: number): readonly string[] {
  if (progress === null || progress.batch === null) return [];
  const indent = '      ';
  const rows = standingTable(progress.batch, width - indent.length).split('\n');
  return [...(pace === '' ? [] : [pace]), ...rows].map((row) => `${indent}${row}`);
}

function markOf(item: Item, nowMs: number, paint: Paint): string {
  if (/^(made|TRADED|PAID)\b/.test(item.step)) return paint.good('+');
  if (item.step.startsWith('NOT_')) return paint.bad('x');
  if (item.step.startsWith('NEEDS_HUMAN')) return paint.bad('!');
  if (item.waiting !== null && item.waiting.reason !== 'service') return paint.warn('.');
  return item.step === 'to be sent' ? '.' : (FRAMES[Math.floor(nowMs / 300) % FRAMES.length] ?? '.');
}

/** What an item waits for, until when, and what would end the wait. */
function waitText(waiting: NonNullable<Item['waiting']>, nowMs: number, clock: Clock): string {
  const { problem, wakeAtMs, safeAtMs } = waiting;
  if (safeAtMs !== undefined) {
    const left = safeAtMs > nowMs ? ` (${countdown(safeAtMs - nowMs)} left)` : '';
    const safely = capital(safetyWaitSentence(problem, safeAtMs, nowMs, left));
    return clock.retold(`${problem.code}: ${sentence(problem.message)} ${safely}`);
  }
  const why = clock.retold(`${problem.code}: ${sentence(problem.message)}`);
  return wakeAtMs > nowMs ? `${why} Looks again at ${clock.at(wakeAtMs)}.` : why;
}

/** A batch gets a line at most this often, and also whenever its wait reason changes or it has come to its end. */
const BATCH_LINE_MS = 15_000;

/**
 * One line per step: the steps in `progress` that are new since the last call; for a batch a line now and then. The caller
 * keeps `seen`, and this function fills it. `pace`: how fast the batch is sent, in words; empty: not known. The first line
 * names the zone.
 */
export function stepLines(
  progress: Progress,
  seen: Map<string, string>,
  { nowMs, zone }: { readonly nowMs: number; readonly zone: string | null },
  pace: string,
): string[] {
  const { items, batch, cancel } = plain(progress);
  const clock = clockOf(zone, nowMs, seen.size > 0);
  const isNew = cancel !== undefined && !seen.has('cancel');
  if (isNew) seen.set('cancel', BEING_CANCELLED);
  const told = isNew ? [`${clock.at(nowMs)} run: ${BEING_CANCELLED}`] : [];
  const steps = items.flatMap((item) => {
    const key = item.kind === 'plan' ? 'plan' : `${item.kind} ${item.id}`;
    const reason = item.waiting?.problem.code ?? '';
    const state = `${item.step} ${reason}`;
    if (seen.get(key) === state) return [];
    if (item.kind === 'batch') {
      const isSoon = nowMs - Number(seen.get('told of the batch') ?? 0) < BATCH_LINE_MS;
      const isNews = seen.get('reason of the batch') !== reason || batch?.counts.open === 0;
      if (isSoon && !isNews) return [];
      seen.set('told of the batch', String(nowMs));
      seen.set('reason of the batch', reason);
    }
    seen.set(key, state);
    const at = clock.at(nowMs);
    const wait = item.waiting === null ? '' : `, waits: ${waitText(item.waiting, nowMs, clock)}`;
    const fast = item.kind === 'batch' && pace !== '' ? `; ${pace}` : '';
    return [`${at} ${key}: ${item.step}${fast}${wait}`];
  });
  return [...told, ...steps];
}
