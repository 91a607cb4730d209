/** Commands that people paste are never broken where a text is wrapped. Pure. */

/** A command in a text: in backquotes, or at the end of its line. */
const COMMAND = /`npx [^`]*`|(?<=^|: )npx [^`]*$/gm;
/** Of private use, so that no text has it, and nobody breaks a line at it. */
const BLANK = '\u{E000}';

/** The text as `wrap` wraps it, which sees each command as one word. */
export function withWholeCommands(text: string, wrap: (text: string) => string): string {
  return wrap(text.replaceAll(COMMAND, (command) => command.replaceAll(' ', BLANK))).replaceAll(BLANK, ' ');
}
