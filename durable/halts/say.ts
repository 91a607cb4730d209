/** Says something in the record of halts (`durable/halts/read.ts`). Needs no worker. */
import type { Carried, Halt, HaltSaid, HaltsHeld, ResumeSaid, ResumeSigned } from '../../domain/halt.ts';
import type { Mode } from '../../domain/service/records.ts';
import { UNSERVED_QUEUE, HALT_TYPE, haltIdOf, standsSignal } from '../../workflows/names.ts';
import type { HaltsOf } from './read.ts';

/** When Temporal does not answer within this time, it counts as not taken. */
export const SAY_LIMIT_MS = 10_000;

/** @param before what a new record begins with, where no person has begun one, or a person has ended it */
export async function say(
  { client, mode }: HaltsOf,
  signal: string,
  said: HaltSaid | ResumeSaid | ResumeSigned | Halt,
  before: readonly Carried[],
): Promise<void> {
  await client.withDeadline(Date.now() + SAY_LIMIT_MS, () =>
    client.workflow.signalWithStart(HALT_TYPE, {
      ...startOptions(mode),
      args: [before],
      signal,
      signalArgs: [said],
    }),
  );
}

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
  if (record?.isOpen !== true && lost.length === 0) {
    await client.withDeadline(Date.now() + SAY_LIMIT_MS, () =>
      client.workflow.start(HALT_TYPE, {
        ...startOptions(mode),
        args: [halts],
        workflowIdConflictPolicy: 'USE_EXISTING',
      }),
    );
  }
  // One after the other: mostly there is one.
  for (const halt of lost) await say(of, standsSignal.name, halt, halts);
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
