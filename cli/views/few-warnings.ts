/**
 * Warnings of a batch for people. Of many of one kind only the first few are shown, so that people see one of another kind.
 * Pure.
 */
import type { Told } from '../../operations/batches/check.ts';

/** At most this many of one kind are shown. */
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
