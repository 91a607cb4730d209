/** Which workers ask Temporal for the work of a task queue. */
import type { Client } from '@temporalio/client';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { isOfHost } from './worker-identity.ts';

/** `TASK_QUEUE_TYPE_WORKFLOW` of Temporal's API. */
const WORKFLOW_TASKS = 1;
/** Temporal must answer within this time. */
const LIMIT_MS = 2_500;

/** Whether Temporal has heard of a worker on this queue in the last minutes; false when Temporal does not answer. */
export async function hasWorker(client: Client, taskQueue: string): Promise<boolean> {
  try {
    return (await describeQueue(client, taskQueue)).pollers.length > 0;
  } catch {
    return false;
  }
}

/** A worker asks again at least once a minute. */
const ASKS_AGAIN_SECONDS = 70;

/** The identities of the workers that have asked for work in the last minute. */
export async function readPollers(
  client: Client,
  taskQueue: string,
  nowMs: number,
): Promise<readonly string[]> {
  const { pollers } = await describeQueue(client, taskQueue);
  return [...new Set(presentOf(pollers, nowMs).map(({ identity }) => identity ?? ''))];
}

/**
 * The identities of the workers on this machine, or in this container, that have asked for work in the last minute.
 * @throws CommandFailure when there are none
 */
export async function requireWorkerOn(
  host: string,
  { client, taskQueue }: Pick<Place, 'client' | 'taskQueue'>,
  nowMs: number,
): Promise<readonly string[]> {
  const identities = await readPollers(client, taskQueue, nowMs);
  const own = identities.filter((identity) => isOfHost(identity, host));
  if (own.length > 0) return own;
  throw new CommandFailure('infrastructure', [
    {
      code: 'NO_WORKER',
      place: taskQueue,
      message: `no worker on "${host}" has asked for work in the last minute`,
      fix: 'See its log. One that has ended is started again; one that hangs is safe to kill.',
    },
  ]);
}

type Pollers = Awaited<ReturnType<typeof describeQueue>>['pollers'];

/** The identities of the workers that have asked for work in the last minute, or in the time that is given. */
export function presentOf(pollers: Pollers, nowMs: number, withinSeconds = ASKS_AGAIN_SECONDS): Pollers {
  const sinceSeconds = nowMs / 1_000 - withinSeconds;
  return pollers.filter(({ lastAccessTime }) => Number(lastAccessTime?.seconds ?? 0) >= sinceSeconds);
}

/** What Temporal knows of a task queue: which workers ask for its work, and which build gets it. */
export function describeQueue(client: Client, taskQueue: string) {
  return client.withDeadline(Date.now() + LIMIT_MS, () =>
    client.workflowService.describeTaskQueue({
      namespace: client.options.namespace,
      taskQueue: { name: taskQueue },
      taskQueueType: WORKFLOW_TASKS,
    }),
  );
}
