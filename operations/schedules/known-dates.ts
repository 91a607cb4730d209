/**
 * Keeps what is known of the dates of a schedule (`domain/known-dates.ts`): as signals in the history of one open workflow for
 * each policy, as halts are kept (`durable/halts/read.ts`). No worker serves it, and Temporal itself appends a signal.
 */
import type { Client } from '@temporalio/client';
import { knownDates, type AboutDate, type KnownDates } from '../../domain/known-dates.ts';
import type { Mode } from '../../domain/service/records.ts';
import { STARTS_TYPE, UNSERVED_QUEUE, aboutDateSignal, startsIdOf } from '../../workflows/names.ts';
import { describe } from '../../durable/described.ts';
import { isGone, readEvents, valuesOf } from '../../durable/history.ts';
import { runsOfId } from '../../durable/listed.ts';

type StartsOf = { readonly client: Client; readonly mode: Mode; readonly policy: string };

export async function readKnownDates({ client, mode, policy }: StartsOf): Promise<KnownDates> {
  const workflowId = startsIdOf(mode, policy);
  const newest = await describe(client, workflowId);
  if (newest === null) return knownDates([]);
  // Mostly there is one. When a person has ended it, the next note has begun another one. The list may not show that one yet.
  const listed = await runsOfId(client, workflowId);
  const runIds = new Set([...listed, newest].map(({ runId }) => runId));
  const noted: unknown[] = [];
  for (const runId of runIds)
    for (const event of (await readEvents(client, workflowId, runId)) ?? []) {
      const signal = event.workflowExecutionSignaledEventAttributes;
      if (signal?.signalName === aboutDateSignal.name)
        noted.push(...(await valuesOf({ client, workflowId }, signal.input?.payloads)));
    }
  return knownDates(noted);
}

/** When Temporal does not answer within this time, it counts as not noted. */
const NOTE_LIMIT_MS = 10_000;

export async function noteDate({ client, mode, policy }: StartsOf, about: AboutDate): Promise<void> {
  await client.withDeadline(Date.now() + NOTE_LIMIT_MS, () =>
    client.workflow.signalWithStart(STARTS_TYPE, {
      workflowId: startsIdOf(mode, policy),
      taskQueue: UNSERVED_QUEUE,
      signal: aboutDateSignal,
      signalArgs: [about],
      staticSummary: `Which dates of the schedule of ${policy} have had their run`,
      staticDetails:
        'Kept for `npx cambist list --attention`, which tells the dates that were missed. No worker serves it, and none is needed. Leave it open.',
    }),
  );
}

/** Ends what is known, when the schedule is deleted. */
export async function forgetDates({ client, mode, policy }: StartsOf): Promise<void> {
  try {
    await client.workflow.getHandle(startsIdOf(mode, policy)).terminate('the schedule was deleted');
  } catch (error) {
    if (!isGone(error)) throw error;
  }
}
