/**
 * `awaitWithdrawals`: one poller for all accepted payments of a run, reading list pages instead of one GET per item.
 * One poll an attempt. Ends as soon as some payment's word is news; a word in neither list is told, and waited out.
 */
import { LOOK_BACK_MS } from '../domain/looks.ts';
import type { Withdrawal } from '../domain/records.ts';
import { scanList } from '../service/list-scan.ts';
import type { Activities, WithdrawalsAnswer, WithdrawalsCall } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { foreignReader, notYet, told, unanswered } from './polling.ts';

export const awaitWithdrawals =
  (deps: Deps): Activities['awaitWithdrawals'] =>
  (call) =>
    beating(async () => {
      deps.reached('before payment poll');
      const answer = await poll(deps, call);
      deps.reached('before result');
      return answer;
    });

async function poll(deps: Deps, call: WithdrawalsCall): Promise<WithdrawalsAnswer> {
  const foreign = foreignReader(deps, call.plan);
  if (foreign !== null) return { ended: [], wait: foreign };
  const ids = new Set(call.items.map((item) => item.withdrawalId));
  const { records, stopped } = await scanList(deps.reader.listWithdrawals, {
    sinceMs: call.plan.fences.opensAtMs - LOOK_BACK_MS,
    wanted: (record: Withdrawal) => ids.has(record.id),
    onReply: (reply) => told(deps, reply),
  });
  const { paid, failed } = deps.facts.withdrawalStatuses;
  const statusById = new Map(records.map((record) => [record.id, record.status]));
  const ended = call.items.flatMap((item): WithdrawalsAnswer['ended'] => {
    const status = statusById.get(item.withdrawalId);
    if (status === undefined) return [];
    if (paid.includes(status)) return item.paid ? [] : [{ id: item.id, status, paid: true }];
    if (failed.includes(status)) return [{ id: item.id, status, paid: false }];
    return item.paid || status === item.status ? [] : [{ id: item.id, status, paid: null }];
  });
  if (ended.length > 0) return { ended, wait: null };
  if (stopped !== null) return { ended, wait: unanswered('The withdrawals could not be read', stopped) };
  const words = [...new Set(statusById.values())].join(', ');
  throw notYet(
    `${call.items.length} payment(s) wait for their last word; the service says: ${words || 'nothing yet'}`,
  );
}
