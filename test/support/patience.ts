/**
 * How long a test waits. It is counted from the last progress, not from the beginning: a busy machine makes tests slower,
 * and never red.
 */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';

/** Longer than whatever goes on without a sign: a lost worker must be missed, a freeze must end. */
const PATIENCE_MS = 240_000;
/** Whoever goes round in circles gives signs for ever. */
const AT_MOST_MS = 20 * 60_000;
const SIGN_EVERY_MS = 10_000;
/** Somebody who tells nobody is asked so often: at once when it is quick, seldom when it takes its time. */
const [SOONEST_MS, LATEST_MS] = [20, 500] as const;

/** What is another one after progress. */
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

  /** Whether `work` settles before the patience is over. */
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
 * Looks until there is something; for what tells nobody by itself.
 *
 * @param sign what goes on meanwhile; default: nothing that could be seen
 */
export async function eventually<T>(
  what: string,
  look: () => T | Promise<T>,
  sign: Sign = async () => null,
): Promise<NonNullable<T>> {
  const patience = new Patience(sign);
  for (let everyMs: number = SOONEST_MS; ; everyMs = Math.min(everyMs * 1.5, LATEST_MS)) {
    // One look after the other.
    const found = await look();
    if (found) return found;
    assert.ok(!(await patience.isOver()), `It never came: ${what}. Last: ${String(patience.last)}`);
    await delay(everyMs);
  }
}
