/**
 * `readPlan`: starts or finds the `plan` of a run and reads its result. Nothing is believed that the run was started
 * with: its shape, its mode, its policy's hash, and that the plan says what the policy fixes, are looked at here. A run
 * that was cancelled waits for no plan.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { otherBatch } from '../domain/batch.ts';
import { planContradicts } from '../domain/plan/agrees.ts';
import { isAsShown } from '../domain/plan/moves.ts';
import { goesOnWithTheFirst, isFromBalances, keptPlan, type Plan } from '../domain/plan/plan.ts';
import type { RecordedOf } from '../domain/people/instructions.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import { loadPolicy } from '../language/policy/load-policy.ts';
import { policyHash } from '../language/policy/policy-hash.ts';
import { waitingOf } from '../domain/waits.ts';
import type { Activities } from '../workflows/calls.ts';
import type { PlanAnswer, PlanInput } from '../domain/run/calls.ts';
import { isRunCancelled } from './cancelled.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { foreignMode } from './own-mode.ts';
import { wrongInput } from './run-input.ts';
import { replansOf, secondPlanUnasked } from './second-plan.ts';

/** Long enough for a plan in the good case; a plan that waits for something says so after it. */
const PATIENCE_MS = 4_000;

export const readPlan =
  (deps: Deps): Activities['readPlan'] =>
  (asked) =>
    beating(async () => {
      const wrong = wrongInput(asked);
      if (wrong !== null) return { kind: 'refused', problems: [wrong] };
      const wait = foreignMode(deps, asked.mode);
      if (wait !== null) {
        return { kind: 'waiting', waiting: waitingOf(wait, deps.clock.wallMs(), null) };
      }
      const { runId } = ActivityContext.current().info.workflowExecution ?? { runId: 'unknown' };
      return answerOf(deps, { ...asked, askedBy: runId });
    });

async function answerOf(deps: Deps, given: PlanInput): Promise<PlanAnswer> {
  const { mode, run } = given;
  // What people say is kept from the start: where a plan is there and they are not, they are missing.
  const isMade = await deps.plans.isMade(mode, run);
  await deps.instructions.open(mode, run, isMade);
  const begun = await deps.plans.readInput(mode, run, 2);
  const second = isMade || begun !== null ? await secondOf(deps, given, begun) : null;
  if (second !== null && 'problem' in second) return { kind: 'refused', problems: [second.problem] };
  const input = second?.input ?? given;
  await deps.plans.start(input);
  const state = await deps.plans.read(mode, run, PATIENCE_MS, input.number);
  if (state.kind === 'plan') {
    if (state.plan.number !== input.number)
      return { kind: 'refused', problems: [makeProblem('PLAN_UNREADABLE', null)] };
    const planned = state.plan.policy.hash;
    // What the policies say is compared, comments and white space aside, and never a hash that came with the input.
    const said =
      second === null
        ? policyFor(planned, [given])
        : await policyOfSecond(deps, { given, begun, asked: second.asked }, state.plan);
    if (said === null)
      return { kind: 'other policy', planned, given: policyHash(given.policyText) ?? 'unreadable' };
    const foreign = foreignPlan(deps, { ...input, ...said }, state.plan);
    if (foreign !== null) return { kind: 'refused', problems: [foreign] };
    // What was planned in a turn is known by it. What others will take, or what is left after a reset, is told before it is sent.
    const isKnown = state.plan.legs.every(isFromBalances);
    if (!isKnown || state.plan.madeFor !== input.askedBy) await deps.turn.reopen(run);
    // Nothing of it was sent, and nothing will be, or nothing of a batch needs to be bought: the turn in which it was planned
    // is for others at once.
    else if (!isAsShown(state.plan, input.shown) || buysNothing(state.plan))
      await deps.turn.giveBack(run, false).catch(() => {});
    return { kind: 'plan', plan: keptPlan(state.plan) };
  }
  // A second plan is refused to a run that is cancelled.
  const isOpen = state.kind === 'waiting' || input.number === 2;
  const isUnwanted = isOpen && (await isRunCancelled(deps, mode, run));
  if (!isUnwanted && state.kind === 'refused' && (await wasAnother(deps, input)))
    return { kind: 'waiting', waiting: null };
  return isUnwanted ? { kind: 'cancelled' } : state;
}

type Asked = readonly RecordedOf<'replan'>[];

