/**
 * The phases of an item that is not done: what stands against sending it, each with just its data. Whether an earlier
 * send is in doubt (`doubt.ts`) stands beside the phase: an item of any phase may be in doubt. Pure.
 */
import type { Problem } from '../problems.ts';

/** Nothing stands against sending it. */
type Open = { readonly kind: 'open' };
/**
 * A refusal for lack of money is waited out. `despite`: the service refused it then although a read showed so much there,
 * so that something else is short, which no read can show; null: no read told.
 */
type Short = {
  readonly kind: 'short';
  readonly problem: Problem;
  readonly despite: { readonly available: string; readonly atMs: number } | null;
};
/** A definitive refusal ends the leg as soon as no earlier send is in doubt. */
type Refused = { readonly kind: 'refused'; readonly problem: Problem };
/** A reply after which it is never sent again by itself (mismatch, duplicate, stored failure): a person decides. */
type Spent = { readonly kind: 'spent'; readonly problem: Problem };

export type Phase = Open | Short | Refused | Spent;
/** A payment that is refused ends in the same call, or goes on as its next generation. */
export type PaymentPhase = Open | Short | Spent;

export const OPEN: Open = Object.freeze({ kind: 'open' });

/** What a person has to decide, whatever else is said of the item; null: nothing. */
export function forPerson(phase: Phase): Problem | null {
  switch (phase.kind) {
    case 'open':
    case 'short':
    case 'refused':
      return null;
    case 'spent':
      return phase.problem;
  }
}

/** The phase with which another Temporal run begins: a reset tries again what was refused. */
export function triedAnew(phase: Phase): Open | Spent {
  switch (phase.kind) {
    case 'open':
    case 'short':
    case 'refused':
      return OPEN;
    case 'spent':
      return phase;
  }
}
