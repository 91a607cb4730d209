/**
 * `run POLICY --pay-again ITEM…`: opens later generations of payments (design: "The chain rule"). `payable-again.ts` says
 * which may be opened. The instruction is a permission only: the worker that sends looks again.
 */
import { randomUUID } from 'node:crypto';
import { runName, type RunName } from '../../domain/references.ts';
import { isTriedAgain, type NextOfItem } from '../../domain/run/next-start.ts';
import {
  NOTHING_KEPT,
  isCancelled,
  newestSaid,
  openUntilMs,
  type Fact,
  type Instruction,
  type PaidAgain,
} from '../../domain/people/instructions.ts';
import { inPlace } from '../../domain/replacement.ts';
import type { Settings } from '../../config/config.ts';
import { sayGoOn } from './go-on.ts';
import { keepInstruction, keepLists, wakeRun } from './keep-instruction.ts';
import { nextAsRead } from './next-start.ts';
import { ALL_FAILED, Known, allFailed, named, refusal, type Opening } from './payable-again.ts';
import type { Place } from '../place.ts';
import { requireRemembered } from './forgotten.ts';
import { requireOwnPlan, requirePlan } from './plan-made.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import type { PolicyFile } from '../policy-file.ts';
import { requireService } from '../preflight.ts';
import { readRun } from '../follow/read-run.ts';
import { describeRun, readInput, requireRun } from '../follow/runs.ts';
import { requireSameBatch, type ReadBatch } from '../batches/same-batch.ts';
import { requireSamePolicy } from '../start/same-policy.ts';
import { startRun } from '../start/workflow.ts';
import { hashOfList } from '../../language/batch/chunk-hash.ts';

/** What a person asked for. Only its form has been checked. */
export type PayAgainRequest = {
  readonly items: readonly string[] | typeof ALL_FAILED;
  readonly reason: string;
  readonly by: string;
};

/** What a person opens: the payments that had failed when the person said so, and none that fails later. */
export type Openings = {
  readonly list: readonly Opening[];
  /** Until when the keys of these generations are sent, epoch milliseconds. */
  readonly windowUntilMs: number;
  /** Other items that the run goes on with, since it is started again. */
  readonly others: readonly string[];
};

/** Payments that a person wants to be paid again. */
export type AskedAgain = {
  readonly place: Place;
  readonly settings: Settings;
  readonly run: RunName;
  readonly policyFile: PolicyFile;
  /** The file of a payout; null: the person named none. */
  readonly batch: ReadBatch | null;
  readonly request: PayAgainRequest;
  readonly now: () => number;
};

/**
 * What would be opened, before a person says yes. It is empty where the person asks for all that failed and nothing has
 * failed.
 * @returns also a remark about the service. @throws CommandFailure when a payment that the person named may not be paid
 * again
 */
export async function judgeOpenings(
  asked: AskedAgain,
): Promise<{ readonly openings: Openings; readonly remark: string | null }> {
  const { place, settings, run, policyFile, batch, request, now } = asked;
  const [there, kept] = await Promise.all([
    describeRun(place.client, place.mode, run),
    readInstructions({ client: place.client, mode: place.mode, run }),
  ]);
  if (there?.isOpen !== true)
    await requireRemembered(place, settings, { run, zone: policyFile.policy.zone, facts: there, kept });
  const facts = there ?? (await requireRun(place, run));
  await requireSamePolicy(place, { run, policyFile, facts });
  if (batch !== null) await requireSameBatch(place, { run, batch, facts });
  if (facts.isOpen) {
    throw refusal('refused by us', {
      code: 'RUN_OPEN',
      place: runName(run),
      message: 'the run has not ended yet, so it may still pay',
      fix: `Wait for its end (npx cambist run … --wait), or see \`npx cambist status ${runName(run)}\`. If it waits for nothing but signatures to pay again, and they will not come: \`npx cambist cancel ${runName(run)}\` ends it, then type this again.`,
    });
  }
  const plan = await requirePlan(place, run);
  requireOwnPlan(settings, plan);
  const view = await readRun(place, facts);
  const { report } = view;
  const remark = await requireService(settings, now);
  const known = await Known.read({ place, settings, plan, report, nowMs: now() });
  const list =
    request.items === ALL_FAILED ? await allFailed(known) : await named(known, [...new Set(request.items)]);
  const openings = {
    list,
    windowUntilMs: openUntilMs(now()),
    others: goesOnWith(
      nextAsRead(view, { takesCancelBack: true, nowMs: now() }),
      new Set(list.map(({ payment }) => payment.id)),
    ),
  };
  return { openings, remark };
}

