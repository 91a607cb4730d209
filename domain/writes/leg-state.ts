/** What is known of a leg between two calls, and the result of a call about it. */
import type { Money } from '../policy.ts';
import type { Problem } from '../problems.ts';
import type { Trade } from '../service/records.ts';
import type { Wait } from '../waits.ts';
import { LONGEST_QUIET_MS, NOTHING_SENT, type SendState } from './doubt.ts';
import { sidesOf } from './lookups.ts';
import type { TradedQuote } from './step.ts';

/** A quote that passed the guard, as it is kept in history between the two activities. */
export type QuoteInHand = TradedQuote & {
  /** By our own clock, counted from just before the request left. So the service's clock does not matter. */
  readonly usableUntilMs: number;
  /** What other runs of the day came to when it was asked for (`Day`); absent: no limit of a day counts them. */
  readonly onDate?: readonly Money[];
  /** True when this quote, though already expired, was sent once more before doubt ended, and the service refused it. */
  readonly probed: boolean;
};

/** What is known of a leg's writes while it is not traded. */
export type LegState = SendState & {
  /** Kept in every phase, because a trade in doubt can be found by its quote. */
  readonly quote: QuoteInHand | null;
  /** How many quotes were asked for. A quote after the leg was held is not counted. */
  readonly quotes: number;
  /** True when the leg was held: its next quote does not count. */
  readonly held: boolean;
  /** How much of the sold currency the last read of the balances showed; null: the balances were not read. */
  readonly available: string | null;
};

/**
 * A leg that waits for money asks for no quote before it looks again as its run has said, whatever wakes it meanwhile. So no
 * restored backup can hide a quote of that time, and the leg needs no safety wait when the money has come or the run is
 * cancelled.
 * @param wait as the run makes it
 */
export function quietWhile(state: LegState, { reason, afterMs }: Wait): LegState {
  if (reason !== 'money' || state.quote !== null || state.doubt !== null) return state;
  const untilMs = state.knownAtMs + Math.min(afterMs, LONGEST_QUIET_MS);
  return { ...state, quietUntilMs: Math.max(state.quietUntilMs ?? 0, untilMs) };
}

export const NEW_LEG: LegState = Object.freeze({
  ...NOTHING_SENT,
  quote: null,
  quotes: 0,
  held: false,
  available: null,
});

/** A trade as the plan needs it, with both amounts, whichever of them was asked for. */
export type Traded = {
  readonly tradeId: string;
  readonly quoteId: string;
  readonly sellAmount: string;
  readonly buyAmount: string;
  /** When the service made the trade, by its own clock; epoch milliseconds. */
  readonly createdAtMs: number;
  /** Its quote; null when this run does not know the quote any more. */
  readonly quoted: Pick<QuoteInHand, 'sellAmount' | 'buyAmount' | 'onDate'> | null;
  /** The service's status when the record was read. */
  readonly status: string;
};

/** @param quoted its quote, if it is known */
export function tradedOf(record: Trade, quoted: Traded['quoted']): Traded {
  return {
    tradeId: record.id,
    quoteId: record.quoteId,
    createdAtMs: Date.parse(record.createdAt),
    ...sidesOf(record),
    quoted,
    status: record.status,
  };
}

/** The result of one call. It tells the workflow what to do next. */
export type LegStep =
  /** There is a quote inside the guard: execute it. */
  | { readonly kind: 'quoted'; readonly state: LegState }
  /** The quote cannot be traded and nothing is in doubt: ask for a new one. */
  | { readonly kind: 'requote'; readonly state: LegState }
  /**
   * The service has shown the trade, so that nothing more is sent. `worse`: the trade came out worse than planned, and
   * no person has accepted it; null when all is well. `isHeld`: payments and legs that depend on it wait until a person
   * accepts it. `isFoundLate`: a lookup found the trade so long after this history knew of the leg that the history may be
   * a restored one. Then the one before it may have gone further.
   */
  | {
      readonly kind: 'traded';
      readonly traded: Traded;
      readonly worse: Problem | null;
      readonly isHeld: boolean;
      readonly isFoundLate?: true;
    }
  /** The leg has ended, and it is proven that no trade exists under its reference. */
  | { readonly kind: 'not traded'; readonly state: LegState; readonly problem: Problem }
  | { readonly kind: 'wait'; readonly state: LegState; readonly wait: Wait };

/**
 * The state of a leg that lacks money, by a read of the balances or by the reply to a quote. What the last refused trade
 * showed is still true.
 */
export function shortOf(state: LegState, problem: Problem): LegState {
  const despite = state.phase.kind === 'short' ? state.phase.despite : null;
  return { ...state, phase: { kind: 'short', problem, despite } };
}
