/**
 * Whether a run may plan in the place of another one (design: "One run, one plan"): nothing of that run was
 * executed, and nothing of it can arrive any more. Only the service's records tell what it has sent. Moves
 * nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { saidOfExecuted } from '../domain/people/instructions.ts';
import { successorIn } from '../domain/replacement.ts';
import { headOf } from '../domain/plan/plan.ts';
import { makeProblem } from '../domain/problems.ts';
import { runName } from '../domain/references.ts';
import type { NotObserved, PlanInput } from '../domain/run/calls.ts';
import { safetyWaitText } from '../domain/waits.ts';
import { othersSendMs } from '../domain/writes/doubt.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { CLOCK_TOLERANCE_MS, configurationWait, skewOf } from '../domain/writes/step.ts';
import { findOfRun } from '../service/records-of-run.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';
import { clockSkew } from './clock-skew.ts';
import type { Deps } from './deps.ts';
import { keptOrNothing } from './kept-or-nothing.ts';
import { unreadableService } from './observing.ts';
import { foreignReader, told } from './polling.ts';

/** When a write leaves, the instructions that it goes by are at most this old. */
const HEEDED_MS = 10_000;

/**
 * @param safeAtMs from this moment on, nothing of the other run can arrive, as the wait of an earlier call
 * said; null: no call has said it
 * @returns why no plan is made now; null: a plan may be made of what is read from the service after this
 */
export async function whyNotInstead(
  deps: Deps,
  { mode, run, insteadOf }: PlanInput,
  safeAtMs: number | null,
): Promise<NotObserved | null> {
  if (insteadOf === undefined) return null;
  const old = { policy: run.policy, id: insteadOf };
  const name = runName(old);
  const kept = await keptOrNothing(deps, { mode, run: old });
  const successor = successorIn(kept.instructions);
  if (successor === null) return refused(`Temporal has no record that this run takes the place of ${name}.`);
  if (successor !== run.id) return refused(`Another run takes the place of ${name}: ${successor}.`);
  // Only its plan says whether it has itself taken the place of another run.
  const isMade = (await deps.plans.find(mode, old))?.isMade === true;
  const state = isMade ? await deps.plans.read(mode, old, 0) : null;
  if (state?.kind !== 'plan') return refused(`Temporal has no plan of ${name}.`);
  const { plan } = state;
  if (plan.batch !== null) return refused(`${name} pays a batch.`);
  const foreign = foreignReader(deps, headOf(plan));
  if (foreign !== null) return { kind: 'wait', wait: foreign };
  const said = saidOfExecuted(kept);
  if (said !== null) return found(name, said);

  // Read before the lists, so that the lists are no older than this.
  const nowMs = deps.clock.wallMs();
  const seen = await findOfRun(deps.reader, old, {
    sinceMs: plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    onReply: (reply) => told(deps, reply),
    signal: ActivityContext.current().cancellationSignal,
  });
  if (seen.stopped !== null) return { kind: 'wait', wait: unreadableService(seen.stopped) };
  const skewed = skewOf(clockSkew.latestMs());
  if (skewed !== null) return { kind: 'wait', wait: configurationWait(skewed, 0) };
  if (seen.found.length > 0) return found(name, `the service shows ${seen.found.slice(0, 5).join(', ')}`);
  const endMs = safeAtMs ?? nowMs + safetyMs(deps);
  return nowMs < endMs ? waits(name, endMs, nowMs) : null;
}

/**
 * After so long, every worker has read that the other run is superseded. A send that left before that is
 * accepted by then, and the lists show it.
 */
function safetyMs({ facts }: Deps): number {
  const { sendWithinMs } = WRITE_LIMITS;
  return (
    HEEDED_MS + othersSendMs({ attempt: { sendWithinMs } }) + CLOCK_TOLERANCE_MS + facts.settleDoubtMs.trade
  );
}

function waits(name: string, safeAtMs: number, nowMs: number): NotObserved {
  const problem = makeProblem('INSTEAD_WAITS', null, {
    message: `This run takes the place of ${name}. It is planned when nothing of ${name} can be under way any more.`,
    fix: `It goes on by itself: ${safetyWaitText(safeAtMs, nowMs)}.`,
  });
  return { kind: 'wait', wait: { afterMs: safeAtMs - nowMs + 1_000, reason: 'doubt', problem, safeAtMs } };
}

function found(name: string, what: string): NotObserved {
  const message = `This run was to take the place of ${name}, but something of ${name} was executed, or may have been: ${what}. Nothing was sent.`;
  return { kind: 'refused', problems: [makeProblem('INSTEAD_FOUND', null, { message })] };
}

function refused(message: string): NotObserved {
  return { kind: 'refused', problems: [makeProblem('INSTEAD_REFUSED', null, { message })] };
}
