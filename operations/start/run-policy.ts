/**
 * What `run POLICY` does: it follows the run, shows it or starts it. This file decides which, and starts the run. The
 * command shows this, and asks a person where that is needed.
 */
import { movesOf } from '../../domain/plan/moves.ts';
import type { Kept } from '../../domain/people/instructions.ts';
import { successorIn } from '../../domain/replacement.ts';
import type { RunName } from '../../domain/references.ts';
import type { Settings } from '../../config/config.ts';
import { requireBatch } from '../batches/file.ts';
import { compileNow, requireCompiled, type Compiled } from './compile-now.ts';
import { CommandFailure } from '../failure.ts';
import { requireRemembered } from '../decide/forgotten.ts';
import { goOnEnded, type GoOn } from '../decide/go-on.ts';
import { isFinished, nextAsRead } from '../decide/next-start.ts';
import { hasTraded } from '../decide/claims.ts';
import type { Place } from '../place.ts';
import { predecessorOf, successorOf, superseded } from '../decide/replaced.ts';
import { placeOf, requireOwnPlace } from './instead-of.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import { isPlanKnown, readFirstPlan } from '../../durable/plans.ts';
import type { PolicyFile } from '../policy-file.ts';
import { requireService } from '../preflight.ts';
import {
  earlierDates,
  isPast,
  refuseOver,
  refusePast,
  refusedFor,
  restOf,
  runInTheWay,
  type OtherRun,
  type Rest,
} from './run-ids.ts';
import { readRun, type RunView, type WholeRunView } from '../follow/read-run.ts';
import { describeRun, isEndedFromOutside, listRuns, readInput, type RunFacts } from '../follow/runs.ts';
import { farBounds } from '../../domain/plan/far-bounds.ts';
import { pastCutoffs } from './past-cutoffs.ts';
import { ratesMoved } from './moved-rates.ts';
import { movedOnDate, sayAgain } from './same-date.ts';
import { requireSameBatch, type ReadBatch } from '../batches/same-batch.ts';
import { requireSamePolicy } from './same-policy.ts';
import { startRun } from './workflow.ts';
import { submitBatch } from '../batches/submit.ts';

/** A start as a person asked for it. */
export type AskedStart = {
  readonly place: Place;
  readonly settings: Settings;
  readonly policyFile: PolicyFile;
  readonly run: RunName;
  /** Today in the policy's zone. */
  readonly today: string;
  /** Whether the person named the run; else it is the run of today. */
  readonly isNamed: boolean;
  readonly goOn: GoOn | null;
  /** The run of the policy whose place this one is to take; null: the person named none. */
  readonly insteadOf: RunName | null;
  /** True: the person agrees to one more run on a date on which the policy has already moved money. */
  readonly again: boolean;
  /** The file of a payout; null: the person named none. */
  readonly batch: ReadBatch | null;
  /** Called with the number of payments that are submitted by now. */
  readonly onSubmitted: (payments: number) => void;
  readonly now: () => number;
};

/** What only a person asks for, and a schedule does not. */
export const NO_PERSON_ASKS = {
  goOn: null,
  insteadOf: null,
  again: false,
} as const satisfies Partial<AskedStart>;

export type StartVerdict =
  /** The run is open: follow it. */
  | { readonly kind: 'open'; readonly facts: RunFacts }
  /** The run has ended: show it. `left`: the items that would go on with `--go-on`; null when nothing is left to do. */
  | {
      readonly kind: 'ended';
      readonly view: RunView;
      readonly left: readonly string[] | null;
      /** Id of the run that has taken its place, so that nothing of this one goes on; null: no run has. */
      readonly successor: string | null;
    }
  /**
   * Start the run. `facts`: what Temporal has of it; null: nothing, or only its plan. `kept`: what people have said about it
   * until now; null: Temporal has nothing of that.
   */
  | { readonly kind: 'start'; readonly facts: RunFacts | null; readonly kept: Kept | null };

/**
 * Decides what to do, by the run's state now.
 * @throws CommandFailure when the run was planned with another policy or batch, or when another run has taken its place
 */
