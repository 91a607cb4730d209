/** One read for all that ask for the same at about the same moment. */
import type { Clock } from './deps.ts';
import { ageMs, momentOf, type Moment } from './moment.ts';

export class SharedRead<T> {
  readonly #clock: Clock;
  readonly #read: () => Promise<T>;
  #last: { readonly at: Moment; readonly value: Promise<T> } | null = null;

  constructor(clock: Clock, read: () => Promise<T>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** What the last read said, where that began at most `maxAgeMs` ago; else it is read anew, as after one that failed. */
  value(maxAgeMs: number): Promise<T> {
    if (this.#last !== null && ageMs(this.#clock, this.#last.at) <= maxAgeMs) return this.#last.value;
    const at = momentOf(this.#clock);
    const value = this.#read();
    const own = { at, value };
    this.#last = own;
    value.catch(() => {
      if (this.#last === own) this.#last = null;
    });
    return value;
  }

  /** Whoever asks next reads anew. */
  forget(): void {
    this.#last = null;
  }
}

/** Shared reads by a name, made when they are asked for first. */
export class SharedReads<T> {
  readonly #kept = new Map<string, SharedRead<T>>();
  readonly #most: number;

  /** @param most so many are kept; beyond that the one that was made first is forgotten */
  constructor(most = 50) {
    this.#most = most;
  }

  get(name: string, make: () => SharedRead<T>): SharedRead<T> {
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= this.#most && oldest !== undefined) this.#kept.delete(oldest);
    const made = make();
    this.#kept.set(name, made);
    return made;
  }

  /** Whoever asks next for what has this name reads anew. */
  forget(name: string): void {
    this.#kept.delete(name);
  }
}
