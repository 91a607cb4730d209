/**
 * What the date of a policy has come to, asked in the turn of one of its runs: what the service shows of its other runs, and the
 * most that those which are open may still trade. Each quote is held against it (M4).
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { sumsOf } from '../domain/plan/amounts.ts';
import { isOfRun, isOfRunsOn } from '../domain/plan/observation.ts';
import type { SendWindows } from '../domain/plan/plan.ts';
import type { Money } from '../domain/policy.ts';
import { firstReference, type RunName } from '../domain/references.ts';
import type { Trade } from '../domain/service/records.ts';
import type { Reply } from '../domain/service/reply.ts';
import { listsLag, type OwnTurn } from '../domain/turn.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import type { Day } from '../domain/writes/step.ts';
import { dateOfRunId } from '../calendar/business-date.ts';
import { scanList } from '../service/list-scan.ts';
import { tradedIn } from '../service/observe.ts';
import type { Deps } from './deps.ts';
import { isOfDay, listsLagMs, reservationUnknown, unreadableService, withoutTurn } from './observing.ts';
import { readOthers } from './others.ts';

type DayQuestion = {
  readonly run: RunName;
  readonly sendWindows: SendWindows;
  readonly limit: Money;
  readonly turn: OwnTurn | null;
  readonly onReply: (reply: Reply<unknown>) => void;
};

/**
 * Reads first what others may still trade, then the list. A trade that is booked in between is in both, and counts as the list
 * shows it.
 */
export async function readDay(
  deps: Deps,
  { run, sendWindows, limit, turn, onReply }: DayQuestion,
): Promise<Day> {
  if (turn === null) return { wait: withoutTurn() };
  const lagMs = listsLagMs(deps, turn);
  if (lagMs > 0) return { wait: listsLag(lagMs, null) };
  const date = dateOfRunId(run.id) ?? '';
  const day = { policy: run.policy, date };
  const read = await readOthers(deps, { turn, currencies: [], day });
  if ('wait' in read) return read;
  const others = read.others.filter((other) => isOfDay(day, other));
  const { failed } = deps.facts.tradeStatuses;
  const { records, stopped } = await scanList(deps.reader.listTrades, {
    sinceMs: sendWindows.opensAtMs - LOOK_BACK_MS,
    wanted: ({ clientReferenceId, status }: Trade): boolean =>
      isOfRunsOn(run.policy, date, clientReferenceId) &&
      !isOfRun(run, clientReferenceId) &&
      !failed.includes(status),
    onReply,
    signal: ActivityContext.current().cancellationSignal,
  });
  if (stopped !== null) return { wait: unreadableService(stopped) };
  const shown = new Set(records.map(({ clientReferenceId }) => firstReference(clientReferenceId ?? '')));
  const { currency } = limit;
  const mayTrade: Money[] = [];
  for (const other of others) {
    const open = other.legs.filter(({ reference }) => !shown.has(reference));
    for (const { most } of open.flatMap(({ sides }) => sides.filter((side) => side.currency === currency))) {
      if (most === null) return { wait: reservationUnknown({ currency, other }) };
      mayTrade.push({ currency, value: most });
    }
  }
  return { onDate: sumsOf([...tradedIn(records), ...mayTrade]) };
}
