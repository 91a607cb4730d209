/** Keeps commands whole where a text is wrapped, since people paste them. Pure. */

/** A command in a text: in backquotes, or at the end of its line. */
const COMMAND = /`npx [^`]*`|(?<=^|: )npx [^`]*$/gm;
/** A character of private use: no text has it, and no line is broken at it. */
const BLANK = '\u{E000}';

/** The text as `wrap` wraps it. `wrap` sees each command as one word. */
export function withWholeCommands(text: string, wrap: (text: string) => string): string {
  return wrap(text.replaceAll(COMMAND, (command) => command.replaceAll(' ', BLANK))).replaceAll(BLANK, ' ');
}
