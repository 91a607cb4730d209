/**
 * The refusals of payments that this worker itself has received, and that the service keeps under their keys: such a key can
 * never pay. A generation leaves a worker only once that worker has received the kept refusal of the one below it. What is not
 * known, after a start say, is asked of the service by the key of the one below: what that key has made comes back, or its refusal.
 * So of the generations that open by themselves at most one is ever made, by however many workers, and whatever Temporal says of
 * them (M1). That needs no list and no time: neither shows what another worker sends in this moment, and a key does.
 */
import { eightOf, firstOf } from '../people/instructions.ts';

/** More payments than this have hardly been refused in a week. What is forgotten is asked once more. */
const MOST = 100_000;

export class KeptRefusals {
  /** By the first reference of the payment, the last generation of its eight that the service has refused for good. */
  readonly #last = new Map<string, number>();
  readonly #most: number;

  constructor(most = MOST) {
    this.#most = most;
  }

  /** The key of this generation was refused, and the service keeps that. */
  note(payment: string, generation: number): void {
    const before = this.#last.get(payment) ?? 0;
    const isBelow = eightOf(before) === eightOf(generation) && generation < before;
    this.#last.delete(payment);
    this.#last.set(payment, isBelow ? before : generation);
    const [oldest] = this.#last.keys();
    if (this.#last.size > this.#most && oldest !== undefined) this.#last.delete(oldest);
  }

  /** The generation that must be sent before this one: the first of its eight of which no kept refusal is known here; or itself. */
  next(payment: string, generation: number): number {
    const first = firstOf(eightOf(generation));
    const last = this.#last.get(payment) ?? 0;
    return eightOf(last) === eightOf(generation) ? Math.min(generation, last + 1) : first;
  }
}
