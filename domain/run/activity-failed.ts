/**
 * The wait of a step that has failed again and again. People see it with its reason, instead of retries that
 * no person sees (M8). Pure; activities and workflows use it.
 */
import { growing } from './growing.ts';
import type { Wait } from '../waits.ts';

/** The shortest and the longest wait before the step is tried again. */
const AGAIN_MS = { first: 60_000, most: 600_000 };

/**
 * @param what what stopped the step, in words
 * @param times how often in a row it was told: each wait is twice the one before
 */
export function activityFailed(what: string, times: number): Wait {
  return {
    afterMs: growing(AGAIN_MS.first, times - 1, AGAIN_MS.most),
    reason: 'outage',
    problem: {
      code: 'ACTIVITY_FAILED',
      item: null,
      message: `The worker could not carry out this step: ${what}.`,
      fix: 'See that disk, memory, network and Temporal of the worker are well. The run tries again by itself. If this stays so, report it with this line.',
    },
  };
}
