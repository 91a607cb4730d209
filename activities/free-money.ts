/**
 * The money that a run may spend, asked in its turn: what is withdrawable, less what other open runs have
 * reserved and what earlier sales will still take. Money that another run is still waiting for is not taken
 * off: the run that first sees it there may spend it.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import { add, notNegative, subtract, sum } from '../domain/money.ts';
import { onTheWay, type OnTheWay } from '../domain/plan/on-the-way.ts';
import type { OthersReserved } from '../domain/plan/reserved.ts';
import type { Reply } from '../domain/service/reply.ts';
import { listsLag, type OwnTurn } from '../domain/turn.ts';
import type { Wait } from '../domain/waits.ts';
import type { FreeMoney } from '../domain/writes/step.ts';
import { settledAtTheLatestMs } from '../calendar/business-date.ts';
import { scanList } from '../service/list-scan.ts';
import { UNSETTLED_LOOK_BACK_MS } from '../service/observe.ts';
import type { Deps } from './deps.ts';
import { listsLagMs, reservationUnknown, unreadableService, untoldIn, withoutTurn } from './observing.ts';
import { readOthers } from './others.ts';

type FreeMoneyQuestion = {
  readonly currencies: readonly string[];
  readonly turn: OwnTurn | null;
  readonly onReply: (reply: Reply<unknown>) => void;
};

/**
 * Reads first what others have reserved, then the balances. Money that moves in between is taken off twice,
 * which is safe; it is never spent twice.
 */
export async function readFreeMoney(
  deps: Deps,
  { currencies, turn, onReply }: FreeMoneyQuestion,
): Promise<FreeMoney> {
  if (turn === null) return { wait: withoutTurn() };
  const beside = await readOthers(deps, { turn, currencies, day: null });
  if ('wait' in beside) return beside;
  const { others } = beside;
  const untold = untoldIn(currencies, others);
  if (untold !== null) return { wait: reservationUnknown(untold) };
  const leaving = await stillLeaving(deps, turn, onReply);
  if ('wait' in leaving) return leaving;
  const balances = await deps.reader.balances();
  onReply(balances);
  if (balances.kind !== 'DONE') return { wait: unreadableService(balances) };
  const free = currencies.map((currency) => {
    const there = balances.value.balances.find((row) => row.currency === currency)?.withdrawable ?? '0';
    const goes = leaving.trades.find((one) => one.currency === currency)?.goes ?? '0';
    return [currency, notNegative(subtract(there, add(goes, takenBy(others, currency))))] as const;
  });
  return { free: Object.fromEntries(free) };
}

function takenBy(others: readonly OthersReserved[], currency: string): string {
  return sum(
    others.flatMap(({ reserved }) =>
      reserved.flatMap((one) =>
        one.currency === currency ? notNegative(subtract(one.takes, one.short ?? '0')) : [],
      ),
    ),
  );
}

/** Sales whose money has yet to leave the balance; none where the service takes it at the trade. */
async function stillLeaving(
  deps: Deps,
  turn: OwnTurn,
  onReply: FreeMoneyQuestion['onReply'],
): Promise<{ readonly trades: readonly OnTheWay[] } | { readonly wait: Wait }> {
  if (deps.facts.saleLeavesWithdrawable === 'at_trade') return { trades: [] };
  const lagMs = listsLagMs(deps, turn);
  if (lagMs > 0) return { wait: listsLag(lagMs, null) };
  const nowMs = deps.clock.wallMs();
  const { records, stopped } = await scanList(deps.reader.listTrades, {
    sinceMs: nowMs - UNSETTLED_LOOK_BACK_MS,
    wanted: () => true,
    onReply,
    signal: ActivityContext.current().cancellationSignal,
  });
  if (stopped !== null) return { wait: unreadableService(stopped) };
  return { trades: onTheWay(records, deps.facts, nowMs, settledAtTheLatestMs) };
}
