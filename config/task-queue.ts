/** The task queue of a mode, where workers and commands meet, and the deployment that its workers of all builds are. */
import type { Mode } from '../domain/service/records.ts';

export function taskQueueOf(env: NodeJS.ProcessEnv, mode: Mode): string {
  return env['CAMBIST_TASK_QUEUE'] || `cambist-${mode.toLowerCase()}`;
}

/** Temporal takes no dots and colons in the name of a deployment; it is typed into commands. */
export function deploymentOf(taskQueue: string): string {
  return taskQueue.replaceAll(/[^A-Za-z0-9_-]/g, '-');
}
