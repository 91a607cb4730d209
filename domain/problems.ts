/**
 * What is wrong, for a person: every problem that Cambist tells of has this shape, whoever found it. Pure.
 */

/** How a command ends; `cli/exit-codes.ts` gives each its number. */
export type Ending =
  | 'done'
  | 'bad input'
  | 'configuration'
  | 'refused by us'
  | 'refused by the service'
  | 'needs a human'
  | 'infrastructure'
  | 'waiting'
  | 'detached';

/** A problem in words: what, where, and what to do. */
export type Problem = {
  readonly code: string;
  readonly item: string | null;
  readonly message: string;
  readonly fix: string;
};
