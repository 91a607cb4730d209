/** The money in one currency with which a run may plan. */
import { add, notNegative, subtract } from '../money.ts';
import type { Observation } from './observation.ts';
import type { Restraint } from './restraints.ts';

/**
 * `withdrawable`: can be sold now; no other open run has reserved it, and no earlier trade will still take it. `projected`:
 * the balance once all trades under way have settled and other open runs have taken what they reserved; null: not known yet,
 * and `unknown` says why.
 */
export type Holding =
  | { readonly withdrawable: string; readonly projected: string; readonly unknown?: never }
  | { readonly withdrawable: string; readonly projected: null; readonly unknown: Unknown };

type Unknown = Extract<Restraint, 'status unknown' | 'other run'>;

/** What of an observation tells what is held. */
export type Held = Pick<Observation, 'balances' | 'onTheWay' | 'reserved'>;

export function holdingOf({ balances, onTheWay, reserved }: Held, currency: string): Holding {
  const there = balances.balances.find((balance) => balance.currency === currency)?.withdrawable ?? '0';
  const moving = onTheWay.find((one) => one.currency === currency);
  const others = reserved.find((one) => one.currency === currency);
  const withdrawable = notNegative(subtract(there, add(others?.takes ?? '0', moving?.goes ?? '0')));
  if (moving?.isTold === false) return { withdrawable, projected: null, unknown: 'status unknown' };
  if (others?.isTold === false) return { withdrawable, projected: null, unknown: 'other run' };
  const settled = moving === undefined ? there : subtract(add(there, moving.comes), moving.goes);
  return { withdrawable, projected: others === undefined ? settled : add(settled, others.changes) };
}
