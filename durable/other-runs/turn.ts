/**
 * Takes and gives back the turn of a run, and reads what other runs have reserved, for the activities (design: "One spender
 * at a time"). When a turn cannot be asked for, the run waits. It never goes on without the turn.
 */
import { WithStartWorkflowOperation, WorkflowNotFoundError, type Client } from '@temporalio/client';
import type { Mode } from '../../domain/service/records.ts';
import {
  parseRunName,
  runName,
  runOfAnyWorkflowId,
  workflowIdOf,
  type RunName,
} from '../../domain/references.ts';
import {
  NOTHING_RESERVED,
  isReservation,
  type OthersReserved,
  type Reservation,
} from '../../domain/plan/reserved.ts';
import { reservationOfPlan } from '../../domain/run/reserves.ts';
import type { GoneNoted, TurnAnswer } from '../../domain/turn.ts';
import { goneWith, type Gone, type Others } from '../../domain/writes/gone-runs.ts';
import {
  ORGANISATION_MEMO,
  PLAN_TYPE,
  TURN_TYPE,
  forgetRunsSignal,
  giveTurnBackSignal,
  noteGoneSignal,
  reopenRunSignal,
  reservationQuery,
  takeOverRunsSignal,
  takeTurnUpdate,
  turnIdOf,
} from '../../workflows/names.ts';
import { describe, hasEndedByItself, isOpen } from '../described.ts';
import { fewAtOnce } from '../few-at-once.ts';
import { listed } from '../listed.ts';
import { isPlanKnown, isPlanMade, readPlan } from '../plans.ts';

type TurnOf = {
  readonly client: Client;
  readonly taskQueue: string;
  readonly mode: Mode;
  readonly organisation: string;
};

const QUESTION_LIMIT_MS = 5_000;
/** Longer than the turn's workflow lets one question wait. */
const TAKE_LIMIT_MS = 20_000;
const ASKED_AT_ONCE = 10;
/** From so many open runs on, the run that has the turn checks which of the oldest have ended. */
const MANY_OPEN = 50;

/** The turns of one organisation, as a worker's activities take them. */
export function turnsOf(of: TurnOf) {
  return {
    take: (run: RunName, isPlanning: boolean) => takeTurn(of, run, isPlanning),
    giveBack: (run: RunName, tradedAtMs: number | null) =>
      tell(of, (handle) => handle.signal(giveTurnBackSignal, runName(run), tradedAtMs)),
    reopen: (run: RunName) => reopen(of, run),
    readReserved: (others: readonly string[]) => readReserved(of, others),
    noteGone: (gone: GoneNoted) => tell(of, (handle) => handle.signal(noteGoneSignal, gone)),
    forget: (runs: readonly RunName[]) => forget(of, runs),
  };
}

/** Announces a run that may take money, whether or not any run has had a turn yet. */
async function reopen({ client, taskQueue, mode, organisation }: TurnOf, run: RunName): Promise<void> {
  await client.workflow.signalWithStart(TURN_TYPE, {
    ...startOptions({ taskQueue, mode, organisation }),
    args: [{ mode, organisation }],
    signal: reopenRunSignal,
    signalArgs: [runName(run)],
  });
}

/** Asks for the turn of a run, and waits for it a few seconds at most. Needs a running worker. */
async function takeTurn(of: TurnOf, run: RunName, isPlanning: boolean): Promise<TurnAnswer> {
  let answer = await askForTurn(of, run, isPlanning);
  if (isAnew(answer)) {
    await takeOver(of, run);
    answer = await askForTurn(of, run, isPlanning);
    if (isAnew(answer)) throw new Error('The turn has begun anew once more.');
  }
  if (answer.turn === 'ours' && answer.others.length > MANY_OPEN)
    await standingOf(of, answer.others.slice(0, ASKED_AT_ONCE));
  return answer;
}

function isAnew(answer: TurnAnswer): boolean {
  return answer.turn === 'ours' && answer.isAnew === true;
}

/** Plans that were made longer ago are of runs that trade nothing any more. */
const PLANS_COUNT_MS = 7 * 86_400_000;

/**
 * The workflow `turn` has begun anew, since somebody has ended or deleted the one before it. Temporal's list of plans tells which runs of
 * the organisation may still take money, or may have sent a trade before they were gone.
 */
async function takeOver(of: TurnOf, own: RunName): Promise<void> {
  const { client, mode, organisation } = of;
  const since = new Date(Date.now() - PLANS_COUNT_MS).toISOString();
  const also = [`StartTime > '${since}'`];
  const names = new Set<string>();
  for await (const { workflowId, status, memo } of listed(client, { types: [PLAN_TYPE], mode, also })) {
    const run = runOfAnyWorkflowId(workflowId);
    if (run === null || runName(run) === runName(own) || names.has(runName(run))) continue;
    const told = memo?.[ORGANISATION_MEMO];
    if (typeof told === 'string' && told !== organisation) continue;
    // The list may not show yet that the plan has just been made.
    if (status.name !== 'COMPLETED' && !(await isPlanMade(client, mode, run))) continue;
    if (typeof told === 'string' || (await isPlanOf(of, run))) names.add(runName(run));
  }
  await tell(of, (handle) => handle.signal(takeOverRunsSignal, [...names]));
}

/** Of a plan whose memo does not say it. */
async function isPlanOf({ client, mode, organisation }: TurnOf, run: RunName): Promise<boolean> {
  const state = await readPlan(client, mode, run, 0);
  return state.kind === 'plan' && state.plan.credentials.organisation === organisation;
}

