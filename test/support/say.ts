/** Says an instruction as a command does: for what is kept at this moment. */
import { newestSaid } from '../../domain/people/instructions.ts';
import { recordInstruction } from '../../durable/instructions/keep.ts';
import { readInstructions, type InstructionsOf } from '../../durable/instructions/read.ts';
import { said, type LooseInstruction } from './instructions.ts';

export async function say(of: InstructionsOf, instruction: LooseInstruction): Promise<void> {
  const seen = (await readInstructions(of))?.instructions ?? [];
  await recordInstruction(of, said(instruction, seen), newestSaid(seen));
}
