/**
 * `confirmOutcomes`: which of the records that an earlier history handed on to this run the service shows, as
 * planned for their items, and what they say. One list scan for all trades and one for all withdrawals; a
 * record that the lists do not show is asked for by its id. Sends nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { confirmedBy } from '../domain/run/confirmed.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { scanList, type Question, type Scanned } from '../service/list-scan.ts';
import type { Fetched } from '../service/schemas.ts';
import type { Activities } from '../workflows/calls.ts';
import type { ConfirmCall, Confirmed } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { foreignReader, isNotFound, poll, told, type Polled } from './polling.ts';

export const confirmOutcomes =
  (deps: Deps): Activities['confirmOutcomes'] =>
  (call) =>
    poll<Confirmed>(
      deps,
      () => confirmOnce(deps, call),
      (wait) => ({ kind: 'wait', wait }),
    );

async function confirmOnce(deps: Deps, call: ConfirmCall): Promise<Polled<Confirmed>> {
  const foreign = foreignReader(deps, call.plan);
  if (foreign !== null) return { kind: 'answer', answer: { kind: 'wait', wait: foreign } };
  const trades = await shownOf<Trade>(deps, call, {
    ids: call.legs.map(({ tradeId }) => tradeId),
    scan: (question, signal) =>
      scanList(deps.reader.listTrades, { ...question, signal, onReply: (reply) => told(deps, reply) }),
    byId: deps.reader.trade,
  });
  const withdrawals = await shownOf<Withdrawal>(deps, call, {
    ids: call.payments.map(({ withdrawalId }) => withdrawalId),
    scan: (question, signal) => deps.scans.lookUp(question, signal),
    byId: deps.reader.withdrawal,
  });
  const unread = trades.unread ?? withdrawals.unread;
  if (unread !== null)
    return { kind: 'unanswered', what: 'What was handed on could not be read again', reply: unread };
  const records = { trades: trades.records, withdrawals: withdrawals.records };
  return { kind: 'answer', answer: confirmedBy(call, records, deps.facts.withdrawalStatuses) };
}

type Kind<T extends Trade | Withdrawal> = {
  readonly ids: readonly string[];
  readonly scan: (question: Question<T>, signal: AbortSignal) => Promise<Scanned<T>>;
  readonly byId: (id: string) => Promise<Reply<Fetched<T>>>;
};

/** The records that the service shows, by their ids. `unread`: the reply because of which some could not be read. */
async function shownOf<T extends Trade | Withdrawal>(
  deps: Deps,
  call: ConfirmCall,
  { ids, scan, byId }: Kind<T>,
): Promise<{ readonly records: ReadonlyMap<string, T>; readonly unread: Reply<unknown> | null }> {
  const records = new Map<string, T>();
  if (ids.length === 0) return { records, unread: null };
  const wanted = new Set(ids);
  const { sendWindows } = call.plan;
  const scanned = await scan(
    {
      sinceMs: sendWindows.opensAtMs - LOOK_BACK_MS,
      wanted: (record) => wanted.has(record.id),
      most: wanted.size,
    },
    ActivityContext.current().cancellationSignal,
  );
  for (const record of scanned.records) records.set(record.id, record);
  // A record that the whole list lacks, and that is not found by its id either, is left out: then the run forgets it, and
  // asks the service about the item again.
  let unread: Reply<unknown> | null = scanned.stopped;
  for (const id of ids.filter((each) => !records.has(each))) {
    if (unread !== null) break;
    // One after the other: there are few, if any.
    const reply = told(deps, await byId(id));
    if (reply.kind === 'DONE' && reply.value.kind === 'WHOLE') records.set(id, reply.value.record);
    else if (reply.kind !== 'DONE' && !isNotFound(reply)) unread = reply;
  }
  return { records, unread };
}
