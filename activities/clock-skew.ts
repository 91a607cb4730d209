/**
 * How far the service's clock is ahead of ours, by the last reply with a `Date` (whole seconds). There is one
 * for each worker process: every reply sets it, and every write asks for it.
 */
import type { Reply } from '../domain/service/reply.ts';
import type { Clock } from './deps.ts';

let latest: number | null = null;

export const clockSkew = {
  /** Milliseconds; null while no reply has told it. */
  latestMs: (): number | null => latest,

  note(clock: Clock, reply: Reply<unknown>): void {
    if (reply.kind === 'NOT_SENT' || reply.facts.serviceTimeMs === null) return;
    // `Date` is cut to the second, which takes half a second off on average.
    clockSkew.tell(reply.facts.serviceTimeMs + 500 - clock.wallMs());
  },

  /** @param skewMs null: no reply has told it */
  tell(skewMs: number | null): void {
    latest = skewMs;
  },
};
