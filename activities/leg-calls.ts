/**
 * What the two calls of a leg share: they send nothing without reading the instructions, and they give the
 * turn of the run back.
 */
import { isFromBalances } from '../domain/plan/plan.ts';
import type { LegAnswer, LegCall, TradedCall } from '../domain/run/calls.ts';
import type { Steps } from '../domain/writes/step.ts';
import type { LegStep } from '../domain/writes/leg-state.ts';
import type { Wait } from '../domain/waits.ts';
import type { Driver } from './driver.ts';

/**
 * Runs the steps of one call. Gives the turn back when the leg was computed from balances and does not go on
 * at once, and no other leg does.
 */
export async function carriedOut(
  driver: Driver,
  call: LegCall,
  steps: () => Steps<LegStep>,
): Promise<LegAnswer> {
  const stop = await driver.stop();
  const answer =
    stop === null
      ? { step: await driver.run(call.leg.id, steps()), evidence: driver.evidence, runId: driver.runId }
      : stoppedLeg(call, stop, driver);
  const givenBack = turnGivenBack(call, answer.step);
  if (givenBack !== null) await driver.giveTurnBack(givenBack.mayHaveTraded);
  return answer;
}

/** How the turn of the run is given back after a step of this leg; null: the run keeps it. */
export function turnGivenBack(
  { leg, follows, tradedSoFar }: LegCall,
  step: LegAnswer['step'],
): { readonly mayHaveTraded: boolean } | null {
  // This leg takes no turn, but runs that plan with balances must know that lists may lack its trade.
  if (!isFromBalances(leg)) return mayHaveTraded(step) ? { mayHaveTraded: true } : null;
  const isFollowed = follows === 'at once' || (follows === 'when done' && isDone(step));
  if (isFollowed || goesOn(step)) return null;
  return { mayHaveTraded: tradedSoFar.length > 0 || mayHaveTraded(step) };
}

/** The answer about a leg when the call may send nothing. */
export function stoppedLeg({ leg }: LegCall | TradedCall, stop: Wait, driver: Driver): LegAnswer {
  const wait = { ...stop, problem: { ...stop.problem, item: leg.id } };
  const { runId, mayHaveSent } = driver;
  return { step: { kind: 'stopped', wait, mayHaveSent }, evidence: [], runId };
}

/**
 * Whether the leg is called again while the turn lasts: at once, or within seconds. A leg that waits for the
 * turn has none to lose; one that waits for a sale has the turn, and other runs need it.
 */
function goesOn(step: LegAnswer['step']): boolean {
  switch (step.kind) {
    case 'quoted':
    case 'requote':
      return true;
    case 'traded':
    case 'not traded':
    case 'stopped':
      return false;
    case 'wait':
      return step.wait.reason === 'service' || step.wait.reason === 'turn';
  }
}

/** The leg is decided, so that the leg that comes after it may go. */
function isDone(step: LegAnswer['step']): boolean {
  return step.kind === 'not traded' || (step.kind === 'traded' && !step.isHeld);
}

/** Whether other runs must wait until the lists show its trade. */
function mayHaveTraded(step: LegAnswer['step']): boolean {
  switch (step.kind) {
    case 'traded':
      return true;
    case 'stopped':
      return step.mayHaveSent;
    case 'quoted':
    case 'requote':
    case 'not traded':
    case 'wait':
      return step.state.sent;
  }
}
