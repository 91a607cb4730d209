/** The texts about a leg that cannot trade, with what a person can do. */
import { decimalsOf, moneyText } from '../currencies.ts';
import { add, isPositive, round, subtract } from '../money.ts';
import { makeProblem, type Problem } from '../problems.ts';
import { plannedMoneyOf } from '../plan/amounts.ts';
import { replacingCommand } from '../replacement.ts';
import type { Leg } from '../plan/plan.ts';
import { runName } from '../references.ts';
import type { Context, Demand, Funding } from './step.ts';

export function notFunded(
  { facts }: Context,
  { id, sell, buy, amount }: Leg,
  {
    needed,
    funding: { ahead },
    free,
    reserved,
  }: {
    readonly needed: string;
    readonly funding: Funding;
    readonly free: string;
    readonly reserved: string;
  },
): Problem {
  const others = isPositive(reserved)
    ? ` (and ${moneyText(reserved, sell)} more, which other runs have reserved)`
    : '';
  const decimals = decimalsOf(sell, facts.decimals);
  const before = round(ahead, decimals, 'up');
  const missing = round(subtract(add(needed, ahead), free), decimals, 'up');
  const first = isPositive(before)
    ? `, of which ${moneyText(before, sell)} go first to what stands before it in the plan`
    : '';
  return {
    code: 'SHORTFALL',
    item: id,
    message: `Short of ${moneyText(missing, sell)}: the leg buys ${moneyText(amount?.value ?? '', buy)} for ${moneyText(needed, sell)} at most; ${moneyText(free, sell)} are there${others}${first}.`,
    fix: `Bring ${sell} in; the run then goes on by itself.`,
  };
}

/** Why a purchase is not quoted before a sale of its run. @param sale the id of its leg */
export function afterSale({ id, sell }: Leg, sale: string): Problem {
  const message = `Leg "${id}" needs the ${sell} that leg "${sale}" brings, and that leg is not traded yet, or the service does not show its trade yet.`;
  return makeProblem('AFTER_SALES', id, { message });
}

/** Why a purchase that a run takes up once more is not quoted before a sale of this run has settled. */
export function beforeProceeds({ id, sell }: Leg): Problem {
  const message = `Leg "${id}" needs the ${sell} that a sale of this run brings, and that trade has not settled yet.`;
  return makeProblem('AFTER_SALES', id, { message });
}

/**
 * @param asked what the policy asks for by the balances of now, and because of which other runs it is not more: their trades
 * may still fail
 */
export function balancesChanged(
  { plan: { run } }: Pick<Context, 'plan'>,
  leg: Leg,
  { demand, takenBy, lacks }: Extract<Demand, { demand: string }>,
): Problem {
  const { id, amount } = leg;
  const currency = plannedMoneyOf(leg)?.currency ?? '';
  const before = `Leg "${id}" was to ${amount?.side ?? 'trade'} ${moneyText(amount?.value ?? '', currency)} by earlier balances`;
  const left = isPositive(demand) ? `only ${moneyText(demand, currency)}` : 'nothing of it';
  if (lacks === 'sales')
    return makeProblem('BALANCES_CHANGED', id, {
      message: `${before}. It needs ${leg.sell} that sales of the run would bring, and the run sells nothing for it any more. The balances now pay for ${left}.`,
    });
  if (takenBy.length === 0)
    return makeProblem('BALANCES_CHANGED', id, {
      message: `${before}. With the balances now, the policy asks for ${left}.`,
    });
  const takers = takenBy.map(runName).join(', ');
  return makeProblem('BALANCES_CHANGED', id, {
    message: `${before}. Now ${takers} ${takenBy.length === 1 ? 'uses' : 'use'} that money for a trade that has not settled yet, and so may still fail. This leaves ${left}.`,
    fix: `Nothing to do if that trade settles. If it does not, type \`npx cambist replay ${runName(run)}\` today: the leg is traded if the balances ask for it then.`,
  });
}

/**
 * The advice for a leg outside its guard. A leg that was computed from balances is computed anew in a new run, whatever
 * happens to this one.
 */
export function guardAdvice({ plan: { run } }: Context, { why }: Leg): string {
  const inPlace =
    why.kind === 'fixed'
      ? ` While nothing of this run is done, the new one takes its place: \`${replacingCommand(run)}\`.`
      : '';
  return `Wait for a better price, then type \`npx cambist replay ${runName(run)}\`. Or allow a worse price in the policy, and start a new run.${inPlace}`;
}

export function tooManyQuotes(context: Context, leg: Leg): Problem {
  return {
    code: 'QUOTES_USED_UP',
    item: leg.id,
    message: `The run has asked for ${context.plan.rules.quote.maxQuotes} quotes, the most that \`max_quotes\` allows, and could trade none of them.`,
    fix: `The evidence in the report says why no quote was traded. Then type \`npx cambist replay ${runName(context.plan.run)}\`, or raise \`quote.max_quotes\` for a new run.`,
  };
}

export function forgottenAmount(leg: Leg): Problem {
  return {
    code: 'AMOUNT_FORGOTTEN',
    item: leg.id,
    message: `The amount of leg "${leg.id}" came from balances that have changed since then, and the service shows no trade of it.`,
    fix: 'Decide with `npx cambist resolve`. Cambist does not compute the amount a second time.',
  };
}

export function windowPassed(context: Context, leg: Leg): Problem {
  return {
    code: 'WINDOW_PASSED',
    item: leg.id,
    message: `The date of the run, ${context.plan.date}, is over in ${context.plan.zone}, and a run trades only on its own date.`,
    fix: withoutTrade(context, leg) ?? 'Start a new run with today’s date.',
  };
}

/**
 * The advice when a batch waits for the money that the leg was to buy: no other run pays the batch in the meantime. Null: no
 * batch waits for this leg.
 */
export function withoutTrade({ funding }: Context, { buy }: Leg): string | null {
  return funding === undefined
    ? null
    : `Bring ${buy} in, and the payments of this run go out while their window is open; or cancel it, and pay them by a new run.`;
}