/** What a run is started with that makes its plan the second one; null: its first plan is carried out. */
async function secondOf(
  deps: Deps,
  given: PlanInput,
  begun: PlanInput | null,
): Promise<{ readonly input: PlanInput; readonly asked: Asked } | { readonly problem: Problem } | null> {
  const { mode, run } = given;
  const asked = await replansOf(deps, mode, run);
  const last = asked.at(-1);
  const { shown: _shown, ...rest } = given;
  const input = { ...rest, number: 2 } as const;
  if (policyHash(given.policyText) === last?.policyHash) return { input, asked };
  const isMade = begun !== null && (await deps.plans.read(mode, run, 0, 2)).kind === 'plan';
  // There is one, and what asked for it is missing.
  if (last === undefined) return isMade ? { problem: secondPlanUnasked(run) } : null;
  // A Temporal run from before it was asked for, which was reset: it carries out the second plan that was begun, or is made.
  if (isMade) return { input, asked };
  if (begun !== null && policyHash(begun.policyText) === last.policyHash)
    return { input: { ...input, ...policyIn(begun), files: begun.files }, asked };
  return { problem: makeProblem('REPLAN_UNFINISHED', null) };
}

/** What was refused is a second plan that somebody asked for before, by another policy: the next look begins this one. */
async function wasAnother({ plans }: Deps, { mode, run, number, policyText }: PlanInput): Promise<boolean> {
  if (number === undefined) return false;
  const newest = await plans.readInput(mode, run, number);
  return newest !== null && policyHash(newest.policyText) !== policyHash(policyText);
}

type PolicyOf = Pick<PlanInput, 'policyText' | 'policyFile'>;

function policyIn({ policyText, policyFile }: PolicyOf): PolicyOf {
  return { policyText, policyFile };
}

/** The policy that a plan was made from, by its hash; null: it is none of these. */
function policyFor(planned: string, inputs: readonly (PolicyOf | null)[]): PolicyOf | null {
  const input = inputs.find((one) => one !== null && policyHash(one.policyText) === planned) ?? null;
  return input === null ? null : policyIn(input);
}

/**
 * The policy of a second plan. It counts where people asked for one by this policy, or where it goes on with what the first plan
 * has executed; and for a start with that policy, or with the first plan's, as a Temporal run has that was reset.
 */
async function policyOfSecond(
  deps: Deps,
  of: { readonly given: PlanInput; readonly begun: PlanInput | null; readonly asked: Asked },
  plan: Plan,
): Promise<PolicyOf | null> {
  const planned = plan.policy.hash;
  const { given, begun, asked } = of;
  const { mode, run } = given;
  const isAsked = (hash: string): boolean => asked.some(({ policyHash: one }) => one === hash);
  // Temporal may have lost it since: the second plan stands by itself.
  const first = (await deps.plans.isMade(mode, run)) ? await deps.plans.read(mode, run, 0) : null;
  const firstHash = first?.kind === 'plan' ? first.plan.policy.hash : null;
  const goesOn = goesOnWithTheFirst(plan) && (firstHash === null || firstHash === planned);
  if (!goesOn && !isAsked(planned)) return null;
  const own = policyHash(given.policyText) ?? '';
  const isFor = own === planned || own === firstHash || (goesOn && isAsked(own));
  if (!isFor) return null;
  return policyFor(planned, [given, begun, await deps.plans.readInput(mode, run)]);
}

function buysNothing({ batch, legs }: Plan): boolean {
  return batch !== null && legs.length === 0;
}

/** A plan is data that somebody may have changed: no account, currency or amount of it counts against the policy. */
function foreignPlan(deps: Deps, input: PlanInput, plan: Plan): Problem | null {
  const loaded = loadPolicy(input.policyText, input.policyFile, deps.facts.decimals);
  const isOfRun =
    plan.run.policy === input.run.policy &&
    plan.run.id === input.run.id &&
    plan.credentials.mode === input.mode;
  const other = otherBatch(plan.batch, input.batch ?? null);
  if (isOfRun && other !== null) return makeProblem('BATCH_CHANGED', null, { message: other });
  const why = isOfRun
    ? loaded.ok
      ? planContradicts(plan, loaded.policy)
      : null
    : 'The plan is another run’s.';
  if (why === null) return null;
  return makeProblem('PLAN_CONTRADICTS_POLICY', null, { message: why });
}
