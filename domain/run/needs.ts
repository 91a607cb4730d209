/**
 * What of a run needs a person, and how much of it an acknowledgement covers: only what its person has seen. Pure.
 */
import { mainWait, type Progress } from './progress.ts';
import { WAIT_REASONS, isLate, needsSomebody, type WaitReason, type Waiting } from '../waits.ts';
import type { Held } from './chunk-state.ts';
import type { Instruction, Need } from '../people/instructions.ts';

/** A kind of needs, and since when the oldest of them is there; null: not known. */
export type NeedReason<Reason extends string = WaitReason> = {
  readonly reason: Reason;
  readonly sinceMs: number | null;
};

/**
 * What needs a person by the progress of a run, the kinds of it, and the wait that people should know first; null: none needs a
 * person.
 */
export function needsIn(
  progress: Progress,
  nowMs: number,
): {
  readonly needs: readonly Need[];
  readonly reasons: readonly NeedReason[];
  readonly first: Waiting | null;
} {
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
  return { needs, reasons: reasonsIn(progress, nowMs), first: mainWait(progress, isNeeding) };
}

/** Of a batch, only its own wait says since when it waits. */
function reasonsIn({ items, batch }: Progress, nowMs: number): readonly NeedReason[] {
  const ofBatch = items.find(({ kind }) => kind === 'batch')?.waiting ?? null;
  const held = (batch?.held ?? []).filter((one) => isHeldNeeding(one, ofBatch, nowMs));
  const found: readonly NeedReason[] = [
    ...items.flatMap(({ waiting }) => {
      if (waiting === null || !needsSomebody(waiting, nowMs)) return [];
      return [{ reason: waiting.reason, sinceMs: waiting.sinceMs ?? null }];
    }),
    ...held.map(({ reason }) => ({ reason, sinceMs: null })),
  ];
  const oldest = new Map<WaitReason, number | null>();
  for (const { reason, sinceMs } of found) {
    const before = oldest.get(reason) ?? null;
    oldest.set(reason, before === null || sinceMs === null ? (before ?? sinceMs) : Math.min(before, sinceMs));
  }
  return [...oldest].map(([reason, sinceMs]) => ({ reason, sinceMs }));
}

/** How many payments wait with each code that needs a person. Of a doubt, only the wait of the batch tells how long it lasts. */
function needsOfBatch(held: readonly Held[], waiting: Waiting | null, nowMs: number): readonly Need[] {
  const counts = new Map<string, number>();
  for (const one of held)
    if (isHeldNeeding(one, waiting, nowMs)) counts.set(one.code, (counts.get(one.code) ?? 0) + one.payments);
  return [...counts].map(([code, payments]) => [code, null, payments]);
}

/** @param waiting the wait of the batch */
function isHeldNeeding({ code, reason }: Held, waiting: Waiting | null, nowMs: number): boolean {
  if (reason === 'doubt') return waiting?.reason === 'doubt' && needsSomebody(waiting, nowMs);
  return WAIT_REASONS[reason].needsSomebody || isLate(code);
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
