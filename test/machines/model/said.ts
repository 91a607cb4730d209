/** What people have said of a run and its items, counted here once more. */
import type { KeptInstruction, Temporal } from './temporal.ts';

/** Whether, by what Temporal had before a moment, the run was cancelled, and a person had decided about the item. */
export function standingOf(
  instructions: readonly KeptInstruction[],
  item: string,
  beforeMs: number,
): { cancelled: boolean; decided: boolean } {
  let cancelled = false;
  let decided = false;
  let isGone = false;
  for (const said of instructions) {
    if (said.keptAtMs >= beforeMs) continue;
    if (said.kind === 'superseded') isGone = true;
    if (said.kind === 'cancel') cancelled = true;
    if (said.kind === 'go-on' && said.item === null) cancelled = false;
    if ((said.kind === 'executed' || said.kind === 'not executed') && said.item === item) decided = true;
    if (said.kind === 'pay again' && said.item === item) decided = false;
  }
  return { cancelled: cancelled || isGone, decided };
}

/** Everything that people have said of a run, also what a restore has taken away. */
export function allSaid({ kept, lost }: Temporal): readonly KeptInstruction[] {
  return [...kept.instructions, ...lost];
}

/** What people have said of one item; that the cause of a refusal is gone decides nothing about it. */
export function saidOfItem(temporal: Temporal, id: string): readonly KeptInstruction[] {
  return allSaid(temporal).filter((said) => 'item' in said && said.item === id && said.kind !== 'go-on');
}
