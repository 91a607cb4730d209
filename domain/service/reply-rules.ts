/**
 * The one table that tells what a reply means and what follows (design: "What a reply means"; interface: "Code catalog").
 * Known codes decide, never the HTTP status. The service's `retryStrategy` is followed except where following it would pay
 * twice; each such row says why in `departs`. Pure: the client, the steps and docs/replies.md read it.
 */
import type { Reply, ServiceError } from './reply.ts';

/** Every code that the interface shows. */
export type Code = keyof typeof DECISIONS;

/** The classes of replies. `FOLLOW_UPS` says what follows from each. */
export type ReplyClass =
  | 'done'
  | 'wait, same key'
  | 'check state, then retry'
  | 'look up, then a new quote'
  | 'ours, probably'
  | 'wait for money'
  | 'the item is wrong'
  | 'pause the policy'
  | 'pause everything'
  | 'unknown';

/** A read changes nothing. So it is tried again, or it fails at once with the reason why another try cannot help. */
export type AfterRead = 'use it' | 'ask again' | 'ask again slowly' | 'give up';
/** A quote moves no money: a new one may be asked for at any time when no trade is in doubt. */
export type AfterQuote = 'use it' | 'ask again' | 'shortfall rule' | 'end the leg' | 'hold';
/** `same key again` sends the same bytes once more. Every entry that begins with `look up` looks the item up first. */
type AfterWrite =
  | 'adopt'
  | 'same key again'
  | 'look up, then same key again'
  | 'look up, then doubt'
  | 'shortfall rule'
  | 'look up, then end'
  | 'hold';
export type AfterTrade = AfterWrite | 'look up, then new quote' | 'look up, then doubt, then new quote';
export type AfterWithdrawal = AfterWrite | 'look up, then next generation';

/** What follows for each kind of call. */
export type FollowUp = {
  readonly read: AfterRead;
  readonly quote: AfterQuote;
  readonly trade: AfterTrade;
  readonly withdrawal: AfterWithdrawal;
};

/** What follows from each class, per kind of call. */
export const FOLLOW_UPS: Readonly<Record<ReplyClass, FollowUp>> = {
  done: { read: 'use it', quote: 'use it', trade: 'adopt', withdrawal: 'adopt' },
  'wait, same key': {
    read: 'ask again',
    quote: 'ask again',
    trade: 'same key again',
    withdrawal: 'same key again',
  },
  'check state, then retry': {
    read: 'ask again',
    quote: 'ask again',
    trade: 'look up, then same key again',
    withdrawal: 'look up, then same key again',
  },
  'look up, then a new quote': {
    read: 'ask again slowly',
    quote: 'ask again',
    trade: 'look up, then new quote',
    withdrawal: 'look up, then same key again',
  },
  'ours, probably': {
    read: 'ask again slowly',
    quote: 'ask again',
    trade: 'look up, then doubt',
    withdrawal: 'look up, then doubt',
  },
  'wait for money': {
    read: 'ask again slowly',
    quote: 'shortfall rule',
    trade: 'shortfall rule',
    withdrawal: 'shortfall rule',
  },
  'the item is wrong': {
    read: 'give up',
    quote: 'end the leg',
    trade: 'look up, then end',
    withdrawal: 'look up, then end',
  },
  'pause the policy': { read: 'ask again slowly', quote: 'hold', trade: 'hold', withdrawal: 'hold' },
  'pause everything': { read: 'ask again slowly', quote: 'hold', trade: 'hold', withdrawal: 'hold' },
  unknown: {
    read: 'ask again',
    quote: 'ask again',
    trade: 'look up, then same key again',
    withdrawal: 'look up, then same key again',
  },
};

/**
 * What follows instead when the reply to a write is a *stored* one (`Idempotency-Replayed: true`, heading "Idempotency"):
 * the service will never give this key another answer. A class that is not here is treated like a fresh reply.
 */
export const STORED_FOLLOW_UPS: Readonly<
  Partial<Record<ReplyClass, Partial<Pick<FollowUp, 'trade' | 'withdrawal'>>>>
> = {
  'check state, then retry': {
    trade: 'look up, then doubt, then new quote',
    withdrawal: 'look up, then doubt',
  },
  // The chain rule: a stored refusal proves that this key can never pay, so that the next generation may be opened.
  'wait for money': { withdrawal: 'look up, then next generation' },
  'the item is wrong': { withdrawal: 'look up, then next generation' },
  'pause the policy': { withdrawal: 'look up, then next generation' },
  'pause everything': { withdrawal: 'look up, then next generation' },
  unknown: { trade: 'look up, then doubt, then new quote', withdrawal: 'look up, then doubt' },
};

