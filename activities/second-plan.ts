/**
 * Whether the second plan of a run may be made, and from what (design: "A second plan"). What the first plan sent is known by the
 * service's records alone, read when nothing of it can be under way any more. Moves nothing.
 */
import { secondPlanWindows } from '../calendar/second-plan-window.ts';
import {
  givenUpAtMs,
  isCancelled,
  replanIn,
  type Kept,
  type RecordedOf,
} from '../domain/people/instructions.ts';
import { MADE_FOR_NOBODY, headOf, keptPlan, type Plan, type SendWindows } from '../domain/plan/plan.ts';
import { decidedAbout, mayBePlannedAnew } from '../domain/run/second-plan.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import { runName, type RunName } from '../domain/references.ts';
import type { PlanInput } from '../domain/run/calls.ts';
import type { Mode } from '../domain/service/records.ts';
import { safetyWaitText } from '../domain/waits.ts';
import { othersSendMs } from '../domain/writes/doubt.ts';
import { isTradeOf } from '../domain/writes/lookups.ts';
import { CLOCK_TOLERANCE_MS } from '../domain/writes/step.ts';
import type { Observed } from '../workflows/calls.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';
import { InstructionsMissing, type Deps } from './deps.ts';
import type { Said } from './observing.ts';
import { foreignReader } from './polling.ts';

/** What a write goes by is so old at most when it leaves. */
const HEEDED_MS = 10_000;

type Stopped = Extract<Observed, { kind: 'refused' | 'wait' }>;
type Second = {
  readonly kind: 'second';
  readonly first: Plan;
  readonly sendWindows: SendWindows;
  /** Why nothing new is planned, if nothing of the run was executed; null: it is. */
  readonly why: string | null;
};

/** Every time that people asked for a second plan; none where what they said is missing: then nothing is sent. */
export async function replansOf(
  deps: Deps,
  mode: Mode,
  run: RunName,
): Promise<readonly RecordedOf<'replan'>[]> {
  const kept = await keptOf(deps, mode, run);
  return (kept?.instructions ?? []).filter((said) => said.kind === 'replan');
}

async function keptOf({ instructions }: Deps, mode: Mode, run: RunName): Promise<Kept | null> {
  try {
    return await instructions.read(mode, run);
  } catch (error) {
    if (error instanceof InstructionsMissing) return null;
    throw error;
  }
}

/** A second plan is there, and what asked for it is not in Temporal any more: nothing of either plan is sent. */
export function secondPlanUnasked(run: RunName): Problem {
  const again = `npx cambist replay ${runName(run)} --replan POLICY`;
  return makeProblem('INSTRUCTIONS_MISSING', null, {
    message: `What asked for the second plan of run ${runName(run)} is not in Temporal any more; nothing is sent without it.`,
    fix: `Say once more that it has a second plan, by the policy of that plan: \`${again}\`.`,
  });
}

/** What must hold before the service is read for it. */
export async function beforeSecond(
  deps: Deps,
  { mode, run, policyFile }: PlanInput,
  { policy, policyHash }: Said,
): Promise<Stopped | Second> {
  const kept = await keptOf(deps, mode, run);
  const replan = kept === null ? null : replanIn(kept);
  const sinceMs = kept === null ? null : givenUpAtMs(kept);
  if (kept === null || replan === null || sinceMs === null)
    return refused('Nobody has asked for a second plan of this run.');
  if (replan.policyHash !== policyHash)
    return refused(`Somebody has asked for a second plan of this run by another policy than ${policyFile}.`);
  // Once it goes on it is made, from this policy or another one.
  if (isCancelled(kept.instructions))
    return refused('The run was cancelled before its second plan was made.');
  const state = (await deps.plans.isMade(mode, run)) ? await deps.plans.read(mode, run, 0) : null;
  if (state?.kind !== 'plan') return refused('Temporal has no first plan of this run.');
  const first = state.plan;
  const may = mayBePlannedAnew(first, policy);
  if ('why' in may) return refused(may.why);
  const foreign = foreignReader(deps, headOf(first));
  if (foreign !== null) return { kind: 'wait', wait: foreign };

  const nowMs = deps.clock.wallMs();
  const safeAtMs = sinceMs + safetyMs(deps);
  if (nowMs < safeAtMs) {
    const fix = `It goes on by itself: ${safetyWaitText(safeAtMs, nowMs)}.`;
    const problem = makeProblem('REPLAN_WAITS', null, { fix });
    return { kind: 'wait', wait: { afterMs: safeAtMs - nowMs + 1_000, reason: 'doubt', problem, safeAtMs } };
  }
  const { sendWindows, why } = secondPlanWindows(first, may.policy, replan.atMs);
  return { kind: 'second', first, sendWindows, why: decidedAbout(first, may.policy, kept) ?? why };
}

/** Once the first plan was given up, a send of it is accepted no later, and is in the lists. */
function safetyMs({ facts }: Deps): number {
  const { sendWithinMs } = WRITE_LIMITS;
  return (
    HEEDED_MS + othersSendMs({ attempt: { sendWithinMs } }) + CLOCK_TOLERANCE_MS + facts.settleDoubtMs.trade
  );
}

/** What the service shows decides: what was executed after all is carried on by the first plan's items. */
export function asSecond({ first, sendWindows, why }: Second, observed: Observed): Observed {
  if (observed.kind !== 'observed') return observed;
  const { trades, withdrawals } = observed.observation;
  const isTraded = first.legs.some((leg) => trades.some((trade) => isTradeOf(leg, null, trade)));
  if (isTraded) return { kind: 'made', plan: keptPlan({ ...first, number: 2, madeFor: MADE_FOR_NOBODY }) };
  // Every payment of a conversion follows its trade.
  if (trades.length === 0 && withdrawals.length > 0)
    return refused('The service shows a payment of this run, and no trade before it.');
  // A second plan that Temporal has lost is made again as it was: its own trade is there.
  if (why !== null && trades.length === 0) return refused(why);
  return { ...observed, sendWindows };
}

function refused(why: string): Stopped {
  return { kind: 'refused', problems: [makeProblem('REPLAN_REFUSED', null, { message: why })] };
}
