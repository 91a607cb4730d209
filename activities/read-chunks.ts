/**
 * `readChunks`: reads how the chunks of a batch stand, from the newest Temporal run of each. It tells chunks
 * that there is news for them, and starts a chunk again that has ended with something undone. Moves nothing.
 */
import type { ChunksCall } from '../domain/run/calls.ts';
import type { Activities } from '../workflows/calls.ts';
import { allEnded } from './all-ended.ts';
import type { Deps } from './deps.ts';
import { beating } from './heartbeats.ts';
import { ownRunId } from './tell-run.ts';

/** So many chunks are asked side by side. */
const SIDE_BY_SIDE = 5;

export const readChunks =
  (deps: Deps): Activities['readChunks'] =>
  (call) =>
    beating(async () => {
      await inParts(call.tell, (number) => tell(deps, call, number));
      const chunks = await inParts(call.read, async (number) => {
        const read = await deps.chunks.readState(call.mode, call.run, number);
        return { number, state: read?.state ?? null, isClosed: read?.isClosed ?? false };
      });
      deps.tell({ kind: 'reached', point: 'before result' });
      return { chunks, runId: ownRunId() };
    });

/** Tells an open chunk. A chunk that has ended with something undone is started again, safe by its keys. */
async function tell(deps: Deps, { mode, run, isEnding }: ChunksCall, number: number): Promise<void> {
  if (isEnding) await deps.instructions.end(mode, run, number);
  if (await deps.chunks.tell(mode, run, number)) return;
  if (!isEnding) await deps.chunks.startAgain(mode, run, number);
}

async function inParts<Result>(
  numbers: readonly number[],
  one: (number: number) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let first = 0; first < numbers.length; first += SIDE_BY_SIDE)
    results.push(...(await allEnded(numbers.slice(first, first + SIDE_BY_SIDE).map(one))));
  return results;
}
