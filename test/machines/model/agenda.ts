/**
 * Virtual time: what happens next, in the order of its moment and, within one, of its planning. Deterministic; nothing
 * waits for real time. Used by everything in this folder.
 */

/** Something planned; `cancel` makes it not happen. */
export type Planned = { readonly cancel: () => void };

type Item = { readonly atMs: number; readonly order: number; action: (() => void | Promise<void>) | null };

export class Agenda {
  /** The true time, epoch milliseconds. Every clock of the model differs from it by a known amount. */
  nowMs: number;
  readonly #heap: Item[] = [];
  #order = 0;

  constructor(startMs: number) {
    this.nowMs = startMs;
  }

  at(atMs: number, action: () => void | Promise<void>): Planned {
    const item: Item = { atMs: Math.max(atMs, this.nowMs), order: (this.#order += 1), action };
    this.#push(item);
    return {
      cancel: () => {
        item.action = null;
      },
    };
  }

  after(ms: number, action: () => void | Promise<void>): Planned {
    return this.at(this.nowMs + ms, action);
  }

  /** The moment of the next thing planned; null when nothing is. */
  nextMs(): number | null {
    for (let first = this.#heap[0]; first !== undefined; first = this.#heap[0]) {
      if (first.action !== null) return first.atMs;
      this.#pop();
    }
    return null;
  }

  /** Moves time to the next thing planned and hands out what to do. */
  take(): () => void | Promise<void> {
    for (;;) {
      const item = this.#pop();
      if (item === undefined) throw new RangeError('Nothing is planned.');
      if (item.action === null) continue;
      this.nowMs = item.atMs;
      return item.action;
    }
  }

  #push(item: Item): void {
    const heap = this.#heap;
    let index = heap.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = heap[parent];
      if (above === undefined || !isBefore(item, above)) break;
      heap[index] = above;
      index = parent;
    }
    heap[index] = item;
  }

  #pop(): Item | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const [a, b] = [heap[left], heap[left + 1]];
      if (a === undefined) break;
      const child = b !== undefined && isBefore(b, a) ? b : a;
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = child === a ? left : left + 1;
    }
    heap[index] = last;
    return first;
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}
