/** Converts one leg: quotes and trades until the leg is traded, has ended, or is left to a person. */
import { LONGEST_QUIET_MS, asForgotten } from '../writes/doubt.ts';
import { quietWhile } from '../writes/leg-state.ts';
import { SLOW_LOOKUP_MS } from '../writes/step.ts';
import type { Problem } from '../problems.ts';
import { minuteText } from '../waits.ts';
import type { LegAnswer } from './calls.ts';
import { fundingOf, withoutItsBatch } from './funding.ts';
import { openLeg, type ConvertingLeg, type LegRecord, type TradedLeg } from './items.ts';
import {
  follows,
  heldBack,
  openSale,
  tradedBeside,
  tradesBeside,
  withoutItsSale,
  type HeldBack,
} from './leg-order.ts';
import { StepFailed } from './ports.ts';
import type { Carrying } from './parts.ts';
import { addEvidence } from './state.ts';
import { itemFailed, notAsPlanned } from './pauses.ts';

export async function convert(run: Carrying, record: LegRecord): Promise<void> {
  const { state, pauses } = run;
  let failures = 0;
  for (;;) {
    await untilItMayGo(run, record);
    const stage = openLeg(record);
    if (stage === null) {
      record.isAtWork = false;
      return;
    }
    const { asked } = pauses;
    const answer = await run.write(() => ask(run, record, stage));
    if (answer instanceof StepFailed) {
      record.isAtWork = false;
      failures += 1;
      // A quote moves no money.
      if (stage.kind === 'converting' && stage.state.quote !== null) stage.state = asForgotten(stage.state);
      await pauses.pause(record, itemFailed(record.leg.id, answer, failures), asked);
      continue;
    }
    failures = 0;
    addEvidence(state, answer.evidence);
    run.takeUp(answer.runId);
    const pause = takeAnswer(run, record, answer, asked);
    record.isAtWork = isQuoting(answer) && heldBack(state.legs, record) === null;
    if (pause !== null) await pause;
  }
}

/**
 * After these answers the leg stays at work: its quote is traded, or asked for again, before another leg goes
 * on. (Not so a leg that is held back: it came before the sale that it needs only because it was in doubt.)
 */
function isQuoting({ step }: LegAnswer): boolean {
  return step.kind === 'quoted' || step.kind === 'requote';
}

/** The call that an open leg needs next. */
function ask(run: Carrying, record: LegRecord, stage: ConvertingLeg | TradedLeg): Promise<LegAnswer> {
  const { ports } = run;
  const { leg } = record;
  const tradedSoFar = tradedBeside(run.state.legs, record);
  switch (stage.kind) {
    case 'converting': {
      const funding = fundingOf(run.state, record);
      const sale = openSale(run.state.legs, record);
      const ownTrades = tradesBeside(run.state.legs, record);
      const call = {
        ...run.call(),
        leg,
        state: stage.state,
        othersAccepted: run.othersAccepted(),
        tradedSoFar,
        unwanted: withoutItsSale(run.state.legs, record) ?? withoutItsBatch(run.state, record),
        follows: follows(run.state.legs, record),
        legs: run.state.legs.map((one) => one.leg.reference),
        ...(funding !== null && { funding }),
        ...(sale !== null && { sale }),
        ...(ownTrades.length > 0 && { ownTrades }),
      };
      return stage.state.quote === null ? ports.requestQuote(call) : ports.executeTrade(call);
    }
    case 'traded':
      return ports.requestQuote({ ...run.call(), leg, tradedSoFar, traded: stage.traded });
  }
}

/**
 * Takes the answer into the state. Returns the wait before the leg goes on; null: there is none. Then no promise is made,
 * because each one costs time in a workflow.
 */
