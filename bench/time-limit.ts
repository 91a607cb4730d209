/** The bench ends by itself, whatever hangs. */
import { setTimeout as sleep } from 'node:timers/promises';

const LIMIT_MS = 30_000;

/** @throws Error when `work` takes longer than anything that the bench does should */
export async function withTimeLimit<T>(work: Promise<T>, what: string): Promise<T> {
  const over = new AbortController();
  const late = sleep(LIMIT_MS, undefined, { signal: over.signal }).then(() => {
    throw new Error(`${what} did not end within ${LIMIT_MS / 1_000} s.`);
  });
  late.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    over.abort();
  }
}
