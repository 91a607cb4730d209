// The rate limit of the service: so many requests in a window, for an organisation or for a key. Windows follow each
// other by the sandbox clock; what is refused does not count.

export interface RateLimit {
  readonly requests: number;
  readonly windowMs: number;
  readonly scope: 'org' | 'apiKey';
}

export class RequestRate {
  readonly #taken = new Map<string, { readonly window: number; count: number }>();

  /** Takes a request of `who`. Returns null, or in how many whole seconds the next window begins. */
  take(who: string, limit: RateLimit, now: number): number | null {
    const window = Math.floor(now / limit.windowMs);
    let taken = this.#taken.get(who);
    if (taken?.window !== window) {
      taken = { window, count: 0 };
      this.#taken.set(who, taken);
    }
    if (taken.count >= limit.requests) return Math.ceil(((window + 1) * limit.windowMs - now) / 1_000);
    taken.count += 1;
    return null;
  }
}
