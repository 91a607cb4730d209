/** Instructions as tests give them: what a test is not about is filled in. */
import { randomUUID } from 'node:crypto';
import {
  newestCancel,
  type Instruction,
  type Kept,
  type Recorded,
} from '../../domain/people/instructions.ts';

type Loose<Whole, Left extends PropertyKey> = Whole extends unknown
  ? Omit<Whole, Left> & { readonly [Key in Extract<keyof Whole, Left>]?: Whole[Key] }
  : never;

type Filled = 'id' | 'by' | 'why' | 'takesBack';

/** One that is kept, as far as a test is about it. */
export type LooseRecorded = Loose<Recorded, Filled | 'atMs' | 'date' | 'number'>;

/** One that is said, as far as a test is about it. */
export type LooseInstruction = Loose<Instruction, Filled>;

/** As a command makes one, whose person had seen these. */
export function said(instruction: LooseInstruction, seen: readonly Instruction[] = []): Instruction {
  const whole = { id: randomUUID(), by: 'ana', why: 'seen', ...instruction };
  if (whole.kind === 'go-on') return { takesBack: whole.item === null ? newestCancel(seen) : null, ...whole };
  return whole;
}

/** As the workflow keeps one; accepted at `atMs` of `date`. */
export function recorded(instruction: LooseRecorded, before: readonly Recorded[] = []): Recorded {
  const { atMs = 1, number = before.length + 1 } = instruction;
  const date = new Date(atMs).toISOString().slice(0, 10);
  return { date, ...said(instruction, before), atMs, number };
}

/** What the workflow answers when people said this, each after they had seen the ones before, and nothing else is kept. */
export function kept(...instructions: readonly LooseRecorded[]): Kept {
  const all: Recorded[] = [];
  for (const instruction of instructions) all.push(recorded(instruction, all));
  return { instructions: all, facts: [] };
}

/** In the place of the hash of a list, where a test is not about it. */
export const LIST_HASH = 'A'.repeat(43);
