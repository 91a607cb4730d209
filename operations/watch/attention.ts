/** Which runs need a person's attention, and which of them a person has acknowledged already. */
import { randomUUID } from 'node:crypto';
import type { ProblemCode } from '../../domain/problems.ts';
import { isReplaced } from '../../domain/replacement.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { SEAL_KEY_MISSING, keyMissingText } from '../../domain/unreadable.ts';
import { MOST_NEEDS, type Need } from '../../domain/people/instructions.ts';
import type { WaitReason } from '../../domain/waits.ts';
import { isCovered, needsIn, type NeedReason } from '../../domain/run/needs.ts';
import { CommandFailure } from '../failure.ts';
import { keyMissing } from '../key-missing.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import { endInstructions } from '../../durable/instructions/keep.ts';
import { InstructionsUnreadable, readInstructions } from '../../durable/instructions/read.ts';
import { keepInstruction } from '../decide/keep-instruction.ts';
import type { Place } from '../place.ts';
import { ANSWER_LIMIT_MS } from '../follow/answers.ts';
import { cameBackIn, type FailedPayment, type FailedPayments } from './came-back.ts';
import { readOutline, readParts } from '../follow/read-run.ts';
import { listRuns, requireRun, type RunFacts } from '../follow/runs.ts';
import { readStuck, readStuckChunk } from '../follow/stuck.ts';
import { acknowledgeMissed, type Missed } from '../schedules/missed.ts';
import { listMissed } from '../schedules/starts.ts';

/** A run that has ended in one of these states needs no attention. */
const QUIET: readonly string[] = ['COMPLETED'];

/** As a wait of the run says, or as Temporal and the service show it. `ended`: with something undone. */
export type AttentionReason = WaitReason | 'ended' | 'stuck' | 'came_back' | 'memo';

/** Why a run needs attention. */
type Why = { readonly code: string; readonly message: string };

/** A run in the list. `why` is null when there is no such reason, or when the command did not ask the run. */
export type Listed = {
  readonly facts: RunFacts;
  readonly why: Why | null;
  /** All that needs a person; `why` is the first of it. */
  readonly needs: readonly Need[];
  /** The kinds of these needs, each once. `sinceMs`: epoch milliseconds; null: not known. */
  readonly reasons: readonly NeedReason<AttentionReason>[];
  /** The run is stuck and cannot say so itself. */
  readonly isStuck: boolean;
};

/** The runs that need attention, without those that a person has acknowledged and that have not changed since. */
export type Attention = {
  readonly listed: readonly Listed[];
  readonly acknowledged: number;
  /** Every run, newest first. */
  readonly all: readonly RunFacts[];
};

/** True for a run that needs a person's attention. */
export function needsAttention({ facts, why }: Listed): boolean {
  return why !== null || (!facts.isOpen && !QUIET.includes(facts.state));
}

/** Runs, newest first. `limit`: at least this many are wanted; null: all. */
export async function listAll(place: Place, limit: number | null): Promise<readonly Listed[]> {
  const found = await listRuns(place.client, place.mode, { policy: null, onlyOpen: false, limit });
  return found.map(withoutAsking);
}

/**
 * The runs that need a person's attention, newest first. The command asks open runs what they wait for. A run that waits
 * within its time, for example for settlement, needs no attention.
 * @param failed what the service says has failed, so that money that came back is told; null: it was not asked
 */
export async function listAttention(
  place: Place,
  nowMs: number,
  failed: FailedPayments | null,
): Promise<Attention> {
  const all = await listAll(place, null);
  const waiting = await Promise.all(all.map(({ facts }) => lookAt(place, facts, nowMs)));
  const looked = failed === null ? waiting : await withCameBack(place, waiting, failed);
  const needing = looked.filter(needsAttention);
  const listed = await withoutAcknowledged(place, needing);
  return { listed, acknowledged: needing.length - listed.length, all: all.map(({ facts }) => facts) };
}

/** The instructions of this many runs are read side by side: each has a history of its own. */
const READ_AT_ONCE = 10;

