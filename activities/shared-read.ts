/** One read for all that ask for the same at about the same moment. */
import type { Clock } from './deps.ts';

export class SharedRead<T> {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #read: () => Promise<T>;
  #last: { readonly atMs: number; readonly value: Promise<T> } | null = null;

  constructor(clock: Pick<Clock, 'monotonicMs'>, read: () => Promise<T>) {
    this.#clock = clock;
    this.#read = read;
  }

  /** What the last read said, where that began at most `maxAgeMs` ago; else it is read anew, as after one that failed. */
  value(maxAgeMs: number): Promise<T> {
    const now = this.#clock.monotonicMs();
    if (this.#last !== null && now - this.#last.atMs <= maxAgeMs) return this.#last.value;
    const value = this.#read();
    const own = { atMs: now, value };
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

  /** @param most so many are kept; then they are all forgotten */
  constructor(most = 50) {
    this.#most = most;
  }

  get(name: string, make: () => SharedRead<T>): SharedRead<T> {
    const known = this.#kept.get(name);
    if (known !== undefined) return known;
    if (this.#kept.size >= this.#most) this.#kept.clear();
    const made = make();
    this.#kept.set(name, made);
    return made;
  }
}
