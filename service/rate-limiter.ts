/**
 * The pace at which the requests of one API key leave this process: only so many side by side, and no faster than the service
 * allows. Of those that wait, the payments of batches let all others go before them, and each group is served in the order in
 * which it came. Nothing is known about its limit until it answers 429 `RATE_LIMIT_EXCEEDED` (interface
 * heading "Status mapping": quantities and windows are not shown); from then on the rate is learned. The client sends every
 * request through it. It never sends a request twice, and never decides what a reply means.
 *
 * How it learns: a 429 stops all sends for `Retry-After`. They go on at what the service had accepted until then. Three steps of
 * quick growth, each to its 429, find where the limit is. From then on the rate grows slowly, ever faster the longer no 429 comes,
 * and a 429 takes a little of it, or as much as it is above what was accepted. It grows only while requests wait for it, and by
 * the same for every worker: so the rates of workers that share a limit come together, and what one does not use the others get.
 */
import { setMaxListeners } from 'node:events';
import { waitMs } from '../domain/service/reply-rules.ts';
import type { Reply } from '../domain/service/reply.ts';

/** Monotonic time, and a call after so long; what is returned takes the call back. Milliseconds. */
export type PaceClock = {
  readonly nowMs: () => number;
  readonly wake: (afterMs: number, callback: () => void) => () => void;
};

const MACHINE_CLOCK: PaceClock = {
  nowMs: () => performance.now(),
  wake: (afterMs, callback) => {
    const timer = setTimeout(callback, Math.ceil(afterMs));
    return () => clearTimeout(timer);
  },
};

/** After a 429 the rate is this part of what it was. */
const STEP_DOWN = 0.95;
/** A rate that is above this multiple of what was accepted was far too fast. */
const FAR_TOO_FAST = 1.1;
/** One 429 takes at most this part of a rate: what was accepted in a short time tells little. */
const MOST_DOWN = 0.5;
/** Requests per second. Below this rate, only the pauses that the service asks for hold requests back. */
const LEAST_RATE = 1;
/** With so many accepted requests, their pace tells what the limit is. With fewer, nothing but the refusal is known. */
const TELLING = 20;
/** Requests per second after a first 429 that does not tell what the limit is. */
const UNTOLD_RATE = 10;
/** What the first 429 tells is rough: steps of a search, how fast the rate grows in each, and what its 429 leaves of it. */
const SEARCH = [
  { doublesMs: 2_000, down: 0.7 },
  { doublesMs: 8_000, down: 0.85 },
  { doublesMs: 32_000, down: 0.95 },
] as const;
/**
 * After the search, the rate grows by one a second in this time, and with the cube of the time without a 429: ten a second meet
 * one twice a minute, and any other rate is reached in some minutes.
 */
const GROWS_BY_ONE_MS = 39_000;
/** Timers come late. So much of the time that was lost may be made up for. */
const CATCH_UP_MS = 100;
/** Of so many places, the payments of a batch get one at least. So a batch goes on, whatever else there is to send. */
const LEFT_TO_BATCHES = 5;
/** With no request for so long, what was accepted before tells nothing about the limit. */
const IDLE_MS = 500;
/** Before a limit is known, what was accepted longer ago tells nothing about it. */
const UNLIMITED_MEMORY_MS = 60_000;

/** A request that waits for its turn. */
type Waiting = {
  /** When its turn comes later than this, the request is not sent. */
  readonly untilMs: number;
  /** Null: it starts. */
  readonly end: (refusal: Reply<never> | null) => void;
};

export class RateLimiter {
  readonly #sideBySide: number;
  readonly #waitAtMostMs: number;
  readonly #clock: PaceClock;

  /** In the order in which they came; each waits equally long, so that the first is the first to give up. */
  readonly #waiting = { batches: new Set<Waiting>(), others: new Set<Waiting>() };
  /** How many others in a row have gone before a payment of a batch. */
  #wentBefore = 0;
  #underWay = 0;
  #takeBackWake: (() => void) | null = null;

  /** Requests per second; null: no limit is known. */
  #rate: number | null = null;
  /** No request leaves before. */
  #nextAtMs = 0;
  /** The end of the pause that the service asked for. */
  #pausedUntilMs = 0;
  /** When it was asked for. */
  #pausedAtMs = -1;
  /** Pauses in a row after which nothing was accepted. */
  #vainPauses = 0;

  /** How many requests were accepted, and since when; idle time and pauses before that do not count. */
  #accepted = 0;
  #sinceMs = 0;
  /** When the last request came to its end. */
  #endedAtMs = 0;
  /** How many steps of the search are done. */
  #searched = 0;
  /** For how long the rate has been growing, and when a request last started. */
  #grownMs = 0;
  #startedAtMs = 0;
  /** Nothing but the rate holds back the request whose turn it is: only then the rate grows. */
  #isHeldBack = false;

