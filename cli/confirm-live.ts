/** The question before live money: nothing moves, and nothing is armed to move it, unless a person or `--yes` says so. */
import type { Mode } from '../domain/service/records.ts';
import { CommandFailure } from '../operations/failure.ts';
import type { Output } from './terminal/output.ts';

export type LiveQuestion = {
  /** The person has answered already, by `--yes`. */
  readonly isAnswered: boolean;
  /** What it is about: a run, or what is to be applied. */
  readonly place: string;
  /** What a yes would do, for the refusal: `this moves live money`. */
  readonly consequence: string;
  /** What stays as it was without a yes: `nothing was sent`. */
  readonly otherwise: string;
  readonly question: string;
  /** What the person says yes to; asked for only when there is somebody to read it. */
  readonly tell: () => Promise<readonly string[]>;
};

/** @returns what was shown, null when nobody was asked. @throws CommandFailure without a yes */
export async function confirmLive(
  output: Output,
  { isAnswered, place, consequence, otherwise, question, tell }: LiveQuestion,
): Promise<readonly string[] | null> {
  if (isAnswered) return null;
  const refuse = (message: string): never => {
    throw new CommandFailure('refused by us', [
      {
        code: 'NOT_CONFIRMED',
        place,
        message: `${message}; ${otherwise}`,
        fix: 'Answer `yes`, or type it with --yes.',
      },
    ]);
  };
  const { ask } = output.io;
  if (ask === null) return refuse(`${consequence}, and there is no terminal to ask at`);
  const lines = await tell();
  output.note(`${place}, LIVE:`, ...lines.map((line) => `  ${line}`));
  const answer = await ask(question);
  if (answer.trim().toLowerCase() !== 'yes') refuse('the answer was not `yes`');
  return lines;
}

/** Starting a schedule's runs by hand, or letting a paused one start them again. @throws CommandFailure without a yes */
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
