/** One read for all calls that ask for the same at about the same moment. */
import type { Clock } from './deps.ts';
import { ageMs, momentOf, type Moment } from './moment.ts';

/** The items of a call share one read. It is at most this old when an item uses it. */
export const SHARED_READ_MS = 5_000;

/** A read that is under way or done, and when it began. */
export type Reading<T> = { readonly at: Moment; readonly value: Promise<T> };

export class SharedRead<T> {
  readonly #clock: Clock;
  readonly #ask: () => Promise<T>;
  #last: Reading<T> | null = null;

  constructor(clock: Clock, ask: () => Promise<T>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** The last reading, if it began at most `maxAgeMs` ago and has not failed; else a new one. */
  read(maxAgeMs: number): Reading<T> {
    if (this.#last !== null && ageMs(this.#clock, this.#last.at) <= maxAgeMs) return this.#last;
    const at = momentOf(this.#clock);
    const value = this.#ask();
    const own = { at, value };
    this.#last = own;
    value.catch(() => {
      if (this.#last === own) this.#last = null;
    });
    return own;
  }

  /** What this reading says. */
  value(maxAgeMs: number): Promise<T> {
    return this.read(maxAgeMs).value;
  }

  /** The next call reads anew. */
  forget(): void {
    this.#last = null;
  }
}

/** Shared reads by name. Each is made when it is asked for first. */
export class SharedReads<T> {
  readonly #kept = new Map<string, SharedRead<T>>();
  readonly #clock: Clock;
  readonly #most: number;

  /** @param most so many are kept at most: then the one that was made first is forgotten */
  constructor(clock: Clock, most = 50) {
    this.#clock = clock;
    this.#most = most;
  }

  get(name: string, ask: () => Promise<T>): SharedRead<T> {
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= this.#most && oldest !== undefined) this.#kept.delete(oldest);
    const made = new SharedRead(this.#clock, ask);
    this.#kept.set(name, made);
    return made;
  }

  /** The next call for this name reads anew. */
  forget(name: string): void {
    this.#kept.delete(name);
  }
}
