/**
 * What of a run needs a person, and how much of it an acknowledgement covers: only what its person has seen. Pure.
 */
import { mainWait, type Progress } from './progress.ts';
import { needsSomebody, type Waiting } from '../waits.ts';
import type { Instruction, Need } from '../people/instructions.ts';

/** What needs a person by the progress of a run, and the wait that people should know first; null: none needs a person. */
export function needsIn(
  progress: Progress,
  nowMs: number,
): { readonly needs: readonly Need[]; readonly first: Waiting | null } {
  const { items, batch } = progress;
  const isNeeding = (waiting: Waiting): boolean => needsSomebody(waiting, nowMs);
  const needs = items.flatMap(({ kind, waiting }): readonly Need[] => {
    if (waiting === null || !isNeeding(waiting)) return [];
    if (kind !== 'batch' || batch === null) return [[waiting.problem.code, waiting.problem.item, 1]];
    const { counts } = batch;
    return [
      [waiting.problem.code, null, Math.max(1, counts.waiting)],
      ...(counts.needsHuman > 0 ? [['NEEDS_HUMAN', null, counts.needsHuman] as const] : []),
    ];
  });
  return { needs, first: mainWait(progress, isNeeding) };
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
