/**
 * The layout of the help of the command line, fitted to the width. It is apart from `Output`, so that it needs nothing else.
 */
import { Help, type Command } from 'commander';
import type { Sink } from './io.ts';
import { forTerminal } from './safe.ts';
import { withWholeCommands } from './whole-commands.ts';

export function writeHelp(sink: Sink, text: string): void {
  sink.write(`${forTerminal(text.replace(/\n$/, ''), false)}\n`);
}

/** Wraps as the parser does, but never breaks a command. */
export function wrapHelp(text: string, width: number): string {
  return withWholeCommands(text, (whole) => new Help().boxWrap(whole, width));
}

/** Adds lines below the help of a command, fitted to the width. */
export function addSections(command: Command, sectionsFor: (width: number) => readonly string[]): Command {
  return command.addHelpText('after', ({ error, command: shown }) => {
    const written = shown.configureOutput();
    const width = error ? written.getErrHelpWidth?.() : written.getOutHelpWidth?.();
    return sectionsFor(width ?? 80).join('\n');
  });
}

/** `  4  refused by …`; further lines of a meaning stand below it. */
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
