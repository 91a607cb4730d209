/**
 * One reset of a run, as a person would press it in Temporal's UI: to the id of an event, in one request. When no answer
 * comes, the command looks whether the reset took effect before it asks again, since Temporal would reset a second time.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceError, isGrpcServiceError } from '@temporalio/client';
import { runName } from '../../domain/references.ts';
import { describe } from '../../durable/described.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import type { EventId } from './points.ts';
import type { RunFacts } from '../follow/runs.ts';

const REQUEST_LIMIT_MS = 10_000;
const TRIES = 3;
/** A request whose answer was lost may still be on its way, so the command waits this long before it looks. */
const UNDER_WAY_MS = 1_000;
/** The gRPC codes that mean that Temporal has not reset the run: bad request, not found, exists, not now, not for us. */
const REFUSALS: readonly number[] = [3, 5, 6, 7, 9, 12, 16];

/** Who made the reset. The id is that of the new Temporal run. */
export type ResetMade = { readonly kind: 'made' | 'made by another person'; readonly runId: string };

/**
 * Resets the Temporal run of `facts` to an event. When the run already has a newer Temporal run, nothing is reset, and the
 * command follows the newer one.
 * @param reason as Temporal's UI shows it
 * @throws CommandFailure when Temporal refuses it, or when it is not known whether it was done
 */
export async function resetRun(
  place: Place,
  facts: RunFacts,
  { eventId, reason }: { readonly eventId: EventId; readonly reason: string },
): Promise<ResetMade> {
  const { client, namespace } = place;
  const { workflowId, temporalRunId: runId } = facts;
  const newest = await describe(client, workflowId);
  if (newest !== null && newest.runId !== runId)
    return { kind: 'made by another person', runId: newest.runId };
  const before = await readReset(place, facts);
  const requestId = randomUUID();
  for (let tries = 1; ; tries += 1) {
    try {
      const made = await client.withDeadline(Date.now() + REQUEST_LIMIT_MS, () =>
        client.workflowService.resetWorkflowExecution({
          namespace,
          workflowExecution: { workflowId, runId },
          workflowTaskFinishEventId: eventId,
          requestId,
          reason,
        }),
      );
      return { kind: 'made', runId: made.runId };
    } catch (error) {
      if (REFUSALS.includes(codeOf(error))) throw refused(facts, eventId, error);
      await sleep(UNDER_WAY_MS);
      const made = await readReset(place, facts);
      if (made !== null && made !== before) return { kind: 'made', runId: made };
      if (tries === TRIES) throw unclear(facts, error);
    }
  }
}

/** The Temporal run that the last reset of this one has made; null: it was not reset. */
async function readReset({ client }: Place, { workflowId, temporalRunId }: RunFacts): Promise<string | null> {
  const shown = await describe(client, workflowId, temporalRunId);
  return shown?.raw.workflowExtendedInfo?.resetRunId || null;
}

function codeOf(error: unknown): number {
  const cause = error instanceof ServiceError ? error.cause : error;
  return isGrpcServiceError(cause) ? cause.code : -1;
}

function refused({ run }: RunFacts, eventId: EventId, error: unknown): CommandFailure {
  const why = error instanceof Error ? error.message : String(error);
  return new CommandFailure('bad input', [
    {
      code: 'RESET_REFUSED',
      place: runName(run),
      message: `Temporal cannot reset the run to event ${String(eventId)} (${why}); nothing was changed`,
      fix: `\`npx cambist explain-reset ${runName(run)}\` lists the events that it takes.`,
    },
  ]);
}

function unclear({ run }: RunFacts, error: unknown): CommandFailure {
  const why = error instanceof Error ? error.message : String(error);
  return new CommandFailure('infrastructure', [
    {
      code: 'RESET_UNCLEAR',
      place: runName(run),
      message: `Temporal did not say whether it has reset it (${why})`,
      fix: `See \`npx cambist status ${runName(run)}\`, then type the same again: another reset moves no money twice.`,
    },
  ]);
}
