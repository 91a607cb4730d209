/** The texts about a leg that cannot trade, with what a person can do. */
import { decimalsOf, moneyText } from '../currencies.ts';
import { isPositive, round } from '../money.ts';
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
  const others = isPositive(reserved) ? ` (other runs have reserved ${moneyText(reserved, sell)} more)` : '';
  const before = round(ahead, decimalsOf(sell, facts.decimals), 'up');
  const first = isPositive(before)
    ? `, and what comes before it in the plan takes ${moneyText(before, sell)} of that`
    : '';
  return {
    code: 'SHORTFALL',
    item: id,
    message: `The leg buys ${moneyText(amount?.value ?? '', buy)} for ${moneyText(needed, sell)} at most, but ${moneyText(free, sell)} are there for it${others}${first}.`,
    fix: `Bring ${sell} in; the run goes on by itself.`,
  };
}

/** Why a purchase is not quoted before a sale of its run. @param sale the id of its leg */
export function afterSale({ id, sell }: Leg, sale: string): Problem {
  const message = `Leg "${id}" needs the ${sell} that leg "${sale}" brings, which is not traded yet, or not shown yet by the service.`;
  return makeProblem('AFTER_SALES', id, { message });
}

/**
 * @param asked what the policy asks for by the balances of now, and because of which other runs it is not more: their trades
 * may still fail
 */
export function balancesChanged(
  { plan: { run } }: Pick<Context, 'plan'>,
  leg: Leg,
  { demand, takenBy, needsSales }: Extract<Demand, { demand: string }>,
): Problem {
  const { id, amount } = leg;
  const currency = plannedMoneyOf(leg)?.currency ?? '';
  const before = `Leg "${id}" was to ${amount?.side ?? 'trade'} ${amount?.value ?? ''} ${currency} by balances of before`;
  const left = isPositive(demand) ? `only ${demand}` : 'nothing of it';
  if (needsSales)
    return makeProblem('BALANCES_CHANGED', id, {
      message: `${before}; those of now pay for ${left} without the ${leg.sell} of sales, and the run makes no such sale any more.`,
    });
  if (takenBy.length === 0)
    return makeProblem('BALANCES_CHANGED', id, {
      message: `${before}; by those of now the policy asks for ${left}.`,
    });
  const takers = takenBy.map(runName).join(', ');
  return makeProblem('BALANCES_CHANGED', id, {
    message: `${before}; ${takers} ${takenBy.length === 1 ? 'takes' : 'take'} what is there, by a trade that is not settled yet and may still fail, which leaves ${left}.`,
    fix: `Nothing to do where that is traded. Where it is not, type \`npx cambist replay ${runName(run)}\` today: the leg is traded if the balances of then ask for it.`,
  });
}

/**
 * The advice for a leg outside its guard. A leg that was computed from balances is computed anew in a new run, whatever
 * happens to this one.
 */
export function guardAdvice({ plan: { run } }: Context, { why }: Leg): string {
  const widened =
    why.kind === 'fixed' ? `while nothing of the run is done, \`${replacingCommand(run)}\`` : 'in a new run';
  return `Wait for a better price, then type \`npx cambist replay ${runName(run)}\`. Or widen the guard on purpose: ${widened}.`;
}

export function tooManyQuotes(context: Context, leg: Leg): Problem {
  return {
    code: 'QUOTES_USED_UP',
    item: leg.id,
    message: `${context.plan.rules.quote.maxQuotes} quotes came and none could be traded.`,
    fix: `See the evidence of the report; type \`npx cambist replay ${runName(context.plan.run)}\`, or raise \`quote.max_quotes\`.`,
  };
}

export function forgottenAmount(leg: Leg): Problem {
  return {
    code: 'AMOUNT_FORGOTTEN',
    item: leg.id,
    message: `The amount of leg "${leg.id}" came from balances that have changed since, and its trade is not among the records found.`,
    fix: 'A person decides: the amount is not computed a second time.',
  };
}

export function windowPassed(context: Context, leg: Leg): Problem {
  return {
    code: 'WINDOW_PASSED',
    item: leg.id,
    message: `The business date ${context.plan.date} is over in ${context.plan.zone}: yesterday's reasons do not trade today.`,
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
