/**
 * Walks a cursor list page by page (interface heading "Pagination behavior (all cursor lists)"). It must never end in silence:
 * the last reply that it yields is either the page that says there is no more, or the reason why the look is incomplete.
 */
import type { Page } from '../domain/records.ts';
import type { Reply } from '../domain/reply.ts';

/** Which page of a list: at most one of the two cursors. Without any: the newest page. */
export type PageRequest = {
  /** 1 to 100; the service's default is 25. */
  readonly limit?: number;
  /** Records older than this cursor. */
  readonly startingAfter?: string;
  /** Records newer than this cursor. */
  readonly endingBefore?: string;
};

/**
 * Yields one reply per page, from the newest page or the cursor `from`, until the service says that there is none in that
 * direction. The number of records says nothing; an empty page may have a next one. A reply that is not `DONE` is the last one,
 * and means that the look is incomplete; so does the `UNKNOWN` that follows a cursor seen before.
 *
 * `newer` needs `from`, and proves no absence: whether the service begins with the nearest or the newest page is not shown.
 * @param limit records per page, 1 to 100
 */
export async function* pages<T>(
  list: (page: PageRequest) => Promise<Reply<Page<T>>>,
  options: { readonly direction: 'older' | 'newer'; readonly from?: string; readonly limit?: number },
): AsyncGenerator<Reply<Page<T>>, void, void> {
  const { direction, limit = 100 } = options;
  const seen = new Set<string>();
  let cursor = options.from ?? null;
  do {
    if (cursor !== null) seen.add(cursor);
    const reply: Reply<Page<T>> = await list({
      limit,
      ...(cursor === null
        ? {}
        : direction === 'older'
          ? { startingAfter: cursor }
          : { endingBefore: cursor }),
    });
    yield reply;
    if (reply.kind !== 'DONE') return;
    cursor = direction === 'older' ? reply.value.nextCursor : reply.value.prevCursor;
    if (cursor !== null && seen.has(cursor)) {
      yield {
        kind: 'UNKNOWN',
        reason: 'the list repeats a cursor: it cannot be read to its end',
        error: null,
        facts: reply.facts,
      };
      return;
    }
  } while (cursor !== null);
}
