/** Questions to Temporal that change nothing, on a machine that has much to do. */
import { setTimeout as delay } from 'node:timers/promises';

/** Asks again when nobody answers: a server that is busy, or one that hands the question to a worker that was just killed. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      // oxlint-disable-next-line no-await-in-loop -- one question after the other
      return await ask();
    } catch (error) {
      if (tries === 5) throw error;
      // oxlint-disable-next-line no-await-in-loop -- see above
      await delay(200 * tries);
    }
  }
}
