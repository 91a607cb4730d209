/** Questions to Temporal that change nothing, on a machine that has much to do. */
import { setTimeout as delay } from 'node:timers/promises';

/** Together a quarter of a minute: longer than Temporal waits for a worker that has lost its task. */
const TRIES = 11;

/**
 * Asks again when nobody answers: a server that is busy, or one that hands the question to a worker that was just killed.
 *
 * @param isLost whether the question was lost, so that it may be asked again; default: whatever the error
 */
export async function patiently<T>(
  ask: () => Promise<T>,
  isLost: (error: unknown) => boolean = () => true,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      // One question after the other.
      return await ask();
    } catch (error) {
      if (tries === TRIES || !isLost(error)) throw error;
      // See above.
      await delay(250 * tries);
    }
  }
}
