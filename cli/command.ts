/**
 * What all commands share: `--json`, the examples and exit codes in the help, and how an action becomes an exit code. Each
 * command's file exports one function that gives it its options, its help and its action.
 */
import type { Command } from 'commander';
import type { Ending } from '../domain/endings.ts';
import { EXIT_CODES, EXIT_MEANINGS } from '../operations/exit-codes.ts';
import { CommandFailure } from '../operations/failure.ts';
import type { Io } from './terminal/io.ts';
import { addSections, exitCodeLines } from './terminal/help.ts';
import { inLine } from './line.ts';
import { Output } from './terminal/output.ts';

/** One use of the command line. The action that ran leaves its ending here. */
export type Session = { readonly io: Io; readonly argv: readonly string[]; ending: Ending };

/** The options that every command has, as commander gives them. */
export type JsonOption = { readonly json?: true };

/** How a command may end that shows a run. A command that follows a run may also end as `detached`. */
export const RUN_ENDINGS: readonly Ending[] = [
  'done',
  'bad input',
  'configuration',
  'refused by us',
  'refused by the service',
  'needs a human',
  'infrastructure',
  'waiting',
];

/** Adds `--json` and the exit codes and examples to the help of a command. */
export function teach(
  command: Command,
  help: { readonly examples: readonly string[]; readonly endings: readonly Ending[] },
): Command {
  const codes = help.endings.map((ending) => [EXIT_CODES[ending], EXIT_MEANINGS[ending]] as const);
  const examples = help.examples.map((example) => `  ${example}`);
  command.option('--json', 'print one JSON document on stdout and nothing else; the rest goes to stderr');
  return addSections(command, (width) => [
    '',
    'Examples:',
    ...examples,
    '',
    'Exit codes:',
    exitCodeLines(codes, width),
  ]);
}

/** Runs an action. Shows its failure, and keeps in either case how the command ended. */
export async function act(
  session: Session,
  options: JsonOption,
  action: (output: Output) => Promise<Ending>,
): Promise<void> {
  const output = new Output(session.io, options.json === true);
  try {
    session.ending = await action(output);
  } catch (error) {
    const failure = error instanceof CommandFailure ? error : await describeFailure(error);
    output.fail(shownIn(failure, session.argv), await differenceOf(failure));
    session.ending = failure.ending;
  }
}

/** The file that knows every error is loaded only now, since most commands never need it. */
async function describeFailure(error: unknown): Promise<CommandFailure> {
  const { failureOf } = await import('../operations/failure-of.ts');
  return failureOf(error);
}

async function differenceOf({ texts }: CommandFailure): Promise<string | null> {
  if (texts === null) return null;
  const { difference } = await import('./views/difference.ts');
  return difference(texts.before, texts.after);
}

/** The failure, with each mistake of an option shown in the line that the person typed. */
function shownIn(failure: CommandFailure, argv: readonly string[]): CommandFailure {
  const problems = failure.problems.map((problem) => inLine(problem, argv));
  return new CommandFailure(failure.ending, problems, failure.texts);
}
