/** A moment on both clocks of a machine. When it slept, the monotonic clock may have stood still. */
import type { Clock } from './deps.ts';

/** Milliseconds on each clock. */
export type Moment = { readonly monotonicMs: number; readonly wallMs: number };

export function momentOf(clock: Clock): Moment {
  return { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
}

/** How long ago that moment was, by the clock on which more time has passed. */
export function ageMs(clock: Clock, then: Moment): number {
  const now = momentOf(clock);
  return Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs);
}
