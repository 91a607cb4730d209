/**
 * The service's clock less ours, by the last reply that told it (`Date`, whole seconds). One per worker process: every
 * reply of any call teaches it, every write asks it.
 */
import type { Reply } from '../domain/service/reply.ts';
import type { Clock } from './deps.ts';

let latest: number | null = null;

export const clockSkew = {
  /** Milliseconds; null while no reply told. */
  latestMs: (): number | null => latest,

  note(clock: Clock, reply: Reply<unknown>): void {
    if (reply.kind === 'NOT_SENT' || reply.facts.serviceTimeMs === null) return;
    // `Date` is cut to the second: half a second is what it lacks on average.
    clockSkew.tell(reply.facts.serviceTimeMs + 500 - clock.wallMs());
  },

  /** @param skewMs null: nobody has told */
  tell(skewMs: number | null): void {
    latest = skewMs;
  },
};