  /**
   * @param options.sideBySide most requests under way at a time
   * @param options.waitAtMostMs a request that has waited for so long is `NOT_SENT`
   */
  constructor(options: {
    readonly sideBySide: number;
    readonly waitAtMostMs: number;
    readonly clock?: PaceClock;
  }) {
    this.#sideBySide = options.sideBySide;
    this.#waitAtMostMs = options.waitAtMostMs;
    this.#clock = options.clock ?? MACHINE_CLOCK;
  }

  /**
   * Calls `send` when its turn has come (at once, where nothing stands in the way), and learns from its reply. `NOT_SENT`
   * without calling it where that would be too late, or once `signal` has ended the wait.
   *
   * @param options.isOfBatch a payment of a batch, which has time
   */
  async run<T>(
    send: () => Promise<Reply<T>>,
    options: { readonly signal?: AbortSignal | undefined; readonly isOfBatch?: boolean | undefined } = {},
  ): Promise<Reply<T>> {
    const refusal = this.#startsNow() ? null : await this.#turn(options);
    if (refusal !== null) return refusal;
    const startedAtMs = this.#clock.nowMs();
    let reply: Reply<T> | null = null;
    try {
      reply = await send();
      return reply;
    } finally {
      this.#underWay -= 1;
      this.#learn(reply, startedAtMs);
      this.#goOn();
    }
  }

