/** Choices that a seed repeats: the same seed and the same questions give the same answers. */
export type Dice = {
  /** From 0, below 1. */
  readonly share: () => number;
  /** From 0, below `count`. */
  readonly below: (count: number) => number;
  readonly pick: <T>(from: readonly T[]) => T;
  readonly isHit: (probability: number) => boolean;
};

/** `name` keeps the choices of one part of a run apart from those of another under the same seed. */
export function diceOf(seed: number, name: string): Dice {
  let state = seed >>> 0;
  for (const character of name) state = (Math.imul(state, 31) + (character.codePointAt(0) ?? 0)) >>> 0;
  const share = (): number => {
    // Mulberry32: small, and good enough to choose by.
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (count: number): number => Math.floor(share() * count);
  return {
    share,
    below,
    pick: (from) => {
      const chosen = from[below(from.length)];
      if (chosen === undefined) throw new RangeError('There is nothing to pick from.');
      return chosen;
    },
    isHit: (probability) => share() < probability,
  };
}
