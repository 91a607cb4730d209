/** What the two calls of a leg share: nothing is sent without instructions, and the turn of the run is given back. */
import { isFromBalances } from '../domain/plan/plan.ts';
import type { LegAnswer, LegCall, TradedCall } from '../domain/run/calls.ts';
import type { Steps } from '../domain/writes/step.ts';
import type { LegStep } from '../domain/writes/leg-state.ts';
import type { Wait } from '../domain/waits.ts';
import type { Driver } from './driver.ts';

/**
 * Runs the steps of one call. A leg that was computed from balances and does not go on at once, when no other does, gives
 * the turn back.
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

/** How the turn of the run is given back after a step of this leg; null: it is kept. */
export function turnGivenBack(
  { leg, follows, tradedSoFar }: LegCall,
  step: LegAnswer['step'],
): { readonly mayHaveTraded: boolean } | null {
  // It takes no turn; whoever plans with balances must know that the lists may lack its trade.
  if (!isFromBalances(leg)) return mayHaveTraded(step) ? { mayHaveTraded: true } : null;
  const isFollowed = follows === 'at once' || (follows === 'when done' && isDone(step));
  if (isFollowed || goesOn(step)) return null;
  return { mayHaveTraded: tradedSoFar.length > 0 || mayHaveTraded(step) };
}

/** A leg of a call that may send nothing. */
export function stoppedLeg({ leg }: LegCall | TradedCall, stop: Wait, driver: Driver): LegAnswer {
  const wait = { ...stop, problem: { ...stop.problem, item: leg.id } };
  const { runId, mayHaveSent } = driver;
  return { step: { kind: 'stopped', wait, mayHaveSent }, evidence: [], runId };
}

/** The leg is called again at once, or within the seconds for which its turn lasts; who waits for a turn has none. */
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

/** Nothing more is asked for it: what needs it may go. */
function isDone(step: LegAnswer['step']): boolean {
  return step.kind === 'not traded' || (step.kind === 'traded' && !step.isHeld);
}

/** Whether others must wait until the lists show it. */
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