/** The runs that no person has acknowledged in their present state, in the same order. */
async function withoutAcknowledged(place: Place, needing: readonly Listed[]): Promise<readonly Listed[]> {
  const areAcknowledged = await fewAtOnce(needing, READ_AT_ONCE, (each) => isAcknowledged(place, each));
  return needing.filter((_each, index) => areAcknowledged[index] !== true);
}

/** What a person has acknowledged. */
export type Acknowledged =
  { readonly kind: 'run'; readonly listed: Listed } | { readonly kind: 'missed'; readonly missed: Missed };

/**
 * Records that a person looks after the run in its present state, or knows that a schedule has missed it.
 * @throws CommandFailure when the run needs no attention, or no worker records it
 */
export async function acknowledge(
  place: Place,
  run: RunName,
  said: {
    readonly by: string;
    readonly why: string;
    readonly nowMs: number;
    readonly failed: FailedPayments | null;
  },
): Promise<Acknowledged> {
  const { by, why, nowMs, failed } = said;
  const missed = (await listMissed(place, nowMs)).find((each) => runName(each.run) === runName(run));
  if (missed !== undefined) {
    await acknowledgeMissed(place, missed, { by, why });
    return { kind: 'missed', missed };
  }
  const asked = await lookAt(place, await requireRun(place, run), nowMs);
  const listed = failed === null ? asked : await addCameBack(place, asked, failed);
  if (!needsAttention(listed)) throw new CommandFailure('bad input', [needsNobody(run, listed)]);
  const standing = standingOf(listed);
  const needs = listed.needs.slice(0, MOST_NEEDS);
  await keepInstruction(
    place,
    run,
    { kind: 'acknowledge', id: randomUUID(), by, why, standing, needs },
    { seen: null },
  );
  // For a run that has ended, the workflow that keeps instructions was opened for this instruction only.
  if (!listed.facts.isOpen) await endInstructions(place.client, place.mode, run);
  return { kind: 'run', listed };
}

async function lookAt(place: Place, facts: RunFacts, nowMs: number): Promise<Listed> {
  const odd = withoutAsking(facts);
  if (!facts.isOpen) return odd;
  const stuck = await readStuck(place.client, facts, nowMs);
  if (stuck !== null) return stuckBy(facts, stuck);
  try {
    const { progress } = await readOutline(place, facts, ANSWER_LIMIT_MS);
    const stuckChunk = await readStuckChunk(place, facts.run, progress.batch?.open ?? [], nowMs);
    if (stuckChunk !== null) return stuckBy(facts, stuckChunk);
    const { needs, first, reasons } = needsIn(progress, nowMs);
    return {
      ...odd,
      why: first?.problem ?? odd.why,
      needs: [...needs, ...odd.needs],
      reasons: [...reasons, ...odd.reasons],
    };
  } catch (error) {
    return stuckBy(facts, troubleOf(error).problems[0] ?? null);
  }
}

/** Why one run cannot be read, so that it keeps no other from the list. @throws what says nothing of a run */
function troubleOf(error: unknown): CommandFailure {
  const trouble = error instanceof CommandFailure ? error : keyMissing(error);
  if (trouble === null) throw error;
  return trouble;
}

/** Of payments whose run the list does not show, this many of the newest runs are asked. */
const RUNS_WITHOUT_NAME = 20;

/** The runs, each with the payments of it that came back. Only runs that may have one are asked. */
async function withCameBack(
  place: Place,
  all: readonly Listed[],
  failed: FailedPayments,
): Promise<readonly Listed[]> {
  const named = new Set(failed.payments.flatMap(({ run }) => (run === null ? [] : runName(run))));
  const isAnyUnnamed = failed.payments.some(({ run }) => run === null);
  return fewAtOnce([...all.entries()], READ_AT_ONCE, async ([index, listed]) => {
    const mayHave = named.has(runName(listed.facts.run)) || (isAnyUnnamed && index < RUNS_WITHOUT_NAME);
    return mayHave ? addCameBack(place, listed, failed) : listed;
  });
}

