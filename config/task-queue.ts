/** The task queue of a mode, where workers and commands meet. Workers of all builds on it are the deployment of its name. */
import type { Mode } from '../domain/service/records.ts';

export function taskQueueOf(env: NodeJS.ProcessEnv, mode: Mode): string {
  return env['CAMBIST_TASK_QUEUE'] || `cambist-${mode.toLowerCase()}`;
}

/** Temporal takes no dots and colons in the name of a deployment; it is typed into commands. */
export function canNameDeployment(taskQueue: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(taskQueue);
}