async function askForTurn(of: TurnOf, run: RunName, isPlanning: boolean): Promise<TurnAnswer> {
  const { client, mode, organisation } = of;
  return client.withDeadline(Date.now() + TAKE_LIMIT_MS, () =>
    client.workflow.executeUpdateWithStart(takeTurnUpdate, {
      args: [{ run: runName(run), isPlanning }],
      startWorkflowOperation: new WithStartWorkflowOperation(TURN_TYPE, {
        ...startOptions(of),
        args: [{ mode, organisation }],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    }),
  );
}

/** What other runs may still take. Each of them is asked; those that can take nothing any more are forgotten. */
async function readReserved(of: TurnOf, others: readonly string[]): Promise<Others> {
  const runs = await standingOf(of, others);
  const open = runs.flatMap(({ run, standing }) => (standing.kind === 'open' ? [run] : []));
  const ended = runs.flatMap(({ run, standing }) =>
    standing.kind === 'gone' ? [{ run, runId: standing.runId }] : [],
  );
  const gone = await fewAtOnce(ended, ASKED_AT_ONCE, (one) => goneOf(of, one));
  const settled = ended.filter((_one, index) => gone[index] === null).map(({ run }) => run);
  await forget(of, settled);
  return {
    open: await fewAtOnce(open, ASKED_AT_ONCE, (run) => reservedOf(of, run)),
    gone: gone.flatMap((one) => one ?? []),
  };
}

/** What a run that is gone may have traded, as it tells itself by its history, or else its plan; null: nothing. */
async function goneOf(
  { client, mode }: TurnOf,
  { run, runId }: { readonly run: RunName; readonly runId: string | null },
): Promise<Gone | null> {
  const told = runId === null ? 'silent' : await askRun(client, workflowIdOf(mode, run));
  if (told !== 'silent') return told === null ? null : goneWith(run, runId, told);
  if (!(await isPlanMade(client, mode, run)))
    // A plan that is not made yet was traded by nobody. One that is gone with its run may have been made.
    return (await isPlanKnown(client, mode, run)) ? null : goneWith(run, runId, null);
  const state = await readPlan(client, mode, run, 0);
  return goneWith(run, runId, state.kind === 'plan' ? reservationOfPlan(state.plan, null) : null);
}

async function reservedOf({ client, mode }: TurnOf, run: RunName): Promise<OthersReserved> {
  const told = await askRun(client, workflowIdOf(mode, run));
  if (told !== 'silent' && told !== null) return { run, ...told };
  // The run has read no plan yet, or does not answer. Its plan, if there is one, says what it may take.
  if (!(await isPlanMade(client, mode, run))) return { run, ...NOTHING_RESERVED };
  const state = await readPlan(client, mode, run, 0);
  if (state.kind !== 'plan') return { run, ...NOTHING_RESERVED };
  const runId = told === null ? await openRunOf(client, workflowIdOf(mode, run)) : null;
  return { run, ...reservationOfPlan(state.plan, runId) };
}

async function askRun(client: Client, workflowId: string): Promise<Reservation | null | 'silent'> {
  try {
    const told: unknown = await client.withDeadline(Date.now() + QUESTION_LIMIT_MS, () =>
      client.workflow.getHandle(workflowId).query(reservationQuery),
    );
    return told === null || isReservation(told) ? told : 'silent';
  } catch {
    return 'silent';
  }
}

/** How a run stands in Temporal. `gone`: somebody has ended it, or Temporal shows nothing of it (`runId` null). */
type Standing =
  { readonly kind: 'open' | 'ended' } | { readonly kind: 'gone'; readonly runId: string | null };

/** How these runs stand. The workflow `turn` forgets those that have ended by themselves: nothing of them is in doubt. */
async function standingOf(
  of: TurnOf,
  others: readonly string[],
): Promise<readonly { readonly run: RunName; readonly standing: Standing }[]> {
  const runs = others.flatMap((text) => parseRunName(text) ?? []);
  const all = await fewAtOnce(runs, ASKED_AT_ONCE, async (run) => {
    const shown = await describe(of.client, workflowIdOf(of.mode, run));
    const standing: Standing =
      shown === null
        ? { kind: 'gone', runId: null }
        : isOpen(shown)
          ? { kind: 'open' }
          : hasEndedByItself(shown)
            ? { kind: 'ended' }
            : { kind: 'gone', runId: shown.runId };
    return { run, standing };
  });
  await forget(
    of,
    all.flatMap(({ run, standing }) => (standing.kind === 'ended' ? [run] : [])),
  );
  return all;
}

async function forget(of: TurnOf, runs: readonly RunName[]): Promise<void> {
  if (runs.length > 0) await tell(of, (handle) => handle.signal(forgetRunsSignal, runs.map(runName)));
}

/** Id of the Temporal run that is open; null: none is. */
async function openRunOf(client: Client, workflowId: string): Promise<string | null> {
  const shown = await describe(client, workflowId);
  return shown !== null && isOpen(shown) ? shown.runId : null;
}

function startOptions({ taskQueue, mode, organisation }: Omit<TurnOf, 'client'>) {
  return {
    workflowId: turnIdOf(mode, organisation),
    taskQueue,
    staticSummary: `Whose turn it is to trade for ${organisation}`,
  };
}

type Handle = ReturnType<Client['workflow']['getHandle']>;

/** If no workflow keeps turns any more, there is nothing to tell. */
async function tell(
  { client, mode, organisation }: TurnOf,
  say: (handle: Handle) => Promise<void>,
): Promise<void> {
  try {
    await say(client.workflow.getHandle(turnIdOf(mode, organisation)));
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
