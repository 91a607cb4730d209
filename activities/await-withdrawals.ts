/**
 * `awaitWithdrawals`: one poller for all accepted payments of a run, reading list pages instead of one GET per item. Ends
 * as soon as the status of some payment is news, one that is in no list included, or something stops it.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { BYTES_OF_A_PAGE, jsonBytes } from '../domain/json-bytes.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import type { Withdrawal } from '../domain/service/records.ts';
import { isKnown } from '../domain/service/facts.ts';
import type { Activities } from '../workflows/calls.ts';
import type { WithdrawalsAnswer, WithdrawalsCall } from '../domain/run/calls.ts';
import { payerOf } from '../domain/run/payer.ts';
import type { Deps, Joins } from './deps.ts';
import { foreignReader, isNotFound, mustBeListed, poll, told, type Polled } from './polling.ts';
import { ownRunId } from './tell-run.ts';

export const awaitWithdrawals =
  (deps: Deps): Activities['awaitWithdrawals'] =>
  async (call) => {
    const runId = await lookingAs(deps, call);
    if (runId !== null && call.undoneIn.some((other) => other !== runId))
      return { ended: [], wait: null, runId, hasToldEnd: false };
    let isFirst = true;
    const answer = await poll<News>(
      deps,
      (waitedMs) => {
        deps.tell({ kind: 'reached', point: 'before payment poll' });
        const joins = joinsOf(call, isFirst);
        isFirst = false;
        return pollOnce(deps, call, { joins, waitedMs });
      },
      (wait) => ({ ended: [], wait }),
    );
    const hasToldEnd = isEnd(call, answer) && (await toldEnd(deps, call));
    deps.tell({ kind: 'reached', point: 'before result' });
    return { ...answer, runId, hasToldEnd };
  };

/** Who looks: the Temporal run, or the payer that a chunk is. Null: a chunk that has no go. */
async function lookingAs(deps: Deps, { plan, chunk }: WithdrawalsCall): Promise<string | null> {
  const runId = ownRunId();
  if (chunk === undefined) return runId;
  const go = await deps.chunks.readGo(plan.credentials.mode, plan.run, chunk);
  return go === null || go === 'over' || !go.mayGo ? null : payerOf({ coordinator: go.runId, chunk: runId });
}

/** What one poll tells every call that waits for it. */
type News = Pick<WithdrawalsAnswer, 'ended' | 'wait'>;

/**
 * A list that was read before this call does not show a payment that was accepted a moment ago. It may also not show that
 * a payment has come back, which the Temporal run before a reset has seen.
 */
function joinsOf({ items }: WithdrawalsCall, isFirst: boolean): Joins {
  if (items.some(({ isAnew }) => isAnew)) return 'never';
  return isFirst ? 'goes on after it' : 'ends with it';
}

async function pollOnce(
  deps: Deps,
  call: WithdrawalsCall,
  { joins, waitedMs }: { readonly joins: Joins; readonly waitedMs: number },
): Promise<Polled<News>> {
  const foreign = foreignReader(deps, call.plan);
  if (foreign !== null) return { kind: 'answer', answer: { ended: [], wait: foreign } };
  const ids = new Set(call.items.map((item) => item.withdrawalId));
  const question = {
    sinceMs: call.plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    wanted: (record: Withdrawal) => ids.has(record.id),
    most: ids.size,
  };
  const { cancellationSignal } = ActivityContext.current();
  const { records, stopped } = await deps.scans.poll(question, cancellationSignal, { joins });
  const byId = new Map(records.map((record) => [record.id, record]));
  const listed = call.items.flatMap((item): WithdrawalsAnswer['ended'] => {
    const record = byId.get(item.withdrawalId);
    return record === undefined ? [] : newsOf(deps, item, record);
  });
  const unlisted =
    stopped === null && mustBeListed(deps, waitedMs)
      ? call.items.filter((item) => !byId.has(item.withdrawalId)).slice(0, ASKED_BY_ID)
      : [];
  const ended = [...listed, ...(await newsById(deps, unlisted))];
  if (ended.length > 0) return { kind: 'answer', answer: { ended: ofOneAnswer(ended), wait: null } };
  if (stopped !== null)
    return { kind: 'unanswered', what: 'The withdrawals could not be read', reply: stopped };
  const statuses = [...new Set(records.map(({ status }) => status))].join(', ');
  return {
    kind: 'not yet',
    what: `${call.items.length} payment(s) wait for a terminal status; the service says: ${statuses || 'nothing yet'}`,
  };
}

/** One poll asks for at most so many records by their ids, one after the other. The next poll asks for others. */
const ASKED_BY_ID = 5;

/** What the service says of each record that its whole list lacks, asked by its id. */
async function newsById(deps: Deps, items: WithdrawalsCall['items']): Promise<WithdrawalsAnswer['ended']> {
  const ended: WithdrawalsAnswer['ended'][number][] = [];
  for (const item of items) {
    // One after the other.
    const reply = told(deps, await deps.reader.withdrawal(item.withdrawalId));
    if (isNotFound(reply)) ended.push({ id: item.id, record: null, paid: null, isUnknown: false });
    else if (reply.kind === 'DONE' && reply.value.kind === 'WHOLE')
      ended.push(...newsOf(deps, item, reply.value.record));
  }
  return ended;
}

/** The first of the news, as many as fit one payload. The next poll tells the rest at once. */
function ofOneAnswer(ended: WithdrawalsAnswer['ended']): WithdrawalsAnswer['ended'] {
  let bytes = 0;
  const end = ended.findIndex((news) => {
    bytes += jsonBytes(news) + 1;
    return bytes > BYTES_OF_A_PAGE;
  });
  return end > 0 ? ended.slice(0, end) : ended;
}

function newsOf(
  deps: Deps,
  item: WithdrawalsCall['items'][number],
  { createdAt, ...record }: Withdrawal,
): WithdrawalsAnswer['ended'] {
  const { id } = item;
  const ended = (to: 'PAID' | 'FAILED' | 'CAME_BACK'): WithdrawalsAnswer['ended'] => {
    deps.tell({ kind: 'followed', to, record: { createdAt } });
    return [{ id, record, paid: to === 'PAID', isUnknown: false }];
  };
  const { status } = record;
  const statuses = deps.facts.withdrawalStatuses;
  if (statuses.failed.includes(status)) return ended(item.paid ? 'CAME_BACK' : 'FAILED');
  if (item.paid) return [];
  if (statuses.paid.includes(status)) return ended('PAID');
  const isUnknown = !isKnown(statuses, status);
  const isNews = status !== item.status || isUnknown !== item.isUnknown;
  return isNews ? [{ id, record, paid: null, isUnknown }] : [];
}

/** Every payment of the run has a terminal status now, and nothing else of it is open. */
function isEnd({ isLast, items }: WithdrawalsCall, { ended }: News): boolean {
  const terminal = new Set(ended.flatMap(({ id, paid }) => (paid === null ? [] : [id])));
  return isLast && items.every(({ id, paid }) => paid || terminal.has(id));
}

/** False when Temporal did not take it: the run tells by itself then. */
async function toldEnd(deps: Deps, { plan }: WithdrawalsCall): Promise<boolean> {
  try {
    await deps.instructions.end(plan.credentials.mode, plan.run);
    return true;
  } catch {
    return false;
  }
}