/** The advice of the service, as the interface assigns it (heading "Envelope", "Retry strategy assignment"). */
export type RetryStrategy =
  'WAIT_THEN_RETRY_SAME_KEY' | 'FIX_AND_RESUBMIT' | 'CHECK_STATE_THEN_RETRY' | 'TERMINAL';

type Row = {
  readonly class: ReplyClass;
  /** Why the service's `retryStrategy` is not followed; absent when it is. */
  readonly departs?: string;
  /** What the service says by it, after "The service says:", or with "it" for the service; absent: it cannot be the answer to a call of ours. */
  readonly says?: string;
  /** The read that shows whether the cause is gone; absent: only another send can show it. */
  readonly shownBy?: 'balances';
  /** What is lacking, where it is not money. */
  readonly lacks?: 'limit';
  /** A refusal with this code proves nothing about an earlier send, because the service did not judge the item itself. */
  readonly judges?: 'the request only';
};

const wait: Row = { class: 'wait, same key' };
const checkState: Row = { class: 'check state, then retry' };
const pause: Row = {
  class: 'pause everything',
  departs: 'a fault of configuration is mended and the run goes on; it never fails a payment (M7)',
};
const pausePolicy: Row = {
  class: 'pause the policy',
  departs: 'switched off for the account: the run waits until it is switched on, no payment fails of it (M7)',
};
const money: Row = {
  class: 'wait for money',
  departs: 'tried again under the same key first: a new key after a forgotten success would pay twice (M1)',
};
const wrong: Row = {
  class: 'the item is wrong',
  departs:
    'the item ends with the reason; a new key is opened only past a replayed refusal or by a person (M1)',
};
const malformed: Row = { ...wrong, judges: 'the request only' };
const shownMoney: Row = { ...money, shownBy: 'balances' };
const usedUp: Row = { ...money, lacks: 'limit' };
const ours = (why: string): Row => ({ class: 'ours, probably', departs: why });
const deadQuote: Row = {
  class: 'look up, then a new quote',
  departs: 'an earlier send may have been accepted: a lookup first, and doubt where one is unknown (M2)',
};
/**
 * Codes that the interface shows only for calls that we do not make, or that make no sense as an answer to ours. They prove
 * nothing.
 */
const unexpected: Row = {
  class: 'unknown',
  departs: 'no answer that the call can have: it proves nothing about the write (M1)',
};

const said = <R extends Row>(row: R, says: string): R & { readonly says: string } => ({ ...row, says });

