/**
 * What of a run needs a person, and how much of it an acknowledgement covers: only what its person has seen. Pure.
 */
import { mainWait, type Progress } from './progress.ts';
import { WAIT_REASONS, isLate, needsSomebody, type Waiting } from '../waits.ts';
import type { Held } from './chunk-state.ts';
import type { Instruction, Need } from '../people/instructions.ts';

/** What needs a person by the progress of a run, and the wait that people should know first; null: none needs a person. */
export function needsIn(
  progress: Progress,
  nowMs: number,
): { readonly needs: readonly Need[]; readonly first: Waiting | null } {
  const { items, batch } = progress;
  const isNeeding = (waiting: Waiting): boolean => needsSomebody(waiting, nowMs);
  const needs = items.flatMap(({ kind, waiting }): readonly Need[] => {
    const isOfBatch = kind === 'batch' && batch !== null;
    const held = isOfBatch ? needsOfBatch(batch.held, waiting, nowMs) : [];
    if (waiting === null || !isNeeding(waiting)) return held;
    const { code, item } = waiting.problem;
    if (held.some(([of]) => of === code)) return held;
    return [[code, isOfBatch ? null : item, 1], ...held];
  });
  return { needs, first: mainWait(progress, isNeeding) };
}

/** How many payments wait with each code that needs a person. Of a doubt, only the wait of the batch tells how long it lasts. */
function needsOfBatch(held: readonly Held[], waiting: Waiting | null, nowMs: number): readonly Need[] {
  const isLongDoubt = waiting?.reason === 'doubt' && needsSomebody(waiting, nowMs);
  const counts = new Map<string, number>();
  for (const { code, reason, payments } of held) {
    const isNeeding = reason === 'doubt' ? isLongDoubt : WAIT_REASONS[reason].needsSomebody || isLate(code);
    if (isNeeding) counts.set(code, (counts.get(code) ?? 0) + payments);
  }
  return [...counts].map(([code, payments]) => [code, null, payments]);
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
