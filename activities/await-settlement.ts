/**
 * `awaitSettlement`: one poll an attempt; the wait between two is the retry's `nextRetryDelay`, which costs no event.
 * Ends when the money is there (or the trade says it is settled), or when the service's word says it never will be.
 */
import { compare } from '../domain/money.ts';
import type { Reply } from '../domain/reply.ts';
import type { Balances } from '../domain/records.ts';
import { LOOK_BACK_MS } from '../domain/looks.ts';
import { sweep } from '../service/observe.ts';
import type { Activities, Settlement, SettlementCall } from '../workflows/activities.ts';
import { clockSkew } from './clock-skew.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { notYet } from './not-yet.ts';

export const awaitSettlement =
  (deps: Deps): Activities['awaitSettlement'] =>
  (call) =>
    beating(() => poll(deps, call));

async function poll(deps: Deps, call: SettlementCall): Promise<Settlement> {
  if (call.until === 'funds') {
    const balances = told(deps, await deps.reader.balances());
    if (balances.kind !== 'DONE') throw notYet(balances, 'The balances could not be read');
    if (compare(withdrawable(balances.value, call.currency), call.needed) >= 0)
      return { kind: 'settled', status: null };
  }
  const status = await tradeStatus(deps, call);
  const { settled, failed } = deps.facts.tradeWords;
  if (failed.includes(status)) return { kind: 'failed', status };
  if (call.until === 'status' && settled.includes(status)) return { kind: 'settled', status };
  const goal =
    call.until === 'funds' ? `${call.needed} ${call.currency} to be withdrawable` : 'a settled word';
  throw notYet(
    null,
    `Leg "${call.leg}" waits for ${goal}; the service says "${status}" of its trade ${call.tradeId}`,
  );
}

function withdrawable(balances: Balances, currency: string): string {
  return balances.balances.find((row) => row.currency === currency)?.withdrawable ?? '0';
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
