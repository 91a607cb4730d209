/** Whether a run is cancelled by what people said, for activities that send nothing. */
import { isCancelled } from '../domain/people/instructions.ts';
import type { Mode } from '../domain/service/records.ts';
import type { RunName } from '../domain/references.ts';
import type { Deps } from './deps.ts';
import { keptOrNothing } from './kept-or-nothing.ts';

/** False where the instructions are missing. An activity that sends something then says so, and waits. */
export async function isRunCancelled(deps: Deps, mode: Mode, run: RunName): Promise<boolean> {
  return isCancelled((await keptOrNothing(deps, { mode, run })).instructions);
}
