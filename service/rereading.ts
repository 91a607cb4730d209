/**
 * Reads a list, the newest record first, back to a moment, over several calls: each goes on where the one before was stopped. A
 * list of a busy day has more pages than one call may read, and one page of many may fail. What was read is not asked for again.
 */
import type { Page } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { newestMsOf } from './list-scan.ts';
import { READ_BOUNDS, pages, type Bounds, type PageRequest } from './pages.ts';

type Listed = { readonly id: string; readonly createdAt: string; readonly status: string };

/** Where a call has stopped. `a bound`: the list has more than was read at a time. */
type Stopped = 'its end' | 'a bound' | 'a failure';

/** A cursor may not be good any more. After so many failures in a row the list is read from its beginning. */
const MOST_FAILURES = 3;

export class Rereading<T extends Listed> {
  readonly #list: (page: PageRequest) => Promise<Reply<Page<T>>>;
  readonly #sinceMs: number;
  readonly #failed: readonly string[];
  readonly #bounds: Bounds;
  readonly #records = new Map<string, T>();
  /** The page with which the next call begins; null: the newest one. */
  #from: string | null = null;
  #isWhole = false;
  #failures = 0;

  /** @param failed the statuses of records that are left out */
  constructor(
    list: (page: PageRequest) => Promise<Reply<Page<T>>>,
    sinceMs: number,
    failed: readonly string[],
    bounds: Bounds = READ_BOUNDS,
  ) {
    this.#list = list;
    this.#sinceMs = sinceMs;
    this.#failed = failed;
    this.#bounds = bounds;
  }

  /** What was read so far, each record once. */
  get records(): readonly T[] {
    return [...this.#records.values()];
  }

  /** Reads on. Once it has come to its end, it asks for nothing more. */
  async goOn(): Promise<Stopped> {
    if (this.#isWhole) return 'its end';
    try {
      return await this.#pages();
    } catch {
      return this.#failedOnce();
    }
  }

  async #pages(): Promise<Stopped> {
    const untilMs = this.#bounds.nowMs() + this.#bounds.withinMs;
    const from = this.#from === null ? {} : { from: this.#from };
    let asked = 0;
    for await (const reply of pages(this.#list, { direction: 'older', bounds: this.#bounds, ...from })) {
      const isBound = asked >= this.#bounds.maxPages || this.#bounds.nowMs() >= untilMs;
      if (reply.kind !== 'DONE') return isBound ? 'a bound' : this.#failedOnce();
      asked += 1;
      this.#failures = 0;
      const { items, nextCursor } = reply.value;
      for (const record of items)
        if (Date.parse(record.createdAt) >= this.#sinceMs && !this.#failed.includes(record.status))
          this.#records.set(record.id, record);
      const isOlder = items.length > 0 && newestMsOf(items) < this.#sinceMs;
      this.#isWhole = isOlder || nextCursor === null;
      if (this.#isWhole) return 'its end';
      this.#from = nextCursor;
    }
    return 'its end';
  }

  #failedOnce(): 'a failure' {
    this.#failures += 1;
    if (this.#failures >= MOST_FAILURES) {
      this.#from = null;
      this.#failures = 0;
    }
    return 'a failure';
  }
}
