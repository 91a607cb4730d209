/** Heartbeats of an activity at work: a killed worker is noticed in seconds, and the UI shows progress. */
import { heartbeat } from '@temporalio/activity';
import { HEARTBEAT_TIMEOUT_MS } from '../workflows/limits.ts';

/** @param work gets a function that tells its progress; the next attempt finds what was told last */
export async function beating<T>(work: (tell: (progress: unknown) => void) => Promise<T>): Promise<T> {
  let told: unknown;
  const timer = setInterval(() => heartbeat(told), HEARTBEAT_TIMEOUT_MS / 4);
  try {
    return await work((progress) => {
      told = progress;
      heartbeat(progress);
    });
  } finally {
    clearInterval(timer);
  }
}
