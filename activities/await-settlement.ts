/**
 * `awaitSettlement`: one poll an attempt; the wait between two is the retry's `nextRetryDelay`, which costs no event.
 * Ends when the money is there (or the trade says it is settled), or when the service's word says it never will be.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { compare, sum } from '../domain/money.ts';
import { isOfRun } from '../domain/plan.ts';
import { generationOf } from '../domain/references.ts';
import type { Reply } from '../domain/reply.ts';
import { LOOK_BACK_MS } from '../domain/looks.ts';
import { sweep } from '../service/observe.ts';
import type { Activities, Settlement, SettlementCall } from '../workflows/calls.ts';
import { clockSkew } from './clock-skew.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { notYet } from './not-yet.ts';

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
  const missing = call.until === 'funds' ? await missingFunds(deps, call) : null;
  if (missing === 'none') return { kind: 'settled', status: null };
  const status = await tradeStatus(deps, call);
  const { settled, failed } = deps.facts.tradeWords;
  if (failed.includes(status)) return { kind: 'failed', status };
  // In a run that did not begin by itself, payments may have gone out already and taken the money: the word counts too.
  const maybePaid = call.plan.pinnedFor !== ActivityContext.current().info.workflowExecution?.runId;
  if ((call.until === 'status' || maybePaid) && settled.includes(status)) return { kind: 'settled', status };
  throw notYet(
    null,
    `Leg "${call.leg}" waits for ${missing ?? 'a settled word'}; the service says "${status}" of its trade ${call.tradeId}`,
  );
}

/** `none` when what is withdrawable covers what this run still has to pay, else what is missing, in words. */
async function missingFunds(deps: Deps, call: SettlementCall): Promise<string> {
  const balances = told(deps, await deps.reader.balances());
  if (balances.kind !== 'DONE') throw notYet(balances, 'The balances could not be read');
  const there = balances.value.balances.find((row) => row.currency === call.currency)?.withdrawable ?? '0';
  const needed = sum(call.unpaid.map((payment) => payment.amount));
  if (compare(there, needed) >= 0) return 'none';
  // What was paid before a reset is no longer to be paid.
  const { records } = await sweep(deps.reader.listWithdrawals, {
    sinceMs: call.plan.fences.opensAtMs - LOOK_BACK_MS,
    wanted: (record) => isOfRun(call.plan.run, record.tag),
  });
  const unsent = call.unpaid.filter(
    ({ reference }) => !records.some((record) => generationOf(reference, record.tag ?? '') !== null),
  );
  const left = sum(unsent.map((payment) => payment.amount));
  return compare(there, left) >= 0 ? 'none' : `${left} ${call.currency} to be withdrawable (${there} are)`;
}

/** The service's word for a trade: by its id, or by the list where that answer cannot be read. */
async function tradeStatus(deps: Deps, call: SettlementCall): Promise<string> {
  const byId = told(deps, await deps.reader.trade(call.tradeId));
  if (byId.kind === 'DONE' && byId.value.record.status !== null) return byId.value.record.status;
  const { records, stopped } = await sweep(deps.reader.listTrades, {
    sinceMs: call.plan.fences.opensAtMs - LOOK_BACK_MS,
    wanted: (trade) => trade.id === call.tradeId,
  });
  const [record] = records;
  if (record !== undefined) return record.status;
  throw notYet(stopped ?? byId, `Trade ${call.tradeId} could not be read`);
}

function told<T>(deps: Deps, reply: Reply<T>): Reply<T> {
  clockSkew.note(deps.clock, reply);
  return reply;
}
