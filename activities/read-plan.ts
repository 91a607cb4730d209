/**
 * `readPlan`: starts or finds the `plan` of a run and reads its result. It believes nothing of the input with
 * which the run was started: it checks the shape, the mode, the hash of the policy, and that the plan says
 * what the policy fixes. A run that was cancelled does not wait for a plan.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { dateOfRunId, sendWindowsOf } from '../calendar/business-date.ts';
import { otherBatch } from '../domain/batch.ts';
import { decimalsOf } from '../domain/currencies.ts';
import { otherPlace } from '../domain/replacement.ts';
import { planContradicts } from '../domain/plan/agrees.ts';
import { isAsShown } from '../domain/plan/moves.ts';
import { isFromBalances, keptPlan, type Plan } from '../domain/plan/plan.ts';
import type { Policy } from '../domain/policy.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { hashOfInput } from '../language/policy/policy-hash.ts';
import type { Activities } from '../workflows/calls.ts';
import type { PlanAnswer, PlanInput } from '../domain/run/calls.ts';
import { isRunCancelled } from './cancelled.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { readRates } from './observing.ts';
import { foreignMode } from './own-mode.ts';
import { isFiles, wrongInput } from './run-input.ts';

/** Most plans are made within this time. A plan that waits for something says so after it. */
const PATIENCE_MS = 4_000;
/**
 * So many calls of a worker wait for a plan that is being made, half of what it does at a time. The others look once and come
 * again later: whoever starts many runs that never get a plan keeps no worker from the runs of others.
 */
export const MOST_PATIENT = 50;
let patient = 0;

export const readPlan =
  (deps: Deps): Activities['readPlan'] =>
  (asked) =>
    beating(async () => {
      const wrong = wrongInput(asked);
      if (wrong !== null) return { kind: 'refused', problems: [wrong] };
      const wait = foreignMode(deps, asked.mode);
      if (wait !== null) return { kind: 'waiting', waiting: { reason: wait.reason, problem: wait.problem } };
      const { runId } = ActivityContext.current().info.workflowExecution ?? { runId: 'unknown' };
      return answerOf(deps, { ...asked, askedBy: runId });
    });

async function answerOf(deps: Deps, input: PlanInput): Promise<PlanAnswer> {
  const { mode, run } = input;
  // Instructions are kept from the start. So if a plan is there and they are not, they are missing.
  const found = await deps.plans.find(mode, run);
  await deps.instructions.open(mode, run, found?.isMade === true);
  const begun = found?.input ?? null;
  const otherThanBegun = begun === null ? null : otherPlace(run, begun, input);
  if (otherThanBegun !== null) return { kind: 'refused', problems: [otherThanBegun] };
  const startedRunId = await deps.plans.start(input, found);
  const state = await readPatiently(deps, input, startedRunId);
  if (state.kind === 'plan') {
    const { plan } = state;
    const planned = plan.policy.hash;
    // The texts of the policies are compared, without comments and white space. A hash that came with the
    // input is not believed.
    const given = hashOfInput(input);
    if (given !== planned) return { kind: 'other policy', planned, given: given ?? 'unreadable' };
    // What the plan of an earlier start was made from is in the input of its workflow.
    const isOwn = plan.madeFor === input.forRun || plan.madeFor === input.askedBy;
    const files = isOwn || begun === null ? input.files : begun.files;
    const foreign = otherPlace(run, plan, input) ?? foreignPlan(deps, { ...input, files }, plan);
    if (foreign !== null) return { kind: 'refused', problems: [foreign] };
    // Legs that are computed from balances are planned in a turn, which tells other runs that this run may
    // take money. Where a leg is not, or the plan is of an earlier start, other runs are told so before
    // anything is sent.
    const isKnown = plan.legs.every(isFromBalances);
    if (!isKnown || plan.madeFor !== input.askedBy) await deps.turn.reopen(run);
    // If the plan is not the one that a person has seen, nothing of it is sent; a batch may need to buy
    // nothing. In both cases others may have the turn of the planning at once.
    else if (!isAsShown(plan, input.shown) || buysNothing(plan))
      await deps.turn.giveBack(run, null).catch(() => {});
    return { kind: 'plan', plan: keptPlan(plan) };
  }
  const isUnwanted = state.kind === 'waiting' && (await isRunCancelled(deps, mode, run));
  return isUnwanted ? { kind: 'cancelled' } : state;
}

async function readPatiently(
  { plans }: Deps,
  { mode, run }: PlanInput,
  startedRunId: string | null,
): ReturnType<Deps['plans']['read']> {
  const patienceMs = patient < MOST_PATIENT ? PATIENCE_MS : 0;
  patient += 1;
  try {
    return await plans.read(mode, run, patienceMs, startedRunId);
  } finally {
    patient -= 1;
  }
}

function buysNothing({ batch, legs }: Plan): boolean {
  return batch !== null && legs.length === 0;
}

/**
 * A plan is data that another program may have changed in Temporal. So all accounts, currencies and amounts in it must agree
 * with the policy.
 */
function foreignPlan(deps: Deps, input: PlanInput, plan: Plan): Problem | null {
  const { run, policyText, policyFile, files } = input;
  const loaded = loadPolicy(policyText, policyFile, deps.facts.decimals);
  const isOfRun =
    plan.run.policy === input.run.policy &&
    plan.run.id === input.run.id &&
    plan.credentials.mode === input.mode;
  const other = otherBatch(plan.batch, input.batch ?? null);
  if (isOfRun && other !== null) return makeProblem('BATCH_CHANGED', null, { message: other });
  const why = isOfRun
    ? loaded.ok
      ? contradictionOf(deps, plan, { run, policy: loaded.policy, files })
      : null
    : 'The plan is another run’s.';
  if (why === null) return null;
  return makeProblem('PLAN_CONTRADICTS_POLICY', null, { message: why });
}

function contradictionOf(
  { facts }: Deps,
  plan: Plan,
  { run, policy, files }: Pick<PlanInput, 'run' | 'files'> & { readonly policy: Policy },
): string | null {
  const date = dateOfRunId(run.id);
  const rates = isFiles(files) ? readRates(policy, files) : null;
  if (date === null || rates?.ok !== true) return 'The plan was made from files that cannot be read.';
  return planContradicts(plan, policy, {
    referenceRates: rates.rates,
    date,
    sendWindows: sendWindowsOf(date, policy.zone),
    decimalsOf: (currency) => decimalsOf(currency, facts.decimals),
  });
}
