/** Beats for an activity while it works, so that a killed worker is noticed in seconds. */
import { heartbeat } from '@temporalio/activity';
import { HEARTBEAT_TIMEOUT_MS } from '../workflows/limits.ts';

export async function beating<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => heartbeat(), HEARTBEAT_TIMEOUT_MS / 4);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}
