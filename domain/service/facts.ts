/**
 * What the interface leaves open about the service, with careful defaults. An operator who knows more says so in the
 * YAML file that `CAMBIST_SERVICE_FILE` names (design: "The service file"); `language/` loads it into this record.
 */
export type ServiceFacts = {
  /** What the statuses of a trade mean: settled, will never settle, goes on. One in no list waits and holds the run. */
  readonly tradeStatuses: {
    readonly settled: readonly string[];
    readonly failed: readonly string[];
    readonly pending: readonly string[];
  };
  /** What the statuses of a withdrawal mean: paid, will never be paid, goes on. One in no list waits and holds the run. */
  readonly withdrawalStatuses: {
    readonly paid: readonly string[];
    readonly failed: readonly string[];
    readonly pending: readonly string[];
  };
  /** When sold money leaves the withdrawable balance: what planning from balances may count on. */
  readonly saleLeavesWithdrawable: 'at_trade' | 'at_settlement';
  /** How long a new record may be missing from the lists, milliseconds. */
  readonly listLagMs: number;
  /** Since this date (`YYYY-MM-DD`, from 00:00 UTC) only the worker's API key has written; null: nothing is known. */
  readonly keyUsedSince: string | null;
  /** Statuses of a withdrawal account with which it cannot be paid. Any other status proves nothing. */
  readonly accountStatuses: { readonly unusable: readonly string[] };
  /**
   * How long doubt lasts before absence counts, beyond every life that an earlier send could have had. Never shorter
   * than twice `listLagMs`.
   */
  readonly settleDoubtMs: { readonly trade: number; readonly withdrawal: number };
  /** How long settlement of a trade, and an accepted withdrawal, may take before the run says that it is late. */
  readonly lateAfterMs: { readonly settlement: number; readonly withdrawal: number };
  /** Decimals per currency that differ from `currencies.ts`. */
  readonly decimals: Readonly<Record<string, number>>;
};

/** The defaults; all optional in the service file. */
export const DEFAULT_SERVICE_FACTS: ServiceFacts = Object.freeze({
  tradeStatuses: {
    settled: ['SETTLED', 'COMPLETED', 'CLOSED'],
    failed: ['FAILED', 'REJECTED', 'CANCELLED'],
    // Those that the interface shows.
    pending: ['EXECUTED', 'LOCKED', 'READY_TO_SETTLE'],
  },
  withdrawalStatuses: {
    paid: ['COMPLETED'],
    failed: ['FAILED', 'REJECTED', 'RETURNED', 'CANCELLED', 'CANCELED', 'EXPIRED'],
    // The interface shows none; these two mean nothing else anywhere.
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

/** True when only the worker's API key has written since then. */
export function isKeyKnownSince({ keyUsedSince }: Pick<ServiceFacts, 'keyUsedSince'>, atMs: number): boolean {
  return keyUsedSince !== null && Date.parse(`${keyUsedSince}T00:00:00Z`) <= atMs;
}

/** False for a status that is in no list of its kind: what it means is not known. */
export function isKnown(statuses: Readonly<Record<string, readonly string[]>>, status: string): boolean {
  return Object.values(statuses).some((list) => list.includes(status));
}
