/**
 * `run`: a policy as a durable workflow. The business is in `course.ts`; here it meets Temporal: activities, timers,
 * queries, the cancel button, and what the UI shows.
 */
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  TemporalFailure,
  condition,
  continueAsNew,
  getExternalWorkflowHandle,
  patched,
  setCurrentDetails,
  setHandler,
  upsertSearchAttributes,
  workflowInfo,
} from '@temporalio/workflow';
import { workflowIdOf } from '../domain/references.ts';
import {
  MAX_PROBLEMS_IN_FAILURE,
  holdsOf,
  makeReport,
  newRunState,
  statusOf,
  type Carried,
  type Report,
  type RunState,
} from '../domain/report.ts';
import type { Problem } from '../domain/stepper.ts';
import { withoutStack } from '../domain/without-stack.ts';
import { keeping, polls, reads, writes } from './activities.ts';
import type { PaymentsCall } from './calls.ts';
import { Course, HistoryIsLong, RunRefused, progressOf, type Ports } from './course.ts';
import {
  instructionsIdOf,
  progressQuery,
  reportQuery,
  runEndedSignal,
  stateAttribute,
  wakeSignal,
  type RunInput,
} from './names.ts';
import { neverFailTheTask } from './never-fail-the-task.ts';
import { requireHandedOn } from './handed-on.ts';
import { requireOwnId } from './own-id.ts';
import { orStepFailed } from './step-failed.ts';

/** @param carried what an earlier history of this run hands on; a run is started without it */
export async function run(input: RunInput, carried: Carried | null = null): Promise<Report> {
  requireOwnId(() => workflowIdOf(input.mode, input.run));
  requireHandedOn(carried);
  const state = newRunState(input.run, workflowIdOf(input.mode, input.run), {
    name: input.run.policy,
    hash: input.policyHash,
  });
  state.startedBy = input.startedBy;
  const course = new Course(input, state, temporalPorts(state, carried), carried);
  setHandler(reportQuery, () => makeReport(state));
  setHandler(progressQuery, () => progressOf(state));
  setHandler(wakeSignal, () => course.wake());
  // Never settles unless somebody cancels: a listener, not something to wait for.
  void CancellationScope.current().cancelRequested.catch(() => course.cancel());
  // A cancel takes effect between steps, never in the middle of a write.
  const end = await CancellationScope.nonCancellable(() => untilItsEnd(course));
  if (end === 'history is long') return continueAsNew<typeof run>(input, course.handOn());
  return neverFailTheTask(async () => conclude(makeReport(state)));
}

/** Completes the course; whichever way it ends, what keeps people's instructions hears of it. */
async function untilItsEnd(course: Course): Promise<'ended' | 'history is long'> {
  try {
    const end = await neverFailTheTask(() => complete(course));
    if (end === 'ended') await tellTheEnd(course.input);
    return end;
  } catch (error) {
    if (error instanceof TemporalFailure) await tellTheEnd(course.input);
    throw error;
  }
}

/** What keeps people's instructions ends with the run; it is opened again by whoever has something to say. */
async function tellTheEnd({ mode, run: name }: RunInput): Promise<void> {
  try {
    await getExternalWorkflowHandle(instructionsIdOf(mode, name)).signal(runEndedSignal);
  } catch {
    // It has ended already, or was never there: there is nothing to end.
  }
}

