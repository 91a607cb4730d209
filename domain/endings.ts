/** How commands end, and what the code of a problem fixes. Only types. */

/** How a command ends. `operations/exit-codes.ts` gives each ending its number. */
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

/**
 * The facts that a code fixes. A problem may say more than this sentence and give closer advice, but its ending is always
 * this one.
 */
export type ProblemRow = {
  /** How a command ends when this code ends an item or a run, or keeps the command from its work. */
  readonly ending: Ending;
  readonly sentence: string;
  readonly advice: string;
};
