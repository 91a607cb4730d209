/** Which runs need a person's attention, and which of them a person has acknowledged already. */
import { randomUUID } from 'node:crypto';
import { isReplaced } from '../../domain/replacement.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { mainWait } from '../../domain/run/progress.ts';
import { needsSomebody } from '../../domain/waits.ts';
import { CommandFailure } from '../failure.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import { endInstructions } from '../../durable/instructions/keep.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import { keepInstruction } from '../decide/keep-instruction.ts';
import type { Place } from '../place.ts';
import { ANSWER_LIMIT_MS } from '../follow/answers.ts';
import { readOutline } from '../follow/read-run.ts';
import { listRuns, requireRun, type RunFacts } from '../follow/runs.ts';
import { readStuck } from '../follow/stuck.ts';

/** A run that has ended in one of these states needs no attention. */
const QUIET: readonly string[] = ['COMPLETED'];

/** Why a run needs attention. */
type Why = { readonly code: string; readonly message: string };

/** A run in the list. `why` is null when there is no such reason, or when the command did not ask the run. */
export type Listed = {
  readonly facts: RunFacts;
  readonly why: Why | null;
  /** The run is stuck and cannot say so itself. */
  readonly isStuck: boolean;
};

/** The runs that need attention, without those that a person has acknowledged and that have not changed since. */
export type Attention = { readonly listed: readonly Listed[]; readonly acknowledged: number };

/** True for a run that needs a person's attention. */
export function needsAttention({ facts, why }: Listed): boolean {
  return why !== null || (!facts.isOpen && !QUIET.includes(facts.state));
}

/** Runs, newest first. `limit`: at least this many are wanted; null: all. */
export async function listAll(place: Place, limit: number | null): Promise<readonly Listed[]> {
  const found = await listRuns(place.client, place.mode, { policy: null, onlyOpen: false, limit });
  return found.map((facts) => ({ facts, why: oddMemo(facts), isStuck: false }));
}

/**
 * The runs that need a person's attention, newest first. The command asks open runs what they wait for. A run that waits
 * within its time, for example for settlement, needs no attention.
 */
export async function listAttention(place: Place, nowMs: number): Promise<Attention> {
  const all = await listAll(place, null);
  const looked = await Promise.all(all.map(({ facts }) => lookAt(place, facts, nowMs)));
  const needing = looked.filter(needsAttention);
  const listed = await withoutAcknowledged(place, needing);
  return { listed, acknowledged: needing.length - listed.length };
}

/** The instructions of this many runs are read side by side: each has a history of its own. */
const READ_AT_ONCE = 10;

/** The runs that no person has acknowledged in their present state, in the same order. */
async function withoutAcknowledged(place: Place, needing: readonly Listed[]): Promise<readonly Listed[]> {
  const areAcknowledged = await fewAtOnce(needing, READ_AT_ONCE, (each) => isAcknowledged(place, each));
  return needing.filter((_each, index) => areAcknowledged[index] !== true);
}

/**
 * Records that a person looks after the run in its present state.
 * @throws CommandFailure when the run needs no attention, or no worker records it
 */
export async function acknowledge(
  place: Place,
  run: RunName,
  { by, why, nowMs }: { readonly by: string; readonly why: string; readonly nowMs: number },
): Promise<Listed> {
  const listed = await lookAt(place, await requireRun(place, run), nowMs);
  if (!needsAttention(listed)) throw new CommandFailure('bad input', [needsNobody(run, listed)]);
  const standing = standingOf(listed);
  await keepInstruction(
    place,
    run,
    { kind: 'acknowledge', id: randomUUID(), by, why, standing },
    { seen: null },
  );
  // For a run that has ended, the workflow that keeps instructions was opened for this instruction only.
  if (!listed.facts.isOpen) await endInstructions(place.client, place.mode, run);
  return listed;
}

async function lookAt(place: Place, facts: RunFacts, nowMs: number): Promise<Listed> {
  if (!facts.isOpen) return { facts, why: oddMemo(facts), isStuck: false };
  const stuck = await readStuck(place.client, facts, nowMs);
  if (stuck !== null) return { facts, why: { code: 'STUCK', message: stuck }, isStuck: true };
  try {
    const { progress } = await readOutline(place, facts, ANSWER_LIMIT_MS);
    const wait = mainWait(progress, (waiting) => needsSomebody(waiting, nowMs));
    return { facts, why: wait?.problem ?? oddMemo(facts), isStuck: false };
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return { facts, why: error.problems[0] ?? null, isStuck: true };
  }
}

/** A run of which a person has changed what Temporal shows of it; null: no person has. */
function oddMemo({ hasOddMemo }: RunFacts): Why | null {
  if (!hasOddMemo) return null;
  return {
    code: 'MEMO_UNREADABLE',
    message:
      'Its memo in Temporal is in a form that Cambist cannot read, and did not write: find out who did.',
  };
}

/**
 * The state that an acknowledgement is about. When the Temporal run, the state or the reason changes, the acknowledgement no
 * longer counts.
 */
function standingOf({ facts, why }: Listed): string {
  return [facts.temporalRunId, facts.state, why?.code ?? 'ended'].join(' ');
}

async function isAcknowledged({ client, mode }: Place, listed: Listed): Promise<boolean> {
  const kept = await readInstructions({ client, mode, run: listed.facts.run });
  if (kept === null) return false;
  // Another run has taken the place of this one: only that run may need attention.
  if (!listed.facts.isOpen && isReplaced(kept.instructions)) return true;
  const standing = standingOf(listed);
  return kept.instructions.some((said) => said.kind === 'acknowledge' && said.standing === standing);
}

function needsNobody(run: RunName, { facts }: Listed) {
  return {
    code: 'NOTHING_TO_ACKNOWLEDGE',
    place: runName(run),
    message: `it is ${facts.state} and needs no person`,
    fix: 'See `npx cambist list --attention`.',
  } as const;
}