function temporalPorts(state: RunState, carried: Carried | null): Ports {
  const info = workflowInfo();
  // A run is started as running; a history that goes on inherits whatever was shown last.
  let shown: string | null = carried === null ? 'RUNNING' : null;
  return {
    readPlan: (input) => orStepFailed(reads.readPlan(input)),
    confirmOutcomes: polls.confirmOutcomes,
    // Summaries are what a person reads beside the activity's name in the Temporal UI.
    requestQuote: (call) =>
      orStepFailed(writes.requestQuote.executeWithOptions({ summary: call.leg.id }, [call])),
    executeTrade: (call) =>
      orStepFailed(writes.executeTrade.executeWithOptions({ summary: call.leg.id }, [call])),
    createWithdrawals: (call) =>
      orStepFailed(writes.createWithdrawals.executeWithOptions({ summary: summaryOfPayments(call) }, [call])),
    awaitWithdrawals: (call) => {
      const scope = new CancellationScope();
      return { answer: scope.run(() => polls.awaitWithdrawals(call)), giveUp: () => scope.cancel() };
    },
    // A cancel is what brings this about: it must not cancel it as well.
    recordInstruction: (call) =>
      CancellationScope.nonCancellable(() => orStepFailed(reads.recordInstruction(call))),
    awaitSettlement: (call) => {
      const scope = new CancellationScope();
      return { settled: scope.run(() => polls.awaitSettlement(call)), giveUp: () => scope.cancel() };
    },
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs !== undefined) return condition(holds, timeoutMs);
      await condition(holds);
      return true;
    },
    nowMs: () => Date.now(),
    tellRun: () => keeping.tellRun(),
    historyLength: () => workflowInfo().historyLength,
    historyIsLong: () => workflowInfo().continueAsNewSuggested,
    runId: info.runId,
    keepsCancelAtOnce: () => patched('keep-cancel-at-once'),
    originalRunId: info.originalExecutionRunId,
    // One search attribute, only when it changes, and the current details.
    show: () => {
      const status = attributeOf(state);
      const holds = holdsOf(state).map(
        ({ problem }) => `- \`${problem.code}\` ${problem.message} ${problem.fix}`,
      );
      setCurrentDetails([`**${status}**`, ...holds].join('\n'));
      if (shown === status) return;
      shown = status;
      upsertSearchAttributes([{ key: stateAttribute, value: status }]);
    },
  };
}

/** The report's status, but for runs that wait for nothing else than settlement in good time: nobody need attend to them. */
function attributeOf(state: RunState): string {
  const holds = holdsOf(state);
  const settling = holds.length > 0 && holds.every(({ problem }) => problem.code === 'AWAITING_SETTLEMENT');
  return settling ? 'SETTLING' : statusOf(state);
}

function summaryOfPayments({ items }: PaymentsCall): string {
  const [first] = items;
  return items.length === 1 && first !== undefined ? first.payment.id : `${items.length} payments`;
}

async function complete(course: Course): Promise<'ended' | 'history is long'> {
  try {
    await course.complete();
    return 'ended';
  } catch (error) {
    if (error instanceof HistoryIsLong) return 'history is long';
    if (!(error instanceof RunRefused)) throw error;
    if (error.code === 'CANCELLED') throw withoutStack(new CancelledFailure(error.message));
    throw failureOf(error.code, error.message, error.problems);
  }
}

/** Ends the Temporal run: green only when everything planned was done. */
function conclude(report: Report): Report {
  if (report.status === 'COMPLETED') return report;
  if (report.status === 'CANCELLED') throw withoutStack(new CancelledFailure(summaryOf(report)));
  throw failureOf(`RUN_${report.status}`, summaryOf(report), report.problems);
}

function summaryOf(report: Report): string {
  const items = [...report.legs, ...report.payments];
  const done = items.filter(({ outcome }) => outcome === 'TRADED' || outcome === 'PAID');
  return `${report.run}: ${done.length} of ${items.length} done, ${report.problems.length} problem(s); see the report.`;
}

function failureOf(type: string, summary: string, problems: readonly Problem[]): ApplicationFailure {
  const shown = problems.slice(0, MAX_PROBLEMS_IN_FAILURE);
  const lines = shown.map((problem) => `${problem.code}: ${problem.message} ${problem.fix}`);
  return withoutStack(
    ApplicationFailure.create({
      type,
      message: [summary, ...lines].join('\n'),
      nonRetryable: true,
      details: [{ problems: shown }],
    }),
  );
}
