/** Instructions as tests give them: what a test is not about is filled in. */
import { randomUUID } from 'node:crypto';
import type { Instruction, Kept, Recorded } from '../../domain/people/instructions.ts';

type Loose<Whole, Filled extends PropertyKey> = Whole extends unknown
  ? Omit<Whole, Filled> & { readonly [Key in Extract<keyof Whole, Filled>]?: Whole[Key] }
  : never;

/** One that was accepted, as far as a test is about it. */
export type LooseRecorded = Loose<Recorded, 'id' | 'by' | 'why' | 'atMs' | 'date'>;

/** As a command makes one. */
export function said(instruction: Loose<Instruction, 'id' | 'by' | 'why'>): Instruction {
  return { id: randomUUID(), by: 'ana', why: 'seen', ...instruction };
}

/** As the workflow keeps one; accepted at `atMs` of `date`. */
export function recorded(instruction: LooseRecorded): Recorded {
  const atMs = instruction.atMs ?? 1;
  const date = new Date(atMs).toISOString().slice(0, 10);
  return { id: randomUUID(), by: 'ana', why: 'seen', date, ...instruction, atMs };
}

/** What the workflow answers when people said this and nothing else is kept. */
export function kept(...instructions: readonly LooseRecorded[]): Kept {
  return { instructions: instructions.map(recorded), facts: [] };
}
