// Faults as data: what each kind does, and which requests it is meant for. faults.ts matches and counts them.

import type { Operation } from './operations.ts';

/** What a fault does. Effects on writes speak of the write being committed: booked in the ledger. */
export type FaultEffect =
  /** Commit, then drop the connection without a reply. */
  | { readonly kind: 'lose-reply' }
  /** Drop the connection before anything is done. */
  | { readonly kind: 'close-before' }
  /** Commit, send half the body, then drop the connection. */
  | { readonly kind: 'cut-body' }
  /** Wait in real time before (default) or after the commit; the key is in flight meanwhile. */
  | { readonly kind: 'delay'; readonly ms: number; readonly when?: 'before' | 'after' }
  /** Wait until released, or `ms` of real time; the key is in flight meanwhile. */
  | { readonly kind: 'hold'; readonly ms?: number; readonly when?: 'before' | 'after' }
  /**
   * Answer with an error: a catalogued `code`, or any `status` with any `body`. `committed` books the write
   * first. `stored` says whether this reply is kept under the key; without it, `storeErrors` decides. A write
   * that was committed without keeping this reply keeps its success instead.
   */
  | {
      readonly kind: 'error';
      readonly code?: string;
      readonly status?: number;
      readonly details?: Readonly<Record<string, unknown>>;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      readonly stored?: boolean;
      readonly committed?: boolean;
    }
  /** A 5xx kept under the key, whether or not (default) the write was committed. */
  | {
      readonly kind: 'stored-failure';
      readonly code?: string;
      readonly committed?: boolean;
      readonly timeoutMs?: number;
    }
  /**
   * The reply is lost (default) or a 500, and the write is booked `ms` of sandbox time later. Until then the key
   * is in flight (default), free, or keeps the 500 for good.
   */
  | {
      readonly kind: 'late-commit';
      readonly ms: number;
      readonly reply?: 'lost' | '500';
      readonly key?: 'in-flight' | 'free' | 'stored';
    }
  /** A gateway's page instead of the reply; the write is not committed unless `committed`. */
  | { readonly kind: 'html'; readonly status?: number; readonly committed?: boolean }
  | { readonly kind: 'rate-limit'; readonly retryAfter?: number }
  /** Commit, then answer with another status or body. */
  | { readonly kind: 'status'; readonly status?: number; readonly body?: string }
  /** The record ends with this status word; `returned` gives the money back. */
  | { readonly kind: 'word'; readonly word: string; readonly money?: 'moved' | 'returned' | 'kept' }
  /** How the withdrawal ends. */
  | {
      readonly kind: 'outcome';
      readonly outcome: 'completed' | 'failed' | 'returned' | 'returned-after-completed' | 'stuck';
    }
  /** The record shows in lists, and with `byId` by its id, only `ms` of sandbox time later. */
  | { readonly kind: 'list-lag'; readonly ms: number; readonly byId?: boolean };

export interface SandboxFault {
  readonly id?: string;
  readonly operation: Operation | '*';
  /** Which of the matching requests, counted from 1; absent: all. */
  readonly nth?: number | readonly number[];
  readonly every?: number;
  /** Chance of a hit, drawn from the seed. */
  readonly probability?: number;
  /** Most hits. */
  readonly times?: number;
  readonly when?: {
    readonly currency?: string;
    readonly account?: string;
    /** The client reference of a trade or any metadata value of a withdrawal; `*` at the end stands for any rest. */
    readonly reference?: string;
  };
  readonly effect: FaultEffect;
}

export interface StoredFault extends SandboxFault {
  readonly id: string;
  /** Matching requests so far. */
  readonly seen: number;
  readonly hits: number;
}
