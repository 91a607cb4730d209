/** Makes other people's text safe to show: it cannot control the terminal, nor forge a line of ours (M6). Pure. */

/**
 * Text that is safe to print: tabs become blanks, and a character that a terminal would obey, hide or reorder becomes a
 * visible mark.
 */
export function printable(text: string): string {
  return text
    .replaceAll('\t', ' ')
    .replaceAll(/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\uFEFF\u200B]/gu, '\u{FFFD}');
}

/** Text of a file, safe to show in a message: in quotes, cut at 60 characters, control characters replaced. */
export function quoted(text: string): string {
  const characters = Array.from(printable(text));
  const cut = characters.length > 60 ? `${characters.slice(0, 59).join('')}…` : characters.join('');
  return `"${cut}"`;
}

/** The text with a full stop, unless it ends a sentence already. */
export function sentence(text: string): string {
  return /[.?!:]$/.test(text.trimEnd()) ? text : `${text}.`;
}
