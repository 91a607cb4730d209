/** Pauses that grow, for whatever is asked again and again: each time costs history and requests. Pure. */

/** Twice as long with each earlier time, at most `mostMs`; never shorter than the first. Milliseconds. */
export function growing(firstMs: number, earlierTimes: number, mostMs: number): number {
  return Math.max(firstMs, Math.min(firstMs * 2 ** Math.min(earlierTimes, 20), mostMs));
}
