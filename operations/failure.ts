/**
 * A command that cannot do what it was asked: what is wrong, where, what to do, and the exit code. It is data; the command
 * line shows it. It must never contain a secret.
 */
import type { Ending } from '../domain/endings.ts';
import type { Problem } from '../domain/problems.ts';
import type { Trouble } from '../language/text/problem.ts';

/** The title of a text, and the text. */
type Text = { readonly label: string; readonly text: string };

/** Ends a command. */
export class CommandFailure extends Error {
  override readonly name = 'CommandFailure';
  readonly ending: Ending;
  readonly problems: readonly Trouble[];
  /** Two texts that should be the same; null for other failures. */
  readonly texts: { readonly before: Text; readonly after: Text } | null;

  constructor(ending: Ending, problems: readonly Trouble[], texts: CommandFailure['texts'] = null) {
    super(problems.map((problem) => `${problem.code}: ${problem.message}`).join('\n'));
    this.ending = ending;
    this.problems = problems;
    this.texts = texts;
  }
}

/** One problem of an item. */
export function troubleOfItem(problem: Problem): Trouble {
  return { code: problem.code, place: problem.item, message: problem.message, fix: problem.fix };
}

/** What to type when nothing is set up yet. It is shown first. */
export const NOT_SET_UP: Trouble = {
  code: 'NOT_SET_UP',
  place: null,
  message: 'type `npx cambist up` in this folder, in a second terminal, then this command again',
  fix: 'Nothing is set up here: no `npx cambist up` runs in this folder, and no variable names a service. For a service of your own, set the variables instead (docs/configuration.md).',
};
