/** The halts that stand, as `halt`, `resume`, `status` and `list` show them. */
import {
  READING_HOLDS_MS,
  endedSentence,
  haltSentence,
  scopeOptions,
  type Halt,
  type RecordEnd,
} from '../../domain/halt.ts';
import type { Ending } from '../../domain/endings.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { StoppedWorker } from '../../operations/halt/drill.ts';
import type { Output } from '../terminal/output.ts';
import { count, table } from '../terminal/text.ts';

/** How halts stand, as a command has read it. `ended`: who has ended their record last; null: no person has. */
type Standing = { readonly halts: readonly Halt[]; readonly ended: RecordEnd | null };

/** Tells what was done, and shows every halt that stands now. `more` goes into the document. */
export function showHalts(output: Output, standing: Standing, message: string, more: object = {}): Ending {
  output.document({ ...standingDocument(standing), ...more, message, exitCode: EXIT_CODES.done });
  output.say(message, ...standingLines(standing));
  return 'done';
}

export function standingDocument({ halts, ended }: Standing): object {
  const recordEnded = ended && { by: ended.by, why: ended.why, at: new Date(ended.atMs).toISOString() };
  return { halts: halts.map(haltDocument), recordEnded };
}

export function standingLines({ halts, ended }: Standing): readonly string[] {
  const told = `${ended === null ? '' : endedSentence(ended)} What was halted stays halted until a resume that names it.`;
  return [...halts.map(haltLine), ...(ended === null ? [] : [told])];
}

export function haltLine(halt: Halt): string {
  return `Halted: ${haltSentence(halt)} To let it go on: npx cambist resume${scopeOptions(halt.scope)}`;
}

/**
 * The text for a person who halts a second time: the scope has been halted all the time, and the new reason replaces the
 * first.
 */
export function replacedText(replaced: Halt | null, why: string): string {
  return replaced === null
    ? ''
    : ` It was halted already: ${haltSentence(replaced)} The reason is now "${why}".`;
}

export function haltDocument({ scope, by, why, atMs }: Halt): Record<string, unknown> {
  return { ...scope, by, why, since: new Date(atMs).toISOString() };
}

/** How fast each worker was stopped by a drill. */
export function showDrill(output: Output, stopped: readonly StoppedWorker[], isLeft: boolean): Ending {
  const ending = isLeft ? 'detached' : 'done';
  const slowestMs = Math.max(0, ...stopped.map(({ afterMs }) => afterMs));
  output.document({ stopped, slowestMs, exitCode: EXIT_CODES[ending] });
  const columns = [{ title: 'WORKER' }, { title: 'STOPPED AFTER', right: true }];
  const rows = stopped.map(({ worker, afterMs }) => [worker, seconds(afterMs)]);
  if (rows.length > 0) output.show(table(columns, rows, output.width));
  if (isLeft) output.say('This command has ended before every worker had answered. Nothing was halted.');
  else
    output.say(
      `A halt stops ${count(stopped.length, 'worker')}: the slowest said so after ${seconds(slowestMs)}. Nothing was halted.`,
    );
  if (slowestMs > READING_HOLDS_MS)
    output.note(
      'This took longer than a second. Meanwhile such a worker sends nothing, since what it has read last is too old. The worker or Temporal is very busy.',
    );
  return ending;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(2)} s`;
}
