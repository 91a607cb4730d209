/**
 * `turn`: one for each mode and organisation. Runs that plan with balances take turns here, so that no two of
 * them plan with the same money (design: "One spender at a time"). It sends nothing and identifies no money.
 * Without it, runs wait, or find less money than they planned with.
 */
import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  setHandler,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import {
  answerTo,
  forgetRuns,
  giveTurnBack,
  isNear,
  isNext,
  isUnused,
  newTurnState,
  noteGone,
  reopenRun,
  takeOverRuns,
  takeTurn,
  type GoneNoted,
  type TurnAnswer,
  type TurnState,
} from '../domain/turn.ts';
import { isFlag, isMoment, lineOf, listOf, misshapen, orNull, type Field } from '../domain/shape.ts';
import { withoutStack } from '../domain/without-stack.ts';
import { requireHandedOn } from './handed-on.ts';
import {
  forgetRunsSignal,
  giveTurnBackSignal,
  noteGoneSignal,
  reopenRunSignal,
  takeOverRunsSignal,
  takeTurnUpdate,
  turnIdOf,
  turnQuery,
  type TurnAsk,
  type TurnInput,
} from './names.ts';
import { neverFailTheTask } from './never-fail-the-task.ts';
import { requireOwnId } from './own-id.ts';

/** How long one update waits for the turn. Then the run asks again. */
const PATIENCE_MS = 10_000;
/**
 * The workflow ends when no run has asked for so long and none may still take money. The next run that asks
 * starts it anew.
 */
const IDLE_MS = 7 * 86_400_000;

/** Far below Temporal's limit: a worker that reads the history anew answers no run meanwhile. */
const LONG_HISTORY_EVENTS = 1_000;

/** The first pause before the history is ended. Each further one is twice as long. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** A task that begins later than this after its timer does not try to end the history. */
const IN_TIME_MS = 1_000;

const isRunName = lineOf(200);
const GONE: { readonly [Name in keyof GoneNoted]: Field } = {
  run: isRunName,
  runId: orNull(lineOf(100)),
  sinceMs: isMoment,
};

function isHistoryLong(): boolean {
  const { historyLength, continueAsNewSuggested } = workflowInfo();
  return historyLength > LONG_HISTORY_EVENTS || continueAsNewSuggested;
}

/**
 * Waits for a moment at which the history may end. Temporal refuses to end it when a signal has come that the worker has not
 * read, and each refusal makes the worker read the whole history anew, while more signals come. So the end is tried only in a
 * task that begins when its timer says. After refusals the task begins too late: then it answers what has come instead.
 */
async function momentToEnd(): Promise<void> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    const dueMs = Date.now() + pauseMs;
    await sleep(pauseMs, { summary: 'Waits for a moment to go on in a new history' });
    if (Date.now() - dueMs >= IN_TIME_MS) continue;
    // No question waits once the history is long, so this is in the same task.
    await condition(allHandlersFinished);
    return;
  }
}

/** @param carried what the Temporal run before this one handed on; a start gives none */
export async function turn(input: TurnInput, carried: TurnState | null = null): Promise<void> {
  requireOwnId(() => turnIdOf(input.mode, input.organisation));
  requireHandedOn(carried);
  const state = carried ?? newTurnState(Date.now());
  let asked = 0;
  setHandler(
    takeTurnUpdate,
    async ({ run, isPlanning }: TurnAsk): Promise<TurnAnswer> => {
      asked += 1;
      const untilMs = Date.now() + PATIENCE_MS;
      const waits = (): boolean => isNear(state, run) && Date.now() < untilMs && !isHistoryLong();
      // No update stays open once the history is long: the run then asks the new history.
      while (!takeTurn(state, run, isPlanning, Date.now()) && waits()) {
        const lapsesMs = state.holder?.untilMs ?? untilMs;
        const waitMs = Math.max(1, Math.min(untilMs, lapsesMs) - Date.now());
        const isOver = (): boolean => isNext(state, run, Date.now()) || isHistoryLong();
        await condition(isOver, waitMs, { summary: `${run} waits for its turn` });
      }
      return answerTo(state, run, Date.now());
    },
    {
      validator: (ask) => {
        const why = misshapen(ask, { run: isRunName, isPlanning: isFlag });
        if (why !== null) throw withoutStack(ApplicationFailure.nonRetryable(why, 'TURN_INVALID'));
      },
    },
  );
  setHandler(giveTurnBackSignal, (run, tradedAtMs) => {
    if (!isRunName(run)) return;
    const isTold = tradedAtMs === null || Number.isFinite(tradedAtMs);
    giveTurnBack(state, run, isTold ? tradedAtMs : Date.now(), Date.now());
  });
  setHandler(forgetRunsSignal, (runs) => {
    if (listOf(isRunName)(runs)) forgetRuns(state, runs);
  });
  setHandler(takeOverRunsSignal, (runs) => {
    if (listOf(isRunName)(runs)) takeOverRuns(state, runs);
  });
  setHandler(noteGoneSignal, (gone) => {
    if (misshapen(gone, GONE) === null) noteGone(state, gone);
  });
  setHandler(reopenRunSignal, (run) => {
    if (isRunName(run)) reopenRun(state, run);
  });
  setHandler(turnQuery, () => state);
  const isLong = await neverFailTheTask(async () => {
    for (let before = -1; before !== asked || !isUnused(state);) {
      before = asked;
      const isFull = await condition(() => isHistoryLong() && allHandlersFinished(), IDLE_MS, {
        summary: 'Waits for a run that asks for its turn; then it ends',
      });
      if (!isFull) continue;
      await momentToEnd();
      return true;
    }
    return false;
  });
  if (isLong) await continueAsNew<typeof turn>(input, state);
}