/** One row for every code that the interface shows. */
export const DECISIONS = {
  // Authentication and authorization
  AUTH_TOKEN_MISSING: said(pause, 'the request carried no token'),
  AUTH_TOKEN_INVALID: said(pause, 'it does not accept the token of the request'), // with reason `nonce_replay`: see `classOf`
  AUTH_TOKEN_EXPIRED: said(pause, 'the token of the request has expired; most likely a clock is wrong'),
  AUTH_TOKEN_INVALID_CONFIG: said(pause, 'the token of the request is not made in the way that it asks for'),
  AUTH_API_KEY_MISSING: said(pause, 'the request named no API key'),
  AUTH_API_KEY_INVALID: said(pause, 'it does not know the API key, or the key has been revoked'),
  AUTH_API_KEY_SANDBOX_REQUIRED: said(pause, 'this needs an API key of the sandbox'),
  AUTH_API_KEY_LIVE_REQUIRED: said(pause, 'this needs an API key of live'),
  SANDBOX_MODE_REQUIRED: said(pause, 'it does this only in the sandbox'),
  AUTH_FORBIDDEN_IP: said(pause, 'the API key may not be used from the network address of the worker'),
  AUTH_INSUFFICIENT_SCOPE: said(pause, 'the API key may not do this'),
  // Validation
  INVALID_APP_MODE: said(pause, 'the mode of the request is not one that it knows'),
  VALIDATION_QUERY_FAILED: said(malformed, 'the form of the request is wrong'),
  VALIDATION_PATH_FAILED: said(malformed, 'the form of the request is wrong'),
  VALIDATION_BODY_FAILED: said(malformed, 'the form of the request is wrong'),
  VALIDATION_HEADER_FAILED: said(pause, 'a header of the request is wrong'),
  VALIDATION_CONTENT_TYPE: said(pause, 'it does not accept the content type of the request'),
  INVALID_ORGANIZATION: said(pause, 'it does not know the organisation'),
  MISSING_REQUEST_CONTEXT: said(pause, 'it could not tell whose request it is'),
  METHOD_NOT_ALLOWED: said(
    pause,
    'it does not do this at the address of the request; most likely the address is wrong',
  ),
  VALIDATION_PAYLOAD_TOO_LARGE: said(malformed, 'the request is too large'),
  UNSUPPORTED_MEDIA_TYPE: said(pause, 'it does not accept the content type of the request'),
  // Idempotency, routing, rate limiting, platform
  IDEMPOTENCY_KEY_MISSING: said(pause, 'the request carried no idempotency key'),
  IDEMPOTENCY_KEY_INVALID: said(pause, 'it does not accept the idempotency key of the request'),
  IDEMPOTENCY_IN_FLIGHT: said(wait, 'it is still at work on an earlier copy of the same request'),
  IDEMPOTENCY_MISMATCH: said(
    ours('another program used our key with other bytes: a new key could pay a second time'),
    'another request has used the same idempotency key',
  ),
  IDEMPOTENCY_UNAVAILABLE: said(wait, 'it cannot look up idempotency keys now'),
  ROUTE_NOT_FOUND: said(pause, 'it does not know the address; most likely the address is wrong'),
  RATE_LIMIT_EXCEEDED: said(wait, 'it gets more requests than it takes'),
  FEATURE_NOT_ENABLED: said(pausePolicy, 'this is not switched on for the organisation'),
  INTERNAL_ERROR: said(checkState, 'it had a fault of its own'),
  // Trading and quotes
  TRADE_NOT_FOUND: unexpected,
  TRADE_NOT_REVERSIBLE: unexpected,
  TRADE_NOT_SETTLEABLE: unexpected,
  TRADE_NOT_MANUAL: unexpected,
  TRADE_ALREADY_SETTLED: unexpected,
  TRADE_EXECUTION_FAILED: said(checkState, 'it could not make the trade, or does not know whether it did'),
  TRADE_DUPLICATE_CLIENT_REFERENCE: said(
    ours('a trade under our reference exists: another reference would trade twice'),
    'a trade with this reference is there already',
  ),
  TRADE_DISABLED: said(pausePolicy, 'trading is switched off'),
  TRADE_AMOUNT_ABOVE_LIMIT: said(wrong, 'the amount is above the most that it takes in one trade'),
  TRADE_AMOUNT_BELOW_MINIMUM: said(wrong, 'the amount is below the least that it takes in one trade'),
  TRADE_PAIR_VOLUME_LIMIT_REACHED: said(usedUp, 'the volume that it allows in this pair is used up'),
  TRADE_CREDIT_LIMIT_EXCEEDED: said(usedUp, 'the credit limit is used up'),
  TRADE_INSUFFICIENT_BALANCE: said(shownMoney, 'the balance does not cover the trade'),
  TRADE_CURRENCY_NOT_SUPPORTED: said(wrong, 'it does not trade the currency'),
  TRADE_CURRENCY_NOT_ENABLED_FOR_ACCOUNT: said(pausePolicy, 'the currency is not switched on for trading'),
  TRADE_PAIR_NOT_SUPPORTED: said(wrong, 'it does not trade the pair'),
  TRADE_PAIR_NOT_ENABLED_FOR_ACCOUNT: said(pausePolicy, 'the pair is not switched on for trading'),
  QUOTE_INVALID_REFERENCE_UNIT: unexpected,
  QUOTE_EXPIRED: said(deadQuote, 'the quote has expired'),
  QUOTE_ALREADY_CONSUMED: said(
    ours('our own trade has most likely consumed it: a new quote would trade twice'),
    'the quote was traded already',
  ),
  QUOTE_NOT_FOUND: said(deadQuote, 'it does not know the quote any more'),
  DEPOSIT_NOT_FOUND: unexpected,
  EXPOSURE_NOT_ENABLED: unexpected,
  // Withdrawals
  WITHDRAWAL_NOT_FOUND: unexpected,
  WITHDRAWAL_INITIATION_FAILED: said(
    checkState,
    'it could not begin the payment, or does not know whether it did',
  ),
  WITHDRAWAL_INVALID_AMOUNT_PRECISION: said(wrong, 'the amount has more decimals than it takes'),
  WITHDRAWAL_INSUFFICIENT_BALANCE: said(shownMoney, 'the balance does not cover the payment'),
  WITHDRAWAL_ADDRESS_NOT_VERIFIED: said(wrong, 'the account is not verified'),
  WITHDRAWAL_ADDRESS_CHECKSUM_FAILED: said(wrong, 'the address of the account has a wrong check digit'),
  WITHDRAWAL_CURRENCY_NOT_SUPPORTED: said(wrong, 'it does not pay out the currency'),
  WITHDRAWAL_DISABLED_FOR_ACCOUNT: said(pausePolicy, 'payments are switched off for the organisation'),
  WITHDRAWAL_PENDING_DEPOSIT_REQUIRED: said(money, 'a deposit must come in before it pays'),
  WITHDRAWAL_ADDRESS_CURRENCY_MISMATCH: said(wrong, 'the account takes another currency'),
  WITHDRAWAL_ADDRESS_NOT_FOUND: said(wrong, 'it does not know the account'),
  WITHDRAWAL_ACCOUNT_NOT_LIVE: said(wrong, 'the account is not in use'),
  WITHDRAWAL_ACCOUNT_FIAT_INVALID_NETWORK: unexpected,
  WITHDRAWAL_ACCOUNT_CRYPTO_INVALID_RAIL: unexpected,
  // Accounts, capabilities, payout addresses, payout quotes (payments surface)
  ACCOUNT_ARCHIVED: unexpected,
  ACCOUNT_HOLDER_MISMATCH: unexpected,
  ACCOUNT_NOT_ACTIVE: unexpected,
  ACCOUNT_NOT_FOUND: unexpected,
  AGREEMENTS_NOT_ACTIVE: unexpected,
  AGREEMENTS_PENDING: unexpected,
  BENEFICIARY_DETAILS_MISSING: unexpected,
  FINANCIAL_ACCOUNT_CURRENCY_MISMATCH: unexpected,
  FINANCIAL_ACCOUNT_NOT_FOUND: unexpected,
  IDENTITY_REQUIREMENT_UNMET: unexpected,
  KYC_REQUIRED: unexpected,
  ADDRESS_SERVES_NO_CAPABILITY: unexpected,
  CAPABILITY_DUPLICATE: unexpected,
  CAPABILITY_NOT_ACTIVE: unexpected,
  BANK_ACCOUNT_NOT_FOUND: unexpected,
  PAYOUT_ADDRESS_ARCHIVED: unexpected,
  PAYOUT_ADDRESS_CONFLICT: unexpected,
  PAYOUT_ADDRESS_FIELD_MISSING: unexpected,
  PAYOUT_ADDRESS_NOT_FOUND: unexpected,
  PAYOUT_ADDRESS_REJECTED: unexpected,
  PAYOUT_ADDRESS_VERIFICATION_FAILED: unexpected,
  VERIFICATION_EXECUTION_FAILED: unexpected,
  AMOUNT_OUT_OF_RANGE: unexpected,
  CURRENCY_NOT_SUPPORTED: said(wrong, 'it does not know the currency'),
} as const satisfies Record<string, Row>;

