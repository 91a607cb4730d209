/**
 * What the interface leaves open about the service, with careful defaults. An operator who knows more says so in the
 * YAML file that `CAMBIST_SERVICE_FILE` names (design, section 4); `language/` loads it into this record.
 */
export type ServiceFacts = {
  /** Trade `status` words that mean "settled" and "will never settle". Any other word waits and says so. */
  readonly tradeWords: { readonly settled: readonly string[]; readonly failed: readonly string[] };
  /** Withdrawal `status` words that mean "paid" and "will never be paid". Any other word waits and says so. */
  readonly withdrawalWords: { readonly paid: readonly string[]; readonly failed: readonly string[] };
  /** When the money bought by a trade may be counted on in planning. */
  readonly saleLeavesWithdrawable: 'at_trade' | 'at_settlement';
  /** How long doubt lasts before absence counts, beyond every life that an earlier send could have had. */
  readonly settleDoubtMs: { readonly trade: number; readonly withdrawal: number };
  /** Decimals per currency that differ from `currencies.ts`. */
  readonly decimals: Readonly<Record<string, number>>;
};

/** The defaults; all optional in the service file. */
export const DEFAULT_SERVICE_FACTS: ServiceFacts = Object.freeze({
  tradeWords: { settled: ['SETTLED', 'COMPLETED', 'CLOSED'], failed: ['FAILED', 'REJECTED', 'CANCELLED'] },
  withdrawalWords: {
    paid: ['COMPLETED'],
    failed: ['FAILED', 'REJECTED', 'RETURNED', 'CANCELLED', 'CANCELED', 'EXPIRED'],
  },
  saleLeavesWithdrawable: 'at_trade',
  settleDoubtMs: { trade: 120_000, withdrawal: 86_400_000 },
  decimals: {},
});
