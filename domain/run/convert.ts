/** Converting one leg: quote and trade until it is traded, has ended, or is in a person's hands. */
import type { SendState } from '../writes/doubt.ts';
import { SLOW_LOOKUP_MS } from '../writes/step.ts';
import type { Problem } from '../problems.ts';
import type { Wait } from '../waits.ts';
import { NEW_LEG } from '../writes/trade.ts';
import type { LegAnswer, LegCall, TradedCall } from './calls.ts';
import { StepFailed } from './ports.ts';
import type { Carrying } from './parts.ts';
import { addEvidence, isOpenLeg, isOpenPayment, type LegOutcome, type LegRecord } from './state.ts';
import { itemFailed } from './pauses.ts';

export async function convert(run: Carrying, record: LegRecord): Promise<void> {
  const { state, ports, pauses } = run;
  let failures = 0;
  while (isOpenLeg(record)) {
    const { asked } = pauses;
    const isTrade = record.traded === null && record.state.quote !== null;
    const answer = await run.write(() =>
      isTrade ? ports.executeTrade(callOf(run, record)) : ports.requestQuote(quoteCallOf(run, record)),
    );
    if (answer instanceof StepFailed) {
      failures += 1;
      // A quote moves no money.
      if (isTrade) record.state = asForgotten(record.state);
      await pauses.pause(record, itemFailed(record.leg.id, answer, failures), asked);
      continue;
    }
    failures = 0;
    addEvidence(state, answer.evidence);
    run.takeUp(answer.runId);
    await takeAnswer(run, record, answer, asked);
  }
}

function quoteCallOf(run: Carrying, record: LegRecord): LegCall | TradedCall {
  const { leg, traded } = record;
  return traded === null ? callOf(run, record) : { ...run.call(), leg, traded };
}

function callOf(run: Carrying, { leg, state }: LegRecord): LegCall {
  return { ...run.call(), leg, state, othersAccepted: run.othersAccepted() };
}

async function takeAnswer(run: Carrying, record: LegRecord, answer: LegAnswer, asked: number): Promise<void> {
  const { step, runId } = answer;
  const { pauses } = run;
  if (step.kind !== 'wait') pauses.goesOn(record);
  switch (step.kind) {
    case 'quoted':
    case 'requote':
      record.state = step.state;
      record.outcome = 'PENDING';
      return;
    case 'traded':
      record.state = NEW_LEG;
      record.outcome = 'TRADED';
      record.traded = step.traded;
      record.problem = step.worse;
      record.isUnaccepted = step.worse !== null && step.isHeld;
      if (step.worse !== null && step.isHeld) await holdForAcceptance(run, record, step.worse, asked);
      return;
    case 'not traded':
      record.state = step.state;
      record.outcome = 'NOT_TRADED';
      record.problem = step.problem;
      record.endedIn = runId;
      return;
    case 'stopped':
      if (record.traded === null) record.outcome = outcomeOf(step.wait);
      return pauses.pause(record, step.wait, asked);
    case 'wait':
      record.state = step.state;
      record.outcome = outcomeOf(step.wait);
      await pauses.pause(record, pauses.paced(record, step.wait), asked);
  }
}

function outcomeOf({ reason }: Wait): LegOutcome {
  return reason === 'person' ? 'NEEDS_HUMAN' : 'PENDING';
}

/** What depends on a trade that came out worse than planned waits for a person. */
async function holdForAcceptance(
  { state, pauses }: Carrying,
  record: LegRecord,
  worse: Problem,
  asked: number,
): Promise<void> {
  const wait = { afterMs: SLOW_LOOKUP_MS, reason: 'person', problem: worse } as const;
  const held = state.payments.filter(
    (payment) => payment.payment.dependsOn === record.leg.id && isOpenPayment(payment),
  );
  for (const payment of held) {
    payment.outcome = 'NEEDS_HUMAN';
    pauses.show(payment, { ...wait, problem: { ...worse, item: payment.payment.id } });
  }
  await pauses.pause(record, wait, asked);
  for (const payment of held) Object.assign(payment, { outcome: 'PENDING', waiting: null });
}

/** The state after a call that came to nothing: it may have sent, and what it learned is lost. */
export function asForgotten<State extends SendState>(state: State): State {
  return { ...state, knownIn: null, sent: true };
}
