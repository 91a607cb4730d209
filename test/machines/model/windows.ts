/** The date of every run of the model, and its send windows in UTC, counted here once more. */
export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;
export const DATE_MS = Date.parse('2026-11-21T00:00:00Z');
/** Two clocks that are further apart than this stop all writes of money. */
export const CLOCKS_AGREE_MS = 11_000;
export const TRADES_UNTIL_MS = DATE_MS + DAY_MS + 2 * HOUR_MS;
export const WITHDRAWALS_UNTIL_MS = DATE_MS + 5.5 * DAY_MS;
