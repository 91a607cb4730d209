/** Every command of the program, those that are typed behind another one by both their words. */
import type { Command } from 'commander';
import type { Io } from '../../cli/terminal/io.ts';
import { buildProgram } from '../../cli/main.ts';

export type NamedCommand = { readonly name: string; readonly command: Command };

/** The whole program, which says nothing. */
export function silentProgram(): Promise<Command> {
  const io = { env: {}, stdout: { write: () => {} }, stderr: { write: () => {} } };
  return buildProgram({ io: io as unknown as Io, argv: [], ending: 'done' });
}

/** `run`, `schedule next`: what can be carried out, not the first words that only lead to it. */
export function commandsOf(parent: Command, words: readonly string[] = []): readonly NamedCommand[] {
  return parent.commands.flatMap((command) => {
    const name = [...words, command.name()];
    return command.commands.length > 0 ? commandsOf(command, name) : [{ name: name.join(' '), command }];
  });
}