export async function judgeStart(asked: AskedStart): Promise<StartVerdict> {
  const { place, run, policyFile, goOn, batch, insteadOf } = asked;
  const facts = await describeRun(place.client, place.mode, run);
  await requireSamePolicy(place, { run, policyFile, facts });
  if (batch !== null) await requireSameBatch(place, { run, batch, facts });
  if (insteadOf !== null) await requireOwnPlace(place, { run, old: insteadOf, facts });
  if (facts?.isOpen === true) return { kind: 'open', facts };
  const kept = await readInstructions({ client: place.client, mode: place.mode, run });
  const successor = kept === null ? null : successorIn(kept.instructions);
  if (successor !== null && (facts === null || goOn !== null)) throw superseded(run, successor);
  if (goOn !== null)
    await requireRemembered(place, asked.settings, { run, zone: policyFile.policy.zone, facts, kept });
  if (facts === null) return { kind: 'start', facts, kept };
  // The run's plan may have been refused, for example because it was not known whose place the run takes. A person who names
  // the place once more starts the run again.
  const isToPlan = insteadOf !== null && (await readFirstPlan(place.client, place.mode, run)) === null;
  if (successor !== null || (goOn === null && !isToPlan && !isEndedFromOutside(facts))) {
    const view = await readRun(place, facts);
    return { kind: 'ended', view, left: successor === null ? leftOf(view, asked.now()) : null, successor };
  }
  if (facts.temporalStatus !== 'COMPLETED') return { kind: 'start', facts, kept };
  const view = await readRun(place, facts);
  return isFinished(view, asked.now())
    ? { kind: 'ended', view, left: null, successor }
    : { kind: 'start', facts, kept };
}

/** The items of an ended run that would go on; `the plan` when it has none. Null when the run is completed. */
function leftOf(view: WholeRunView, nowMs: number): readonly string[] | null {
  if (view.report.status === 'COMPLETED') return null;
  const next = nextAsRead(view, { takesCancelBack: true, nowMs });
  if (next.length === 0 && view.report.positions.length === 0) return ['the plan'];
  return next.flatMap(({ next: what, item }) =>
    what === 'done' || what === 'left to --pay-again' ? [] : [item.id],
  );
}

/**
 * Checks whether the run may be started now.
 * @returns what the person should be told before. @throws CommandFailure when something stands in the way
 */
export async function requireStart(asked: AskedStart, facts: RunFacts | null): Promise<readonly string[]> {
  const { place, run, policyFile } = asked;
  const { client, mode } = place;
  // A run that is there, or has a plan, knows its payments, so it needs no file.
  if (facts === null || !(await isPlanKnown(client, mode, run))) requireBatch(policyFile.policy, asked.batch);
  // A run that has ended may be started again, and so may a run of which Temporal has only the plan.
  const isNew = facts === null && (await readFirstPlan(client, mode, run)) === null;
  if (isNew) await requireInTime(asked);
  if (!asked.isNamed) {
    const inTheWay = await earlierRunInTheWay(asked);
    if (inTheWay !== null) throw refusedFor(inTheWay, asked.today);
  }
  const moved = isNew ? await movedOnDate(place, run, policyFile.policy) : [];
  const remark = sayAgain(moved, { run, kind: policyFile.policy.kind, mode, again: asked.again });
  const { referenceRates } = policyFile;
  const rates = isNew && referenceRates !== null ? await ratesMoved(place, run, referenceRates) : [];
  const far = isNew ? farBounds(policyFile.policy, referenceRates) : [];
  const inBatch = (asked.batch?.manifest.totals ?? []).map(({ currency }) => currency);
  const late = isNew ? pastCutoffs(policyFile.policy, inBatch, asked.now()) : [];
  const service = await requireService(asked.settings, asked.now);
  return [...remark, ...rates, ...far, ...late, ...(service === null ? [] : [service])];
}

/** A batch may be submitted as long as its payments may be sent, since the person may have lost the terminal overnight. */
async function requireInTime(asked: AskedStart): Promise<void> {
  const { run, today, settings, now } = asked;
  const { policy } = asked.policyFile;
  if (policy.kind === 'payout') refuseOver(run, { today, zone: policy.zone, nowMs: now() });
  // When the service shows trades of the run, Temporal has lost it. It may start, and adopts what was done.
  else if (isPast(run, today) && !(await hasTraded(settings, run, { zone: policy.zone, nowMs: now() })))
    refusePast(run, today);
}

/**
 * What a new batch would pay, by the service's state now. It is only shown, so nothing here stops a start: when the service
 * cannot be read, the run waits for it.
 * @returns null for other kinds, for a batch that has its plan, and where it cannot be computed
 */
