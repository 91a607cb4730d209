/** Pauses that grow, because each question that is asked again costs history and requests. Pure. */

/** Twice as long after each earlier time, from `firstMs` on, but at most `mostMs`. Milliseconds. */
export function growing(firstMs: number, earlierTimes: number, mostMs: number): number {
  return Math.max(firstMs, Math.min(firstMs * 2 ** Math.min(earlierTimes, 20), mostMs));
}
