/**
 * Takes over what an earlier history of a run, or of a chunk, has handed on, as far as the service shows it. Until the
 * service has shown the trade of a leg, the leg is *handed on* (`items.ts`). Asks only; sends nothing.
 */
import { headOf, type Plan } from '../plan/plan.ts';
import type { Traded } from '../writes/leg-state.ts';
import { activityFailed } from './activity-failed.ts';
import type { ConfirmCall, Confirmed, ConfirmedWithdrawal } from './calls.ts';
import { takeOver, type Carried } from './carry.ts';
import { NO_RUN, acceptedOf, moveTo, newPayment } from './items.ts';
import type { Reading } from './parts.ts';
import { notAsPlanned } from './pauses.ts';
import { failed, type Ports } from './ports.ts';
import { fixAmounts } from './release.ts';
import { missTrade } from './state.ts';

/** What taking over needs of a run, or of a chunk. */
type TakingOver = Pick<Reading, 'state' | 'pauses' | 'leaveLongHistory'> & {
  readonly ports: Pick<Ports, 'confirmOutcomes' | 'historyIsLong' | 'nowMs' | 'originalRunId' | 'firstRunId'>;
};

/**
 * Takes over what an earlier history handed on. It counts only for the plan that was read again, and only as far as the
 * service shows it: of a record, it names the id, and the service says the rest.
 * @param endedIn in whom a payment has ended that was paid and has come back
 */
export async function takeOverShown(
  run: TakingOver,
  plan: Plan,
  carried: Carried,
  endedIn = NO_RUN,
): Promise<void> {
  const { state, ports } = run;
  if (!takeOver(state, carried, ports)) return;
  const call = { plan: headOf(plan), legs: [], payments: [] };
  const legs = state.legs.flatMap(({ leg, stage }) =>
    stage.kind === 'handed on' ? [{ leg, tradeId: stage.trade.tradeId }] : [],
  );
  if (legs.length > 0) takeTrades(run, (await confirm(run, { ...call, legs })).trades);
  // What the trades have brought says how much a payment pays.
  fixAmounts(state);
  const payments = state.payments.flatMap((record) => {
    const { payment, amount } = record;
    const accepted = acceptedOf(record);
    if (accepted === null) return [];
    const { id, account, currency } = payment;
    const { withdrawalId, reference } = accepted;
    const isLater = reference !== payment.reference;
    return [{ id, account, currency, amount, withdrawalId, ...(isLater && { reference }) }];
  });
  if (payments.length === 0) return;
  takeWithdrawals(run, (await confirm(run, { ...call, payments })).withdrawals, endedIn);
}

/** Asks until the service has answered. */
async function confirm(
  run: TakingOver,
  call: ConfirmCall,
): Promise<Extract<Confirmed, { readonly kind: 'shown' }>> {
  const { state, ports, pauses } = run;
  for (;;) {
    const { asked } = pauses;
    const answer: Confirmed = await ports.confirmOutcomes(call).catch(unconfirmed);
    if (answer.kind === 'shown') {
      pauses.goesOn(state);
      return answer;
    }
    if (ports.historyIsLong()) await run.leaveLongHistory();
    await pauses.pause(state, answer.wait, asked);
  }
}

/** What each trade has brought is what the service shows of it. */
function takeTrades({ state }: TakingOver, shown: readonly Traded[]): void {
  for (const record of state.legs) {
    const { stage } = record;
    if (stage.kind !== 'handed on') continue;
    const { trade, ...rest } = stage;
    const read = shown.find(({ tradeId }) => tradeId === trade.tradeId);
    if (read === undefined) {
      missTrade(state, record, notAsPlanned(record.leg.id, `trade ${trade.tradeId}`).problem);
      continue;
    }
    const traded = { ...read, quoted: trade.quoted };
    // A poll reads the trade once more before what it has brought is paid on.
    record.stage = { ...rest, kind: 'traded', traded, settled: null };
  }
}

/**
 * A payment whose record the service does not show as planned begins anew: it can only be sent under its own key. A record
 * is that of one payment. What has ended, and still has by its status, stays ended; the others are followed to their status
 * of now.
 */
function takeWithdrawals(
  { state, ports }: TakingOver,
  shown: readonly ConfirmedWithdrawal[],
  endedIn: string,
): void {
  const byId = new Map(shown.map((one) => [one.withdrawalId, one]));
  for (const record of state.payments) {
    const known = acceptedOf(record);
    if (known === null) continue;
    const found = byId.get(known.withdrawalId);
    byId.delete(known.withdrawalId);
    if (found === undefined) {
      record.stage = newPayment();
      continue;
    }
    const { amount, isPaid, hasFailed, ...rest } = found;
    const accepted = { ...rest, reference: rest.reference ?? record.payment.reference };
    record.amount ??= amount;
    const { stage } = record;
    const seen = known.paidAtMs === undefined ? {} : { paidAtMs: known.paidAtMs };
    const ended = { ...accepted, ...seen, atMs: known.atMs };
    if (stage.kind === 'paid' && isPaid) {
      moveTo(record, { kind: 'paid', accepted: ended });
      continue;
    }
    const wasPaid = stage.kind === 'paid' || known.isAnew === true;
    if (hasFailed === true && (stage.kind === 'failed' || wasPaid)) {
      // Of what an earlier run knew as paid, it is checked whether a person wants it paid again.
      const cameBackIn = known.isAnew === true ? NO_RUN : endedIn;
      const failedIn = stage.kind === 'failed' ? stage.endedIn : cameBackIn;
      moveTo(record, { kind: 'failed', accepted: ended, endedIn: failedIn });
      continue;
    }
    // Whether it is late counts from now on, unless it was under way before.
    const atMs = stage.kind === 'accepted' ? known.atMs : ports.nowMs();
    const isAnew = wasPaid && ({ isAnew: true } as const);
    moveTo(record, { kind: 'accepted', accepted: { ...accepted, ...seen, atMs, ...isAnew } });
  }
}

function unconfirmed(error: unknown): Confirmed {
  return { kind: 'wait', wait: activityFailed(failed(error).message, 1) };
}
