/**
 * The pauses of `run` and `chunk`: with one of Temporal's timers, and a text beside it for people, or
 * without a timer.
 */
import { condition } from '@temporalio/workflow';
import type { Ports } from '../domain/run/ports.ts';

export const waitUntil: Ports['waitUntil'] = (holds, timeoutMs, why) => {
  // Each promise of a workflow costs time. A condition that is true already needs none of Temporal's.
  if (holds()) return Promise.resolve(true);
  if (timeoutMs === undefined) return condition(holds).then(() => true);
  return condition(holds, timeoutMs, why === undefined ? {} : { summary: why });
};
