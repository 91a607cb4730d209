/** Pauses that grow, because each question that is asked again costs history and requests. Pure. */

/**
 * The pause is twice as long with each earlier time, at most `mostMs`, and never shorter than the first.
 * Milliseconds.
 */
export function growing(firstMs: number, earlierTimes: number, mostMs: number): number {
  return Math.max(firstMs, Math.min(firstMs * 2 ** Math.min(earlierTimes, 20), mostMs));
}
