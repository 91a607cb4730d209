/**
 * `confirmOutcomes`: whether the service shows the records that an earlier history handed on to this run. One
 * list scan for all trades and one for all withdrawals; a record that the lists do not show is asked for by
 * its id. Sends nothing.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { isOfRun } from '../domain/plan/observation.ts';
import type { Trade, Withdrawal } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { scanList, type Question, type Scanned } from '../service/list-scan.ts';
import type { Fetched } from '../service/schemas.ts';
import type { Activities } from '../workflows/calls.ts';
import type { ConfirmCall, Confirmed } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { foreignReader, poll, told, type Polled } from './polling.ts';

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
  const { run } = call.plan;
  const trades = await shownOf<Trade>(deps, call, {
    ids: call.tradeIds,
    scan: (question, signal) =>
      scanList(deps.reader.listTrades, { ...question, signal, onReply: (reply) => told(deps, reply) }),
    byId: deps.reader.trade,
    isOurs: ({ clientReferenceId }) => clientReferenceId === null || isOfRun(run, clientReferenceId),
  });
  const withdrawals = await shownOf<Withdrawal>(deps, call, {
    ids: call.withdrawalIds,
    scan: (question, signal) => deps.scans.lookUp(question, signal),
    byId: deps.reader.withdrawal,
    isOurs: ({ tag }) => tag === null || isOfRun(run, tag),
  });
  const unread = trades.unread ?? withdrawals.unread;
  if (unread !== null)
    return { kind: 'unanswered', what: 'What was handed on could not be read again', reply: unread };
  return { kind: 'answer', answer: { kind: 'shown', tradeIds: trades.ids, withdrawalIds: withdrawals.ids } };
}

type Kind<T extends Trade | Withdrawal> = {
  readonly ids: readonly string[];
  readonly scan: (question: Question<T>, signal: AbortSignal) => Promise<Scanned<T>>;
  readonly byId: (id: string) => Promise<Reply<Fetched<T>>>;
  readonly isOurs: (record: T) => boolean;
};

/**
 * Which of the records the service shows as this run's. `unread`: the reply because of which some record
 * could not be read.
 */
async function shownOf<T extends Trade | Withdrawal>(
  deps: Deps,
  call: ConfirmCall,
  { ids, scan, byId, isOurs }: Kind<T>,
): Promise<{ readonly ids: readonly string[]; readonly unread: Reply<unknown> | null }> {
  if (ids.length === 0) return { ids: [], unread: null };
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
  const shown = scanned.records.filter(isOurs).map(({ id }) => id);
  let unread: Reply<unknown> | null = null;
  const seen = new Set(scanned.records.map(({ id }) => id));
  for (const id of ids.filter((each) => !seen.has(each))) {
    // One after the other: there are few, if any.
    const reply = told(deps, await byId(id));
    if (reply.kind === 'DONE' && reply.value.kind === 'WHOLE' && isOurs(reply.value.record)) shown.push(id);
    // That no record is found by this id proves nothing. But if the whole list was read and lacks it, the
    // record is left out: then the run forgets it, and asks the service about the item again.
    else if (scanned.stopped !== null) unread = scanned.stopped;
  }
  return { ids: shown, unread };
}
