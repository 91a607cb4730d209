/**
 * Payments that a worker does not send because of what stands on its machine: its folder of policies, a ceiling of the day, or rules
 * of approvals. Most often the same holds them all, so that few of them ask for all: each question costs history and a call. Pure.
 */
import type { Wait } from '../waits.ts';
import type { PaymentState } from '../writes/withdrawal.ts';
import { growing } from './growing.ts';
import type { PaymentRecord } from './items.ts';

const CODES: readonly string[] = ['AWAITING_APPROVAL', 'NOT_ALLOWED', 'OVER_CEILING', 'CEILING_UNKNOWN'];

/** A wait for signatures grows from here on, since whoever signs wakes the run. A shorter one is for signatures to be verified. */
const GROWS_FROM_MS = 60_000;
const LONGEST_WAIT_MS = 300_000;

/** `cause`: two payments with the same one are held by the same, in the same words. */
type HeldBy = { readonly code: string; readonly cause: string };

/** Payments that ask for all that the same code holds. `cause`: what held all of them until now; null: several causes did. */
export type Asking = {
  readonly code: string;
  readonly cause: string | null;
  readonly asked: readonly PaymentRecord[];
};

export class HeldTogether {
  /** The payment that has asked longest ago is the first. */
  readonly #held = new Map<PaymentRecord, HeldBy>();
  /** How often in a row one payment has asked for all that the code holds. */
  readonly #times = new Map<string, number>();

  /** True for a payment that does not ask for itself. */
  has(record: PaymentRecord): boolean {
    return this.#held.has(record);
  }

  /**
   * Which payments ask next: one for all that its code holds, where all are held by the same cause, else as many as go into one call,
   * in turn. Null: none is due.
   * @param due held payments that may ask now
   */
  next(due: readonly PaymentRecord[], callSize: number): Asking | null {
    const [first] = due;
    const code = first === undefined ? undefined : this.#held.get(first)?.code;
    if (code === undefined) return null;
    const all = this.#allOf(code);
    const [cause = null, ...others] = new Set(all.map((record) => this.#held.get(record)?.cause));
    const isOne = others.length === 0;
    this.#times.set(code, isOne ? (this.#times.get(code) ?? 0) + 1 : 0);
    const asked = all.filter((record) => due.includes(record)).slice(0, isOne ? 1 : callSize);
    return { code, cause: isOne ? cause : null, asked };
  }

  /**
   * Takes for what a payment waits.
   * @param known what is known of it. What is in doubt may have been sent, so that no other payment can ask in its place
   * @returns the wait, longer where one payment has asked for all several times
   */
  takes(record: PaymentRecord, wait: Wait, { doubt }: Pick<PaymentState, 'doubt'>): Wait {
    const { code, message } = wait.problem;
    if (this.#held.get(record)?.code !== code) this.release(record);
    this.#held.delete(record);
    if (!CODES.includes(code)) return wait;
    this.#held.set(record, { code, cause: doubt === null ? message : record.payment.id });
    if (wait.reason !== 'approval' || wait.afterMs < GROWS_FROM_MS) return wait;
    return { ...wait, afterMs: growing(wait.afterMs, this.#times.get(code) ?? 0, LONGEST_WAIT_MS) };
  }

  /** Those that wait behind the ones that have asked, and whether what holds them still holds them. */
  behind({ code, cause, asked }: Asking): {
    readonly records: readonly PaymentRecord[];
    readonly isHeld: boolean;
  } {
    const isStill = (by: HeldBy | undefined): boolean =>
      by?.code === code && (cause === null || by.cause === cause);
    return {
      records: this.#allOf(code).filter((record) => !asked.includes(record)),
      isHeld: asked.every((record) => isStill(this.#held.get(record))),
    };
  }

  /** The payment asks for itself. */
  release(record: PaymentRecord): void {
    this.#times.delete(this.#held.get(record)?.code ?? '');
    this.#held.delete(record);
  }

  /** Each payment asks for itself. */
  releaseAll(): void {
    this.#held.clear();
    this.#times.clear();
  }

  #allOf(code: string): readonly PaymentRecord[] {
    return [...this.#held].flatMap(([record, by]) => (by.code === code ? [record] : []));
  }
}
