/**
 * `awaitSettlement`: one poll an attempt. Ends when the money is there (or the trade says it is settled), when the
 * service's word says it never will be, when nobody wants it any more, or when the service cannot be asked and people
 * should know.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { LOOK_BACK_MS } from '../domain/looks.ts';
import { compare, equal, sum } from '../domain/money.ts';
import type { Withdrawal } from '../domain/records.ts';
import { generationOf } from '../domain/references.ts';
import type { Wait } from '../domain/stepper.ts';
import { isCancelled } from '../domain/instructions.ts';
import { scanList } from '../service/list-scan.ts';
import type { Activities, Settlement, SettlementCall } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { foreignReader, notYet, told, unanswered } from './polling.ts';

export const awaitSettlement =
  (deps: Deps): Activities['awaitSettlement'] =>
  (call) =>
    beating(async () => {
      deps.reached('before settlement poll');
      const settlement = await poll(deps, call);
      deps.reached('before result');
      return settlement;
    });

async function poll(deps: Deps, call: SettlementCall): Promise<Settlement> {
  const foreign = foreignReader(deps, call.plan);
  if (foreign !== null) return { kind: 'wait', wait: foreign };
  const read = await tradeStatus(deps, call);
  if ('wait' in read) return { kind: 'wait', wait: read.wait };
  const { status } = read;
  const { settled, failed } = deps.facts.tradeStatuses;
  // A failed trade brings no money, however much of it is there from elsewhere.
  if (failed.includes(status)) return { kind: 'failed', status };
  // In a run that did not begin by itself, payments may have gone out already and taken the money: the word counts too.
  const maybePaid = call.plan.pinnedFor !== ActivityContext.current().info.workflowExecution?.runId;
  if ((call.until === 'status' || maybePaid) && settled.includes(status)) return { kind: 'settled', status };
  if (call.until === 'status') return waitOn(deps, call, 'a settled word', status);

  const balances = told(deps, await deps.reader.balances());
  if (balances.kind !== 'DONE')
    return { kind: 'wait', wait: unanswered('The balances could not be read', balances) };
  const there = balances.value.balances.find((row) => row.currency === call.currency)?.withdrawable ?? '0';
  const unpaid = maybePaid ? await stillUnpaid(deps, call) : call.unpaid;
  const needed = sum(unpaid.map((payment) => payment.amount));
  if (compare(there, needed) >= 0) return { kind: 'settled', status };
  return waitOn(deps, call, `${needed} ${call.currency} to be withdrawable (${there} are)`, status);
}

/** A run that was cancelled before a reset does not know it, and needs no money any more. @throws the next poll */
async function waitOn(deps: Deps, call: SettlementCall, goal: string, status: string): Promise<Settlement> {
  const { credentials, run } = call.plan;
  if (isCancelled((await deps.instructions.read(credentials.mode, run)).instructions))
    return { kind: 'cancelled' };
  throw notYet(
    `Leg "${call.leg}" waits for ${goal}; the service says "${status}" of its trade ${call.tradeId}`,
  );
}

/** What was paid before a reset is no longer to be paid: by its tag, or, where lists show none, by what could be it. */
async function stillUnpaid(deps: Deps, call: SettlementCall): Promise<SettlementCall['unpaid']> {
  const { opensAtMs } = call.plan.fences;
  const { records } = await scanList(deps.reader.listWithdrawals, {
    sinceMs: opensAtMs - LOOK_BACK_MS,
    wanted: (record) => record.currency === call.currency && Date.parse(record.createdAt) >= opensAtMs,
  });
  // Each record stands for one payment: equal ones are not all paid by the first.
  const left = [...records];
  return call.unpaid.filter((payment) => {
    const index = left.findIndex((record) => mayBe(payment, record));
    if (index >= 0) left.splice(index, 1);
    return index < 0;
  });
}

function mayBe(payment: SettlementCall['unpaid'][number], record: Withdrawal): boolean {
  if (record.tag !== null) return generationOf(payment.reference, record.tag) !== null;
  const sameAccount = record.withdrawalAccountId === null || record.withdrawalAccountId === payment.account;
  return sameAccount && equal(record.withdrawalAmount, payment.amount);
}

/** The service's word for a trade: by its id, or by the list where that answer cannot be read. */
async function tradeStatus(
  deps: Deps,
  call: SettlementCall,
): Promise<{ readonly status: string } | { readonly wait: Wait }> {
  const byId = told(deps, await deps.reader.trade(call.tradeId));
  if (byId.kind === 'DONE') return { status: byId.value.record.status };
  const { records, stopped } = await scanList(deps.reader.listTrades, {
    sinceMs: call.plan.fences.opensAtMs - LOOK_BACK_MS,
    wanted: (trade) => trade.id === call.tradeId,
  });
  const [record] = records;
  if (record !== undefined) return { status: record.status };
  return { wait: unanswered(`Trade ${call.tradeId} could not be read`, stopped ?? byId) };
}
