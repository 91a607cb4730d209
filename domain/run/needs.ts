/**
 * What of a run needs a person, and how much of it an acknowledgement covers: only what its person has seen. Pure.
 */
import type { Progress } from './progress.ts';
import { needsSomebody, shownFirst, type Waiting } from '../waits.ts';
import type { Instruction, Need } from '../people/instructions.ts';

/** What needs a person by the progress of a run, and the wait that people should know first; null: none needs a person. */
export function needsIn(
  { items, batch }: Progress,
  nowMs: number,
): { readonly needs: readonly Need[]; readonly first: Waiting | null } {
  const isNeeding = (waiting: Waiting | null): waiting is Waiting =>
    waiting !== null && needsSomebody(waiting, nowMs);
  const needs = items.flatMap(({ kind, waiting }): readonly Need[] => {
    if (kind === 'batch' && batch !== null)
      return batch.waits
        .filter((group) => isNeeding(group.waiting))
        .map((group) => [group.waiting.problem.code, null, Math.max(1, group.payments)]);
    return isNeeding(waiting) ? [[waiting.problem.code, waiting.problem.item, 1]] : [];
  });
  const [first] = shownFirst(items.map(({ waiting }) => waiting)).filter(isNeeding);
  return { needs, first: first ?? null };
}

/**
 * True when people have acknowledged all of these. @param standing the state that an acknowledgement must have been about; when
 * it changes, no earlier acknowledgement counts
 */
export function isCovered(
  instructions: readonly Instruction[],
  standing: string,
  needs: readonly Need[],
): boolean {
  const said = instructions.filter((each) => each.kind === 'acknowledge' && each.standing === standing);
  const seen = said.flatMap((each) => (each.kind === 'acknowledge' ? each.needs : []));
  return (
    said.length > 0 &&
    needs.every(([code, item, count]) =>
      seen.some(([ofCode, ofItem, most]) => ofCode === code && ofItem === item && count <= most),
    )
  );
}
