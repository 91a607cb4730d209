/** Says something in the record of halts (`durable/halts/read.ts`). Needs no worker. */
import {
  boundedHalts,
  type Carried,
  type Halt,
  type HaltSaid,
  type HaltsHeld,
  type ResumeSaid,
  type ResumeSigned,
} from '../../domain/halt.ts';
import type { Mode } from '../../domain/service/records.ts';
import { UNSERVED_QUEUE, HALT_TYPE, haltIdOf, standsSignal } from '../../workflows/names.ts';
import { isGone, isRefused } from '../history.ts';
import type { HaltsOf } from './read.ts';

/** When Temporal does not answer within this time, it counts as not taken. */
export const SAY_LIMIT_MS = 10_000;

/**
 * Mostly one call, which depends on nothing that anybody else has written.
 * @param before what a new record begins with. It is asked only where none is open: no person has begun one, or a person has ended
 * it, or Temporal takes no more signals for it (10,000)
 */
export async function say(
  { client, mode }: HaltsOf,
  signal: string,
  said: HaltSaid | ResumeSaid | ResumeSigned | Halt,
  before: () => Promise<readonly Carried[]>,
): Promise<void> {
  const inTime = <T>(call: () => Promise<T>): Promise<T> =>
    client.withDeadline(Date.now() + SAY_LIMIT_MS, call);
  const open = client.workflow.getHandle(haltIdOf(mode));
  let isFull: boolean;
  try {
    await inTime(() => open.signal(signal, said));
    return;
  } catch (error) {
    if (!isRefused(error) && !isGone(error)) throw error;
    isFull = isRefused(error);
  }
  // What cannot be carried over ends no record.
  const carried = await before();
  // What it has kept stays a part of the record.
  if (isFull) await inTime(() => open.terminate(FULL)).catch(() => {});
  // Where another one has been begun meanwhile, it gets the signal.
  await inTime(() =>
    client.workflow.signalWithStart(HALT_TYPE, {
      ...startOptions(mode),
      args: [carried],
      signal,
      signalArgs: [said],
    }),
  );
}

const FULL = 'Temporal takes no more signals for it; another one goes on with what is halted';

/**
 * Makes a function by which a worker writes back what its Temporal has lost, so that commands and other workers know of it,
 * and begins a new record where a person has ended the last one. Where Temporal does not take it, the worker holds it all
 * the same, and the next call tries again.
 */
export function puttingBack(of: HaltsOf): (held: HaltsHeld) => void {
  let isUnderWay = false;
  return (held) => {
    if (isUnderWay) return;
    isUnderWay = true;
    void putBack(of, held)
      .catch(() => {})
      .finally(() => {
        isUnderWay = false;
      });
  };
}

async function putBack(of: HaltsOf, { record, halts, lost }: HaltsHeld): Promise<void> {
  const { client, mode } = of;
  const carried = boundedHalts(halts);
  if (record?.isOpen !== true && lost.length === 0) {
    await client.withDeadline(Date.now() + SAY_LIMIT_MS, () =>
      client.workflow.start(HALT_TYPE, {
        ...startOptions(mode),
        args: [carried],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    );
  }
  // One after the other: mostly there is one.
  for (const halt of lost) await say(of, standsSignal.name, halt, async () => carried);
}

function startOptions(mode: Mode) {
  return {
    workflowId: haltIdOf(mode),
    taskQueue: UNSERVED_QUEUE,
    staticSummary: `What is halted in ${mode}`,
    staticDetails:
      'Kept for `npx cambist halt` and `npx cambist resume`; every worker reads it. No worker serves it, and none is needed. Leave it open.',
  };
}
