// The log of requests: what was asked and answered, without tokens, signatures or bodies; tests await it.

import type { Operation } from './operations.ts';

export interface RequestLogEntry {
  readonly seq: number;
  /** Arrival, by the sandbox clock. */
  readonly at: string;
  readonly method: string;
  readonly path: string;
  readonly operation: Operation | null;
  readonly apiKey: string | null;
  readonly idempotencyKey: string | null;
  /** The client reference of a trade, or the metadata values of a withdrawal joined by a space. */
  readonly reference: string | null;
  /** Lower-case hex SHA-256 of the body. */
  readonly bodyHash: string;
  /** Null when no reply was sent. */
  readonly status: number | null;
  readonly code: string | null;
  readonly replayed: boolean;
  /** The record that was made or replayed. */
  readonly resourceId: string | null;
  readonly requestId: string | null;
  readonly traceId: string;
  /** `lost`: dropped without a reply; `cut`: dropped within it. */
  readonly outcome: 'replied' | 'lost' | 'cut';
  readonly faults: readonly string[];
}

/** The oldest entries go when there are more. */
const mostEntries = 100_000;

export class RequestLog {
  #entries: RequestLogEntry[] = [];
  #seq = 0;
  readonly #waiting = new Set<(entry: RequestLogEntry) => void>();

  add(entry: Omit<RequestLogEntry, 'seq'>): void {
    this.#seq += 1;
    const logged = { seq: this.#seq, ...entry };
    this.#entries.push(logged);
    if (this.#entries.length > mostEntries) this.#entries = this.#entries.slice(mostEntries / 10);
    for (const look of this.#waiting) look(logged);
  }

  /** Entries after `seq`, oldest first. */
  after(seq = 0): RequestLogEntry[] {
    return this.#entries.filter((entry) => entry.seq > seq);
  }

  /** Resolves with the next entry, from now on, for which `wanted` holds. */
  next(wanted: (entry: RequestLogEntry) => boolean): Promise<RequestLogEntry> {
    return new Promise((resolve) => {
      const look = (entry: RequestLogEntry): void => {
        if (!wanted(entry)) return;
        this.#waiting.delete(look);
        resolve(entry);
      };
      this.#waiting.add(look);
    });
  }
}