  /** Takes a place, where one is free and no other request waits for it. */
  #startsNow(): boolean {
    if (this.#next() !== null) return false;
    const now = this.#clock.nowMs();
    if (this.#underWay === 0) this.#forgetIdleTime(now);
    if (this.#underWay >= this.#sideBySide || now < this.#startAtMs()) return false;
    this.#takePlace(now);
    return true;
  }

  /** Null: now. A `NOT_SENT`: not any more. */
  #turn({ signal, isOfBatch }: Parameters<RateLimiter['run']>[1] = {}): Promise<Reply<never> | null> {
    const group = isOfBatch === true ? this.#waiting.batches : this.#waiting.others;
    return new Promise((resolve) => {
      const end = (refusal: Reply<never> | null): void => {
        group.delete(waiting);
        signal?.removeEventListener('abort', giveUp);
        resolve(refusal);
      };
      const giveUp = (): void => end(notSent('the call was given up'));
      const waiting: Waiting = { untilMs: this.#clock.nowMs() + this.#waitAtMostMs, end };
      group.add(waiting);
      if (signal?.aborted === true) return giveUp();
      // A call may send hundreds of payments.
      if (signal !== undefined) setMaxListeners(0, signal);
      signal?.addEventListener('abort', giveUp);
      this.#goOn();
    });
  }

  /** Starts the requests that may start now, answers those that would be too late, and plans when to look again. */
  #goOn(): void {
    this.#takeBackWake?.();
    this.#takeBackWake = null;
    for (;;) {
      const now = this.#clock.nowMs();
      const untilMs = Math.min(...Object.values(this.#waiting).map((group) => this.#refuseLate(group, now)));
      const next = this.#next();
      if (next === null) return;
      const isFree = this.#underWay < this.#sideBySide;
      const startAtMs = this.#startAtMs();
      if (isFree && now >= startAtMs) {
        const isBefore = this.#waiting.batches.size > 0 && !this.#waiting.batches.has(next);
        this.#wentBefore = isBefore ? this.#wentBefore + 1 : 0;
        this.#takePlace(now);
        next.end(null);
      } else {
        this.#isHeldBack = isFree;
        const wakeAtMs = isFree ? Math.min(startAtMs, untilMs) : untilMs;
        this.#takeBackWake = this.#clock.wake(wakeAtMs - now, () => this.#goOn());
        return;
      }
    }
  }

  /** The request whose turn it is; null: none waits. */
  #next(): Waiting | null {
    const [ofBatch = null] = this.#waiting.batches;
    const [other = null] = this.#waiting.others;
    const isTurnOfBatch = this.#wentBefore >= LEFT_TO_BATCHES - 1;
    return isTurnOfBatch ? (ofBatch ?? other) : (other ?? ofBatch);
  }

  /** Answers those that would be too late. When the next one of the group would be. */
  #refuseLate(group: ReadonlySet<Waiting>, now: number): number {
    for (const first of group) {
      if (this.#pausedUntilMs > first.untilMs) first.end(paused(this.#pausedUntilMs - now));
      else if (now >= first.untilMs) first.end(notSent('too many requests were before it'));
      else return first.untilMs;
    }
    return Number.POSITIVE_INFINITY;
  }

  #startAtMs(): number {
    return Math.max(this.#nextAtMs, this.#pausedUntilMs);
  }

  #takePlace(now: number): void {
    this.#underWay += 1;
    if (this.#rate !== null) {
      const sinceMs = Math.max(this.#startedAtMs, this.#pausedUntilMs);
      // While the machine slept, nothing was learned.
      const heldBackMs = Math.min(now - sinceMs, 1_000 / LEAST_RATE);
      if (this.#isHeldBack) this.#rate = this.#grown(this.#rate, heldBackMs);
      this.#nextAtMs = Math.max(this.#nextAtMs, now - CATCH_UP_MS) + 1_000 / this.#rate;
    }
    this.#isHeldBack = false;
    this.#startedAtMs = now;
  }

  /** The rate after so much more time without a 429. */
  #grown(rate: number, ms: number): number {
    const search = SEARCH[this.#searched];
    if (search !== undefined) return rate * 2 ** (ms / search.doublesMs);
    const before = this.#grownMs / GROWS_BY_ONE_MS;
    this.#grownMs += ms;
    const after = this.#grownMs / GROWS_BY_ONE_MS;
    return rate + after ** 3 - before ** 3;
  }

  #learn(reply: Reply<unknown> | null, startedAtMs: number): void {
    const now = this.#clock.nowMs();
    this.#endedAtMs = now;
    if (reply === null || reply.kind === 'NOT_SENT') {
      // The request was not sent, so that the next one gets its place.
      if (this.#rate !== null) this.#nextAtMs -= 1_000 / this.#rate;
      return;
    }
    // A request that left before the last pause began tells nothing about the time after the pause.
    const isNews = startedAtMs >= this.#pausedAtMs;
    if (isRateLimited(reply)) this.#pause(now, waitMs(reply, this.#vainPauses), isNews);
    else if (isNews) {
      if (this.#rate === null && now - this.#sinceMs > UNLIMITED_MEMORY_MS) this.#measureFrom(now);
      this.#accepted += 1;
      this.#vainPauses = 0;
    }
  }

  #pause(now: number, pauseMs: number, isNews: boolean): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, now + pauseMs);
    this.#nextAtMs = Math.max(this.#nextAtMs, this.#pausedUntilMs);
    if (!isNews) return;
    this.#pausedAtMs = now;
    this.#grownMs = 0;
    this.#vainPauses += 1;
    const isVain = this.#accepted === 0;
    const activeMs = Math.max(now - this.#sinceMs, 0);
    const perSecond = Math.max(this.#accepted, 1) / ((activeMs + pauseMs) / 1_000);
    const isTelling = this.#accepted >= TELLING;
    const search = SEARCH[this.#searched];
    if (this.#rate === null) this.#rate = isTelling ? perSecond : Math.max(perSecond, UNTOLD_RATE);
    else if (!isVain && search !== undefined) {
      // A long pause tells of a window, and all that it takes was accepted.
      this.#rate = isTelling && pauseMs > activeMs ? perSecond : this.#rate * search.down;
      this.#searched += 1;
    } else if (!isVain) this.#rate = isTelling ? slower(this.#rate, perSecond) : this.#rate * STEP_DOWN;
    this.#rate = Math.max(this.#rate, LEAST_RATE);
    // A pause that was too short is part of the time in which nothing was accepted.
    if (!isVain) this.#measureFrom(this.#pausedUntilMs);
  }

  #measureFrom(atMs: number): void {
    this.#accepted = 0;
    this.#sinceMs = atMs;
  }

  /** True after a time without any request: what happened before it tells nothing about the limit. */
  #forgetIdleTime(now: number): void {
    if (now - this.#endedAtMs > IDLE_MS && now > this.#pausedUntilMs) this.#measureFrom(now);
  }
}

/** @param accepted requests per second that the service took */
function slower(rate: number, accepted: number): number {
  return Math.max(Math.min(rate * STEP_DOWN, accepted * FAR_TOO_FAST), rate * MOST_DOWN);
}

/** A gateway before the service says it by the status alone. */
function isRateLimited(reply: Reply<unknown>): boolean {
  return (
    reply.kind === 'UNKNOWN' && (reply.error?.code === 'RATE_LIMIT_EXCEEDED' || reply.facts.status === 429)
  );
}

function paused(leftMs: number): Reply<never> {
  return {
    ...notSent(`it has asked for a pause, which lasts ${Math.ceil(leftMs / 1_000)} s more`),
    afterMs: leftMs,
  };
}

function notSent(reason: string): Extract<Reply<never>, { kind: 'NOT_SENT' }> {
  return { kind: 'NOT_SENT', reason };
}
