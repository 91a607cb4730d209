/**
 * `awaitSettlement`: polls until the money of a trade is there, or its status says that it is settled or
 * never will be. It also ends when the run is cancelled, when people must be told that the status is in no
 * list (or no longer), and when the service cannot be asked.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { notPaidBy } from '../domain/run/unpaid.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { compare, sum } from '../domain/money.ts';
import type { Withdrawal } from '../domain/service/records.ts';
import { isKnown } from '../domain/service/facts.ts';
import { scanList } from '../service/list-scan.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Settlement, SettlementCall } from '../domain/run/calls.ts';
import { isRunCancelled } from './cancelled.ts';
import type { Deps } from './deps.ts';
import { foreignReader, poll, told, type Polled } from './polling.ts';
import { ownRunId } from './tell-run.ts';

export const awaitSettlement =
  (deps: Deps): Activities['awaitSettlement'] =>
  async (call) => {
    const runId = ownRunId();
    if (call.undoneIn.some((other) => other !== runId)) return { kind: 'other run', runId };
    const settlement = await poll<Settlement>(
      deps,
      () => {
        deps.reached('before settlement poll');
        return pollOnce(deps, call);
      },
      (wait) => ({ kind: 'wait', wait }),
    );
    deps.reached('before result');
    return settlement;
  };

async function pollOnce(deps: Deps, call: SettlementCall): Promise<Polled<Settlement>> {
  const foreign = foreignReader(deps, call.plan);
  if (foreign !== null) return answer({ kind: 'wait', wait: foreign });
  const read = await tradeStatus(deps, call);
  if (typeof read !== 'string') return read;
  const status = read;
  const { settled, failed } = deps.facts.tradeStatuses;
  // A failed trade brings no money, however much of it is there from elsewhere.
  if (failed.includes(status)) return answer({ kind: 'failed', status });
  // After a reset or a new start, payments may have used the money already: a settled status is enough.
  const { foundRecords, madeFor } = call.plan;
  const maybePaid = foundRecords || madeFor !== ActivityContext.current().info.workflowExecution?.runId;
  const isSettled = settled.includes(status);
  switch (call.until) {
    case 'status':
      return isSettled ? answer({ kind: 'settled', status }) : waitOn(deps, call, 'a settled status', status);
    case 'funds':
      if (maybePaid && isSettled) return answer({ kind: 'settled', status });
      return awaitFunds(deps, call, { status, maybePaid });
  }
}

/** Settled when the withdrawable balance covers what this run still has to pay. */
async function awaitFunds(
  deps: Deps,
  call: SettlementCall,
  { status, maybePaid }: { readonly status: string; readonly maybePaid: boolean },
): Promise<Polled<Settlement>> {
  const balances = told(deps, await deps.reader.balances());
  if (balances.kind !== 'DONE')
    return { kind: 'unanswered', what: 'The balances could not be read', reply: balances };
  const there = balances.value.balances.find((row) => row.currency === call.currency)?.withdrawable ?? '0';
  const unpaid = maybePaid ? await stillUnpaid(deps, call) : call.unpaid;
  const needed = sum([call.owedByBatch, ...unpaid.map((payment) => payment.amount)]);
  if (compare(there, needed) >= 0) return answer({ kind: 'settled', status });
  return waitOn(deps, call, `${needed} ${call.currency} to be withdrawable (${there} are)`, status);
}

function answer(settlement: Settlement): Polled<Settlement> {
  return { kind: 'answer', answer: settlement };
}

/** Not settled yet. Asks first whether the run is cancelled: after a reset, the run does not know it. */
async function waitOn(
  deps: Deps,
  call: SettlementCall,
  goal: string,
  status: string,
): Promise<Polled<Settlement>> {
  const { credentials, run } = call.plan;
  if (await isRunCancelled(deps, credentials.mode, run)) return answer({ kind: 'cancelled' });
  const isUnknown = !isKnown(deps.facts.tradeStatuses, status);
  if ((isUnknown ? status : null) !== call.unknownStatus) return answer({ kind: 'news', status, isUnknown });
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

/** The status of a trade: by its id, or by the list where that answer cannot be read. */
async function tradeStatus(
  deps: Deps,
  call: SettlementCall,
): Promise<string | Extract<Polled<never>, { kind: 'unanswered' }>> {
  const byId = told(deps, await deps.reader.trade(call.tradeId));
  if (byId.kind === 'DONE') return byId.value.record.status;
  const { records, stopped } = await scanList(deps.reader.listTrades, {
    sinceMs: call.plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    wanted: (trade) => trade.id === call.tradeId,
    signal: ActivityContext.current().cancellationSignal,
  });
  const [record] = records;
  if (record !== undefined) return record.status;
  return { kind: 'unanswered', what: `Trade ${call.tradeId} could not be read`, reply: stopped ?? byId };
}
