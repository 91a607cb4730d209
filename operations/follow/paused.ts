/**
 * Workflows that a person has paused in Temporal (newer servers can do that). Such a workflow is open, does nothing and
 * answers no question. What was on its way when it was paused is still sent, and nothing after that. Reads only.
 */
import type { Client } from '@temporalio/client';
import { describe, pausedOf, type Paused } from '../../durable/described.ts';
import { maybePaused } from '../../durable/listed.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { CommandFailure } from '../failure.ts';
import { RUN_TYPE } from '../../workflows/names.ts';
import type { Place } from '../place.ts';

/**
 * Every workflow of this mode that is paused: runs, and those beside them. Nothing is sent of what one beside a run might
 * forbid.
 */
export async function pausedIn({ client, mode }: Pick<Place, 'client' | 'mode'>): Promise<{
  readonly runs: readonly Trouble[];
  readonly besideRuns: readonly Trouble[];
}> {
  const found = await maybePaused(client, mode);
  const those = (wanted: typeof found) =>
    pausedOnes(
      client,
      wanted.map(({ workflowId }) => workflowId),
    );
  const [runs, besideRuns] = await Promise.all([
    those(found.filter(({ type }) => type === RUN_TYPE)),
    those(found.filter(({ type }) => type !== RUN_TYPE)),
  ]);
  return { runs, besideRuns };
}

/** Ends a command that has asked a workflow whose answer Temporal refuses, because it is paused. */
export async function pausedFailure(client: Client, workflowId: string): Promise<CommandFailure> {
  const shown = await describe(client, workflowId);
  return new CommandFailure('needs a human', [
    pausedTrouble({ workflowId, paused: shown && pausedOf(shown) }),
  ]);
}

/** Those of the workflows that are paused now; none where Temporal cannot tell. */
export async function pausedOnes(
  client: Client,
  workflowIds: readonly string[],
): Promise<readonly Trouble[]> {
  const looked = await Promise.all(
    workflowIds.map(async (workflowId): Promise<readonly Trouble[]> => {
      const shown = await describe(client, workflowId).catch(() => null);
      const paused = shown === null ? null : pausedOf(shown);
      return paused === null ? [] : [pausedTrouble({ workflowId, paused })];
    }),
  );
  return looked.flat();
}

/** @param paused null: not known, since a person has unpaused it meanwhile */
function pausedTrouble({
  workflowId,
  paused,
}: {
  readonly workflowId: string;
  readonly paused: Paused | null;
}): Trouble {
  return {
    code: 'WORKFLOW_PAUSED',
    place: workflowId,
    message: `paused in Temporal${pausedText(paused)}: it does nothing, and answers no question`,
    fix: 'Press _Unpause_ at it in the Temporal UI; it then goes on by itself.',
  };
}

function pausedText(paused: Paused | null): string {
  const { by = null, why = null, sinceMs = null } = paused ?? {};
  const since =
    sinceMs === null ? '' : ` since ${new Date(sinceMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return `${since}${by === null ? '' : `, by ${by}`}${why === null ? '' : ` ("${why}")`}`;
}
