/**
 * Facts about the service that the interface leaves open, with careful defaults. An operator who knows more states them in
 * the YAML file that `CAMBIST_SERVICE_FILE` names (design: "The service file"); `language/` loads it into this record.
 */
export type ServiceFacts = {
  /**
   * The statuses of a trade: settled, will never settle, not settled yet. A trade with any other status waits, and holds the
   * run.
   */
  readonly tradeStatuses: {
    readonly settled: readonly string[];
    readonly failed: readonly string[];
    readonly pending: readonly string[];
  };
  /**
   * The statuses of a withdrawal: paid, will never be paid, not paid yet. A withdrawal with any other status waits, and
   * holds the run.
   */
  readonly withdrawalStatuses: {
    readonly paid: readonly string[];
    readonly failed: readonly string[];
    readonly pending: readonly string[];
  };
  /** When sold money leaves the withdrawable balance. A plan from balances depends on this. */
  readonly saleLeavesWithdrawable: 'at_trade' | 'at_settlement';
  /** How long a new record may be missing from the lists, milliseconds. */
  readonly listLagMs: number;
  /** Since this date (`YYYY-MM-DD`, from 00:00 UTC) only the worker's API key has sent writes; null: this is not known. */
  readonly keyUsedSince: string | null;
  /** Statuses of a withdrawal account with which it cannot be paid. Any other status proves nothing. */
  readonly accountStatuses: { readonly unusable: readonly string[] };
  /**
   * How long doubt lasts before absence counts, after the end of every life that an earlier send could have had. Never
   * shorter than twice `listLagMs`.
   */
  readonly settleDoubtMs: { readonly trade: number; readonly withdrawal: number };
  /** How long a trade may take to settle, and an accepted withdrawal to be paid, before the run says that it is late. */
  readonly lateAfterMs: { readonly settlement: number; readonly withdrawal: number };
  /** Decimals per currency that differ from `currencies.ts`. */
  readonly decimals: Readonly<Record<string, number>>;
};

/** The defaults; all optional in the service file. */
export const DEFAULT_SERVICE_FACTS: ServiceFacts = Object.freeze({
  tradeStatuses: {
    settled: ['SETTLED', 'COMPLETED', 'CLOSED'],
    failed: ['FAILED', 'REJECTED', 'CANCELLED'],
    // The statuses that the interface shows.
    pending: ['EXECUTED', 'LOCKED', 'READY_TO_SETTLE'],
  },
  withdrawalStatuses: {
    paid: ['COMPLETED'],
    failed: ['FAILED', 'REJECTED', 'RETURNED', 'CANCELLED', 'CANCELED', 'EXPIRED'],
    // The interface shows no pending status of a withdrawal. These two words can mean nothing else.
    pending: ['PENDING', 'PROCESSING'],
  },
  saleLeavesWithdrawable: 'at_trade',
  listLagMs: 60_000,
  keyUsedSince: null,
  accountStatuses: { unusable: ['UNVERIFIED', 'PENDING', 'REJECTED', 'ARCHIVED', 'DISABLED'] },
  settleDoubtMs: { trade: 120_000, withdrawal: 86_400_000 },
  lateAfterMs: { settlement: 21_600_000, withdrawal: 86_400_000 },
  decimals: {},
});

/** True when only the worker's API key has sent writes since this moment. */
export function isKeyKnownSince({ keyUsedSince }: Pick<ServiceFacts, 'keyUsedSince'>, atMs: number): boolean {
  return keyUsedSince !== null && Date.parse(`${keyUsedSince}T00:00:00Z`) <= atMs;
}

/** False for a status that is in no list of its kind: what it means is not known. */
export function isKnown(statuses: Readonly<Record<string, readonly string[]>>, status: string): boolean {
  return Object.values(statuses).some((list) => list.includes(status));
}
