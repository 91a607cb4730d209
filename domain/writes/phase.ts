/**
 * The phases of an item that is not done: what keeps it from being sent, each with its own data. Doubt about an earlier send
 * (`doubt.ts`) is kept beside the phase: an item in any phase may be in doubt. Pure.
 */
import type { Problem } from '../problems.ts';

/** Nothing keeps it from being sent. */
type Open = { readonly kind: 'open' };
/**
 * The service refused the item for lack of money, and it waits for money. `despite`: the service refused it although a read
 * showed this much, so that something else is short, and no read can show it; null: no read has shown that.
 */
type Short = {
  readonly kind: 'short';
  readonly problem: Problem;
  readonly despite: { readonly available: string; readonly atMs: number } | null;
};
/** A definitive refusal. The leg ends as soon as no earlier send is in doubt. */
type Refused = { readonly kind: 'refused'; readonly problem: Problem };
/** A reply after which the item is never sent again by itself (mismatch, duplicate, stored failure): a person decides. */
type Spent = { readonly kind: 'spent'; readonly problem: Problem };

export type Phase = Open | Short | Refused | Spent;
/** A payment that is refused ends in the same call, or goes on as its next generation. */
export type PaymentPhase = Open | Short | Spent;

export const OPEN: Open = Object.freeze({ kind: 'open' });

/** The question that a person must decide, whatever people or the service say later; null: there is none. */
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

/** The phase with which another Temporal run begins. A reset tries again an item that was refused. */
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
