// The idempotency cache: what was answered under a key, for how long, and what the same key gets meanwhile.

import type { Operation } from './operations.ts';
import type { Reply } from './records.ts';
import type { Store } from './store.ts';

export type Admission =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'replay'; readonly reply: Reply }
  | { readonly kind: 'mismatch'; readonly originalRequestHash: string; readonly firstSeenAt: number }
  | { readonly kind: 'in-flight' };

export const keyPattern = /^[a-zA-Z0-9_-]{1,255}$/;

export class IdempotencyCache {
  readonly #store: Store;

  /** Requests that were in flight when the process ended were never answered: their keys are free. */
  constructor(store: Store) {
    this.#store = store;
    for (const entry of store.tables.replies.values()) {
      if (entry.reply === null && !entry.late) store.tables.replies.delete(entry.id);
    }
  }

  /** One step: of two equal requests only one is fresh. Retention runs from the first sight of the key. */
  admit(
    id: string,
    request: { readonly operation: Operation; readonly hash: string; readonly retentionMs: number },
    now: number,
  ): Admission {
    const { replies } = this.#store.tables;
    const entry = replies.get(id);
    if (entry !== undefined && (entry.expiresAt > now || entry.reply === null)) {
      if (entry.requestHash !== request.hash) {
        return {
          kind: 'mismatch',
          originalRequestHash: entry.requestHash,
          firstSeenAt: entry.firstSeenAt,
        };
      }
      return entry.reply === null ? { kind: 'in-flight' } : { kind: 'replay', reply: entry.reply };
    }
    replies.put({
      id,
      operation: request.operation,
      requestHash: request.hash,
      firstSeenAt: now,
      expiresAt: now + request.retentionMs,
      reply: null,
      late: false,
    });
    return { kind: 'fresh' };
  }

  /** Keeps a reply under the key for the rest of its retention. */
  keep(id: string, reply: Reply): void {
    const entry = this.#store.tables.replies.get(id);
    if (entry !== undefined) this.#store.tables.replies.put({ ...entry, reply, late: false });
  }

  /** Forgets the key; the next request with it is fresh, whatever its body. */
  release(id: string): void {
    this.#store.tables.replies.delete(id);
  }

  /** Leaves the key in flight after its request was answered. */
  leaveInFlight(id: string): void {
    const entry = this.#store.tables.replies.get(id);
    if (entry !== undefined) this.#store.tables.replies.put({ ...entry, late: true });
  }

  succeeded(id: string): boolean {
    const status = this.#store.tables.replies.get(id)?.reply?.status ?? 0;
    return status >= 200 && status < 300;
  }
}
