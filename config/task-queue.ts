/**
 * The task queue of a mode, where workers and commands meet. The workers of all builds on a queue belong to
 * the deployment with the name of the queue.
 */
import type { Mode } from '../domain/service/records.ts';

export function taskQueueOf(env: NodeJS.ProcessEnv, mode: Mode): string {
  return env['CAMBIST_TASK_QUEUE'] || `cambist-${mode.toLowerCase()}`;
}

/**
 * Whether the queue's name can be the name of a deployment: Temporal takes no dots and colons there, and
 * people type the name into commands.
 */
export function canNameDeployment(taskQueue: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(taskQueue);
}
