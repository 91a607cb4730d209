/**
 * Durable waits of a test that drives domain code without Temporal: whoever waits goes on when its condition holds, and time
 * passes only when the test says so. What waits for ever keeps no process alive.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Ports } from '../../domain/run/ports.ts';
import { NOW } from './scripts.ts';

type Waiter = {
  readonly holds: () => boolean;
  readonly untilMs: number;
  readonly goOn: (isEarly: boolean) => void;
};

/** So many turns in which nobody goes on: nothing is under way. */
const QUIET_TURNS = 5;

export class ScriptTime {
  #nowMs = NOW;
  readonly #waiters = new Set<Waiter>();

  readonly nowMs = (): number => this.#nowMs;

  readonly waitUntil: Ports['waitUntil'] = (holds, timeoutMs = Number.POSITIVE_INFINITY) => {
    if (holds()) return Promise.resolve(true);
    return new Promise((resolve) => {
      this.#waiters.add({ holds, untilMs: this.#nowMs + timeoutMs, goOn: resolve });
    });
  };

  /** Until everybody waits for what does not come by itself. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < QUIET_TURNS; turns += 1) {
      await nextTurn();
      for (const waiter of this.#waiters) if (waiter.holds() && this.#wakes(waiter, true)) turns = 0;
    }
  }

  /** Lets time pass, from one moment at which somebody looks to the next. */
  async pass(ms: number): Promise<void> {
    const untilMs = this.#nowMs + ms;
    for (;;) {
      await this.quiet();
      const next = Math.min(...[...this.#waiters].map((waiter) => waiter.untilMs));
      if (next > untilMs) break;
      this.#nowMs = next;
      for (const waiter of this.#waiters) if (waiter.untilMs <= next) this.#wakes(waiter, waiter.holds());
    }
    this.#nowMs = untilMs;
  }

  #wakes(waiter: Waiter, isEarly: boolean): boolean {
    this.#waiters.delete(waiter);
    waiter.goOn(isEarly);
    return true;
  }
}
