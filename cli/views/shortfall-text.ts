/**
 * Money that is missing now for a plan. This is known before anything is sent, except where only a quote tells how much a
 * leg sells. Pure.
 */
import { decimalsOf } from '../../domain/currencies.ts';
import { add, compare, isPositive, round, subtract, sum } from '../../domain/money.ts';
import type { Observation } from '../../domain/plan/observation.ts';
import type { Plan, Position } from '../../domain/plan/plan.ts';
import { mostSold } from '../../domain/plan/reserved.ts';
import type { Money } from '../../domain/policy.ts';
import type { Problem } from '../../domain/problems.ts';
import { count } from '../terminal/text.ts';
import { money } from './amount-text.ts';
import { restraintText } from '../../domain/plan/restraints.ts';

/** The problem when money is missing now for what a leg sells; null when it is there, or when only a quote can tell. */
export function shortfallOf(plan: Plan, observation: Observation): Problem | null {
  // After a trade, the balances no longer tell whether there was enough money for it.
  if (observation.trades.length > 0) return null;
  const [first] = plan.payments;
  if (plan.legs.length === 0 && first !== undefined) {
    return {
      code: 'SHORTFALL',
      item: first.id,
      message: `There is nothing to sell, so no ${first.currency} comes in: ${count(plan.payments.length, 'payment')} would end as not paid.`,
      fix: 'Bring money in, or leave less behind (`keep`).',
    };
  }
  for (const leg of plan.legs) {
    if (leg.amount?.side !== 'sell') continue;
    const available = availableIn(observation, leg.sell);
    if (compare(available, leg.amount.value) >= 0) continue;
    const consequence =
      plan.rules.shortfall === 'skip'
        ? '`shortfall: skip`: the leg would not be traded, and no quote asked for'
        : '`shortfall: hold`: the run would wait for money';
    return {
      code: 'SHORTFALL',
      item: leg.id,
      message: `The leg sells ${money(leg.amount.value, leg.sell)}, but ${money(available, leg.sell)} are withdrawable: ${money(subtract(leg.amount.value, available), leg.sell)} are missing (${consequence}).`,
      fix: `Bring ${leg.sell} in, or lower the amount.`,
    };
  }
  return shortfallOfBatch(plan, observation);
}

/**
 * The problem when money is missing now for a batch, counting what it buys; null: the money is there, or this is not known.
 */
function shortfallOfBatch(plan: Plan, observation: Observation): Problem | null {
  const { batch, positions, rules } = plan;
  if (batch === null || observation.withdrawals.length > 0) return null;
  const isFunded = positions.length > 0;
  const base = isFunded ? lackOfBase(plan) : [];
  const bought = isFunded ? notBought(positions) : notThere(batch.payable, observation);
  const missing = [...base, ...bought];
  if (missing.length === 0) return null;
  const consequence =
    rules.shortfall === 'skip'
      ? '`shortfall: skip`: the payments for which there is no money would not be paid'
      : '`shortfall: hold`: the payments for which there is no money would wait for it';
  return {
    code: 'SHORTFALL',
    item: null,
    message: `The batch is short of ${missing.join(', and of ')}. ${consequence}.`,
    fix: isFunded
      ? fixOfFunded(plan, { isBaseMissing: base.length > 0, isLessBought: bought.length > 0 })
      : 'Bring money in, or let the policy buy what is missing (`fund: { from: …, mode: net }`).',
  };
}

/**
 * With `hold`, the plan has every trade that no rule forbids. With `skip`, it has only the trades for which there is money
 * in the base now.
 */
function fixOfFunded(
  { rules, positions }: Plan,
  { isBaseMissing, isLessBought }: { readonly isBaseMissing: boolean; readonly isLessBought: boolean },
): string {
  if (rules.shortfall === 'skip')
    return 'Before the run starts, bring money in, or change the limits of the policy that keep the run from buying what is missing: a run plans its purchases only once. After the start, only money in the missing currency helps.';
  const from = positions[0]?.currency ?? '';
  return [
    ...(isBaseMissing
      ? [`Bring ${from} in: once it is there, the run buys and pays by itself, as long as it may trade.`]
      : []),
    ...(isLessBought
      ? [
          'Before the run starts, change the limits of the policy that keep the run from buying what is missing. After the start, only money in the missing currency helps.',
        ]
      : []),
  ].join(' ');
}

function notThere(payable: readonly Money[], observation: Observation): readonly string[] {
  return payable.flatMap(({ value, currency }) => {
    const there = availableIn(observation, currency);
    return compare(there, value) >= 0
      ? []
      : [
          `${money(subtract(value, there), currency)} (it pays ${money(value, currency)}, and ${money(there, currency)} are withdrawable)`,
        ];
  });
}

/** What is missing of the base, the first position, which buys the other currencies. The batch may also pay in the base. */
function lackOfBase({ positions: [base], legs }: Plan): readonly string[] {
  if (base === undefined) return [];
  const { currency, low, projected, withdrawable } = base;
  const cost = round(sum(legs.flatMap((leg) => mostSold(leg) ?? [])), decimalsOf(currency, {}), 'up');
  // A trade needs its money at once, so that money on its way does not count.
  const there = isPositive(cost) ? withdrawable : projected;
  const needed = add(low ?? '0', cost);
  if (there === null || compare(there, needed) >= 0) return [];
  const uses = [
    ...(low === null ? [] : [`pays ${money(low, currency)}`]),
    ...(isPositive(cost) ? [`buys for ${money(cost, currency)} at most`] : []),
  ];
  return [
    `${money(subtract(needed, there), currency)} (it ${uses.join(' and ')}, and ${money(there, currency)} are there)`,
  ];
}

function notBought([base, ...others]: readonly Position[]): readonly string[] {
  if (base === undefined) return [];
  const { currency: from } = base;
  return others.flatMap(({ currency, wanted, traded, restraint }) => {
    const left = wanted?.side === 'buy' ? subtract(wanted.value, traded) : '0';
    if (wanted === null || restraint === null || !isPositive(left)) return [];
    const why = restraint === 'base' ? `there is not enough ${from} for more` : restraintText(restraint);
    const part = isPositive(traded) ? money(traded, currency) : 'nothing';
    return [
      `${money(left, currency)} (it would buy ${part} of the ${money(wanted.value, currency)} that it needs: ${why})`,
    ];
  });
}

export function availableIn(observation: Observation, currency: string): string {
  return observation.balances.balances.find((row) => row.currency === currency)?.withdrawable ?? '0';
}
