/** What people have said of a run, for activities that look where nothing may be kept of it. */
import { NOTHING_KEPT, type Kept } from '../domain/people/instructions.ts';
import { InstructionsMissing, type Deps, type OfBatch } from './deps.ts';

/** Nothing where it is missing, as before a run has a plan. Whatever would send something reads it otherwise: it says so, and waits. */
export async function keptOrNothing({ instructions }: Deps, { mode, run }: OfBatch): Promise<Kept> {
  try {
    return await instructions.read(mode, run);
  } catch (error) {
    if (error instanceof InstructionsMissing) return NOTHING_KEPT;
    throw error;
  }
}
