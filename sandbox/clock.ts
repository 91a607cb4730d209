// The sandbox's own clock. Every life, retention, settlement and date follows it; tests move it instead of
// sleeping. No timer runs: a request derives the states of the records from the clock.

export class SandboxClock {
  #offsetMs = 0;
  #frozenAt: number | null = null;
  readonly #moved: () => void;

  constructor(moved: () => void = () => {}) {
    this.#moved = moved;
  }

  /** Milliseconds since the epoch, as the sandbox sees them. */
  now(): number {
    return this.#frozenAt ?? Date.now() + this.#offsetMs;
  }

  iso(): string {
    return isoOf(this.now());
  }

  /** Moves time by `ms`; a frozen clock stays frozen at the new moment. Returns the new time. */
  advance(ms: number): number {
    if (this.#frozenAt === null) this.#offsetMs += ms;
    else this.#frozenAt += ms;
    this.#moved();
    return this.now();
  }

  /** Sets the distance from the system clock; 0 is the system's own time. Unfreezes. */
  setOffset(ms: number): number {
    this.#frozenAt = null;
    this.#offsetMs = ms;
    this.#moved();
    return this.now();
  }

  /** Stops time, at `atMs` or now, until `resume` or `setOffset`. */
  freeze(atMs?: number): number {
    this.#frozenAt = atMs ?? this.now();
    this.#moved();
    return this.#frozenAt;
  }

  /** Lets time run on from where it was frozen. */
  resume(): number {
    if (this.#frozenAt !== null) {
      this.#offsetMs = this.#frozenAt - Date.now();
      this.#frozenAt = null;
      this.#moved();
    }
    return this.now();
  }

  view(): { readonly now: string; readonly offsetMs: number; readonly frozen: boolean } {
    return { now: this.iso(), offsetMs: this.now() - Date.now(), frozen: this.#frozenAt !== null };
  }
}

/** "Timestamps are RFC 3339 UTC strings with millisecond precision." */
export function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}