function takeAnswer(
  run: Carrying,
  record: LegRecord,
  answer: LegAnswer,
  asked: number,
): Promise<void> | null {
  const { step, runId } = answer;
  const { pauses } = run;
  if (step.kind !== 'wait' && step.kind !== 'stopped') pauses.goesOn(record);
  switch (step.kind) {
    case 'quoted':
    case 'requote':
      record.stage = { kind: 'converting', state: step.state, needsHuman: false };
      return null;
    case 'traded': {
      const { traded, worse, isHeld } = step;
      const isContradicted = record.contradicted === traded.tradeId;
      record.contradicted = null;
      if (isContradicted && record.stage.kind === 'converting') {
        record.stage.needsHuman = true;
        return pauses.pause(record, notAsPlanned(record.leg.id, `trade ${traded.tradeId}`), asked);
      }
      record.stage = {
        kind: 'traded',
        atMs: record.stage.kind === 'traded' ? record.stage.atMs : run.ports.nowMs(),
        traded,
        worse: worse === null ? null : { problem: worse, isHeld },
        settled: null,
        ...(step.isFoundLate === true && { isFoundLate: true }),
      };
      return worse !== null && isHeld ? holdForAcceptance(run, record, worse, asked) : null;
    }
    case 'not traded': {
      const { problem, state } = step;
      record.stage = { kind: 'not traded', quoteId: state.quote?.id ?? null, problem, endedIn: runId };
      return null;
    }
    case 'stopped':
      if (record.stage.kind === 'converting') {
        const { state } = record.stage;
        // A quote moves no money.
        if (step.mayHaveSent && state.quote !== null) record.stage.state = asForgotten(state);
        record.stage.needsHuman = step.wait.reason === 'person';
      }
      return pauses.pause(record, step.wait, asked);
    case 'wait': {
      const wait = pauses.paced(record, step.wait, LONGEST_QUIET_MS);
      const state = quietWhile(step.state, wait);
      record.stage = { kind: 'converting', state, needsHuman: step.wait.reason === 'person' };
      return pauses.pause(record, wait, asked);
    }
  }
}

/** The payments that need a trade which came out worse than planned wait for a person. */
async function holdForAcceptance(
  { state, pauses }: Carrying,
  record: LegRecord,
  worse: Problem,
  asked: number,
): Promise<void> {
  const wait = { afterMs: SLOW_LOOKUP_MS, reason: 'person', problem: worse } as const;
  const held = state.payments.flatMap((payment) => {
    const { stage } = payment;
    const isHeld = payment.payment.dependsOn === record.leg.id && stage.kind === 'unsent';
    return isHeld ? [{ payment, stage }] : [];
  });
  for (const { payment, stage } of held) {
    stage.needsHuman = true;
    pauses.show(payment, { ...wait, problem: { ...worse, item: payment.payment.id } });
  }
  await pauses.pause(record, wait, asked);
  for (const { payment, stage } of held) {
    stage.needsHuman = false;
    payment.waiting = null;
  }
}

/**
 * A leg that must come after another one waits for it, as long as it may be traded at all. Then it is at work. Only one leg
 * is at work at a time, because what it is about to trade counts against the limits of the next.
 */
async function untilItMayGo(run: Carrying, record: LegRecord): Promise<void> {
  const { state, ports } = run;
  const isOther = (): boolean => state.legs.some(({ isAtWork }) => isAtWork);
  for (let isInTime = true; !record.isAtWork;) {
    const held = state.cancelled || !isInTime ? null : heldBack(state.legs, record);
    if (held !== null) isInTime = await untilFree(run, record, held);
    else if (isOther()) await ports.waitUntil(() => !isOther());
    else record.isAtWork = true;
  }
}

/** False: the leg still has to wait, and it is too late to trade it. */
async function untilFree(run: Carrying, record: LegRecord, held: HeldBack): Promise<boolean> {
  const { state, ports, pauses, plan } = run;
  const { tradesUntilMs } = plan.sendWindows;
  const leftMs = Math.max(1, tradesUntilMs - ports.nowMs());
  pauses.show(record, { ...held, afterMs: leftMs });
  const isFree = await ports.waitUntil(
    () => state.cancelled || heldBack(state.legs, record) === null,
    leftMs,
    `${record.leg.id} is not traded any more from ${minuteText(tradesUntilMs)} on`,
  );
  record.waiting = null;
  ports.show();
  return isFree;
}
