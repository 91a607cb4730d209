/** How commands end, and what every code fixes about its problem. Only types. */

/** How a command ends; `operations/exit-codes.ts` gives each its number. */
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

/** What a code fixes. A problem may say more than its sentence, and advise more closely; it never ends otherwise. */
export type ProblemRow = {
  /** How a command ends when an item or a run ended with it, or when it keeps a command from its work. */
  readonly ending: Ending;
  readonly sentence: string;
  readonly advice: string;
};
