/**
 * Halting and resuming, for commands: records what a person says, reads what is halted then, and wakes the runs that may go
 * on. Needs no worker.
 */
import { drillOf, isSameScope, type Halt, type HaltSaid, type ResumeSaid } from '../../domain/halt.ts';
import { IS_OPEN, listed, queryFor } from '../../durable/listed.ts';
import { readHalts, type HaltReading, type HaltsOf } from '../../durable/halts/read.ts';
import {
  HALT_QUEUE,
  HALT_TYPE,
  CHUNK_TYPE,
  RUN_TYPE,
  haltIdOf,
  haltSignal,
  resumeSignal,
  wakeSignal,
} from '../../workflows/names.ts';
import { CommandFailure } from '../failure.ts';

/** When Temporal does not answer within this time, the person is told so. */
const SAY_LIMIT_MS = 10_000;
const TRIES = 3;
const WOKEN_AT_ONCE = 20;

/** The halts that stand now, for a command. Drills stop nothing, and are left out. */
export async function currentHalts(of: HaltsOf): Promise<readonly Halt[]> {
  return (await haltRecord(of)).halts;
}

/** The same, and whether a person has ended the workflow that keeps the halts. */
export async function haltRecord(of: HaltsOf): Promise<Omit<HaltReading, 'version'>> {
  const { halts, isEnded } = await asked(of);
  return { halts: halts.filter(isMeant), isEnded };
}

function asked(of: HaltsOf): Promise<HaltReading> {
  return of.client.withDeadline(Date.now() + SAY_LIMIT_MS, () => readHalts(of));
}

function isMeant({ scope }: Halt): boolean {
  return drillOf(scope) === null;
}

/** @returns the halts that stand now, and the earlier halt of the same scope that this one replaces; null: there was none */
export async function halt(
  of: HaltsOf,
  said: HaltSaid,
): Promise<{ readonly halts: readonly Halt[]; readonly replaced: Halt | null }> {
  const { halts, replaced } = await keepHalt(of, said);
  return { halts: halts.filter(isMeant), replaced };
}

/** The same for a drill. @returns also the drills that are not over */
export async function keepHalt(
  of: HaltsOf,
  said: HaltSaid,
): Promise<{ readonly halts: readonly Halt[]; readonly replaced: Halt | null }> {
  let { halts } = await asked(of);
  const isSame = ({ scope }: Halt): boolean => isSameScope(scope, said.scope);
  const replaced = halts.find(isSame) ?? null;
  for (let tries = 1; tries <= TRIES; tries += 1) {
    halts = await say(of, haltSignal.name, said, halts);
    // The signal can be lost only if a person ends the record at this very moment and another command begins a new one.
    if (halts.some(isSame)) return { halts, replaced };
  }
  throw new CommandFailure('infrastructure', [
    {
      code: 'HALT_NOT_KEPT',
      place: haltIdOf(of.mode),
      message: 'the halt does not stand: somebody ends its workflow, or resumes, again and again',
      fix: 'See the workflow in the Temporal UI, then type it again; until then stop the workers.',
    },
  ]);
}

/**
 * Takes back a halt that the person has seen; other halts stay, also one of the same scope that came later.
 * @returns the halts that still stand
 */
export async function resume(
  of: HaltsOf,
  { scope, atMs: haltAtMs }: Pick<Halt, 'scope' | 'atMs'>,
  { by, why }: { readonly by: string; readonly why: string },
): Promise<readonly Halt[]> {
  const { halts } = await asked(of);
  const said: ResumeSaid = { scope, by, why, haltAtMs };
  return (await say(of, resumeSignal.name, said, halts)).filter(isMeant);
}

/** @param before the halts that a new record begins with, where a person has ended the old one */
async function say(
  of: HaltsOf,
  signal: string,
  said: HaltSaid | ResumeSaid,
  before: readonly Halt[],
): Promise<readonly Halt[]> {
  const { client, mode } = of;
  await client.withDeadline(Date.now() + SAY_LIMIT_MS, () =>
    client.workflow.signalWithStart(HALT_TYPE, {
      workflowId: haltIdOf(mode),
      taskQueue: HALT_QUEUE,
      args: [before],
      signal,
      signalArgs: [said],
      staticSummary: `What is halted in ${mode}`,
      staticDetails:
        'Kept for `npx cambist halt` and `npx cambist resume`; every worker reads it. No worker serves it, and none is needed. Leave it open.',
    }),
  );
  return (await asked(of)).halts;
}

/**
 * Whether Temporal's list, which may be a moment behind, shows no run of this policy; false where Temporal cannot be asked.
 */
export async function isUnknown({ client, mode }: HaltsOf, policy: string): Promise<boolean> {
  const query = queryFor({ types: [RUN_TYPE], mode, policy });
  try {
    return (await client.workflow.count(query)).count === 0;
  } catch {
    return false;
  }
}

/**
 * Wakes every open run, so that it looks at the halts at once. A run that cannot be found, or does not get the signal, looks
 * later by itself.
 */
export async function wakeAll({ client, mode }: HaltsOf): Promise<void> {
  const wake = async (workflowId: string): Promise<void> => {
    await client.workflow
      .getHandle(workflowId)
      .signal(wakeSignal)
      .catch(() => {});
  };
  let some: string[] = [];
  try {
    const open = listed(client, { types: [RUN_TYPE, CHUNK_TYPE], mode, also: [IS_OPEN] });
    for await (const { workflowId } of open) {
      some.push(workflowId);
      if (some.length < WOKEN_AT_ONCE) continue;
      await Promise.all(some.map(wake));
      some = [];
    }
  } catch {
    // The resume counts even if this fails.
  }
  await Promise.all(some.map(wake));
}
