/**
 * A list scan: reads a list of the service newest first, as far back as is asked, and keeps what is wanted. Whoever looks
 * something up calls it. A scan that was cut short proves nothing, and says what cut it short.
 */
import type { Page } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { pages, type Bounds, type PageRequest } from './pages.ts';

/** Records kept by a scan; `stopped` is the reply that cut it short, null when every page was read. */
export type Scanned<T> = { readonly records: readonly T[]; readonly stopped: Reply<unknown> | null };

/**
 * Reads a list back to `sinceMs` and keeps what is wanted, each record once.
 * @param signal ends the scan before its next page, as when an activity is cancelled
 */
export async function scanList<T extends { readonly id: string; readonly createdAt: string }>(
  list: (page: PageRequest) => Promise<Reply<Page<T>>>,
  options: {
    readonly sinceMs: number;
    readonly wanted: (record: T) => boolean;
    readonly onReply?: (reply: Reply<unknown>) => void;
    readonly signal?: AbortSignal;
    readonly bounds?: Bounds;
  },
): Promise<Scanned<T>> {
  const { sinceMs, wanted, onReply, ...walk } = options;
  const kept = new Map<string, T>();
  for await (const reply of pages(list, { direction: 'older', ...walk })) {
    onReply?.(reply);
    if (reply.kind !== 'DONE') return { records: [...kept.values()], stopped: reply };
    const { items } = reply.value;
    for (const record of items) if (wanted(record)) kept.set(record.id, record);
    // Every record of the page is older, so that a list out of order cannot end the scan early.
    if (items.length > 0 && items.every((record) => Date.parse(record.createdAt) < sinceMs)) break;
  }
  return { records: [...kept.values()], stopped: null };
}
