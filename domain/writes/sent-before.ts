/**
 * What was sent before, as those who sent it know it: by the memory of a worker, or by a journal. The same once more under its
 * key is a lookup, since the service answers with what it keeps under the key. So it may leave although the folder of policies
 * has changed since (design: "What a worker believes"). It may not where the service has judged it, and made nothing. Pure.
 */
import { normalise } from '../money.ts';
import { FOLLOW_UPS, classOf, isMalformed } from '../service/reply-rules.ts';
import type { Spending } from './ceilings.ts';
import { SEND_OUTLIVES_MS } from './doubt.ts';

/** A payment or a trade that is about to leave. */
export type Send = {
  readonly reference: string;
  /** Null for a payment. */
  readonly quoteId: string | null;
  readonly spending: Spending;
};

/**
 * What the service takes for the same again. A quote fixes what its trade moves; a payment of another amount, or to another
 * account, is another payment.
 */
export function keyOf({ reference, quoteId, spending: { kind, account, amounts } }: Send): string {
  const what =
    quoteId === null
      ? [account, ...amounts.map(({ value, currency }) => `${normalise(value)} ${currency}`)]
      : [quoteId];
  return JSON.stringify([kind, reference, ...what]);
}

/**
 * The service keeps the key of a payment for seven days. A day less, so that no clock is asked to agree. A quote can be traded
 * only once, however long its key is kept.
 */
export const KEY_LIVES_MS = 6 * 86_400_000;
/** A send of which nobody knows what came of it has left by then, or never will. */
const LEAVES_WITHIN_MS = 120_000;
const FORGETS_EVERY_MS = 3_600_000;

/** What came of a send. `code`: of the service, or null. */
export type CameOfIt = {
  readonly result: 'DONE' | 'REFUSED' | 'NOT_SENT' | 'UNKNOWN';
  readonly code: string | null;
};

type Sends = {
  /** When the first of them left that may have been executed. */
  readonly firstAtMs: number;
  /** Until when the service could accept one of which no reply is known; null: one has made its record. */
  readonly openUntilMs: number | null;
};

export class SentBefore {
  readonly #byKey = new Map<string, Sends>();
  #forgotAtMs = 0;

  /**
   * Notes a send once it is known what came of it. Null: nobody knows that any more.
   * @param sentAtMs when it was about to leave, and `atMs` when its reply was there: epoch milliseconds
   */
  note(key: string, came: CameOfIt | null, { sentAtMs, atMs }: { sentAtMs: number; atMs: number }): void {
    this.#forget(atMs);
    const before = this.#byKey.get(key) ?? null;
    const firstAtMs = Math.min(before?.firstAtMs ?? sentAtMs, sentAtMs);
    switch (came?.result) {
      case undefined:
        return this.#isOpen(key, firstAtMs, sentAtMs + LEAVES_WITHIN_MS + SEND_OUTLIVES_MS);
      case 'DONE':
        this.#byKey.set(key, { firstAtMs, openUntilMs: null });
        return;
      case 'UNKNOWN':
        if (came.code !== 'RATE_LIMIT_EXCEEDED') this.#isOpen(key, firstAtMs, atMs + SEND_OUTLIVES_MS);
        return;
      case 'REFUSED': {
        // A refusal says nothing about an earlier send that the service may still accept.
        const openUntilMs = before?.openUntilMs ?? Number.POSITIVE_INFINITY;
        if (judgesItem(came.code) && sentAtMs > openUntilMs) this.#byKey.delete(key);
        return;
      }
      case 'NOT_SENT':
        return;
    }
  }

  /** True when the same was sent, has made its record or may have, and the service still keeps its key. */
  has(key: string, nowMs: number): boolean {
    const sends = this.#byKey.get(key);
    return sends !== undefined && nowMs < sends.firstAtMs + KEY_LIVES_MS;
  }

  /** Forgets the keys that the service does not keep any more. Not at each send: there may be many of them. */
  #forget(nowMs: number): void {
    if (nowMs - this.#forgotAtMs < FORGETS_EVERY_MS) return;
    this.#forgotAtMs = nowMs;
    for (const key of this.#byKey.keys()) if (!this.has(key, nowMs)) this.#byKey.delete(key);
  }

  #isOpen(key: string, firstAtMs: number, untilMs: number): void {
    const before = this.#byKey.get(key);
    const isMade = before !== undefined && before.openUntilMs === null;
    const openUntilMs = isMade ? null : Math.max(before?.openUntilMs ?? 0, untilMs);
    this.#byKey.set(key, { firstAtMs, openUntilMs });
  }
}

/** True for a refusal of the item itself. Any other one says nothing about what the key has made. */
function judgesItem(code: string | null): boolean {
  if (code === null || isMalformed(code)) return false;
  const follow = FOLLOW_UPS[classOf({ code, details: {} })].withdrawal;
  return follow === 'shortfall rule' || follow === 'look up, then end';
}
