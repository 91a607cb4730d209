/**
 * The result of one wire attempt. The client (`service/`) makes it; the decision table and the steps (`domain/`) read it.
 * Nothing in a reply is secret: no token, no signature, no beneficiary.
 */

/** Facts that every answer has, whatever its content (headings "Common request headers", "Errors"). */
export type ReplyFacts = {
  /** HTTP status; null when no response head arrived. Never decides anything by itself. */
  readonly status: number | null;
  /** `X-Trace-Id`; null when missing. */
  readonly traceId: string | null;
  /** `Idempotency-Replayed`: true, false, or null when the header is missing or unreadable. */
  readonly replayed: boolean | null;
  /** `Retry-After` in milliseconds as sent (not clamped); null when missing or unreadable. */
  readonly retryAfterMs: number | null;
  /** The service's clock by its `Date` header, epoch milliseconds; null when missing. */
  readonly serviceTimeMs: number | null;
};

/** A whole, valid error envelope (heading "Envelope"). */
export type ServiceError = {
  readonly code: string;
  readonly type: string;
  readonly message: string;
  readonly retryStrategy: string;
  readonly details: Readonly<Record<string, unknown>>;
};

/**
 * The four ends of a wire attempt.
 * `DONE`: a whole, valid success; the caller compares it with its intent.
 * `REFUSED`: a whole, valid error envelope whose code is definitive (see `reply-rules.ts`); *this* send executed nothing.
 * `NOT_SENT`: no byte of the request left this machine; the same may be sent again.
 * `UNKNOWN`: everything else; `error` is present when a valid envelope had a code that proves nothing.
 */
export type Reply<T> =
  | { readonly kind: 'DONE'; readonly value: T; readonly facts: ReplyFacts }
  | { readonly kind: 'REFUSED'; readonly error: ServiceError; readonly facts: ReplyFacts }
  | {
      readonly kind: 'NOT_SENT';
      readonly reason: string;
      /** Present only when the service or the worker's own gate has asked for a pause: how much of it is left, in milliseconds. */
      readonly afterMs?: number;
      /**
       * Present only when the worker's own folder of policies does not allow it (`activities/write-gate.ts`), not today, or not
       * without signatures, or when that is not known yet.
       */
      readonly notAllowed?:
        'NOT_ALLOWED' | 'OVER_CEILING' | 'CEILING_UNKNOWN' | 'TRADES_UNREAD' | 'AWAITING_APPROVAL';
    }
  | {
      readonly kind: 'UNKNOWN';
      /** What was wrong, in plain words (timeout, HTML, cut body, redirect, unknown code). */
      readonly reason: string;
      readonly error: ServiceError | null;
      readonly facts: ReplyFacts;
      /** Present only when the answer was too large or took too long: the caller may ask for less at a time. */
      readonly isTooMuch?: true;
    };
