/**
 * A drill of the kill switch: it shows that a halt stops every worker, and how fast, without stopping anything. It halts a
 * policy with a name that no policy can have, in the same record and by the same signal as every halt. Each worker that finds
 * itself stopped by it says so to a workflow of the drill. Both times are the server's own, so no clock of another machine
 * counts.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { drillOf, drillScope, isSameScope, type Halt } from '../../domain/halt.ts';
import { readEvents, timeOf, valuesOf } from '../../durable/history.ts';
import { UNSERVED_QUEUE, HALT_TYPE, haltDrillIdOf, stoppedSignal } from '../../workflows/names.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { readPollers } from '../watch/pollers.ts';
import { keepHalt, resume } from './switch.ts';

/** How long after the halt the worker said that it was stopped. The time that its answer took is included. */
export type StoppedWorker = { readonly worker: string; readonly afterMs: number };

/** A worker that has not answered within this time is named as not stopped. */
const ANSWER_LIMIT_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** When a drill is killed half-way, its workflow ends by itself, and the next drill takes its halt back. */
const LIFE_MS = 600_000;

/**
 * @param left ends the drill early: its halt is taken back, and the answers until then are returned
 * @returns every worker that said that it was stopped, the fastest first, also those of other task queues
 * @throws CommandFailure when there is no worker, or when one did not answer in time
 */
export async function drillHalt(
  place: Place,
  { by, nowMs, left }: { readonly by: string; readonly nowMs: number; readonly left: AbortSignal },
): Promise<readonly StoppedWorker[]> {
  const { client, mode, taskQueue } = place;
  const workers = await readPollers(client, taskQueue, nowMs);
  if (workers.length === 0) throw noWorker(taskQueue);
  const drill = randomUUID().slice(0, 8);
  const said = { scope: drillScope(drill), by, why: 'a drill: nothing is stopped' };
  const handle = await client.workflow.start(HALT_TYPE, {
    workflowId: haltDrillIdOf(mode, drill),
    taskQueue: UNSERVED_QUEUE,
    args: [],
    workflowExecutionTimeout: LIFE_MS,
    staticSummary: `A drill of a halt in ${mode}`,
    staticDetails: 'Workers say here that it has stopped them. Nothing was stopped by it.',
  });
  let own: Halt | null = null;
  try {
    const { halts } = await keepHalt(place, said);
    own = halts.find(({ scope }) => isSameScope(scope, said.scope)) ?? null;
    const saidAtMs = own?.atMs ?? nowMs;
    const isLeft = ({ scope, atMs }: Halt): boolean => drillOf(scope) !== null && saidAtMs - atMs > LIFE_MS;
    await resume(place, halts.filter(isLeft), said);
    const untilMs = performance.now() + ANSWER_LIMIT_MS;
    for (;;) {
      const stopped = await readStopped(client, handle.workflowId, saidAtMs);
      const silent = workers.filter((name) => !stopped.some(({ worker }) => worker === name));
      if (silent.length === 0 || left.aborted) return stopped;
      if (performance.now() >= untilMs) throw notStopped(silent, stopped);
      await sleep(LOOK_EVERY_MS, undefined, { signal: left }).catch(() => {});
    }
  } finally {
    // Where the halt was not kept, or its answer was lost, the next drill takes it back.
    if (own !== null) await resume(place, [own], said);
    await handle.terminate('the drill is over');
  }
}

/** The first answer of each worker. */
async function readStopped(
  client: Client,
  drillId: string,
  saidAtMs: number,
): Promise<readonly StoppedWorker[]> {
  const events = await readEvents(client, drillId);
  const stopped: StoppedWorker[] = [];
  for (const event of events ?? []) {
    const signal = event.workflowExecutionSignaledEventAttributes;
    if (signal?.signalName !== stoppedSignal.name) continue;
    const [worker] = await valuesOf({ client, workflowId: drillId }, signal.input?.payloads);
    if (typeof worker !== 'string' || stopped.some((known) => known.worker === worker)) continue;
    stopped.push({ worker, afterMs: Math.max(0, timeOf(event) - saidAtMs) });
  }
  return stopped;
}

function noWorker(taskQueue: string): CommandFailure {
  return new CommandFailure('infrastructure', [
    {
      code: 'NO_WORKER',
      place: taskQueue,
      message: 'no worker has asked for work in the last minute, so there is none to stop',
      fix: 'Start one with `npx cambist worker`, then drill again.',
    },
  ]);
}

function notStopped(silent: readonly string[], stopped: readonly StoppedWorker[]): CommandFailure {
  const others = stopped.length === 0 ? 'no worker has' : `${stopped.length} have`;
  return new CommandFailure('infrastructure', [
    {
      code: 'HALT_DRILL_FAILED',
      place: silent.join(', '),
      message: `did not say within ${ANSWER_LIMIT_MS / 1_000} s that a halt stops it; ${others}. Nothing was halted`,
      fix: 'Temporal names a worker for about a minute after it has ended: if that is so, type the drill again then. A worker that is there may have an older version (`npx cambist doctor`), or cannot reach Temporal: end it.',
    },
  ]);
}
