// The records the sandbox keeps. They are replaced, never changed in place; times are milliseconds since the
// epoch and become RFC 3339 strings only on the wire. A `book` is one organisation in one mode.

import type { Operation } from './operations.ts';
import type { SettlementWindow } from './settings.ts';

export type Mode = 'SANDBOX' | 'LIVE';
export type AssetType = 'CRYPTO' | 'FIAT';

/** The organisation and mode a request acts for, as one text: `acme/SANDBOX`. */
export type BookId = `${string}/${Mode}`;

/** What every listed record has. `seq` orders records of the same millisecond. */
export interface Listed {
  readonly id: string;
  readonly book: BookId;
  readonly seq: number;
  readonly createdAt: number;
  /** When it starts to show in lists, and by id. */
  readonly listedAt: number;
  readonly readableAt: number;
}

export interface BookRecord {
  readonly id: BookId;
  readonly openedAt: number;
  /** Currencies that have a row among the balances even at zero. */
  readonly currencies: readonly string[];
}

export interface QuoteRecord {
  readonly id: string;
  readonly book: BookId;
  readonly buyCurrency: string;
  readonly sellCurrency: string;
  /** The side that was asked for, and its amount as it was written. */
  readonly side: 'buy' | 'sell';
  readonly amount: string;
  readonly quoteAmount: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly settlementWindow: SettlementWindow;
  readonly consumedAt: number | null;
  readonly tradeId: string | null;
}

export interface TradeRecord extends Listed {
  readonly quoteId: string;
  readonly buyCurrency: string;
  readonly sellCurrency: string;
  readonly side: 'buy' | 'sell';
  readonly amount: string;
  readonly executedAmount: string;
  readonly status: string;
  readonly clientReferenceId: string | null;
  readonly settlementWindow: SettlementWindow;
  readonly settlementStartTime: number | null;
  readonly money: {
    readonly sold: string;
    readonly bought: string;
    /** Part of the sold amount taken at the trade; the rest is owed until settlement. */
    readonly taken: string;
    /** Part of the sold amount that was drawn on the credit line. */
    readonly drawn: string;
    readonly boughtAtTrade: boolean;
    readonly state: 'open' | 'settled' | 'returned';
  };
}

export interface WithdrawalRecord extends Listed {
  readonly currency: string;
  readonly assetType: AssetType;
  readonly withdrawalAmount: string;
  readonly status: string;
  readonly network: string | null;
  readonly withdrawalAccountId: string;
  readonly paymentDetails: Readonly<Record<string, Readonly<Record<string, string>>>> | null;
  readonly transactionHash: string | null;
  readonly estimatedCompletionAt: number | null;
  readonly actorId: string;
  readonly actorEmail: string;
  readonly metadata: Readonly<Record<string, string>> | null;
  readonly money: 'reserved' | 'paid' | 'returned';
}

export type WithdrawalOutcome = 'completed' | 'failed' | 'returned' | 'returned-after-completed' | 'stuck';

/** What faults have in store for a record that is about to be made. */
export interface RecordMarks {
  readonly word: { readonly word: string; readonly money: 'moved' | 'returned' | 'kept' } | null;
  readonly outcome: WithdrawalOutcome | null;
  readonly listLagMs: number;
  readonly readLagMs: number;
}

export interface WithdrawalAccountRecord extends Listed {
  /** Null: any currency of its asset type. */
  readonly currency: string | null;
  readonly assetType: AssetType;
  /** `LIVE` takes withdrawals, `UNVERIFIED` is not verified yet, any other word is not live. */
  readonly status: string;
  readonly network: string | null;
  readonly rail: string | null;
  readonly checksumFails: boolean;
  readonly outcome: WithdrawalOutcome;
  readonly destination: Readonly<Record<string, unknown>>;
}

export interface DepositRecord extends Listed {
  readonly currency: string;
  readonly assetType: AssetType;
  readonly amount: string;
  readonly status: string;
}

/** A record of the payments surface, whose fields the interface does not show. */
export interface OtherRecord extends Listed {
  readonly list: 'accounts' | 'payout-addresses' | 'payouts';
  readonly fields: Readonly<Record<string, unknown>>;
}

export type LedgerAccount = 'withdrawable' | 'reserved' | 'sold' | 'incoming' | 'service' | 'outside';

export interface JournalLine {
  readonly account: LedgerAccount;
  readonly currency: string;
  /** Signed: what the account gains. The lines of an entry sum to zero per currency. */
  readonly amount: string;
}

export interface JournalEntry {
  readonly id: string;
  readonly book: BookId;
  readonly at: string;
  readonly what: string;
  /** The record that moved the money, or null for balances set from outside. */
  readonly recordId: string | null;
  readonly lines: readonly JournalLine[];
}

/** An API key that the sandbox accepts, as it is given to it. */
export interface SandboxKey {
  /** `org/<organisation>/apiKey/<id>`. */
  readonly name: string;
  readonly publicKeyPem: string;
  readonly scope: 'read' | 'write';
  readonly mode: Mode;
  /** Addresses or CIDR ranges; absent or null: any address. */
  readonly ipAllowlist?: readonly string[] | null;
  readonly active?: boolean;
}

export interface StoredKey extends Required<SandboxKey> {
  readonly id: string;
  readonly organization: string;
  readonly actorId: string;
  readonly actorEmail: string;
}

/** An answer as it goes over the wire. */
export interface Reply {
  readonly status: number;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** What is known under an idempotency key. */
export interface StoredReply {
  /** The key with its scope. */
  readonly id: string;
  readonly operation: Operation;
  readonly requestHash: string;
  readonly firstSeenAt: number;
  readonly expiresAt: number;
  /** Null while the first request is being processed. */
  readonly reply: Reply | null;
  /** In flight because its booking comes late; such an entry outlives a restart. */
  readonly late: boolean;
}

/** A write that was accepted and will be booked later. */
export interface LateBooking {
  readonly operation: 'createTrade' | 'createWithdrawal';
  readonly book: BookId;
  readonly actorId: string;
  readonly actorEmail: string;
  readonly input: unknown;
  readonly seq: number;
  readonly acceptedAt: number;
  readonly marks: RecordMarks;
  readonly replyId: string;
  readonly key: 'in-flight' | 'free' | 'stored';
}

/** What is to happen later. */
export type AgendaWhat =
  | {
      readonly kind: 'trade-step';
      readonly recordId: string;
      readonly status: string;
      readonly money: 'settle' | 'return' | null;
      readonly startsSettlement: boolean;
    }
  | {
      readonly kind: 'withdrawal-step';
      readonly recordId: string;
      readonly status: string;
      readonly money: 'pay' | 'return' | null;
      readonly terminal: boolean;
      readonly broadcast: boolean;
    }
  | { readonly kind: 'late-booking'; readonly recordId: string; readonly booking: LateBooking };

export interface AgendaItem {
  readonly id: string;
  readonly at: number;
  readonly seq: number;
  readonly what: AgendaWhat;
}