/** One row for every reply without a code of the catalogue. */
export const OTHER_REPLIES = {
  'whole success': { class: 'done' },
  'never left': wait,
  /** Time-outs, cut connections, HTML, cut JSON, an odd 2xx, redirects. */
  'no envelope': { class: 'unknown' },
  'unknown code': {
    class: 'unknown',
    departs: 'what we do not know proves nothing, whatever it advises (M1)',
  },
  /** The interface reserves this strategy: a code with it asks for the same key again, which is always safe. */
  'unknown code, RETRY_SAME_KEY': wait,
  /** `AUTH_TOKEN_INVALID`, reason `nonce_replay` (heading "JWT"). */
  'nonce replay': {
    class: 'check state, then retry',
    departs: 'an earlier copy of this very request may have been accepted (M1)',
  },
  /** The interface retires an endpoint by its status alone (heading "Versioning"). */
  'HTTP 410': { class: 'pause everything' },
} as const satisfies Record<string, Row>;

/** The classes whose codes are *definitive*: the send was refused and executed nothing. */
const DEFINITIVE: Readonly<Record<ReplyClass, boolean>> = {
  done: false,
  'wait, same key': false,
  'check state, then retry': false,
  'look up, then a new quote': true,
  'ours, probably': false,
  'wait for money': true,
  'the item is wrong': true,
  'pause the policy': true,
  'pause everything': true,
  unknown: false,
};

