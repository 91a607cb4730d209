/** Temporal hears of a worker a moment after it is ready: waits until it knows of these on a task queue. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { readPollers } from '../../operations/watch/pollers.ts';

/** @param names what the workers' identities begin with */
export async function untilPolling(
  client: Client,
  taskQueue: string,
  names: readonly string[],
): Promise<void> {
  for (;;) {
    // One look after the other.
    const known = await readPollers(client, taskQueue, Date.now());
    if (names.every((name) => known.some((identity) => identity.startsWith(name)))) return;
    // Temporal tells nobody.
    await delay(50);
  }
}
