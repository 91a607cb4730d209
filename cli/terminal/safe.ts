/**
 * Printed text cannot steer a terminal or forge a line of ours (M6). There are two steps. `plain` makes every text inside a
 * value one harmless line, before a view puts it among our own words. `Output` then lets only our own line ends and colours
 * through, and nothing else that a terminal obeys. JSON keeps every character, written as `\uXXXX` where it could do harm.
 */
import { printable } from '../../language/text/printable.ts';

/**
 * The value, with every text in it as one line that is safe to print. The names of fields are our own, and are not changed.
 */
export function plain<T>(value: T): T {
  return plainly(value) as T;
}

function plainly(value: unknown): unknown {
  if (typeof value === 'string') return printable(value);
  if (Array.isArray(value)) return value.map(plainly);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plainly(each)]));
}

/** A colour as picocolors writes it. */
// oxlint-disable-next-line no-control-regex -- these are the control characters that we write
const COLOUR = /(\u001B\[[0-9]{1,2}m)/;

/**
 * The last step for a text that goes to a terminal: lines stay lines. An escape stays only when it is a colour and `colours`
 * is true.
 */
export function forTerminal(text: string, colours: boolean): string {
  return text
    .split('\n')
    .map((line) =>
      colours
        ? line
            .split(COLOUR)
            .map((part, index) => (index % 2 === 1 ? part : printable(part)))
            .join('')
        : printable(line),
    )
    .join('\n');
}

/** JSON text of the same value, without a character that a terminal obeys, hides or reorders. */
export function forJson(json: string): string {
  return json.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}\uFEFF\u200B]/gu, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
