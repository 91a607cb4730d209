/**
 * `awaitSettlement`: polls until the money of a trade is there, or its status says that it is settled or
 * never will be. It also ends when the run is cancelled, when people must be told that the status is in no
 * list (or no longer), and when the service cannot be asked.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { notPaidBy } from '../domain/run/unpaid.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { moneyText } from '../domain/currencies.ts';
import { compare, sum } from '../domain/money.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import { isKnown } from '../domain/service/facts.ts';
import { scanList } from '../service/list-scan.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Settlement, SettlementCall, ShownTrade } from '../domain/run/calls.ts';
import { isRunCancelled } from './cancelled.ts';
import type { Deps } from './deps.ts';
import { foreignReader, isNotFound, mustBeListed, poll, told, type Polled } from './polling.ts';
import { ownRunId } from './tell-run.ts';

export const awaitSettlement =
  (deps: Deps): Activities['awaitSettlement'] =>
  async (call) => {
    const runId = ownRunId();
    if (call.undoneIn.some((other) => other !== runId)) return { kind: 'other run', runId };
    const settlement = await poll<Settlement>(
      deps,
      (waitedMs) => {
        deps.tell({ kind: 'reached', point: 'before settlement poll' });
        return pollOnce(deps, call, waitedMs);
      },
      (wait) => ({ kind: 'wait', wait }),
    );
    deps.tell({ kind: 'reached', point: 'before result' });
    return settlement;
  };

async function pollOnce(deps: Deps, call: SettlementCall, waitedMs: number): Promise<Polled<Settlement>> {
  const foreign = foreignReader(deps, call.plan);
  if (foreign !== null) return answer({ kind: 'wait', wait: foreign });
  const read = await readTrade(deps, call, waitedMs);
  if ('kind' in read) return read;
  const record = shown(read);
  const { status } = record;
  const { settled, failed } = deps.facts.tradeStatuses;
  // A failed trade brings no money, however much of it is there from elsewhere.
  if (failed.includes(status)) return ended(deps, 'failed', read);
  // After a reset or a new start, payments may have used the money already: a settled status is enough.
  const { foundRecords, madeFor } = call.plan;
  const maybePaid = foundRecords || madeFor !== ActivityContext.current().info.workflowExecution?.runId;
  const isSettled = settled.includes(status);
  switch (call.until) {
    case 'status':
      return isSettled ? ended(deps, 'settled', read) : waitOn(deps, call, 'a settled status', record);
    case 'funds':
      if (maybePaid && isSettled) return ended(deps, 'settled', read);
      return awaitFunds(deps, call, { read, maybePaid });
  }
}

/** Settled when the withdrawable balance covers what this run still has to pay. */
async function awaitFunds(
  deps: Deps,
  call: SettlementCall,
  { read, maybePaid }: { readonly read: Trade; readonly maybePaid: boolean },
): Promise<Polled<Settlement>> {
  const balances = told(deps, await deps.reader.balances());
  if (balances.kind !== 'DONE')
    return { kind: 'unanswered', what: 'The balances could not be read', reply: balances };
  const there = balances.value.balances.find((row) => row.currency === call.currency)?.withdrawable ?? '0';
  const unpaid = maybePaid ? await stillUnpaid(deps, call) : call.unpaid;
  const needed = sum([call.owedByBatch, ...unpaid.map((payment) => payment.amount)]);
  if (compare(there, needed) >= 0) return ended(deps, 'settled', read);
  return waitOn(
    deps,
    call,
    `${moneyText(needed, call.currency)} to be withdrawable (${moneyText(there, call.currency)} are)`,
    shown(read),
  );
}

/** The trade is settled, or never will be. */
function ended(deps: Deps, kind: 'settled' | 'failed', read: Trade): Polled<Settlement> {
  deps.tell({ kind: 'followed', to: kind === 'settled' ? 'SETTLED' : 'NOT_SETTLED', record: read });
  return answer({ kind, record: shown(read) });
}

function shown({ createdAt: _createdAt, settlementWindow: _settlementWindow, ...record }: Trade): ShownTrade {
  return record;
}

function answer(settlement: Settlement): Polled<Settlement> {
  return { kind: 'answer', answer: settlement };
}

/** Not settled yet. Asks first whether the run is cancelled: after a reset, the run does not know it. */
async function waitOn(
  deps: Deps,
  call: SettlementCall,
  goal: string,
  record: ShownTrade,
): Promise<Polled<Settlement>> {
  const { status } = record;
  const { credentials, run } = call.plan;
  if (call.isAwaited !== true && (await isRunCancelled(deps, credentials.mode, run)))
    return answer({ kind: 'cancelled' });
  const isUnknown = !isKnown(deps.facts.tradeStatuses, status);
  if (call.isAwaited === true || (isUnknown ? status : null) !== call.unknownStatus)
    return answer({ kind: 'news', record, isUnknown });
  return {
    kind: 'not yet',
    what: `Leg "${call.leg}" waits for ${goal}; the service says "${status}" of its trade ${call.tradeId}`,
  };
}

/**
 * The payments that are not yet in the service's list: after a reset, some may have been made. A record is
 * known by its tag, or, where lists show no tags, by account and amount.
 */
async function stillUnpaid(deps: Deps, call: SettlementCall): Promise<SettlementCall['unpaid']> {
  const { opensAtMs } = call.plan.sendWindows;
  const question = {
    sinceMs: opensAtMs - LOOK_BACK_MS,
    wanted: (record: Withdrawal) =>
      record.currency === call.currency && Date.parse(record.createdAt) >= opensAtMs,
  };
  const { records } = await deps.scans.lookUp(question, ActivityContext.current().cancellationSignal);
  return notPaidBy(records, call);
}

/** The trade, read by its id, or from the list where that answer is not whole; or what the poll says of it without. */
async function readTrade(
  deps: Deps,
  { plan, leg, tradeId }: SettlementCall,
  waitedMs: number,
): Promise<Trade | Polled<Settlement>> {
  const byId = told(deps, await deps.reader.trade(tradeId));
  if (byId.kind === 'DONE' && byId.value.kind === 'WHOLE' && byId.value.record.id === tradeId)
    return byId.value.record;
  const { records, stopped } = await scanList(deps.reader.listTrades, {
    sinceMs: plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    wanted: (trade) => trade.id === tradeId,
    signal: ActivityContext.current().cancellationSignal,
  });
  const [record] = records;
  if (record !== undefined) return record;
  if (stopped !== null || !isNotFound(byId))
    return { kind: 'unanswered', what: `Trade ${tradeId} could not be read`, reply: stopped ?? byId };
  return mustBeListed(deps, waitedMs)
    ? answer({ kind: 'missing' })
    : { kind: 'not yet', what: `The service does not show trade ${tradeId} of leg "${leg}" yet` };
}
