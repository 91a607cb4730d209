/** Beats for an activity while it works, so that a killed worker is noticed in seconds; what it tells is seen in the UI. */
import { heartbeat } from '@temporalio/activity';
import { HEARTBEAT_TIMEOUT_MS } from '../workflows/limits.ts';

/** @param work is given a function that says how far it has come: the next attempt finds what was told last */
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
