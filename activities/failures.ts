/**
 * An exception in an activity, told to people: a wait with its reason instead of retries that nobody sees (M8). Used by
 * every activity once a few attempts have failed. What the error says itself is left out, but for what is ours or the
 * system's: it may quote anybody's data (M6).
 */
import { backoffMs } from '../domain/decisions.ts';
import type { Wait } from '../domain/stepper.ts';

/** The shortest wait before the same is tried again. */
const AGAIN_MS = 60_000;

/** @param times how often in a row it was told: each wait is longer than the one before, up to 10 min */
export function failedActivity(error: unknown, times: number): Wait {
  return {
    afterMs: Math.max(AGAIN_MS, backoffMs(times + 6)),
    hold: 'outage',
    problem: {
      code: 'ACTIVITY_FAILED',
      item: null,
      message: `The worker could not carry out this step: ${nameOfError(error)}.`,
      fix: 'See that disk, memory, network and Temporal of the worker are well; it tries again by itself. If it stays, report it with this line.',
    },
  };
}

/** The class of an error, its code where it has one, and the place in our sources. */
function nameOfError(error: unknown): string {
  if (!(error instanceof Error)) return 'something that is no error was thrown';
  const code =
    'code' in error && (typeof error.code === 'string' || typeof error.code === 'number') ? error.code : null;
  const place = /([A-Za-z0-9_.-]+\.[cm]?[jt]s:\d+)/.exec(
    error.stack?.split('\n').find((line) => /^\s+at /.test(line)) ?? '',
  );
  const words = [plainWord(error.name), code === null ? null : plainWord(String(code)), place?.[1] ?? null];
  return words.filter((word) => word !== null).join(', ');
}

function plainWord(text: string): string {
  return /^[A-Za-z0-9_.-]{1,60}$/.test(text) ? text : 'an error with an odd name';
}
