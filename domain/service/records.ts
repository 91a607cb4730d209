/**
 * The service's records as Cambist reads them (interface headings "Quote" … "Pagination envelope"). Amounts are decimal
 * strings, times are RFC 3339 UTC texts; enumerations that the interface calls open stay `string`. Other fields are not
 * read, so that they never reach a history or a report, and nothing depends on them.
 */

/** Which service environment a request addresses (heading "Common request headers", `X-App-Mode`). */
export type Mode = 'SANDBOX' | 'LIVE';

/** Settlement window of a trade (heading "Quote"). */
export type SettlementWindow = 'IMMEDIATE' | 'T0' | 'T1' | 'T2';

/** Heading "Quote". Exactly one of `buyAmount` and `sellAmount` is present: the side that was asked for. */
export type Quote = {
  readonly id: string;
  readonly buyCurrency: string;
  readonly sellCurrency: string;
  readonly buyAmount: string | null;
  readonly sellAmount: string | null;
  /** The amount of the other side; it may have many decimals. */
  readonly quoteAmount: string;
  readonly createdAt: string;
  readonly expiresAt: string | null;
  readonly settlementWindow: SettlementWindow | null;
  /** Set by the worker that asked for it: shows that a worker with the same API key did (`activities/write-gate.ts`). */
  readonly seal?: string;
};

/** Heading "Trade". `executedAmount` is the final amount of the side that was not asked for. */
export type Trade = {
  readonly id: string;
  readonly quoteId: string;
  readonly buyCurrency: string;
  readonly sellCurrency: string;
  readonly buyAmount: string | null;
  readonly sellAmount: string | null;
  readonly executedAmount: string;
  readonly status: string;
  readonly clientReferenceId: string | null;
  readonly createdAt: string;
  readonly settlementWindow: SettlementWindow | null;
};

/** Heading "Withdrawal": the fields of the create response and of the list item together. */
export type Withdrawal = {
  readonly id: string;
  readonly currency: string;
  readonly withdrawalAmount: string;
  readonly status: string;
  /** Null in list items when no account is on record. */
  readonly withdrawalAccountId: string | null;
  readonly createdAt: string;
  /** `metadata.cambist`; null when the record shows no tag (the list may not show metadata at all). */
  readonly tag: string | null;
};

/** Heading "Balances". */
export type Balances = {
  /** Ceiling on what can be withdrawn across all currencies, in USD. */
  readonly aggregateUsd: string;
  readonly balances: readonly Balance[];
};

/** One row of "Balances", for one currency. */
export type Balance = {
  readonly currency: string;
  /** Immediately available to withdraw or trade; never negative. */
  readonly withdrawable: string;
  /** Includes reserved amounts; may be negative. */
  readonly total: string;
};

/** Heading "Exposure summary": the credit line. Amounts in USD. */
export type Exposure = {
  readonly limitUsd: string;
  readonly usedUsd: string;
  readonly availableUsd: string;
};

/** Heading "Currency pair": limits are denominated in the sell currency. */
export type Pair = {
  readonly buyCurrency: string;
  readonly sellCurrency: string;
  readonly minTradeAmount: string;
  readonly maxTradeAmount: string;
};

/**
 * A record whose shape the interface does not show (deposits, withdrawal accounts, accounts, payout addresses, payouts), so
 * it is read leniently. `currency` is null where the record does not have it.
 */
export type LenientRecord = {
  readonly id: string;
  readonly status: string | null;
  readonly currency: string | null;
};

/** One page of a cursor list, newest first (heading "Pagination envelope"). */
export type Page<T> = {
  readonly items: readonly T[];
  /** Pass as `startingAfter` for older records; null when there are none. */
  readonly nextCursor: string | null;
  /** Pass as `endingBefore` for newer records; null when there are none. */
  readonly prevCursor: string | null;
};
