/** The task queue of a mode, where workers and commands meet. */
import type { Mode } from '../domain/service/records.ts';

export function taskQueueOf(env: NodeJS.ProcessEnv, mode: Mode): string {
  return env['CAMBIST_TASK_QUEUE'] || `cambist-${mode.toLowerCase()}`;
}
