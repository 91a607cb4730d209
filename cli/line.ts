/** A mistake of the command line, shown in the line that was typed. Pure. */
import { excerptOf, type Trouble } from '../language/text/problem.ts';
import { CommandFailure } from '../operations/failure.ts';

/**
 * A mistake that the parser does not see, such as options that exclude each other. @param place the option or argument with
 * the mistake
 */
export function mistake(place: string, message: string, fix: string): CommandFailure {
  return new CommandFailure('bad input', [{ code: 'BAD_COMMAND_LINE', place, message, fix }]);
}

/** The trouble with the command line, and carets under the mistake where the line has it. */
export function inLine(trouble: Trouble, argv: readonly string[]): Trouble {
  const [named = ''] = (trouble.place ?? '').split(/[ ,=]/);
  const at = named === '' ? -1 : argv.findIndex((text) => text === named || text.startsWith(`${named}=`));
  if (at < 0 || trouble.excerpt !== undefined) return trouble;
  const words = ['cambist', ...argv.map(asTyped)];
  const value = named.startsWith('--') && argv[at + 1]?.startsWith('-') === false ? 1 : 0;
  const start = words.slice(0, at + 1).join(' ').length + 1;
  const end = words.slice(0, at + 2 + value).join(' ').length;
  return { ...trouble, excerpt: excerptOf(words.join(' '), { start, end }) };
}

function asTyped(text: string): string {
  return /^[\w./:=@,+-]+$/.test(text) ? text : `"${text}"`;
}
