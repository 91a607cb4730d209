/** The instructions of a run, for activities that send nothing, and of a run that may have none yet. */
import { NOTHING_KEPT, type Kept } from '../domain/people/instructions.ts';
import { InstructionsPaused, InstructionsUnreadable } from '../durable/instructions/read.ts';
import { InstructionsFewer, InstructionsMissing, type Deps, type OfBatch } from './deps.ts';

/**
 * Where the instructions are missing, none are given, as before a run has a plan. An activity that sends
 * something reads them in another way: it says that they are missing, or paused, and waits.
 */
export async function keptOrNothing({ instructions }: Deps, { mode, run }: OfBatch): Promise<Kept> {
  try {
    return await instructions.read(mode, run);
  } catch (error) {
    if (error instanceof InstructionsMissing) return NOTHING_KEPT;
    if (
      error instanceof InstructionsPaused ||
      error instanceof InstructionsFewer ||
      error instanceof InstructionsUnreadable
    )
      return error.kept;
    throw error;
  }
}
