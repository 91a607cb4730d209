/**
 * `--go-on`: a person lets a cancelled run go on, or says that the cause of one item's wait is gone. The instruction is kept
 * outside the run's history, and the run reads it before it sends.
 */
import { randomUUID } from 'node:crypto';
import {
  NOTHING_KEPT,
  isCancelled,
  newestCancel,
  newestSaid,
  type Kept,
  type LookAlikeApproval,
} from '../../domain/people/instructions.ts';
import { foundListOf } from '../../domain/run/claims.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { Settings } from '../../config/config.ts';
import { CommandFailure } from '../failure.ts';
import { keepInstruction, readKept, wakeRun } from './keep-instruction.ts';
import type { Place } from '../place.ts';
import { requireItem, requirePlan } from './plan-made.ts';
import { requireService } from '../preflight.ts';
import { requireStillItsOwn } from './replaced.ts';

/** `item`: the item whose cause is gone; null: everything goes on. */
export type GoOn = { readonly item: string | null; readonly by: string; readonly why: string };

/**
 * For a run that is open.
 * @returns a remark about the service, null when all is well. @throws CommandFailure when the run is cancelled, or another
 * run has its place
 */
export async function goOnOpen(
  place: Place,
  run: RunName,
  asked: { readonly goOn: GoOn; readonly settings: Settings; readonly now: () => number },
): Promise<string | null> {
  const { goOn } = asked;
  const kept = await readKept(place, run);
  await requireStillItsOwn(place, run, kept);
  if (kept !== null && isCancelled(kept.instructions)) {
    throw new CommandFailure('refused by us', [
      {
        code: 'RUN_CANCELLED',
        place: runName(run),
        message: 'the run is cancelled, and stays open only to follow what was sent before; nothing was sent',
        fix: `Wait for its end (\`npx cambist run … --wait\`, without --go-on), then type this again. \`npx cambist status ${runName(run)}\` says what it follows.`,
      },
    ]);
  }
  const remark = await requireService(asked.settings, asked.now);
  await say(place, run, goOn, kept);
  await wakeRun(place, run);
  return remark;
}

/**
 * For a run that has ended, before it is started again.
 * @param kept what people had said about it when the command looked; null: Temporal has nothing of that
 * @throws CommandFailure when the item cannot go on alone
 */
export async function goOnEnded(place: Place, run: RunName, goOn: GoOn, kept: Kept | null): Promise<void> {
  await requireStillItsOwn(place, run, kept);
  await say(place, run, goOn, kept);
}

async function say(place: Place, run: RunName, goOn: GoOn, kept: Kept | null): Promise<void> {
  const seen = kept ?? NOTHING_KEPT;
  if (goOn.item !== null) await sayCauseGone(place, run, goOn, seen);
  // Nothing is sent while the run is cancelled, or while its instructions are missing.
  else if (kept === null || isCancelled(seen.instructions)) await sayGoOn(place, run, goOn, seen);
}

/**
 * Takes back the cancels that the person has seen: what they stopped goes on.
 * @param kept what people had said when the command looked
 * @returns the number of this instruction
 */
export async function sayGoOn(
  place: Place,
  run: RunName,
  { by, why }: Pick<GoOn, 'by' | 'why'>,
  { instructions }: Kept,
): Promise<number> {
  const takesBack = newestCancel(instructions);
  const said = { kind: 'go-on', id: randomUUID(), item: null, takesBack, by, why } as const;
  return keepInstruction(place, run, said, { seen: newestSaid(instructions) });
}

async function sayCauseGone(
  place: Place,
  run: RunName,
  { item: asked, by, why }: GoOn,
  { instructions }: Kept,
): Promise<void> {
  const item = await requireNamed(place, run, asked ?? '');
  if (isCancelled(instructions)) {
    throw new CommandFailure('refused by us', [
      {
        code: 'RUN_CANCELLED',
        place: runName(run),
        message: `the run is cancelled, so "${item}" cannot go on alone; nothing was sent`,
        fix: 'Take the cancel back first: --go-on without an item goes on with everything that is not done.',
      },
    ]);
  }
  const said = { kind: 'go-on', id: randomUUID(), by, why, item, takesBack: null } as const;
  await keepInstruction(place, run, said, { seen: newestSaid(instructions) });
}

/**
 * Keeps that a person lets a batch go on in spite of exactly the look-alikes of the list with this name.
 * @returns the id of this instruction
 */
export async function acceptLookAlikes(
  place: Place,
  run: RunName,
  { by, why }: Pick<GoOn, 'by' | 'why'>,
  {
    name,
    approval,
    seen,
  }: { readonly name: string; readonly approval: LookAlikeApproval; readonly seen: number },
): Promise<string> {
  const said = { kind: 'go-on', id: randomUUID(), by, why, item: name, takesBack: null } as const;
  await keepInstruction(place, run, { ...said, lookAlikes: approval }, { seen });
  return said.id;
}

/** An item of the plan; or the list of lost runs beside which the run may go on. */
async function requireNamed(place: Place, run: RunName, asked: string): Promise<string> {
  if (foundListOf(asked) !== 'lost-runs') await requireItem(place, await requirePlan(place, run), asked);
  return asked;
}
