// What is to happen later on the sandbox clock: steps of trades and withdrawals, and bookings that come late.
// No timer runs. The next request or look at the sandbox carries out what is due, in the order of its time.

import type { AgendaItem, AgendaWhat } from './records.ts';
import type { Store } from './store.ts';

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
