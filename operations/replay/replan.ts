/**
 * `replay RUN --replan POLICY`: a second plan for a run of which nothing was executed (design: "A second plan"). The
 * instruction is kept first, and from then on nothing of the first plan is sent. The worker that makes the second plan looks
 * at everything again.
 */
import { randomUUID } from 'node:crypto';
import { todayIn } from '../../calendar/business-date.ts';
import { secondPlanWindows } from '../../calendar/second-plan-window.ts';
import type { Settings } from '../../config/config.ts';
import { isCancelled, replanIn } from '../../domain/people/instructions.ts';
import { referenceFileOf } from '../../domain/policy.ts';
import { movesOf } from '../../domain/plan/moves.ts';
import { runName, type RunName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { decidedAbout, mayBePlannedAnew } from '../../domain/run/second-plan.ts';
import { isTradeOf } from '../../domain/writes/lookups.ts';
import { compileNow, requireCompiled } from '../start/compile-now.ts';
import { CommandFailure } from '../failure.ts';
import { keepInstruction, readKept, wakeRun } from '../decide/keep-instruction.ts';
import type { Place } from '../place.ts';
import { requireOwnPlan } from '../decide/plan-made.ts';
import { isPlanMade, readFirstPlan } from '../../durable/plans.ts';
import type { PolicyFile } from '../policy-file.ts';
import { againCommand } from './verdict.ts';
import { describeRun, readRun, requireRun, type RunFacts } from '../follow/runs.ts';
import { readPollers } from '../watch/pollers.ts';
import { startRun } from '../start/workflow.ts';
import { versionDiffers } from '../watch/worker-identity.ts';

export type AskedAnew = {
  readonly place: Place;
  readonly settings: Settings;
  readonly run: RunName;
  readonly policyFile: PolicyFile;
  /** The version of this command line: workers of another version may not know what a second plan is. */
  readonly version: string;
  readonly now: () => number;
};

/** What would be planned anew. */
export type Replan = {
  /** The ended Temporal run that was looked at. */
  readonly facts: RunFacts;
  readonly before: Report;
  /** What the first plan was to move, and what the second plan moves. */
  readonly first: readonly string[];
  readonly second: readonly string[];
  /** What is to be kept: all of it, nothing, since it was asked for today, or again that there is a second plan. */
  readonly says: 'a second plan' | 'nothing' | 'that there is one';
  readonly remark: string | null;
};

/**
 * @throws CommandFailure that says why there can be none: the run is open, something was or may have been executed, or the
 * policy makes no plan
 */
export async function judgeReplan(asked: AskedAnew): Promise<Replan> {
  const { place, settings, run, policyFile, now } = asked;
  const facts = await requireRun(place, run);
  if (policyFile.policy.name !== run.policy)
    throw refused(run, `${policyFile.file} is of policy "${policyFile.policy.name}"`, OTHER_RUN);
  const { client, mode } = place;
  const kept = await readKept(place, run);
  const said = kept === null ? null : replanIn(kept);
  const made = await readFirstPlan(client, mode, run, 2);
  // Temporal no longer has the instruction that asked for the second plan. Once it is given again, the run goes on with the
  // plan that was made.
  const isLost = said === null && made?.policy.hash === policyFile.hash;
  if (made !== null && !isLost)
    throw refused(run, 'it has its second plan already, and there is no third one', OTHER_RUN);
  if (facts.isOpen && !isLost)
    throw said === null
      ? refused(
          run,
          'it has not ended, so it may still send what it planned first',
          `Let it end, or cancel it: \`npx cambist cancel ${runName(run)}\`.`,
        )
      : refused(
          run,
          'its second plan is being made, as it was asked for before',
          `See \`npx cambist status ${runName(run)}\`. To ask for another one, cancel it first.`,
        );
  const first = await readFirstPlan(client, mode, run);
  if (first === null)
    throw refused(
      run,
      'it has no plan yet, so that there is none to replace',
      `Start it with the policy as it is now: \`npx cambist run ${policyFile.file} --id ${run.id}\`.`,
    );
  requireOwnPlan(settings, first);
  await requireWorkersOf(asked.version, place, now());
  const { report } = await readRun(place, facts);
  if (made !== null) {
    const moves = { first: movesOf(first), second: movesOf(made) };
    return { facts, before: report, ...moves, says: 'that there is one', remark: null };
  }
  if (kept === null)
    throw refused(
      run,
      'what people said about it is not in Temporal any more',
      `Say what holds: \`npx cambist run POLICY --id ${run.id} --go-on\`.`,
    );
  const isSame = said?.policyHash === policyFile.hash;
  // After the instruction, nothing of the first plan can have been sent. A second plan that is lost is made again as it was.
  if (!isSame && (said === null || report.legs.length + report.payments.length > 0))
    requireNothingDone(run, report);
  const may = mayBePlannedAnew(first, policyFile.policy);
  if ('why' in may) throw refused(run, may.why, OTHER_RUN);
  const { sendWindows, why } = secondPlanWindows(first, may.policy, now());
  const compiled = await compileNow({ policyFile, settings, run, batch: null, now, second: sendWindows });
  const { trades } = compiled.input.observation;
  const traded =
    said === null ? first.legs.find((leg) => trades.some((trade) => isTradeOf(leg, null, trade))) : undefined;
  if (traded !== undefined)
    throw refused(
      run,
      `the service shows that "${traded.id}" was traded after all`,
      `Carry it on as it was planned: \`${againCommand(run, report)}\`.`,
    );
  const stands = decidedAbout(first, may.policy, kept) ?? why;
  if (stands !== null && trades.length === 0) throw refused(run, stands, OTHER_RUN);
  // The reference rates may have changed since, and the policy does not show that.
  if (
    said === null &&
    policyFile.hash === first.policy.hash &&
    referenceFileOf(policyFile.policy.guard) === null
  )
    throw refused(
      run,
      `${policyFile.file} says what it was planned with, so that a second plan would be the first one`,
      `Change the policy and save it; or try the same again: \`${againCommand(run, report)}\`.`,
    );
  const isToday = said !== null && todayIn(may.policy.zone, said.atMs) === todayIn(may.policy.zone, now());
  return {
    facts,
    before: report,
    first: movesOf(first),
    second: movesOf(requireCompiled(compiled.result)),
    says: isSame && isToday && !isCancelled(kept.instructions) ? 'nothing' : 'a second plan',
    remark: compiled.remark,
  };
}

/**
 * Gives the instruction, and starts the run with the policy. @throws CommandFailure when somebody has started the run since
 * it was looked at
 */
export async function replan(
  { place, run, policyFile }: AskedAnew,
  { facts, says }: Replan,
  {
    by,
    why,
    shown,
  }: {
    readonly by: string;
    readonly why: string;
    /** What a person has said yes to; null: nobody was asked. */
    readonly shown: readonly string[] | null;
  },
): Promise<void> {
  const { client, mode, taskQueue } = place;
  const word = { kind: 'replan', id: randomUUID(), by, why, policyHash: policyFile.hash } as const;
  if (says === 'a second plan') {
    // From here on, workers of versions that do not know a second plan send nothing either.
    await keepInstruction(place, run, { kind: 'cancel', id: randomUUID(), by, why });
    const now = await describeRun(client, mode, run);
    if (now === null || now.isOpen || now.temporalRunId !== facts.temporalRunId)
      throw refused(
        run,
        'somebody has started or reset it in this moment; it is cancelled now',
        'Wait for its end, and see its report; then type this again.',
      );
    if (await isPlanMade(client, mode, run, 2))
      throw refused(
        run,
        'its second plan was made in this moment, as it was asked for before; it is cancelled now',
        `To carry that out: \`npx cambist run POLICY --id ${run.id} --go-on\`, with the policy of that plan.`,
      );
  }
  if (says !== 'nothing') await keepInstruction(place, run, word);
  if (facts.isOpen && (await wakeRun(place, run))) return;
  await startRun({
    client,
    taskQueue,
    mode,
    run,
    policyFile,
    batch: null,
    shown,
    startedBy: by,
    again: true,
  });
}

/** A worker of another version may not know what a second plan is, and may lose the instruction. */
async function requireWorkersOf(version: string, place: Place, nowMs: number): Promise<void> {
  const identities = await readPollers(place.client, place.taskQueue, nowMs);
  const differs = versionDiffers(version, { taskQueue: place.taskQueue, identities });
  if (differs === null) return;
  const message = `${differs.message}; nothing was kept`;
  throw new CommandFailure('configuration', [{ ...differs, message }]);
}

/** What was executed, or may have been, can only be carried on by the first plan. */
function requireNothingDone(run: RunName, report: Report): void {
  const { legs, payments } = report;
  const items = [...legs, ...payments];
  const done = items.find(({ outcome }) => outcome === 'TRADED' || outcome === 'PAID');
  if (done !== undefined)
    throw refused(
      run,
      `"${done.id}" is ${done.outcome}, and only a run of which nothing was executed is planned anew`,
      `Try the rest again as it was planned: \`${againCommand(run, report)}\`.`,
    );
  const unknown = items.find(({ outcome }) => outcome !== 'NOT_TRADED' && outcome !== 'NOT_PAID');
  if (unknown === undefined && items.length > 0) return;
  const what = unknown === undefined ? 'its items' : `"${unknown.id}"`;
  throw refused(
    run,
    `it is not known yet what became of ${what}`,
    `Let the run find out, and end: \`${againCommand(run, report)}\`, then cancel it if it goes on waiting.`,
  );
}

const OTHER_RUN = 'What is still wanted can be carried out by a new run, under another --id.';

function refused(run: RunName, message: string, fix: string): CommandFailure {
  return new CommandFailure('refused by us', [{ code: 'REPLAN_REFUSED', place: runName(run), message, fix }]);
}
