/** Temporal hears of a worker a moment after it is ready: waits until it knows of these on a task queue. */
import type { Client } from '@temporalio/client';
import { readPollers } from '../../operations/watch/pollers.ts';
import { eventually } from './patience.ts';

/** @param names what the workers' identities begin with */
export async function untilPolling(
  client: Client,
  taskQueue: string,
  names: readonly string[],
): Promise<void> {
  await eventually(`workers ${names.join(', ')} on ${taskQueue}`, async () => {
    const known = await readPollers(client, taskQueue, Date.now());
    return names.every((name) => known.some((identity) => identity.startsWith(name)));
  });
}
