/**
 * `observe`: reads what a plan is made from, or finds the plan that was made before. This worker reads the
 * policy again itself, and the service once. Moves nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { keptPlan } from '../domain/plan/plan.ts';
import { makeProblem } from '../domain/problems.ts';
import type { Wait } from '../domain/waits.ts';
import { plansWithBalances } from '../domain/policy.ts';
import type { RunName } from '../domain/references.ts';
import type { Observed, PlanInput } from '../domain/run/calls.ts';
import type { Activities } from '../workflows/calls.ts';
import { listsLag } from '../domain/turn.ts';
import type { ObserveInput } from '../workflows/names.ts';
import { heldByLostRuns } from './claims.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { whyNotInstead } from './instead-of.ts';
import {
  countedIn,
  listsLagMs,
  observeInTurn,
  readInput,
  waitForOthers,
  type InTurn,
  type ReadInput,
} from './observing.ts';
import { lookBeforeTurn, seeInTurn, type BeforeTurn } from './observing-batch.ts';
import { readOthers } from './others.ts';
import { foreignMode } from './own-mode.ts';
import { wrongInput } from './run-input.ts';

export const observe =
  (deps: Deps): Activities['observe'] =>
  (input) =>
    beating(async () => {
      deps.tell({ kind: 'reached', point: 'before observation' });
      const answer = await observed(deps, input);
      deps.tell({ kind: 'reached', point: 'before result' });
      return answer;
    });

async function observed(deps: Deps, asked: ObserveInput): Promise<Observed> {
  const { originalPlanRunId, safeAtMs, ...input } = asked;
  const wrong = wrongInput(input);
  if (wrong !== null) return { kind: 'refused', problems: [wrong] };
  const foreign = foreignMode(deps, input.mode);
  if (foreign !== null) return { kind: 'wait', wait: foreign };
  // A `plan` that is reset or started again returns the first result.
  const { runId } = ActivityContext.current().info.workflowExecution ?? {};
  const resetRunId = originalPlanRunId === runId ? null : originalPlanRunId;
  const earlier = await deps.plans.readEarlier(input.mode, input.run, resetRunId);
  if (earlier !== null) return { kind: 'made', plan: keptPlan(earlier) };

  const given = readInput(deps, input);
  if (given.kind === 'refused') return given;
  const stopped = await whyNotInstead(deps, input, safeAtMs);
  return stopped ?? observedNow(deps, input, given);
}

/** As `observe`, where no plan was made before. */
export async function observedNow(deps: Deps, input: PlanInput, given: ReadInput): Promise<Observed> {
  const { mode, run } = input;
  const { policy, manifest, date, destinations } = given;
  const isPayout = policy.kind === 'payout' && manifest !== null;
  const looked = isPayout
    ? await lookBeforeTurn(deps, { mode, run, date, policy, manifest, destinations })
    : null;
  if (looked !== null && looked.kind !== 'looked') return looked;
  const turn = await turnFor(deps, given, run);
  if ('wait' in turn) return { kind: 'wait', wait: turn.wait };
  const answer = await observedInTurn(deps, { input, given, looked, turn });
  if (turn.isTaken && answer.kind !== 'observed') await deps.turn.giveBack(input.run, null).catch(() => {});
  return answer;
}

async function observedInTurn(
  deps: Deps,
  of: {
    readonly input: PlanInput;
    readonly given: ReadInput;
    /** What was seen of the batch before the turn; null: there is no batch. */
    readonly looked: BeforeTurn | null;
    readonly turn: InTurn;
  },
): Promise<Observed> {
  const { input, given, looked, turn } = of;
  const held = await heldByLostRuns(deps, input, looked?.seenRuns ?? null);
  if (held !== null) return { kind: 'wait', wait: held };
  const untold = waitForOthers(deps, given, turn.others);
  if (untold !== null) return { kind: 'wait', wait: untold };
  const seen = looked === null ? null : await seeInTurn(deps, looked);
  if (seen !== null && seen.kind !== 'seen') return seen;
  return observeInTurn(deps, input.run, given, turn, seen?.batch ?? null);
}

/**
 * A run that plans with balances does so in its turn: first it reads what others have reserved, then the
 * balances. A batch takes a turn too, because two batches of one policy may have the same payments.
 */
async function turnFor(
  deps: Deps,
  { policy, date }: ReadInput,
  run: RunName,
): Promise<InTurn | { readonly wait: Wait }> {
  const isOnBalances = plansWithBalances(policy);
  if (!isOnBalances && policy.kind !== 'payout') return { isTaken: false, others: [] };
  const answer = await deps.turn.take(run, true);
  if (answer.turn === 'ours') {
    if (!isOnBalances) return { isTaken: true, others: [] };
    const lagMs = listsLagMs(deps, answer);
    if (lagMs > 0) return { wait: listsLag(lagMs, null) };
    const hasLimit = (policy.rules.limits?.perDay ?? null) !== null;
    const day = hasLimit ? { policy: policy.name, date } : null;
    const read = await readOthers(deps, { turn: answer, currencies: countedIn(policy), day });
    if ('others' in read) return { isTaken: true, others: read.others };
    await deps.turn.giveBack(run, null).catch(() => {});
    return read;
  }
  const message = `Run ${answer.run} trades now. Runs of one organisation take turns.`;
  const problem = makeProblem('TURN_OF_ANOTHER', null, { message });
  return { wait: { afterMs: 1_000, reason: 'turn', problem } };
}
