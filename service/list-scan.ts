/**
 * A list scan: reads a list of the service newest first, as far back as is asked, and keeps what is wanted. Whoever looks
 * something up calls it. A scan that was cut short proves nothing, and says what cut it short.
 */
import type { Page } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { pages, type Bounds, type PageRequest } from './pages.ts';

type Listed = { readonly id: string; readonly createdAt: string };
type List<T> = (page: PageRequest) => Promise<Reply<Page<T>>>;

/**
 * What somebody wants to know of a list: which of its records that were created since then, epoch milliseconds. `reference`:
 * only those that carry it, in whichever generation, or none at all, can be wanted; absent: any. `readAfterMs`: what a
 * record had come to by then must show; absent: that there is such a record is enough. `most`: so many records can be wanted
 * at most, and nobody reads on once they are found.
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

/** Records kept by a scan; `stopped` is the reply that cut it short, null when every page was read. */
export type Scanned<T> = { readonly records: readonly T[]; readonly stopped: Reply<unknown> | null };

/** Reads a list back to what is asked for, and keeps what is wanted, each record once. */
export async function scanList<T extends Listed>(
  list: List<T>,
  asked: Question<T> & Reading,
): Promise<Scanned<T>> {
  const findings = new Findings(asked);
  const stopped = await readBack(list, (page) => findings.take(page, newestMsOf(page)), asked);
  return { records: findings.records, stopped };
}

/** What is found of one question while a list is read. */
export class Findings<T extends Listed> {
  readonly #question: Question<T>;
  readonly #kept = new Map<string, T>();

  constructor(question: Question<T>) {
    this.#question = question;
  }

  get records(): readonly T[] {
    return [...this.#kept.values()];
  }

  /** All records that can be wanted are found. */
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

/** When the newest record of a page was created, epoch milliseconds; of an empty page nothing is told. */
export function newestMsOf(page: readonly Listed[]): number {
  return Math.max(...page.map((record) => Date.parse(record.createdAt)));
}

/**
 * Reads a list newest first, until a page is enough or there is no further one.
 * @returns the reply that cut it short; null when none did
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
