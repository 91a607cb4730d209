/**
 * Why a rebalancing trades less of a currency than its target asks for, or nothing: one word for each cause, in words for
 * people, and whether the policy itself says it. Pure.
 */
import { makeProblem, type Problem } from '../problems.ts';
import { runName, type RunName } from '../references.ts';

/**
 * `isOfPolicy`: a rule of the policy, or a size of trades at the service. It is as the policy wants it, so that the run is
 * done. For any other cause, the currency is left for a reason that a person can mend, and the run is not done.
 */
type Row = { readonly isOfPolicy: boolean; readonly text: string };

const TABLE = {
  withdrawable: {
    isOfPolicy: false,
    text: 'a part of it is still on its way and cannot be sold now; the rest is left for another day',
  },
  base: { isOfPolicy: true, text: 'the base must keep its minimum, so not all of it can be bought' },
  per_trade: {
    isOfPolicy: true,
    text: 'the limit per_trade allows only a part of it; the rest is left for another day',
  },
  per_run: {
    isOfPolicy: true,
    text: 'the limit per_run allows only a part of it; the rest is left for another day',
  },
  per_day: {
    isOfPolicy: true,
    text: 'other runs of the policy have traded on this date too, and the limit per_day allows only a part of it; the rest is left for another day',
  },
  min_trade: { isOfPolicy: true, text: 'the difference is worth less than min_trade, and is not traded' },
  max_trades: {
    isOfPolicy: true,
    text: 'max_trades allows only the larger trades; the rest is left for another day',
  },
  never_sell: { isOfPolicy: true, text: 'it is in never_sell, so the surplus is not sold' },
  'pair minimum': {
    isOfPolicy: true,
    text: 'the service takes no trade as small as this, so the difference is not traded',
  },
  'pair maximum': {
    isOfPolicy: true,
    text: 'the service takes only small trades in it, and one run sends 50 at most; the rest is left for another day',
  },
  'pair not offered': {
    isOfPolicy: false,
    text: 'the service offers no trade between it and the base',
  },
  'status unknown': {
    isOfPolicy: false,
    text: 'an earlier trade has a status that is in no list of the service file, so it is not known what is still on its way, and nothing is traded',
  },
  'other run': {
    isOfPolicy: false,
    text: 'another run may still take or bring some of it, and it is not known how much',
  },
  'no rate': {
    isOfPolicy: false,
    text: 'the reference rates have no rate for it, so its price cannot be judged',
  },
  'no worst rate': { isOfPolicy: true, text: 'the policy has no worst_rate for this trade' },
} as const satisfies Readonly<Record<string, Row>>;

export type Restraint = keyof typeof TABLE;

export const RESTRAINTS = Object.keys(TABLE) as readonly Restraint[];

export function restraintText(restraint: Restraint): string {
  return TABLE[restraint].text;
}

/**
 * The currencies that a rebalancing has left for a reason that is not the policy's own: they may be outside their targets,
 * and the run is not done.
 */
export function leftUndone(
  run: RunName,
  positions: readonly { readonly currency: string; readonly restraint: Restraint | null }[],
): readonly Problem[] {
  return positions.flatMap(({ currency, restraint }) =>
    restraint === null || TABLE[restraint].isOfPolicy
      ? []
      : makeProblem('TARGET_NOT_REACHED', currency, {
          message: `${currency} is not brought back to its target: ${restraintText(restraint)}.`,
          fix: `Once that is mended, a run under another id computes from the balances at that time: \`npx cambist run POLICY --id ${run.id}-b\`. What ${runName(run)} has traded counts in them.`,
        }),
  );
}