/** True when an error with this code proves that the send to which it is the answer executed nothing. */
export function isDefinitive(code: string): boolean {
  return DEFINITIVE[classOf({ code, details: {} })];
}

function rowOf(code: string): Row | null {
  return Object.hasOwn(DECISIONS, code) ? DECISIONS[code as Code] : null;
}

/** What the service says by a code, in words, after "The service says:", or with "it" for the service; null: the words are not known. */
export function wordsOf(code: string): string | null {
  return rowOf(code)?.says ?? null;
}

/** True when a read of the balances can show that an item refused with this code may be sent again. */
export function isShownByBalances(code: string): boolean {
  return rowOf(code)?.shownBy === 'balances';
}

/** True when an item refused with this code lacks room under a limit of the service, which money does not give. */
export function isLimitUsedUp(code: string): boolean {
  return rowOf(code)?.lacks === 'limit';
}

/** True when a refusal with this code says that the request was malformed. It says nothing about the item itself. */
export function isMalformed(code: string): boolean {
  return rowOf(code)?.judges === 'the request only';
}

/** The nonce was used before: an earlier copy of this very request may have been accepted (heading "JWT"). */
export function isNonceReplay(error: Pick<ServiceError, 'code' | 'details'>): boolean {
  const reason = error.details['reason'];
  return error.code === 'AUTH_TOKEN_INVALID' && typeof reason === 'string' && /replay/i.test(reason);
}

/** The class of an error. Its code decides, unless the error is about a used nonce or the code is not known. */
export function classOf(
  error: Pick<ServiceError, 'code' | 'details'> & { retryStrategy?: string },
): ReplyClass {
  if (isNonceReplay(error)) return OTHER_REPLIES['nonce replay'].class;
  if (Object.hasOwn(DECISIONS, error.code)) return DECISIONS[error.code as Code].class;
  const asksForSameKey = error.retryStrategy === 'RETRY_SAME_KEY';
  return OTHER_REPLIES[asksForSameKey ? 'unknown code, RETRY_SAME_KEY' : 'unknown code'].class;
}

/** The class of any reply of the service. */
export function classOfReply(reply: Reply<unknown>): ReplyClass {
  switch (reply.kind) {
    case 'DONE':
      return OTHER_REPLIES['whole success'].class;
    case 'NOT_SENT':
      return OTHER_REPLIES['never left'].class;
    case 'REFUSED':
      return classOf(reply.error);
    case 'UNKNOWN':
      if (reply.facts.status === 410) return OTHER_REPLIES['HTTP 410'].class;
      return reply.error === null ? OTHER_REPLIES['no envelope'].class : classOf(reply.error);
  }
}

/** True for a reply that the service has stored under the key and gives again, with a body that can be trusted. */
function isStored(reply: Reply<unknown>): boolean {
  if (reply.kind === 'NOT_SENT' || reply.facts.replayed !== true) return false;
  return reply.kind !== 'UNKNOWN' || (reply.error !== null && reply.facts.status !== 410);
}

/** The class of any reply, and what follows from it for each kind of call. */
export function followUp(reply: Reply<unknown>): FollowUp & { readonly class: ReplyClass } {
  const replyClass = classOfReply(reply);
  const stored = isStored(reply) ? STORED_FOLLOW_UPS[replyClass] : undefined;
  return { class: replyClass, ...FOLLOW_UPS[replyClass], ...stored };
}

const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 600_000;

/**
 * How long to wait before the same is sent again, in milliseconds: `Retry-After`, or the rest of a pause that the service
 * asked for, but at least 1 s and at most 10 min. Without either, it is a backoff that doubles from 1 s with each earlier
 * try, up to 10 min.
 */
export function waitMs(reply: Reply<unknown>, earlierTries: number): number {
  const asked = reply.kind === 'NOT_SENT' ? (reply.afterMs ?? null) : reply.facts.retryAfterMs;
  return asked === null ? backoffMs(earlierTries) : Math.min(Math.max(asked, MIN_WAIT_MS), MAX_WAIT_MS);
}

/** Doubles from 1 s up to a cap: 1, 2, 4 … 600 s. */
export function backoffMs(earlierTries: number): number {
  return Math.min(MIN_WAIT_MS * 2 ** Math.min(Math.max(earlierTries, 0), 20), MAX_WAIT_MS);
}
