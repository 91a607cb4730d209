/** Warnings of a batch for people: of many of one kind the first few, so that one of another kind is seen. Pure. */
import type { Told } from '../../operations/batches/check.ts';

/** So many of a kind are shown. */
const OF_A_KIND = 5;

export function fewOf({ count, first }: Told): Told {
  const shown = new Map<string, number>();
  const few = first.filter(({ code }) => {
    const before = shown.get(code) ?? 0;
    shown.set(code, before + 1);
    return before < OF_A_KIND;
  });
  return { count, first: few };
}
