/** Reads the plan that counts for a run, made from the policy of its input, and as a person was shown it. */
import { isAsShown, movesOf } from '../plan/moves.ts';
import { wholePlan, type Plan } from '../plan/plan.ts';
import { goOnCommand, replacingCommand } from '../replacement.ts';
import { runName } from '../references.ts';
import { forRun, type Problem, type ProblemCode } from '../problems.ts';
import { activityFailed } from './activity-failed.ts';
import type { PlanAnswer, RunInput } from './calls.ts';
import { growing } from './growing.ts';
import { RunRefused, StepFailed, failed } from './ports.ts';
import type { Reading } from './parts.ts';

/** How soon a run asks again for a plan that is being made, ever later: each time costs history. */
const POLL_MS = { first: 2_000, most: 30_000 };

const CANCELLED: Problem = {
  code: 'CANCELLED',
  item: null,
  message: 'The run was cancelled before there was a plan. Nothing was sent.',
  fix: 'If it is to be done after all, start the run with --go-on.',
};
const PLANNING = {
  reason: 'service',
  problem: {
    code: 'PLANNING',
    item: null,
    message: 'The plan is being made.',
    fix: 'Nothing to do. If this stays so, see that a worker of this mode serves the task queue of the run.',
  },
} as const;

/** The plan that counts: the first completed result of this run's `plan`. */
export async function readPlan(run: Reading): Promise<Plan> {
  const { input, state, ports, pauses } = run;
  for (let failures = 0, polls = 0, asks = 1; ; asks += 1) {
    if (ports.historyIsLong()) await run.leaveLongHistory();
    const { asked } = pauses;
    const answer = await ports.readPlan({ ...input, forRun: ports.originalRunId }).catch(failed);
    if (answer instanceof StepFailed) {
      failures += 1;
      await pauses.pause(state, activityFailed(answer.message, failures), asked);
      continue;
    }
    failures = 0;
    switch (answer.kind) {
      case 'plan':
        // Ends the wait for the plan, if there was one: a cancel that cannot be recorded may wait as well.
        if (asks > 1) pauses.goesOn(state);
        return asShown(input, wholePlan(answer.plan));
      case 'other policy':
        throw otherPolicy(input, answer);
      case 'refused':
        throw new RunRefused(
          'PLAN_REFUSED',
          'Not started: no plan could be made. Nothing was sent.',
          withWayOn(answer.problems, input),
        );
      case 'cancelled':
        throw new RunRefused('CANCELLED', CANCELLED.message, [CANCELLED]);
      case 'waiting': {
        await run.keepCancel();
        if (state.cancelled) throw new RunRefused('CANCELLED', CANCELLED.message, [CANCELLED]);
        const afterMs = growing(POLL_MS.first, polls, POLL_MS.most);
        polls += 1;
        await pauses.pause(state, pauses.paced(state, { ...(answer.waiting ?? PLANNING), afterMs }), asked);
      }
    }
  }
}

/** Only the plan to which a person has said yes is carried out (M4). */
function asShown(input: RunInput, plan: Plan): Plan {
  const { shown } = input;
  if (isAsShown(plan, shown)) return plan;
  throw new RunRefused(
    'PLAN_NOT_AS_SHOWN',
    'The plan is not the one that a person has seen and said yes to. Nothing was sent.',
    [
      {
        code: 'PLAN_NOT_AS_SHOWN',
        item: null,
        message: `What was shown before the start was: ${shown?.join(' ') ?? ''} The plan is: ${movesOf(plan).join(' ')}`,
        fix: 'Start it again with --go-on: it shows this plan, and asks.',
      },
    ],
  );
}

/** What a person mends in the policy, in a file that it names, or in the file of payments. */
const MENDED_IN_A_FILE: ReadonlySet<ProblemCode> = new Set([
  'PLAN_ACCOUNT_MISSING',
  'PLAN_ACCOUNT_CURRENCY',
  'PLAN_ACCOUNT_UNUSABLE',
  'PLAN_CURRENCY_NOT_WITHDRAWABLE',
  'PLAN_PAIR_NOT_OFFERED',
  'PLAN_AMOUNT_OUTSIDE_PAIR',
  'PLAN_AMOUNT_DECIMALS',
  'PLAN_ENVIRONMENT',
  'PLAN_REFERENCE_MISSING',
  'PLAN_REFERENCE_TOO_OLD',
  'PLAN_REFERENCE_FROM_THE_FUTURE',
  'PLAN_OVER_LIMIT',
  'PLAN_DESTINATION_UNKNOWN',
]);

/** The problems, of which the last one says how the run goes on with a corrected file. Whatever else a person types is refused again. */
function withWayOn(problems: readonly Problem[], { run, batch }: RunInput): readonly Problem[] {
  const last = problems.findLastIndex(({ code }) => MENDED_IN_A_FILE.has(code));
  const ofPayments = batch === undefined ? '' : ' A corrected file of payments needs another --id.';
  const wayOn = `Where you change the policy or a file that it names, type \`${goOnCommand(run)}\`: a reset plans by the old text.${ofPayments}`;
  return problems.map((problem, index) => {
    const told = forRun(problem, run);
    return index === last ? { ...told, fix: `${told.fix} ${wayOn}` } : told;
  });
}

/** The plan counts only for the policy that it was made from (M4). */
function otherPolicy(
  input: RunInput,
  { planned, given }: Extract<PlanAnswer, { kind: 'other policy' }>,
): RunRefused {
  return new RunRefused('POLICY_CHANGED', `Run ${runName(input.run)} was planned with another policy.`, [
    {
      code: 'POLICY_CHANGED',
      item: null,
      message: `The plan was made from a policy with the hash ${planned}, and the policy of this start has the hash ${given}.`,
      fix: `Start it with the policy that the plan was made from. If nothing of it was executed, a run by another policy takes its place: \`${replacingCommand(input.run)}\`.`,
    },
  ]);
}
