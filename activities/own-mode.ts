/** A worker carries out only runs of its own mode. Any other run waits for a worker of its mode. */
import type { Problem } from '../domain/problems.ts';
import type { Wait } from '../domain/waits.ts';
import type { Mode } from '../domain/service/records.ts';
import { configurationWait } from '../domain/writes/step.ts';
import type { Deps } from './deps.ts';

/** Null when the run is of this worker's mode. */
export function foreignMode({ service }: Deps, mode: Mode): Wait | null {
  if (service.mode === mode) return null;
  const problem: Problem = {
    code: 'MODE_DIFFERS',
    item: null,
    message: `The run is in ${mode}, but a worker of ${service.mode} took it from its task queue. Nothing is sent.`,
    fix: `Give workers of each mode a task queue of their own (CAMBIST_TASK_QUEUE), and start a ${mode} worker on this one; the run goes on by itself.`,
  };
  return configurationWait(problem, 3);
}
