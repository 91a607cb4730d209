/**
 * Runs of which Temporal knows nothing, though the service has records of them. This is the sign of a Temporal that was
 * restored from an older backup. A worker lets a new run wait beside lost runs of its policy (`activities/lost-runs.ts`).
 * Reads only.
 */
import type { Client } from '@temporalio/client';
import { workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import { instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { describe } from '../described.ts';
import { fewAtOnce } from '../few-at-once.ts';

/** So many runs are asked for side by side. */
const ASKED_AT_ONCE = 10;

/** The runs of which Temporal knows nothing at all: no run, no plan, and nothing that people said. */
export async function unknownRuns(
  client: Client,
  mode: Mode,
  runs: readonly RunName[],
): Promise<readonly RunName[]> {
  const areKnown = await fewAtOnce(runs, ASKED_AT_ONCE, (run) => isKnown(client, mode, run));
  return runs.filter((_run, index) => areKnown[index] !== true);
}

async function isKnown(client: Client, mode: Mode, run: RunName): Promise<boolean> {
  for (const workflowId of [workflowIdOf(mode, run), planIdOf(mode, run), instructionsIdOf(mode, run)])
    // Mostly the first of the three is there.
    if ((await describe(client, workflowId)) !== null) return true;
  return false;
}