/** The lists of this many chunks are kept side by side. */
const SIDE_BY_SIDE = 5;

/**
 * Keeps the instructions that open the next generations, then starts the run again, which reads them.
 * @returns the ids of these instructions
 * @throws CommandFailure when a person has said something since the command looked
 */
export async function openGenerations(asked: AskedAgain, { list }: Openings): Promise<readonly string[]> {
  const { place, run, policyFile, request } = asked;
  const { client, mode, taskQueue } = place;
  const said = { by: request.by, why: request.reason };
  const ofRun = list[0]?.kept ?? NOTHING_KEPT;
  // This comes first, so that it speaks for nothing but the cancels that the person has seen.
  let seen = isCancelled(ofRun.instructions)
    ? await sayGoOn(place, run, said, ofRun)
    : newestSaid(ofRun.instructions);
  const { lists, instructions } = instructionsFor(list, said);
  const left = lists.values();
  const lane = async (): Promise<void> => {
    for (const { chunk, facts } of left) await keepLists({ place, run, chunk }, facts);
  };
  await Promise.all(Array.from({ length: SIDE_BY_SIDE }, lane));
  // Each has seen the one before it.
  for (const instruction of instructions) seen = await keepInstruction(place, run, instruction, { seen });
  const startedBy = said.by;
  const before = await readInput(client, await requireRun(place, run));
  const isStarted = await startRun({
    client,
    taskQueue,
    mode,
    run,
    policyFile,
    batch: before?.batch ?? null,
    ...inPlace(before ?? {}),
    startedBy,
    shown: null,
    again: true,
  });
  // Another command has started the run in the meantime: that run reads the instructions too.
  if (!isStarted) await wakeRun(place, run);
  return instructions.map(({ id }) => id);
}

/** The most bytes of one list, as JSON. A history has each list several times. */
const MOST_BYTES = 32_768;

/** The payments of one chunk that an instruction means. The workflow of the chunk keeps them. */
type Lists = { readonly chunk: number; readonly facts: readonly Extract<Fact, { kind: 'to pay again' }>[] };

/** One instruction for each payment. In a batch there is one for all of them, and lists that are kept before it. */
export function instructionsFor(
  list: readonly Opening[],
  said: { readonly by: string; readonly why: string },
): { readonly lists: readonly Lists[]; readonly instructions: readonly Instruction[] } {
  const id = randomUUID();
  const alone: Instruction[] = [];
  const byChunk = new Map<number, PaidAgain[]>();
  for (const { chunk, paidAgain } of list) {
    const [item, follows, recordId] = paidAgain;
    if (chunk === null) alone.push({ kind: 'pay again', id: randomUUID(), ...said, item, follows, recordId });
    else byChunk.set(chunk, [...(byChunk.get(chunk) ?? []), paidAgain]);
  }
  const ofBatch = [...byChunk].toSorted(([one], [other]) => one - other);
  const lists = ofBatch.map(([chunk, payments]): Lists => {
    return { chunk, facts: partsOf(payments).map((items) => ({ kind: 'to pay again', said: id, items })) };
  });
  const chunks = ofBatch.map(([chunk, items]) => [chunk, items.length, hashOfList(items)] as const);
  const together: Instruction[] =
    chunks.length === 0 ? [] : [{ kind: 'pay these again', id, ...said, chunks }];
  return { lists, instructions: [...alone, ...together] };
}

/** The payments in parts, none of which is too large for one list. */
function partsOf(items: readonly PaidAgain[]): readonly (readonly PaidAgain[])[] {
  const parts: PaidAgain[][] = [];
  let bytes = Infinity;
  for (const item of items) {
    const more = JSON.stringify(item).length + 1;
    if (bytes + more > MOST_BYTES) {
      parts.push([]);
      bytes = 0;
    }
    parts.at(-1)?.push(item);
    bytes += more;
  }
  return parts;
}

/** Which other items a new start goes on with. Items that need another instruction to be paid are never among them. */
export function goesOnWith(next: readonly NextOfItem[], paidAgain: ReadonlySet<string>): readonly string[] {
  return next.filter((one) => isTriedAgain(one) && !paidAgain.has(one.item.id)).map(({ item }) => item.id);
}
