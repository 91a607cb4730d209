/**
 * By which quote each leg was or may have been traded here, as long as the list of trades may not show it. Each quote has a key
 * of its own, so the service would make a second trade of a second quote (M1). A leg is free again only once it is known of each
 * of its sends that it has traded nothing: the same quote once more, refused or kept back, says nothing about the first time. Pure.
 */
type Taken = {
  readonly quoteId: string;
  /** By the monotonic clock, in milliseconds. */
  readonly untilMs: number;
  /** Sends of which nobody knows yet what came of them. */
  readonly underWay: number;
  /** One of its sends has traded, or may have. */
  readonly mayBeTraded: boolean;
};

export class TakenLegs {
  readonly #byLeg = new Map<string, Taken>();

  /**
   * Takes the leg for this quote, as the last thing before it leaves.
   * @returns the other quote by which the leg may have been traded; null: it is taken for this one
   */
  take(leg: string, quoteId: string, { nowMs, untilMs }: { nowMs: number; untilMs: number }): string | null {
    for (const [each, taken] of this.#byLeg) if (taken.untilMs <= nowMs) this.#byLeg.delete(each);
    const before = this.#byLeg.get(leg);
    if (before !== undefined && before.quoteId !== quoteId) return before.quoteId;
    const { underWay, mayBeTraded } = before ?? { underWay: 0, mayBeTraded: false };
    this.#byLeg.set(leg, { quoteId, untilMs, underWay: underWay + 1, mayBeTraded });
    return null;
  }

  /** What came of a send for which the leg was taken. */
  told(leg: string, quoteId: string, mayBeTraded: boolean): void {
    const before = this.#byLeg.get(leg);
    if (before?.quoteId !== quoteId) return;
    const after = {
      ...before,
      underWay: before.underWay - 1,
      mayBeTraded: before.mayBeTraded || mayBeTraded,
    };
    if (after.mayBeTraded || after.underWay > 0) this.#byLeg.set(leg, after);
    else this.#byLeg.delete(leg);
  }
}
