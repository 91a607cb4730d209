/** What looks like payments of a chunk now, at the service. Moves nothing. */
import { LOOK_ALIKE, ownSince, type LookAlikes } from '../domain/writes/look-alikes.ts';
import type { LookAlikeApproval } from '../domain/people/instructions.ts';
import type { GoAnswer } from '../domain/run/calls.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import { findAlike, judged, readApproval, type FoundAlike, type Waits } from './claims.ts';
import type { Deps } from './deps.ts';
import { remembered, type ChunkMemory, type OfChunk } from './of-chunk.ts';

type GoOf = Extract<GoAnswer, { kind: 'go' }>;

/** At most so many records are named, because each costs bytes in every answer. */
const MOST_NAMED = 100;

/**
 * What looks like payments of the chunk now. In the run that made the plan, only what the plan found is
 * checked again. Once the payments may have been sent, newer records may be their own, and their keys show
 * whether they are.
 */
export async function alikeNow(
  deps: Deps,
  memory: ChunkMemory,
  of: OfChunk,
): Promise<Pick<GoOf, 'alike' | 'alikeIds'> | Waits> {
  const { plan, batch, planned, number, payments, isFirstRun } = of;
  const before = planned.alike ?? null;
  if (isFirstRun && before?.includes(LOOK_ALIKE.held) !== true)
    return before === null ? {} : { alike: before };
  const approval = await readApproval(deps, { mode: plan.credentials.mode, run: plan.run });
  const keyMs = ownSince(deps.facts, plan.sendWindows.opensAtMs);
  // What the plan found was there before the plan, whatever the clocks say.
  const ofPlanMs = Math.min(keyMs, isFirstRun ? Infinity : plan.madeAtMs);
  const found = await foundAlike(deps, memory, { of, approval, ownSinceMs: ofPlanMs });
  if ('wait' in found) return found;
  const sinceMs = deps.clock.wallMs() - batch.rules.dedupeMs;
  const by = (ownMs: number): LookAlikes =>
    judged(deps, found, { sinceMs, ownSinceMs: Math.min(keyMs, ownMs), approval });
  const ofPlan = by(ofPlanMs);
  const since = by(plan.madeAtMs - CLOCK_TOLERANCE_MS);
  const [lettersOfPlan, lettersSince] = [ofPlan, since].map((one) => one.lettersOf(number, payments));
  const alikeIds: Record<number, string> = {};
  const letters = payments.map((payment, index) => {
    const isOfPlan = (before?.[index] ?? LOOK_ALIKE.none) !== LOOK_ALIKE.none;
    if (isFirstRun && !isOfPlan) return LOOK_ALIKE.none;
    const letter = (isOfPlan ? lettersOfPlan : lettersSince)?.[index] ?? LOOK_ALIKE.none;
    const [record] = letter === LOOK_ALIKE.held ? (isOfPlan ? ofPlan : since).of(payment) : [];
    if (record !== undefined && Object.keys(alikeIds).length < MOST_NAMED) alikeIds[index] = record.id;
    return letter;
  });
  return { alike: letters.join(''), alikeIds };
}

/** A chunk asks for its go whenever there is news. */
const KEPT_MS = 60_000;

function foundAlike(
  deps: Deps,
  { alike }: ChunkMemory,
  {
    of: { plan, batch, payments, takenUpBy, wakes },
    approval,
    ownSinceMs,
  }: {
    readonly of: OfChunk;
    readonly approval: LookAlikeApproval | null;
    readonly ownSinceMs: number;
  },
): Promise<FoundAlike | Waits> {
  const { mode } = plan.credentials;
  const ask = () => {
    const sinceMs = Math.min(deps.clock.wallMs() - batch.rules.dedupeMs, approval?.sinceMs ?? Infinity);
    return findAlike(deps, { mode, run: plan.run, chunks: [payments], sinceMs, ownSinceMs });
  };
  return remembered(alike, [takenUpBy, wakes, approval?.sinceMs].join(), { maxAgeMs: KEPT_MS, ask });
}
