/** Cancels a run: unsent items stay unsent. The instruction is kept first, so that no reset sends the rest. */
import { randomUUID } from 'node:crypto';
import type { RunName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { loadSettings } from '../../config/config.ts';
import { failureOf } from '../failure-of.ts';
import { recordInstruction } from '../../durable/instructions/keep.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { instructionsIdOf } from '../../workflows/names.ts';
import type { Caller, Place } from '../place.ts';
import { requireService } from '../preflight.ts';
import { ANSWER_LIMIT_MS } from '../follow/answers.ts';
import { pausedOnes } from '../follow/paused.ts';
import { readRun } from '../follow/read-run.ts';
import { describeRun, requireRun, type RunFacts } from '../follow/runs.ts';

export type Cancelled =
  /** The run has ended already, so there is nothing to cancel. */
  | { readonly kind: 'ended'; readonly state: string }
  /** Unsent items stay unsent. `report`: what was sent until now; null when no worker answers, or the run is paused. */
  | {
      readonly kind: 'cancelled';
      readonly report: Report | null;
      readonly remark: string | null;
      readonly paused: readonly Trouble[];
    }
  /**
   * Temporal has the cancel, but no worker took the instruction in time, or what keeps it is paused. The run keeps the
   * instruction itself as soon as it can.
   */
  | { readonly kind: 'not kept yet'; readonly remark: string | null; readonly paused: readonly Trouble[] };

/** @throws CommandFailure when there is no such run, or when a clock is wrong */
export async function cancelRun(
  place: Place,
  run: RunName,
  asked: { readonly by: string; readonly why: string; readonly caller: Caller },
): Promise<Cancelled> {
  const facts = await requireRun(place, run);
  if (!facts.isOpen) return { kind: 'ended', state: facts.state };
  const remark = await requireClock(asked.caller);
  const isKept = await keepCancel(place, facts, asked);
  await place.client.workflow.getHandle(facts.workflowId).cancel();
  const paused = await pausedOnes(place.client, [facts.workflowId, instructionsIdOf(place.mode, run)]);
  if (!isKept) return { kind: 'not kept yet', remark, paused };
  return { kind: 'cancelled', report: await readNewest(place, facts), remark, paused };
}

/**
 * A cancel must work without the service and without a key. Only a clock that is known to be wrong stops it.
 * @returns a remark, null when all is well. @throws CommandFailure when the clocks are too far apart
 */
async function requireClock({ env, cwd, now }: Caller): Promise<string | null> {
  try {
    return await requireService(await loadSettings(env, cwd), now);
  } catch (error) {
    const failure = failureOf(error);
    const [problem] = failure.problems;
    if (problem?.code === 'CLOCK_SKEW') throw failure;
    return `The clock was not compared with the clock of the service: ${problem?.code ?? ''} ${problem?.message ?? ''}`;
  }
}

/** Keeps the instruction outside the run's history. False when no worker took it in time; then the run keeps it itself. */
async function keepCancel(
  place: Place,
  facts: RunFacts,
  { by, why }: { readonly by: string; readonly why: string },
): Promise<boolean> {
  const { client, taskQueue, mode } = place;
  try {
    await client.withDeadline(Date.now() + ANSWER_LIMIT_MS, () =>
      recordInstruction(
        { client, taskQueue, mode, run: facts.run },
        { kind: 'cancel', id: randomUUID(), by, why },
      ),
    );
    return true;
  } catch {
    return false;
  }
}

async function readNewest(place: Place, facts: RunFacts): Promise<Report | null> {
  try {
    const newest = await describeRun(place.client, place.mode, facts.run);
    return (await readRun(place, newest ?? facts)).report;
  } catch {
    return null;
  }
}
