/**
 * Reads the list of trades for the write gate. A send cannot wait long, so each reading has bounds of its own. A longer list is
 * read on by the next reading. Until it is read to its end, it shows nothing.
 */
import type { ServiceFacts } from '../domain/service/facts.ts';
import type { Trade } from '../domain/service/records.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import type { ServiceReader } from '../service/client.ts';
import { Rereading } from '../service/rereading.ts';

/** What is asked for at a time. An attempt has 20 s in which its send must leave. */
const PAGES = 20;
const WITHIN_MS = 5_000;
/** What was read longer ago than this is read again. The status of a trade may have changed. */
const GOES_ON_WITHIN_MS = 300_000;

type Options = {
  readonly reader: Pick<ServiceReader, 'listTrades'>;
  readonly facts: Pick<ServiceFacts, 'listLagMs'>;
  /** Milliseconds. */
  readonly clock: { readonly wallMs: () => number; readonly monotonicMs: () => number };
};

/** A reading that one call has begun, and that another may go on with. */
type Begun = {
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly sinceMs: number;
  readonly list: Rereading<Trade>;
};

export class TradesRead {
  readonly #options: Options;
  /** Read in part. A call that goes on with it takes it away, so that no other one does so at the same time. */
  #unfinished: Begun | null = null;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The trades made since this moment, epoch milliseconds, as the list shows them; null: it is not read to its end yet. */
  async since(sinceMs: number): Promise<readonly Trade[] | null> {
    const before = this.#takeUnfinished(sinceMs);
    const begun = before ?? this.#begin(sinceMs);
    // What was made since it was begun stands before it in the list.
    const newer = before === null ? null : this.#begin(before.wallMs - this.#shownWithinMs);
    if (
      (await begun.list.goOn()) !== 'its end' ||
      (newer !== null && (await newer.list.goOn()) !== 'its end')
    ) {
      this.#unfinished = begun;
      return null;
    }
    const all = [...begun.list.records, ...(newer?.list.records ?? [])];
    return [...new Map(all.map((trade) => [trade.id, trade])).values()];
  }

  get #shownWithinMs(): number {
    return 2 * this.#options.facts.listLagMs + CLOCK_TOLERANCE_MS;
  }

  #takeUnfinished(sinceMs: number): Begun | null {
    const begun = this.#unfinished;
    this.#unfinished = null;
    if (begun === null || begun.sinceMs > sinceMs) return null;
    const agedMs = this.#options.clock.monotonicMs() - begun.monotonicMs;
    return agedMs > GOES_ON_WITHIN_MS ? null : begun;
  }

  #begin(sinceMs: number): Begun {
    const { reader, clock } = this.#options;
    const bounds = { maxPages: PAGES, withinMs: WITHIN_MS, nowMs: clock.monotonicMs };
    return {
      wallMs: clock.wallMs(),
      monotonicMs: clock.monotonicMs(),
      sinceMs,
      list: new Rereading(reader.listTrades, sinceMs, [], bounds),
    };
  }
}
