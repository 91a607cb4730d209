/**
 * The legs of a rebalancing, computed once from the balances of now. When the service already has records of the run, its
 * legs are those trades, and nothing is computed a second time (M4).
 */
import { notNegative, subtract, sum } from '../money.ts';
import type { Rate, RebalancePolicy } from '../policy.ts';
import { generationOf, reference } from '../references.ts';
import { legIdOf } from './amounts.ts';
import type { CompileInput } from './compile-input.ts';
import { amountOfTrade } from './convert-items.ts';
import { guardOf } from './leg-guard.ts';
import type { Leg, Position } from './plan.ts';
import { worthOf } from './price-bounds.ts';
import { holdingOf } from './holding.ts';
import { MOST_PARTS, planRebalancing } from './rebalance.ts';

type Rebalance = RebalancePolicy['rebalance'];

export type RebalanceItems = { readonly legs: readonly Leg[]; readonly positions: readonly Position[] };

/** @param waitsForBase as in `RebalanceInput` */
export function legsOfRebalance(
  input: CompileInput,
  rebalance: Rebalance,
  { found, waitsForBase }: { readonly found: boolean; readonly waitsForBase: boolean },
): RebalanceItems {
  return found ? { legs: foundLegs(input), positions: [] } : plannedLegs(input, rebalance, waitsForBase);
}

function plannedLegs(input: CompileInput, rebalance: Rebalance, waitsForBase: boolean): RebalanceItems {
  const { policy, observation, decimalsOf } = input;
  const { guard } = policy;
  const { limits } = policy.rules;
  const base = rebalance.base.currency;
  const rates = ratesOf(input);
  const { positions, trades } = planRebalancing({
    rebalance,
    decimalsOf,
    holdingOf: (currency) => holdingOf(observation, currency),
    worthOf: (currency) => worthOf(rates, currency, base),
    boundOf: (sell, buy) => guardOf(input, { sell, buy })?.bound ?? null,
    missingRate: guard?.reference ? 'no rate' : 'no worst rate',
    pairs: observation.pairs,
    most: {
      trade: limits?.perTrade?.value ?? null,
      run: limits?.perRun?.value ?? null,
      day: leftOfDay(input),
    },
    waitsForBase,
  });
  const numbers = new Map<string, number>();
  const legs = trades.map(({ side, currency, value, needsFromSales }): Leg => {
    const pair = side === 'sell' ? { sell: currency, buy: base } : { sell: base, buy: currency };
    const number = (numbers.get(currency) ?? 0) + 1;
    numbers.set(currency, number);
    return legOf(input, pair, number, {
      amount: { side, value, fixed: false },
      why: { kind: 'target', currency },
      needsFromSales,
    });
  });
  return { legs, positions };
}

/** The rates by which trades are valued: the reference rates, or without them the worst rates. */
export function ratesOf({
  policy,
  referenceRates,
}: Pick<CompileInput, 'policy' | 'referenceRates'>): readonly Rate[] {
  const { guard } = policy;
  return guard?.reference ? (referenceRates?.rates ?? []) : (guard?.worstRates ?? []).map(({ rate }) => rate);
}

function legOf(
  input: CompileInput,
  pair: Pick<Leg, 'sell' | 'buy'>,
  number: number,
  known: Pick<Leg, 'amount' | 'why' | 'needsFromSales'>,
): Leg {
  const id = legIdOf(pair, number);
  return { id, reference: reference(input.run, id), ...pair, ...known, guard: guardOf(input, pair) };
}

/** What the other runs of the policy on this date leave of the limit of a day; null: there is no such limit. */
function leftOfDay({ policy, observation }: CompileInput): string | null {
  const perDay = policy.rules.limits?.perDay ?? null;
  if (perDay === null) return null;
  const traded = observation.tradedOnDate.filter(({ currency }) => currency === perDay.currency);
  return notNegative(subtract(perDay.value, sum(traded.map(({ value }) => value))));
}

/** One leg for each trade that was found, under the name that the trade has. */
function foundLegs(input: CompileInput): readonly Leg[] {
  const legs = input.observation.trades.flatMap((trade): Leg[] => {
    const pair = { sell: trade.sellCurrency, buy: trade.buyCurrency };
    for (let number = 1; number <= MOST_PARTS; number += 1) {
      const name = reference(input.run, legIdOf(pair, number));
      if (generationOf(name, trade.clientReferenceId ?? '') === null) continue;
      return [
        legOf(input, pair, number, {
          amount: amountOfTrade(trade),
          why: { kind: 'found' },
          needsFromSales: '0',
        }),
      ];
    }
    return [];
  });
  return legs.toSorted((a, b) => (a.id < b.id ? -1 : 1));
}
