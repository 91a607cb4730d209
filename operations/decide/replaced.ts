/** Which run has taken the place of a run (design: "One run, one plan"). A run whose place is taken never goes on. */
import type { Kept } from '../../domain/people/instructions.ts';
import { SUPERSEDED, successorIn } from '../../domain/replacement.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import { CommandFailure } from '../failure.ts';
import { listRuns, readInput, type RunFacts } from '../follow/runs.ts';
import type { Place } from '../place.ts';
import { keepInstruction, wakeRun } from './keep-instruction.ts';

/** This many runs are read side by side. */
const READ_AT_ONCE = 10;

/** Id of the run that has taken the place of this one, by what people said; null: no run has. */
export async function successorOf({ client, mode }: Place, run: RunName): Promise<string | null> {
  const kept = await readInstructions({ client, mode, run });
  return kept === null ? null : successorIn(kept.instructions);
}

/**
 * Id of the run in whose place people have put this one. Temporal has nothing of this one: it was never started, or Temporal
 * has lost it. Null: there is no such run.
 */
export async function predecessorOf(place: Place, run: RunName): Promise<string | null> {
  return runThatNames(place, run, async ({ run: other, state }) =>
    // A run that has done everything is never replaced.
    state === 'COMPLETED' ? null : successorOf(place, other),
  );
}

/** @throws CommandFailure when another run has taken the place of this one */
export async function requireNotReplaced(place: Place, run: RunName): Promise<void> {
  const successor = await successorOf(place, run);
  if (successor !== null) throw superseded(run, successor);
}

/**
 * Checked before a person says anything that lets a run go on.
 * @param kept what people said about the run; null: Temporal has lost it. Then the run that was started in its place shows
 * that it is superseded, and this is kept once more
 * @throws CommandFailure when another run has taken its place
 */
export async function requireStillItsOwn(place: Place, run: RunName, kept: Kept | null): Promise<void> {
  const successor = kept === null ? await takerOf(place, run) : successorIn(kept.instructions);
  if (successor === null) return;
  if (kept === null) {
    const why = `${successor} was started in its place, but what people have said about that is not in Temporal any more`;
    const said = { kind: 'superseded', id: SUPERSEDED, by: 'Cambist', why, instead: successor } as const;
    await keepInstruction(place, run, said, { seen: null });
    await wakeRun(place, run);
  }
  throw superseded(run, successor);
}

/** Id of the run of the policy that was started in the place of this one, as Temporal still shows it; null: there is none. */
export async function takerOf(place: Place, run: RunName): Promise<string | null> {
  return runThatNames(place, run, async (facts) => (await readInput(place.client, facts))?.insteadOf ?? null);
}

/** Id of the run of the same policy for which `namedBy` gives this run's id; null: there is none. */
async function runThatNames(
  { client, mode }: Place,
  { policy, id }: RunName,
  namedBy: (other: RunFacts) => Promise<string | null>,
): Promise<string | null> {
  const all = await listRuns(client, mode, { policy, onlyOpen: false, limit: null });
  const named = await fewAtOnce(all, READ_AT_ONCE, namedBy);
  return all[named.indexOf(id)]?.run.id ?? null;
}

export function superseded(run: RunName, successor: string): CommandFailure {
  const other = runName({ policy: run.policy, id: successor });
  return new CommandFailure('refused by us', [
    {
      code: 'SUPERSEDED',
      place: runName(run),
      message: `run ${other} has taken the place of this one, and that cannot be taken back; nothing was sent`,
      fix: `Go on with the other run: \`npx cambist status ${other}\`.`,
    },
  ]);
}
