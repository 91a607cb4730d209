/** Reference rates that have moved by more than a tenth since an earlier plan: most likely one of the two files is mistyped. Pure. */
import { compare, divide, multiply } from '../money.ts';
import type { Rate } from '../policy.ts';
import type { Plan } from './plan.ts';
import { worthOf, type Worth } from './price-bounds.ts';

/** The worth of one unit of `sell` in `buy`, then and now, with six significant digits. */
export type MovedRate = {
  readonly sell: string;
  readonly buy: string;
  readonly was: string;
  readonly now: string;
};

/** One for each pair that the earlier plan trades and that the rates of now value, where it has moved. */
export function movedRates({ legs }: Pick<Plan, 'legs'>, rates: readonly Rate[]): readonly MovedRate[] {
  const moved = new Map<string, MovedRate>();
  for (const { sell, buy, guard } of legs) {
    const was = guard?.referenceRate ?? null;
    const now = worthOf(rates, sell, buy);
    if (was === null || now === null || !isFarApart(was, now)) continue;
    moved.set(`${sell} ${buy}`, { sell, buy, was: textOf(was), now: textOf(now) });
  }
  return [...moved.values()];
}

function isFarApart(was: Worth, now: Worth): boolean {
  const [before, after] = [multiply(was.times, now.over), multiply(now.times, was.over)];
  return compare(after, multiply(before, '1.1')) > 0 || compare(after, multiply(before, '0.9')) < 0;
}

function textOf({ times, over }: Worth): string {
  return divide(times, over, 6);
}
