/**
 * The question before live money: nothing moves, and nothing is allowed to move it later, unless a person says yes or gives
 * `--yes`.
 */
import type { Mode } from '../domain/service/records.ts';
import { CommandFailure } from '../operations/failure.ts';
import type { Output } from './terminal/output.ts';

export type LiveQuestion = {
  /** The person has answered already, by `--yes`. */
  readonly isAnswered: boolean;
  /** The run or the change that the question is about. */
  readonly place: string;
  /** What a yes would do, for the text of the refusal: `this moves live money`. */
  readonly consequence: string;
  /** What is unchanged without a yes: `nothing was sent`. */
  readonly otherwise: string;
  readonly question: string;
  /** Returns what the person says yes to. Called only when there is a person to read it. */
  readonly tell: () => Promise<readonly string[]>;
  /** What to do without a yes. Default: the command takes --yes. */
  readonly fix?: string;
};

/** @returns the lines that were shown; null when no person was asked. @throws CommandFailure without a yes */
export function confirmLive(output: Output, of: LiveQuestion): Promise<readonly string[] | null> {
  return confirm(output, of, `${of.place}, LIVE:`);
}

/** The same in any mode. @param heading stands above what a yes would do */
export async function confirm(
  output: Output,
  {
    isAnswered,
    place,
    consequence,
    otherwise,
    question,
    tell,
    fix = 'Answer `yes`, or type the command with --yes.',
  }: LiveQuestion,
  heading: string,
): Promise<readonly string[] | null> {
  if (isAnswered) return null;
  const refuse = (message: string): never => {
    throw new CommandFailure('refused by us', [
      {
        code: 'NOT_CONFIRMED',
        place,
        message: `${message}; ${otherwise}`,
        fix,
      },
    ]);
  };
  const { ask } = output.io;
  if (ask === null) return refuse(`${consequence}, and there is no terminal at which to ask`);
  const lines = await tell();
  output.note(heading, ...lines.map((line) => `  ${line}`));
  const answer = await ask(question);
  if (answer.trim().toLowerCase() !== 'yes') refuse('the answer was not `yes`');
  return lines;
}

/**
 * Asks before a schedule starts a run by hand, or a paused schedule starts runs again. @throws CommandFailure without a yes
 */
export async function confirmSchedule(
  output: Output,
  of: { readonly mode: Mode; readonly isAnswered: boolean; readonly words: string; readonly what: string },
): Promise<void> {
  if (of.mode !== 'LIVE') return;
  await confirmLive(output, {
    isAnswered: of.isAnswered,
    place: of.words,
    consequence: 'this moves live money',
    otherwise: 'nothing was started',
    question: 'Move live money? Type yes: ',
    tell: () => Promise.resolve([of.what]),
  });
}
