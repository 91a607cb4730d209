/**
 * How long a test waits for something: until there has been no progress for a long time. On a busy machine a test takes
 * longer, and does not fail.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** So long without any progress. Temporal takes less to notice that a worker is lost, and no freeze of a test lasts as long. */
const PATIENCE_MS = 240_000;
/** So long in all: a run that goes round in circles makes progress for ever. */
const AT_MOST_MS = 20 * 60_000;
const SIGN_EVERY_MS = 10_000;
/** The first pause between two looks, and the longest: each pause is longer than the one before. */
const [SOONEST_MS, LATEST_MS] = [20, 500] as const;

/** Reads something that changes with every progress. */
export type Sign = () => Promise<unknown>;

export class Patience {
  readonly #sign: Sign;
  readonly #beganAtMs = performance.now();
  #progressAtMs = performance.now();
  #nextSignAtMs = 0;
  /** The sign that was seen last. */
  last: unknown = undefined;

  constructor(sign: Sign) {
    this.#sign = sign;
  }

  async isOver(): Promise<boolean> {
    const nowMs = performance.now();
    if (nowMs < this.#nextSignAtMs) return false;
    const sign = await this.#sign();
    this.#nextSignAtMs = nowMs + SIGN_EVERY_MS;
    if (sign !== this.last) this.#progressAtMs = nowMs;
    this.last = sign;
    return nowMs - this.#progressAtMs > PATIENCE_MS || nowMs - this.#beganAtMs > AT_MOST_MS;
  }

  /** Waits for `work`. True when it has settled, false when the patience was over first. */
  async lastsFor(work: Promise<unknown>): Promise<boolean> {
    const settled = work.then(
      () => true,
      () => true,
    );
    while (!(await this.isOver()))
      if (await Promise.race([settled, delay(SIGN_EVERY_MS, false, { ref: false })])) return true;
    return false;
  }
}

/**
 * Looks again and again until `look` finds something. For what no event tells.
 *
 * @param sign where progress shows meanwhile; default: nowhere
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  sign: Sign = async () => null,
): Promise<NonNullable<T>> {
  const patience = new Patience(sign);
  for (let everyMs: number = SOONEST_MS; ; everyMs = Math.min(everyMs * 1.5, LATEST_MS)) {
    const found = await look();
    if (found) return found;
    assert.ok(!(await patience.isOver()), `It never came: ${what}. Last: ${String(patience.last)}`);
    await delay(everyMs);
  }
}