async function addCameBack(place: Place, listed: Listed, failed: FailedPayments): Promise<Listed> {
  const back: { readonly item: string; readonly record: FailedPayment }[] = [];
  try {
    for await (const { report } of readParts(place, listed.facts))
      for (const { payment, record } of cameBackIn(report.payments, failed))
        back.push({ item: payment.id, record });
  } catch (error) {
    // No worker tells its payments. Only a completed run tells them without one, and it needs nobody otherwise.
    troubleOf(error);
  }
  const [first] = back;
  if (first === undefined) return listed;
  const { item, record } = first;
  const others = back.length === 1 ? '' : `, and ${back.length - 1} more came back`;
  const message = `The service says "${record.status}" of withdrawal ${record.id} of ${item}, which was paid${others}: \`npx cambist report ${runName(listed.facts.run)}\` has the rest.`;
  return {
    ...listed,
    why: listed.why ?? { code: CAME_BACK, message },
    needs: [...listed.needs, ...back.map(({ item: id }): Need => [CAME_BACK, id, 1])],
    reasons: [...listed.reasons, { reason: 'came_back', sinceMs: null }],
  };
}

/** The code under which a report tells it. */
const CAME_BACK: ProblemCode = 'WITHDRAWAL_FAILED';

/** How many payments of the run came back. */
export function cameBackCount({ needs }: Pick<Listed, 'needs'>): number {
  return needs.filter(([code]) => code === CAME_BACK).length;
}

function stuckBy(facts: RunFacts, why: Why | null): Listed {
  return { facts, why, needs: needsOf(why), reasons: [{ reason: 'stuck', sinceMs: null }], isStuck: true };
}

function withoutAsking(facts: RunFacts): Listed {
  const why = oddMemo(facts);
  const ended: Listed['reasons'] =
    facts.isOpen || QUIET.includes(facts.state) ? [] : [{ reason: 'ended', sinceMs: facts.closedAtMs }];
  const memo: Listed['reasons'] = why === null ? [] : [{ reason: 'memo', sinceMs: null }];
  return { facts, why, needs: needsOf(why), reasons: [...ended, ...memo], isStuck: false };
}

function needsOf(why: Why | null): readonly Need[] {
  return why === null ? [] : [[why.code, null, 1]];
}

/** A run of which this command lacks the key, or a person has changed what Temporal shows of it; null: neither. */
function oddMemo({ hasOddMemo, missingKey }: RunFacts): Why | null {
  if (missingKey !== null) return { code: SEAL_KEY_MISSING, message: keyMissingText(missingKey) };
  if (!hasOddMemo) return null;
  return {
    code: 'MEMO_UNREADABLE',
    message:
      'What Temporal shows of it (its memo) has a form that Cambist does not write and cannot read: find out who wrote it.',
  };
}

/** The state that an acknowledgement is about. When the Temporal run or the state changes, it no longer counts. */
function standingOf({ facts }: Listed): string {
  return [facts.temporalRunId, facts.state].join(' ');
}

async function isAcknowledged({ client, mode }: Place, listed: Listed): Promise<boolean> {
  const kept = await readInstructions({ client, mode, run: listed.facts.run }).catch((error: unknown) => {
    // One run must not keep the others from the list.
    if (error instanceof InstructionsUnreadable || keyMissing(error) !== null) return null;
    throw error;
  });
  if (kept === null) return false;
  // Another run has taken the place of this one: only that run may need attention.
  if (!listed.facts.isOpen && isReplaced(kept.instructions)) return true;
  return isCovered(kept.instructions, standingOf(listed), listed.needs);
}

function needsNobody(run: RunName, { facts }: Listed) {
  return {
    code: 'NOTHING_TO_ACKNOWLEDGE',
    place: runName(run),
    message: `it is ${facts.state} and needs no person`,
    fix: 'See `npx cambist list --attention`.',
  } as const;
}
