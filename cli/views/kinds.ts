/**
 * The mistakes or warnings of a batch by their kind, for people: the rarest kind first, since one mistake among five hundred
 * of another kind would be overlooked. Pure.
 */
import type { Trouble } from '../../language/text/problem.ts';

/** At most this many of one kind are shown. */
const OF_A_KIND = 3;

/** `count`: how many of this kind are kept; `few`: the first of them. */
export type Kind = {
  readonly code: string;
  readonly count: number;
  readonly few: readonly Trouble[];
};

export function kindsOf(troubles: readonly Trouble[]): readonly Kind[] {
  const kinds = new Map<string, Trouble[]>();
  for (const trouble of troubles) {
    const all = kinds.get(trouble.code) ?? [];
    all.push(trouble);
    kinds.set(trouble.code, all);
  }
  return [...kinds]
    .map(([code, all]) => ({ code, count: all.length, few: all.slice(0, OF_A_KIND) }))
    .toSorted((a, b) => a.count - b.count);
}

/** How many of each kind: `: 1 BATCH_ID, 500 BATCH_AMOUNT`; nothing where there is one kind. */
export function countsOf(kinds: readonly Kind[]): string {
  if (kinds.length < 2) return '';
  return `: ${kinds.map(({ code, count }) => `${count} ${code}`).join(', ')}`;
}