export async function foresee(asked: AskedStart): Promise<Compiled | null> {
  const { place, settings, policyFile, run, batch, now } = asked;
  if (batch === null || (await isPlanKnown(place.client, place.mode, run))) return null;
  try {
    return await compileNow({ policyFile, settings, run, batch: batch.file, now });
  } catch (error) {
    if (error instanceof CommandFailure) return null;
    throw error;
  }
}

/**
 * What the run moves: its plan, or, while it has none, the plan that the policy would give by the service's state now.
 * @param foreseen the result of `foresee`
 */
export async function movesToShow(
  asked: AskedStart,
  foreseen: Compiled | null,
): Promise<{ readonly moves: readonly string[]; readonly remark: string | null }> {
  const { place, settings, policyFile, run, now } = asked;
  const made = await readFirstPlan(place.client, place.mode, run);
  if (made !== null) return { moves: movesOf(made), remark: null };
  const batch = asked.batch?.file ?? null;
  const compiled = foreseen ?? (await compileNow({ policyFile, settings, run, batch, now }));
  return { moves: movesOf(requireCompiled(compiled)), remark: compiled.remark };
}

/** Starts the run, or starts it again. False when another command has started it in the meantime. */
export async function begin(
  asked: AskedStart,
  how: {
    readonly facts: RunFacts | null;
    /** What people had said about the run when the command looked. */
    readonly kept: Kept | null;
    /** What a person has said yes to; null: no person was asked. */
    readonly shown: readonly string[] | null;
    readonly startedBy: string;
  },
): Promise<boolean> {
  const { place, run, policyFile, goOn } = asked;
  const { client, taskQueue, mode } = place;
  // A chunk is fresh only where nothing of the run was there before.
  const isFirst = how.facts === null && !(await isPlanKnown(client, mode, run));
  const { shown, startedBy } = how;
  const before = asked.batch === null && how.facts !== null ? await readInput(client, how.facts) : null;
  const manifest = asked.batch?.manifest ?? before?.batch ?? null;
  requireBatch(policyFile.policy, manifest);
  await submit(asked, isFirst);
  // A run that is there already keeps its place, however it is started again.
  const insteadOf = isFirst
    ? (asked.insteadOf?.id ?? (manifest === null ? await predecessorOf(place, run) : null))
    : await placeOf(place, run, how.facts);
  if (how.facts !== null && goOn !== null) await goOnEnded(place, run, goOn, how.kept);
  return startRun({
    client,
    taskQueue,
    mode,
    run,
    policyFile,
    batch: manifest,
    ...(insteadOf !== null && { insteadOf }),
    shown,
    startedBy,
    again: how.facts !== null,
  });
}

/** For a run that is open: submits again the chunks of its batch that Temporal has lost. */
export async function submitMissing(asked: AskedStart): Promise<void> {
  await submit(asked, false);
}

async function submit({ place, run, batch, onSubmitted }: AskedStart, isFirst: boolean): Promise<void> {
  if (batch !== null) await submitBatch(place, { run, batch, isFirst, onSubmitted });
}

/**
 * The run of the policy's latest earlier date that a person must deal with before a start without `--id`; null when there is
 * none.
 */
async function earlierRunInTheWay({ place, run, today, now }: AskedStart): Promise<OtherRun | null> {
  const { client, mode } = place;
  const others = await listRuns(client, mode, { policy: run.policy, onlyOpen: false, limit: null });
  for (const runs of earlierDates(others, today)) {
    const standing = await Promise.all(
      runs.map(async (facts) => ({ ...facts, rest: await readRest(place, facts) })),
    );
    const verdict = runInTheWay(standing, now());
    if (verdict !== undefined) return verdict;
  }
  return null;
}

async function readRest(place: Place, facts: RunFacts): Promise<Rest> {
  if (facts.temporalStatus === 'COMPLETED') return 'nothing';
  // An open run without a plan may still make one.
  if ((await readFirstPlan(place.client, place.mode, facts.run)) === null)
    return facts.isOpen ? 'something' : 'no plan';
  if (!facts.isOpen) return (await successorOf(place, facts.run)) === null ? 'something' : 'nothing';
  try {
    const { report, progress } = await readRun(place, facts);
    return restOf(report, progress);
  } catch (error) {
    // No worker answers for the run, so it is not known what it may still do.
    if (error instanceof CommandFailure) return 'something';
    throw error;
  }
}
