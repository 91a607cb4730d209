/** The money in one currency with which a run may plan. */
import { add, notNegative, subtract } from '../money.ts';
import type { Observation } from './observation.ts';

export type Holding = {
  /** Can be sold now: no other open run has reserved it, and no earlier trade will still take it. */
  readonly withdrawable: string;
  /**
   * The balance once all trades under way have settled and other open runs have taken what they reserved; null: not known
   * yet.
   */
  readonly projected: string | null;
};

export function holdingOf({ balances, onTheWay, reserved }: Observation, currency: string): Holding {
  const there = balances.balances.find((balance) => balance.currency === currency)?.withdrawable ?? '0';
  const moving = onTheWay.find((one) => one.currency === currency);
  const others = reserved.find((one) => one.currency === currency);
  const withdrawable = notNegative(subtract(there, add(others?.takes ?? '0', moving?.goes ?? '0')));
  if (moving?.isTold === false || others?.isTold === false) return { withdrawable, projected: null };
  const settled = moving === undefined ? there : subtract(add(there, moving.comes), moving.goes);
  return { withdrawable, projected: others === undefined ? settled : add(settled, others.changes) };
}
