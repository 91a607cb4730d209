/**
 * Workers that send as fast as they may to a service with a rate limit, in virtual time: for the tests of the limiter and for
 * the bench. Counts alone decide.
 */
import { waitMs } from '../../domain/service/reply-rules.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { RateLimiter, type PaceClock } from '../../service/rate-limiter.ts';
import { Agenda } from '../machines/model/agenda.ts';
import { diceOf, type Dice } from './dice.ts';
import { done, failed } from './scripts.ts';

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;

/** A service's limit: null takes the request, else it says in how many seconds to come again. */
export type Limit = (nowMs: number) => number | null;

/** So many requests in each window; no window begins when the test does. */
export function windows(requests: number, windowMs: number): Limit {
  let [current, taken] = [-1, 0];
  return (nowMs) => {
    const shiftedMs = nowMs + windowMs / 3;
    const window = Math.floor(shiftedMs / windowMs);
    if (window !== current) [current, taken] = [window, 0];
    taken += 1;
    return taken <= requests ? null : Math.ceil(((window + 1) * windowMs - shiftedMs) / SECOND);
  };
}

/** So many requests a second, and at most so many that were saved up. */
function tokens(perSecond: number, most: number): Limit {
  let [left, atMs] = [most, 0];
  return (nowMs) => {
    left = Math.min(most, left + ((nowMs - atMs) / SECOND) * perSecond);
    atMs = nowMs;
    if (left < 1) return Math.ceil((1 - left) / perSecond);
    left -= 1;
    return null;
  };
}

/** Limits of every kind, with what they allow in a second. */
export const LIMITS: readonly (readonly [name: string, perSecond: number, limit: () => Limit])[] = [
  ['100 requests in 10 s', 10, () => windows(100, 10 * SECOND)],
  ['600 requests in a minute', 10, () => windows(600, MINUTE)],
  ['50 requests in 1 s', 50, () => windows(50, SECOND)],
  ['10 a second, 10 saved up', 10, () => tokens(10, 10)],
  ['50 a second, 5 saved up', 50, () => tokens(50, 5)],
  ['100 a second, 300 saved up', 100, () => tokens(100, 300)],
];

/** Virtual time, in which everything that is due happens before the next moment begins. */
export class World {
  readonly agenda = new Agenda(0);
  readonly dice: Dice = diceOf(1, 'pace');
  readonly clock: PaceClock = {
    nowMs: () => this.agenda.nowMs,
    wake: (afterMs, callback) => this.agenda.after(Math.ceil(afterMs), callback).cancel,
  };

  limiter(more: { sideBySide?: number; waitAtMostMs?: number } = {}): RateLimiter {
    return new RateLimiter({ sideBySide: 64, waitAtMostMs: 15 * SECOND, clock: this.clock, ...more });
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.agenda.after(ms, resolve);
    });
  }

  async until(ms: number): Promise<void> {
    for (;;) {
      // Whoever waits for what has just happened goes on first.
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      const nextMs = this.agenda.nextMs();
      if (nextMs === null || nextMs > ms) break;
      await this.agenda.take()();
    }
    this.agenda.nowMs = ms;
  }

  /** A request over a network whose delay varies. */
  async ask(limit: Limit): Promise<Reply<object>> {
    await this.sleep(10 + this.dice.below(30));
    const afterSeconds = limit(this.agenda.nowMs);
    await this.sleep(10 + this.dice.below(30));
    return afterSeconds === null ? done({}) : tooFast(afterSeconds * SECOND);
  }

  /** So many payments side by side, each of which waits as it is told to, and then is the next one. */
  work(
    limiter: RateLimiter,
    limit: Limit,
    isWanted: () => boolean = () => true,
  ): { accepted: number; refused: number } {
    const counts = { accepted: 0, refused: 0 };
    const pay = async (): Promise<void> => {
      for (let tries = 0; isWanted();) {
        const reply = await limiter.run(() => this.ask(limit));
        if (reply.kind === 'DONE') {
          counts.accepted += 1;
          tries = 0;
          continue;
        }
        if (reply.kind === 'UNKNOWN') counts.refused += 1;
        await this.sleep(waitMs(reply, tries));
        tries += 1;
      }
    };
    for (let payment = 0; payment < 200; payment += 1) void pay();
    return counts;
  }
}

export function tooFast(retryAfterMs: number | null): Reply<never> {
  return failed('RATE_LIMIT_EXCEEDED', { facts: { status: 429, retryAfterMs } });
}
