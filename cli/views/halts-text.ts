/** What is halted, as `halt`, `resume`, `status` and `list` show it. */
import { haltSentence, scopeOptions, type Halt } from '../../domain/halt.ts';
import type { Ending } from '../../domain/endings.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';

/** What was done, and every halt that stands now. */
export function showHalts(output: Output, halts: readonly Halt[], message: string): Ending {
  output.document({ halts: halts.map(haltDocument), message, exitCode: EXIT_CODES.done });
  output.say(message, ...halts.map((halt) => haltLine(halt)));
  return 'done';
}

export function haltLine(halt: Halt): string {
  return `Halted: ${haltSentence(halt)} To let it go on: npx cambist resume${scopeOptions(halt.scope)}`;
}

export function haltDocument({ scope, by, why, atMs }: Halt): Record<string, unknown> {
  return { ...scope, by, why, since: new Date(atMs).toISOString() };
}
