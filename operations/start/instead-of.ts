/**
 * `run POLICY --id NEW --instead-of OLD`: a run by a corrected policy takes the place of an old run of which nothing was
 * executed (design: "One run, one plan"). The command first keeps an instruction, and from then on nothing of the old run is
 * sent. The worker that makes the new run's plan checks everything again.
 */
import type { Settings } from '../../config/config.ts';
import { saidOfExecuted } from '../../domain/people/instructions.ts';
import { goOnCommand, SUPERSEDED, successorIn } from '../../domain/replacement.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { Report } from '../../domain/run/report.ts';
import { LOOK_BACK_MS } from '../../domain/writes/lookups.ts';
import { endInstructions } from '../../durable/instructions/keep.ts';
import { isPlanKnown, readFirstPlan, readPlanInput, readPlannedText } from '../../durable/plans.ts';
import { findOfRun } from '../../service/records-of-run.ts';
import { keepInstruction, readKept, wakeRun } from '../decide/keep-instruction.ts';
import { againCommand } from '../decide/next-start.ts';
import { requireOwnPlan } from '../decide/plan-made.ts';
import { successorOf, superseded, takerOf } from '../decide/replaced.ts';
import { CommandFailure } from '../failure.ts';
import { readRun, type RunView } from '../follow/read-run.ts';
import { readInput, requireRun, type RunFacts } from '../follow/runs.ts';
import type { Place } from '../place.ts';
import { atService, serviceFailure } from '../preflight.ts';

/** `old`: the run whose place `run` is to take; both are of one policy. */
export type AskedInstead = {
  readonly place: Place;
  readonly settings: Settings;
  readonly run: RunName;
  readonly old: RunName;
};

/** What the command shows before the person says yes. */
export type Instead = {
  /** How the old run ended. */
  readonly view: RunView;
  /** The policy that the old run was planned with; null: Temporal does not show it. */
  readonly planned: string | null;
  /** True when the instruction that this run takes the place is kept already. */
  readonly isSaid: boolean;
};

/**
 * Checks whether the run may take the place of the old one.
 * @throws CommandFailure that says why not: the old run is open, something of it was or may have been executed, or another
 * run has taken its place
 */
export async function judgeInstead({ place, settings, run, old }: AskedInstead): Promise<Instead> {
  const { client, mode } = place;
  const facts = await requireRun(place, old);
  const kept = await readKept(place, old);
  const successor = kept === null ? await takerOf(place, old) : successorIn(kept.instructions);
  if (successor !== null && successor !== run.id) throw superseded(old, successor);
  const plan = await readFirstPlan(client, mode, old);
  const isSaid = kept !== null && successor !== null;
  if (facts.isOpen && successor === null)
    throw refused(
      old,
      'it has not ended, so it may still send what it planned',
      `Let it end, or cancel it: \`npx cambist cancel ${runName(old)}\`.`,
    );
  if (plan === null)
    throw refused(
      old,
      'it has no plan, so no other run can take its place',
      `Nothing of it was sent. Start it again, by the policy as it is now: \`${goOnCommand(old)}\`.`,
    );
  if (plan.batch !== null)
    throw refused(
      old,
      'it pays a batch, and no run takes the place of a batch',
      'Run a corrected file under an --id of its own: a payment id that was paid is not paid again.',
    );
  requireOwnPlan(settings, plan);
  if (kept === null && successor === null)
    throw refused(
      old,
      'what people said about it is not in Temporal any more',
      `Say again what people had said. If they had said nothing: \`${goOnCommand(old)}\`.`,
    );
  const view = await readRun(place, facts);
  const said = kept === null ? null : saidOfExecuted(kept);
  if (said !== null) throw refused(old, said, NEW_RUN);
  if (!isSaid) requireNothingDone(plan, view.report);
  await requireNothingListed(settings, plan);
  return { view, planned: await readPlannedText(client, plan), isSaid };
}

