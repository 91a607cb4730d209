// What is to happen later on the sandbox clock: steps of trades and withdrawals, and bookings that come late.
// Nothing ticks; whoever looks first runs what is due, in the order of its time.

import type { BookId, RecordMarks } from './records.ts';
import type { Store } from './store.ts';

/** A write that was accepted and will be booked later. */
export interface LateBooking {
  readonly operation: 'createTrade' | 'createWithdrawal';
  readonly book: BookId;
  readonly actorId: string;
  readonly actorEmail: string;
  readonly input: unknown;
  readonly seq: number;
  readonly acceptedAt: number;
  readonly marks: RecordMarks;
  readonly replyId: string;
  readonly key: 'in-flight' | 'free' | 'stored';
}

export type AgendaWhat =
  | {
      readonly kind: 'trade-step';
      readonly recordId: string;
      readonly status: string;
      readonly money: 'settle' | 'return' | null;
      readonly startsSettlement: boolean;
    }
  | {
      readonly kind: 'withdrawal-step';
      readonly recordId: string;
      readonly status: string;
      readonly money: 'pay' | 'return' | null;
      readonly terminal: boolean;
      readonly broadcast: boolean;
    }
  | { readonly kind: 'late-booking'; readonly recordId: string; readonly booking: LateBooking };

export interface AgendaItem {
  readonly id: string;
  readonly at: number;
  readonly seq: number;
  readonly what: AgendaWhat;
}

export class Agenda {
  readonly #store: Store;
  readonly #sequence: () => number;
  /** Sorted, next one last, so that taking it is cheap. */
  #queue: AgendaItem[];

  constructor(store: Store, sequence: () => number) {
    this.#store = store;
    this.#sequence = sequence;
    this.#queue = [...store.tables.agenda.values()].toSorted((a, b) => later(b, a));
  }

  plan(at: number, what: AgendaWhat): void {
    const seq = this.#sequence();
    const item = this.#store.tables.agenda.put({ id: `agenda_${seq}`, at, seq, what });
    let low = 0;
    let high = this.#queue.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const other = this.#queue[middle];
      if (other !== undefined && later(other, item) > 0) low = middle + 1;
      else high = middle;
    }
    this.#queue.splice(low, 0, item);
  }

  /** Takes the first item due at `now`, or null. */
  take(now: number): AgendaItem | null {
    const next = this.#queue.at(-1);
    if (next === undefined || next.at > now) return null;
    this.#queue.pop();
    this.#store.tables.agenda.delete(next.id);
    return next;
  }

  /** Forgets everything planned for a record. */
  forget(recordId: string): void {
    const gone = this.#queue.filter((item) => item.what.recordId === recordId);
    if (gone.length === 0) return;
    this.#queue = this.#queue.filter((item) => item.what.recordId !== recordId);
    for (const item of gone) this.#store.tables.agenda.delete(item.id);
  }

  get length(): number {
    return this.#queue.length;
  }
}

function later(a: AgendaItem, b: AgendaItem): number {
  return a.at - b.at || a.seq - b.seq;
}
