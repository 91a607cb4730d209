/** Waits for the settlement of one leg: the money that it bought must be there before it is paid on. */
import type { SettleSettings } from '../policy.ts';
import { minuteText, type Wait } from '../waits.ts';
import type { Settlement, SettlementCall } from './calls.ts';
import { isAwaited } from './leg-order.ts';
import type { Carrying } from './parts.ts';
import { isFollowedFromTheBeginning, isOpenPayment, type LegRecord, type TradedLeg } from './items.ts';
import { isTradeAsTold } from './shown.ts';
import { doubtTrade, missTrade, undoneIn } from './state.ts';
import { isDecided } from './release.ts';
import { backedOff, itemFailed, notAsPlanned, statusUnknown } from './pauses.ts';
import { OpenPoll, StepFailed } from './ports.ts';
import { fundedIn } from './funding.ts';

/** What people are told of a settlement, and how often in a row its poll was stopped. */
type Watch = {
  readonly lateAtMs: number;
  isLate: boolean;
  unknownStatus: string | null;
  stops: number;
};

/**
 * A settlement that is late is told as late, and the run goes on waiting. Once the run is cancelled, it only waits until a poll
 * has shown the trade: what a call alone has told of may be what a person has typed in its place.
 */
export async function settle(run: Carrying, record: LegRecord): Promise<void> {
  const { stage } = record;
  if (stage.kind !== 'traded') return;
  const watch: Watch = {
    lateAtMs: stage.atMs + run.plan.lateAfterMs.settlement,
    isLate: false,
    unknownStatus: null,
    stops: 0,
  };
  while (record.stage === stage && !isDecided(record, run.state.cancelled))
    await pollOnce(run, record, stage, watch);
  run.pauses.goesOn(record);
}

async function pollOnce(run: Carrying, record: LegRecord, stage: TradedLeg, watch: Watch): Promise<void> {
  const { ports, pauses, state } = run;
  const { asked } = pauses;
  if (ports.historyIsLong()) await run.leaveLongHistory();
  const isAtOnce = state.cancelled || isAwaited(state.legs, record);
  const poll = new OpenPoll(
    ports.awaitSettlement({
      plan: run.call().plan,
      leg: record.leg.id,
      tradeId: stage.traded.tradeId,
      until: run.plan.rules.settle.until,
      currency: record.leg.buy,
      unknownStatus: watch.unknownStatus,
      ...(isAtOnce && { isAwaited: true }),
      unpaid: stillToPay(run, record),
      owedByBatch: fundedIn(state, record.leg.buy),
      undoneIn: undoneIn(state),
    }),
  );
  const isOver = (): boolean => !poll.isOpen || (state.cancelled && !isAtOnce);
  pauses.show(record, settlementWait(run, record, stage, watch));
  if (!watch.isLate) {
    // A timer says that it is late, never the clock, which may stand elsewhere in a replay.
    const leftMs = Math.max(watch.lateAtMs - ports.nowMs(), 1);
    const why = `${record.leg.id} settles late from ${minuteText(watch.lateAtMs)} on`;
    watch.isLate = !(await ports.waitUntil(isOver, leftMs, why));
    if (watch.isLate) pauses.show(record, settlementWait(run, record, stage, watch));
  }
  if (!isOver()) await ports.waitUntil(isOver);
  const settlement = await poll.end();
  if (settlement === null) return;
  if (settlement instanceof StepFailed) {
    watch.stops += 1;
    return pauses.pause(record, itemFailed(record.leg.id, settlement, watch.stops), asked);
  }
  watch.stops = settlement.kind === 'wait' ? watch.stops + 1 : 0;
  switch (settlement.kind) {
    case 'wait':
      return pauses.pause(record, backedOff(settlement.wait, watch.stops), asked);
    case 'cancelled':
      return run.knowCancelled();
    case 'other run':
      run.takeUp(settlement.runId);
      return;
    case 'missing':
      return missTrade(state, record, notAsPlanned(record.leg.id, `trade ${stage.traded.tradeId}`).problem);
    case 'news':
    case 'settled':
    case 'failed':
      return takeRecord(run, record, stage, watch, settlement);
  }
}

/** Believes an answer of a poll only as far as its record is this leg's. */
function takeRecord(
  run: Carrying,
  record: LegRecord,
  stage: TradedLeg,
  watch: Watch,
  told: Extract<Settlement, { readonly record: unknown }>,
): void {
  const { id, status } = told.record;
  // A poll reads the trade that it is asked about. So a person has answered in place of the worker, and the run asks again.
  if (id !== stage.traded.tradeId) return;
  if (!isTradeAsTold(record, stage, told.record)) return doubtTrade(run.state, record);
  const { createdAtMs } = stage.traded;
  const isSeen = stage.isShown === true || isFollowedFromTheBeginning({ ...stage, createdAtMs });
  if (told.kind === 'settled' && isSeen) stage.settledAtMs ??= run.ports.nowMs();
  stage.traded = { ...stage.traded, status };
  stage.isShown = true;
  if (told.kind === 'news') watch.unknownStatus = told.isUnknown ? status : null;
  else stage.settled = told.kind === 'settled';
}

/** What this run still has to pay in the currency that a leg buys. */
function stillToPay({ state }: Carrying, { leg }: LegRecord): SettlementCall['unpaid'] {
  return state.payments
    .filter(isOpenPayment)
    .flatMap(({ payment, amount }) =>
      amount === null || payment.currency !== leg.buy
        ? []
        : [{ id: payment.id, account: payment.account, amount }],
    );
}

const NOT_YET: Readonly<Record<SettleSettings['until'], string>> = {
  funds: 'is not withdrawable',
  status: 'is not settled',
};

function settlementWait(
  { plan }: Carrying,
  { leg }: LegRecord,
  { traded, atMs }: TradedLeg,
  { isLate, lateAtMs, unknownStatus }: Watch,
): Wait {
  // The poll looks by itself every few seconds, so that there is no timer to show.
  const afterMs = 0;
  if (unknownStatus !== null)
    return {
      afterMs,
      reason: 'configuration',
      problem: statusUnknown({
        item: leg.id,
        subject: `trade ${traded.tradeId}`,
        status: unknownStatus,
        field: 'trade_statuses',
        lists: 'settled, failed or pending',
      }),
    };
  return {
    afterMs,
    reason: 'settlement',
    sinceMs: isLate ? lateAtMs : atMs,
    problem: {
      code: isLate ? 'SETTLEMENT_LATE' : 'AWAITING_SETTLEMENT',
      item: leg.id,
      message: `Leg "${leg.id}" is traded, but its ${leg.buy} ${NOT_YET[plan.rules.settle.until]} yet${isLate ? ', later than expected' : ''}.`,
      fix: 'Nothing to do: the run looks again by itself.',
    },
  };
}