/**
 * Keeps with the old run the instruction that `run` takes its place.
 * @throws CommandFailure when another command has put another run there at the same moment
 */
export async function takePlace(
  { place, run, old }: AskedInstead,
  { by, why }: { readonly by: string; readonly why: string },
): Promise<void> {
  const { client, mode } = place;
  const said = { kind: 'superseded', id: SUPERSEDED, by, why, instead: run.id } as const;
  await keepInstruction(place, old, said, { seen: null });
  // When several people say this, the first one counts.
  const successor = await successorOf(place, old);
  if (successor !== run.id) throw superseded(old, successor ?? '?');
  // Another command may have started the old run in the meantime. It sends nothing more, and is woken so that it learns this at
  // once.
  if (!(await wakeRun(place, old))) await endInstructions(client, mode, old);
}

/**
 * Id of the run whose place a run that is there already has taken; null: it takes no place.
 * @param facts what Temporal has of it; null: nothing, or only its plan
 */
export async function placeOf(
  { client, mode }: Place,
  run: RunName,
  facts: RunFacts | null,
): Promise<string | null> {
  const plan = await readFirstPlan(client, mode, run);
  if (plan !== null) return plan.insteadOf ?? null;
  const input = facts === null ? null : await readInput(client, facts);
  return (input ?? (await readPlanInput(client, mode, run)))?.insteadOf ?? null;
}

/**
 * Checks that a run which is there already has the place that the person names: it keeps its place, whatever a person types.
 * @throws CommandFailure when it has another place, or none
 */
export async function requireOwnPlace(
  place: Place,
  { run, old, facts }: { readonly run: RunName; readonly old: RunName; readonly facts: RunFacts | null },
): Promise<void> {
  if (facts === null && !(await isPlanKnown(place.client, place.mode, run))) return;
  const has = await placeOf(place, run, facts);
  if (has === old.id) return;
  throw refused(
    run,
    has === null
      ? 'it is there already, and does not take the place of another run'
      : `it takes the place of ${has}`,
    'Give the new run an --id that no run has.',
  );
}

/** Refuses when an item was executed, or may have been: no other run may do it. */
function requireNothingDone({ run, legs, payments }: Plan, report: Report): void {
  const outcomes = new Map([...report.legs, ...report.payments].map(({ id, outcome }) => [id, outcome]));
  for (const { id } of [...legs, ...payments]) {
    const outcome = outcomes.get(id);
    if (outcome === 'NOT_TRADED' || outcome === 'NOT_PAID') continue;
    if (outcome === 'TRADED' || outcome === 'PAID')
      throw refused(
        run,
        `"${id}" is ${outcome}, and a run can only take the place of one of which nothing was executed`,
        `Try the rest again as it was planned: \`${againCommand(run, report)}\`.`,
      );
    throw refused(
      run,
      `it is not known yet what became of "${id}"`,
      `Let the run find out, and end: \`${againCommand(run, report)}\`, then cancel it if it goes on waiting.`,
    );
  }
}

/** Looks at the service, which may have records that the run's report does not know. */
async function requireNothingListed(settings: Settings, { run, sendWindows }: Plan): Promise<void> {
  const sinceMs = sendWindows.opensAtMs - LOOK_BACK_MS;
  await atService(settings, async (service, address) => {
    const seen = await findOfRun(service, run, { sinceMs });
    if (seen.stopped !== null) throw serviceFailure(seen.stopped, address);
    if (seen.found.length > 0)
      throw refused(run, `the service shows ${seen.found.slice(0, 5).join(', ')} of it`, NEW_RUN);
  });
}

const NEW_RUN = 'For what is still to be done, start a new run under another --id, without --instead-of.';

function refused(run: RunName, message: string, fix: string): CommandFailure {
  return new CommandFailure('refused by us', [
    { code: 'INSTEAD_REFUSED', place: runName(run), message: `${message}; nothing was changed`, fix },
  ]);
}
