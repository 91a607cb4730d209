/** The pauses of `run` and `payments`: a timer of Temporal's, with what people read beside it, or none. */
import { condition } from '@temporalio/workflow';
import type { Ports } from '../domain/run/ports.ts';

export const waitUntil: Ports['waitUntil'] = (holds, timeoutMs, why) => {
  // Each promise of a workflow costs time: what holds already takes none of Temporal's.
  if (holds()) return Promise.resolve(true);
  if (timeoutMs === undefined) return condition(holds).then(() => true);
  return condition(holds, timeoutMs, why === undefined ? {} : { summary: why });
};
