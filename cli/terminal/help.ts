/** Help as the parser of the command line lays it out, fitted to the width. Apart from `Output`, so that it needs nothing else. */
import { Help, type Command } from 'commander';
import type { Sink } from './io.ts';
import { forTerminal } from './safe.ts';
import { withWholeCommands } from './whole-commands.ts';

export function writeHelp(sink: Sink, text: string): void {
  sink.write(`${forTerminal(text.replace(/\n$/, ''), false)}\n`);
}

/** As the parser wraps, but that no command is broken. */
export function wrapHelp(text: string, width: number): string {
  return withWholeCommands(text, (whole) => new Help().boxWrap(whole, width));
}

/** Adds lines below the help of a command, as they fit the width. */
export function addSections(command: Command, sectionsFor: (width: number) => readonly string[]): Command {
  return command.addHelpText('after', ({ error, command: shown }) => {
    const written = shown.configureOutput();
    const width = error ? written.getErrHelpWidth?.() : written.getOutHelpWidth?.();
    return sectionsFor(width ?? 80).join('\n');
  });
}

/** `  4  refused by …`, continued below the meaning. */
export function exitCodeLines(
  codes: readonly (readonly [code: number, meaning: string])[],
  width: number,
): string {
  return codes
    .map(([code, meaning]) => {
      const lines = wrapHelp(meaning, width - 7).split('\n');
      return `  ${String(code).padStart(3)}  ${lines.join(`\n${' '.repeat(7)}`)}`;
    })
    .join('\n');
}
