/**
 * A list scan: reads a list of the service, the newest record first, back to a moment, and keeps the records that are wanted.
 * Every lookup calls it. A scan that stopped early proves nothing, and returns the reply that stopped it.
 */
import type { Page } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { pages, type Bounds, type PageRequest } from './pages.ts';

type Listed = { readonly id: string; readonly createdAt: string };
type List<T> = (page: PageRequest) => Promise<Reply<Page<T>>>;

/**
 * What a lookup asks of a list. All moments are epoch milliseconds.
 * - `sinceMs`: the records created since this moment must be read.
 * - `wanted`: true for a record to keep.
 * - `reference`: only records with this reference, in any generation, and records without a reference can be wanted. Absent:
 *   any record can.
 * - `readAfterMs`: the list must be read at this moment or later, because only statuses read since then count. Absent: an
 *   older reading is enough, because only the presence of a record matters.
 * - `most`: at most this many records can be wanted. The scan stops once it has found as many.
 */
export type Question<T> = {
  readonly sinceMs: number;
  readonly wanted: (record: T) => boolean;
  readonly reference?: string;
  readonly readAfterMs?: number;
  readonly most?: number;
};

/** How a list is read. `signal` ends the scan before its next page, as when an activity is cancelled. */
export type Reading = {
  readonly onReply?: (reply: Reply<unknown>) => void;
  readonly signal?: AbortSignal;
  readonly bounds?: Bounds;
};

/** The records that a scan has kept. `stopped`: the reply that stopped it early; null: it read as far back as was asked. */
export type Scanned<T> = { readonly records: readonly T[]; readonly stopped: Reply<unknown> | null };

/** Reads a list as far back as the question asks, and keeps the wanted records, each once. */
export async function scanList<T extends Listed>(
  list: List<T>,
  asked: Question<T> & Reading,
): Promise<Scanned<T>> {
  const findings = new Findings(asked);
  const stopped = await readBack(list, (page) => findings.take(page, newestMsOf(page)), asked);
  return { records: findings.records, stopped };
}

/** The records that are found for one question while a list is read. */
export class Findings<T extends Listed> {
  readonly #question: Question<T>;
  readonly #kept = new Map<string, T>();

  constructor(question: Question<T>) {
    this.#question = question;
  }

  get records(): readonly T[] {
    return [...this.#kept.values()];
  }

  /** True when as many records are found as can be wanted. */
  get isAll(): boolean {
    return this.#kept.size >= (this.#question.most ?? Number.POSITIVE_INFINITY);
  }

  /** True when the list need not be read further back. */
  take(page: readonly T[], newestMs: number): boolean {
    const { sinceMs, wanted } = this.#question;
    for (const record of page) if (wanted(record)) this.#kept.set(record.id, record);
    if (this.isAll) return true;
    // The scan ends only when every record of the page is older: a list that is out of order cannot end it early.
    return page.length > 0 && newestMs < sinceMs;
  }
}

/** When the newest record of a page was created, epoch milliseconds; `-Infinity` for an empty page. */
export function newestMsOf(page: readonly Listed[]): number {
  return Math.max(...page.map((record) => Date.parse(record.createdAt)));
}

/**
 * Reads a list, the newest record first, until `isEnough` says so of a page or there is no further page.
 * @returns the reply that stopped it early; null when none did
 */
export async function readBack<T>(
  list: List<T>,
  isEnough: (page: readonly T[]) => boolean,
  { onReply, ...walk }: Reading,
): Promise<Reply<unknown> | null> {
  for await (const reply of pages(list, { direction: 'older', ...walk })) {
    onReply?.(reply);
    if (reply.kind !== 'DONE') return reply;
    if (isEnough(reply.value.items)) break;
  }
  return null;
}
