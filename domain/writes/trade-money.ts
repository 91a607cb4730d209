/** Checks before a quote: is the money there that a leg sells, and is it this run's turn to spend it? */
import { add, compare, notNegative, round, subtract } from '../money.ts';
import { decimalsOf, moneyText } from '../currencies.ts';
import { makeProblem, type Problem } from '../problems.ts';
import type { Short, Wait } from '../waits.ts';
import type { Leg } from '../plan/plan.ts';
import { mostSold } from '../plan/reserved.ts';
import { followUp, waitMs } from '../service/reply-rules.ts';
import { triedAgain } from './doubt.ts';
import { shortOf, type LegState } from './leg-state.ts';
import type { Phase } from './phase.ts';
import {
  adviceFor,
  moneyAdvice,
  ask,
  configurationWait,
  problemOf,
  serviceWait,
  type Answer,
  type Context,
  type Funding,
  type Steps,
} from './step.ts';
import { balancesChanged, notFunded } from './trade-texts.ts';

/** While a leg waits for money, it reads the balances this often. */
export const MONEY_POLL_MS = 15_000;
/** A purchase that waits until a sale of its run has settled reads the balances this often. */
export const SETTLES_POLL_MS = 60_000;
/** When something is short that no read can show, the leg is tried again this often. */
export const BLIND_RETRY_MS = 900_000;

/** The result of a read of the money that a leg sells. */
type Money =
  | { readonly kind: 'wait'; readonly state: LegState; readonly wait: Wait }
  | { readonly kind: 'end'; readonly problem: Problem }
  | { readonly kind: 'go on'; readonly available: string | null };

/**
 * How much a leg sells, as far as this is known before its quote. It is the sold amount of the plan. For a leg that funds a
 * batch and waits for money, it is the most that the guard lets it cost. Null: only a quote can tell.
 */
export function neededOf({ funding, facts }: Context, leg: Leg): string | null {
  if (leg.amount?.side === 'sell') return leg.amount.value;
  const most = funding === undefined ? null : mostSold(leg);
  return most === null ? null : round(most, decimalsOf(leg.sell, facts.decimals), 'up');
}

/** Checks before a quote whether the money is there that the leg sells. */
export function* lookForMoney(context: Context, leg: Leg, state: LegState): Steps<Money> {
  const needed = neededOf(context, leg);
  if (needed === null) return { kind: 'go on', available: null };
  const reply = yield* ask<'read balances'>({ kind: 'read balances' });
  if (reply.kind !== 'DONE') {
    const follow = followUp(reply);
    const problem = problemOf(reply, leg.id, adviceFor(reply, context.plan.rules));
    const slow = follow.read === 'ask again slowly' || follow.read === 'give up';
    const pause: Wait = slow
      ? configurationWait(problem, state.tries)
      : serviceWait(problem, waitMs(reply, state.tries));
    return { kind: 'wait', state: triedAgain(state), wait: pause };
  }
  const there = (currency: string): string =>
    reply.value.balances.find((row) => row.currency === currency)?.withdrawable ?? '0';
  const { funding } = context;
  if (funding !== undefined) return yield* lookForFunds(context, leg, { state, needed, funding, there });
  const available = there(leg.sell);
  if (compare(available, needed) >= 0) return asThere(context, state, available);
  const problem: Problem = {
    code: 'SHORTFALL',
    item: leg.id,
    message: `Short of ${moneyText(subtract(needed, available), leg.sell)}: the leg sells ${moneyText(needed, leg.sell)}; ${moneyText(available, leg.sell)} are there.`,
    fix: moneyAdvice(context.plan.rules, leg.sell),
  };
  return context.plan.rules.shortfall === 'skip'
    ? { kind: 'end', problem }
    : asShort(state, problem, { currency: leg.sell, needed, there: available });
}

function asThere({ nowMs }: Context, state: LegState, available: string): Money {
  if (!isUnseen(state.phase, available, nowMs())) return { kind: 'go on', available };
  const { problem } = state.phase;
  return { kind: 'wait', state, wait: { afterMs: MONEY_POLL_MS, reason: 'money', problem } };
}

function asShort(state: LegState, problem: Problem, short: Short): Money {
  const pause: Wait = { afterMs: MONEY_POLL_MS, reason: 'money', problem, short };
  return { kind: 'wait', state: shortOf(state, problem), wait: pause };
}

/**
 * The same for a leg that funds a batch. It may not spend money that the items before it in the plan need, or that other
 * runs have reserved. When the currency that it buys has come in another way in the meantime, the leg is not needed any
 * more. Other runs are asked only when the balances alone would let the leg go on or end.
 */
function* lookForFunds(
  context: Context,
  leg: Leg,
  of: {
    readonly state: LegState;
    readonly needed: string;
    readonly funding: Funding;
    readonly there: (currency: string) => string;
  },
): Steps<Money> {
  const { state, needed, funding, there } = of;
  const { sell, buy } = leg;
  const isNeedless = (bought: string): boolean => compare(bought, funding.owed) >= 0;
  const all = add(needed, funding.ahead);
  const suffices = (sold: string): boolean => compare(sold, all) >= 0;
  const shortOfAll = (free: string): Money => {
    const reserved = notNegative(subtract(there(sell), free));
    const problem = notFunded(context, leg, { needed, funding, free, reserved });
    return asShort(state, problem, { currency: sell, needed: all, there: free });
  };
  if (!isNeedless(there(buy)) && !suffices(there(sell))) return shortOfAll(there(sell));
  const turn = notOurTurn(leg, yield* ask<'take turn'>({ kind: 'take turn' }));
  if (turn !== null) return { kind: 'wait', state, wait: turn };
  const told = yield* ask<'read free money'>({ kind: 'read free money', currencies: [sell, buy] });
  if ('wait' in told) {
    const { problem } = told.wait;
    return { kind: 'wait', state, wait: { ...told.wait, problem: { ...problem, item: leg.id } } };
  }
  const free = told.free[sell] ?? '0';
  if (isNeedless(told.free[buy] ?? '0'))
    return {
      kind: 'end',
      problem: balancesChanged(context, leg, { demand: '0', takenBy: [], lacks: null }),
    };
  if (!suffices(free)) return shortOfAll(free);
  return asThere(context, state, free);
}

/**
 * True when the service refused the leg not long ago although as much money was there. Then something else is short, and no
 * read can show it.
 */
function isUnseen(
  phase: Phase,
  available: string,
  nowMs: number,
): phase is Extract<Phase, { kind: 'short' }> {
  if (phase.kind !== 'short' || phase.despite === null) return false;
  const { despite } = phase;
  return compare(available, despite.available) <= 0 && nowMs - despite.atMs < BLIND_RETRY_MS;
}

type Turn = Extract<Answer, { readonly turn: unknown }>;

/**
 * The wait while another run of ours has the turn, or while it is not known which run has it. In this time this run must not
 * spend the money that the balances show.
 */
export function notOurTurn({ id }: Leg, turn: Turn): Wait | null {
  switch (turn.turn) {
    case 'ours':
      return null;
    case 'others': {
      const { run, before } = turn;
      const line = before === 0 ? '' : `, and ${before} more wait before this one`;
      const message = `Run ${run} trades now${line}. Runs of one organisation take turns.`;
      // A run far back in the line asks rarely, but often enough to keep its place.
      const afterMs = Math.min(1_000 + before * 100, 10_000);
      return { afterMs, reason: 'turn', problem: makeProblem('TURN_OF_ANOTHER', id, { message }) };
    }
    case 'silent':
      return { afterMs: 5_000, reason: 'outage', problem: makeProblem('TURN_SILENT', id) };
  }
}
