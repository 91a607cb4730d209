/**
 * What all commands share: `--json`, the help that teaches, and how an action becomes an exit code. Each command's file
 * exports one function that adds it to the program.
 */
import type { Command } from 'commander';
import { EXIT_CODES, EXIT_MEANINGS, type Ending } from './exit-codes.ts';
import { failureOf } from './failure.ts';
import type { Io } from './io.ts';
import { Output } from './output.ts';

/** One use of the command line. The action that was chosen leaves its ending here. */
export type Session = { readonly io: Io; ending: Ending };

/** Options as commander hands them over: every command has `--json`. */
export type JsonOption = { readonly json?: true };

/** Adds `--json` and the exit codes and examples to the help of a command. */
export function teach(
  command: Command,
  help: { readonly examples: readonly string[]; readonly endings: readonly Ending[] },
): Command {
  const endings = help.endings.map(
    (ending) => `  ${String(EXIT_CODES[ending]).padStart(3)}  ${EXIT_MEANINGS[ending]}`,
  );
  const examples = help.examples.map((example) => `  ${example}`);
  return command
    .option('--json', 'print one JSON document on stdout and nothing else; the rest goes to stderr')
    .addHelpText('after', ['', 'Examples:', ...examples, '', 'Exit codes:', ...endings].join('\n'));
}

/** Runs an action: its failure is shown, and either way the session knows how the command ended. */
export async function act(
  session: Session,
  options: JsonOption,
  action: (output: Output) => Promise<Ending>,
): Promise<void> {
  const output = new Output(session.io, options.json === true);
  try {
    session.ending = await action(output);
  } catch (error) {
    const failure = failureOf(error);
    output.fail(failure);
    session.ending = failure.ending;
  }
}
