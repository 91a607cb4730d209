/** Why an open run is stuck, where the run cannot say so itself. Temporal shows it. */
import type { Client } from '@temporalio/client';
import type { RunName } from '../../domain/references.ts';
import { canBeAsked, describe, isOpen } from '../../durable/described.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import { lastTaskFailure, msOf } from '../../durable/history.ts';
import { SEAL_KEY_MISSING } from '../../domain/unreadable.ts';
import { chunkIdOf } from '../../workflows/names.ts';
import { WORKER_LACKS_KEY } from '../key-missing.ts';
import type { Place } from '../place.ts';
import type { RunFacts } from './runs.ts';
import { UNTAKEN_MS } from './until-it-ends.ts';

/** What Temporal shows of an open run that is stuck and cannot say so itself. The ids are Temporal's. */
export type Outside = {
  readonly historyLength: number;
  /** Type of the failure of the last workflow task; null when it has not failed. */
  readonly taskFailure: string | null;
  /** `waitsMs`: so long ago Temporal has made it. */
  readonly pendingWorkflowTask: {
    readonly attempt: number;
    readonly isStarted: boolean;
    readonly waitsMs: number;
  } | null;
  readonly pendingActivities: readonly {
    readonly name: string;
    readonly attempt: number;
    /** Type of the failure of the last attempt; null when it has not failed. */
    readonly lastFailure: string | null;
  }[];
};

/** After this many attempts, a fault of a task or a call no longer counts as one that passes. */
const MANY_ATTEMPTS = 4;
/** An activity that waits fails with this type, so that Temporal calls it again later. Nothing is wrong. */
const NOT_YET = 'NOT_YET';

/** Workers that have much to do take a task later, but by then. Those of chunks come last in line. */
const BUSY_MS = { run: 60_000, chunk: 300_000 } as const;
type Kind = keyof typeof BUSY_MS;

/** Why an open run, or an open chunk of a run that goes on, is stuck; null when it is not, or says so itself. Pure. */
export function stuckBy(outside: Outside, kind: Kind): Stuck | null {
  const isOfKeys = [outside.taskFailure, ...outside.pendingActivities.map((call) => call.lastFailure)];
  if (isOfKeys.includes(SEAL_KEY_MISSING)) return LACKS_KEY;
  const message = stuckText(outside, kind);
  return message === null ? null : { code: 'STUCK', message };
}

/** The code of one that the list shows, and why, as one sentence. */
export type Stuck = { readonly code: 'STUCK' | typeof SEAL_KEY_MISSING; readonly message: string };

const LACKS_KEY: Stuck = {
  code: SEAL_KEY_MISSING,
  message: `${WORKER_LACKS_KEY.message}. ${WORKER_LACKS_KEY.fix}`,
};

const LOST_TASK_TEXT = {
  run: 'No worker has taken it. Start one with `npx cambist worker`. If that changes nothing, Temporal has lost its task: reset it in Temporal to its last workflow task or, where Temporal refuses that, terminate it and start it again. Both are safe.',
  chunk:
    'No worker has taken it for five minutes, although its run goes on. If other chunks go on too, Temporal has lost its task: reset it in Temporal to its last workflow task or, where Temporal refuses that, terminate it, and its run begins it anew. Both are safe.',
} as const;

function stuckText(outside: Outside, kind: Kind): string | null {
  const { pendingWorkflowTask: task, pendingActivities, historyLength } = outside;
  if (task !== null && task.attempt >= MANY_ATTEMPTS)
    return `Its workflow task has failed ${task.attempt - 1} times: this version of the worker cannot go on with it. See the failure in the Temporal UI; a reset is safe.`;
  const isFirst = kind === 'run' && historyLength <= 2;
  if (task?.isStarted === false && task.waitsMs >= (isFirst ? UNTAKEN_MS : BUSY_MS[kind]))
    return LOST_TASK_TEXT[kind];
  const call = pendingActivities.find(
    ({ attempt, lastFailure }) => attempt >= MANY_ATTEMPTS && lastFailure !== null && lastFailure !== NOT_YET,
  );
  if (call === undefined) return null;
  return `Its call ${call.name} has failed ${call.attempt - 1} times (${call.lastFailure ?? ''}). See the failure in the Temporal UI, and the worker’s log.`;
}

/** `stuckBy` for a run as it is in Temporal now; null also when the run has ended in the meantime, or is paused. */
export async function readStuck(
  client: Client,
  { workflowId, temporalRunId }: Pick<RunFacts, 'workflowId' | 'temporalRunId'>,
  nowMs: number,
): Promise<Stuck | null> {
  const outside = await readOutside(client, workflowId, temporalRunId, nowMs);
  return outside === null ? null : stuckBy(outside, 'run');
}

/** This many chunks of a batch are asked about side by side. */
const CHUNKS_AT_ONCE = 10;

/** The first of these chunks of a batch that is stuck: its run waits for it, and does not know why. */
export async function readStuckChunk(
  { client, mode }: Pick<Place, 'client' | 'mode'>,
  run: RunName,
  chunks: readonly number[],
  nowMs: number,
): Promise<Stuck | null> {
  const found = await fewAtOnce(chunks, CHUNKS_AT_ONCE, async (number) => {
    const outside = await readOutside(client, chunkIdOf(mode, run, number), undefined, nowMs);
    return outside && stuckBy(outside, 'chunk');
  });
  const first = found.findIndex((stuck) => stuck !== null);
  const stuck = found[first] ?? null;
  return stuck === null ? null : { ...stuck, message: `Chunk ${chunks[first]}: ${stuck.message}` };
}

async function readOutside(
  client: Client,
  workflowId: string,
  temporalRunId: string | undefined,
  nowMs: number,
): Promise<Outside | null> {
  const shown = await describe(client, workflowId, temporalRunId);
  if (shown === null || !isOpen(shown) || !canBeAsked(shown)) return null;
  const { raw, historyLength } = shown;
  const task = raw.pendingWorkflowTask ?? null;
  const isStarted = (task?.startedTime ?? null) !== null;
  const waitsMs = nowMs - msOf(task?.originalScheduledTime ?? task?.scheduledTime);
  const isTried = (task?.attempt ?? 1) > 1;
  return {
    historyLength,
    taskFailure: isTried ? await lastTaskFailure(client, workflowId, shown.runId) : null,
    pendingWorkflowTask: task === null ? null : { attempt: task.attempt ?? 1, isStarted, waitsMs },
    pendingActivities: (raw.pendingActivities ?? []).map(({ activityType, attempt, lastFailure }) => ({
      name: activityType?.name ?? '?',
      attempt: attempt ?? 1,
      lastFailure:
        (lastFailure ?? null) === null ? null : (lastFailure?.applicationFailureInfo?.type ?? 'failure'),
    })),
  };
}
