/**
 * A person signs the plan of a run, or what people have said about it: what a signature is for is read from Temporal, and shown before
 * anybody signs. The signature is kept outside the run's history, as everything that people say. Whether it counts, the worker that sends
 * decides.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchPayment } from '../../domain/batch.ts';
import { lastAlikeList, type Kept, type PaidAgain, type Recorded } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { placeText } from '../../domain/replacement.ts';
import { minuteText } from '../../domain/waits.ts';
import {
  isSignable,
  movedByRows,
  quoted,
  signableText,
  signedUntilMs,
  textToSign,
  type Signable,
  type SignedAs,
} from '../../domain/writes/approvals.ts';
import { hashOfChunk, isListOf } from '../../language/batch/chunk-hash.ts';
import { verifySignature } from '../../config/ssh-keygen.ts';
import { planHash } from '../../language/plan-hash.ts';
import { SubmittedBatch } from '../batches/submitted.ts';
import { CommandFailure } from '../failure.ts';
import { madeBy, notAllVerified, requirePublicKey, signedAsOther, signedText } from './signed-text.ts';
import { requireRun } from '../follow/runs.ts';
import type { Place } from '../place.ts';
import { againText, contentOf, movesShown, rowText, totalText } from './plan-content.ts';
import { keepInstruction, keptAbout, wakeRun } from '../decide/keep-instruction.ts';
import { planOf, requirePlan } from '../decide/plan-made.ts';

/** One thing that a person is asked to sign. */
export type Asked = {
  /** The instruction; null: the plan. */
  readonly said: Signable | null;
  readonly expiresAtMs: number;
  /** What a person must have read. Of a batch these are the first payees, and the sums. */
  readonly lines: readonly string[];
  /** All that an instruction is about; none: the plan, whose content is written beside. */
  readonly all: readonly string[];
};

/** What a person is asked to sign. */
export type ToApprove = {
  readonly as: SignedAs;
  readonly plan: Plan;
  readonly planHash: string;
  /** All that the plan will do (`plan-content.ts`). */
  readonly content: readonly string[];
  /** None: whose key it is has signed all that there is to sign. */
  readonly asked: readonly Asked[];
};

/** So many payments of a batch are shown. */
const SHOWN = 20;

type Signing = {
  readonly as: SignedAs;
  readonly keyFile: string;
  readonly nowMs: number;
  /** What a person is asked about, as far as it is left; null: the plan. */
  readonly isAsked: (said: Signable | null) => boolean;
};

/**
 * Reads what is to be signed by who has this key. What it has signed in the other role is left out: a starter's signature voids for ever what
 * the same person has approved.
 * @throws CommandFailure when the run has ended or has no plan, Temporal does not have the rows of its batch as they were planned, or the key
 * has signed all that is left in the other role
 */
export async function readToApprove(
  place: Place,
  run: RunName,
  { as, keyFile, nowMs, isAsked }: Signing,
): Promise<ToApprove> {
  const facts = await requireRun(place, run);
  if (!facts.isOpen)
    throw refused(run, 'RUN_ENDED', `it has ended (${facts.state}), so that there is nothing to sign`);
  const plan = await requirePlan(place, run);
  const { credentials } = plan;
  if (runName(plan.run) !== runName(run) || credentials.mode !== place.mode)
    throw refused(run, 'PLAN_CONTRADICTS_POLICY', 'the plan that Temporal has of it is another one’s');
  const rows = plan.batch === null ? [] : await rowsOf(place, plan);
  const kept = await keptAbout(place, run);
  const key = await requirePublicKey(keyFile);
  const { left, mine, isUnsure } = await leftToSign(kept, { as, plan, key, nowMs, isAsked });
  const see = `\`npx cambist status ${runName(run)}\``;
  if (left.length > 0 && mine.length === 0)
    throw isUnsure
      ? notAllVerified(runName(run), see)
      : signedAsOther(runName(run), as, 'started or said it', see);
  const asked: Asked[] = [];
  for (const said of mine)
    // One after the other: mostly there is one.
    asked.push(await askedAbout(place, { plan, rows, as }, said));
  return { as, plan, planHash: planHash(plan), content: contentOf(plan, rows), asked };
}

async function askedAbout(
  place: Place,
  { plan, rows, as }: { readonly plan: Plan; readonly rows: readonly BatchPayment[]; readonly as: SignedAs },
  said: Signable | null,
): Promise<Asked> {
  if (said === null) {
    // A signature for what is never sent any more is of no use.
    const expiresAtMs = plan.sendWindows.withdrawalsUntilMs;
    return { said, expiresAtMs, lines: planLines(plan, rows, as, expiresAtMs), all: [] };
  }
  const expiresAtMs = signedUntilMs(said);
  const all = await paymentsOf(place, plan, { said, rows });
  const payments = said.kind === 'pay these again' ? [...shortened(all.slice(0, -1)), ...all.slice(-1)] : all;
  const lines = [
    `${runName(plan.run)}: ${signableText(said)}`,
    ...payments,
    signedLine(as, expiresAtMs, 'said it'),
  ];
  return { said, expiresAtMs, lines, all };
}

/**
 * What people have said that must be signed, and that counts for something: of several decisions about an item, and of several lists of
 * look-alikes, only the last.
 */
function standingIn({ instructions }: Kept, nowMs: number): readonly Signable[] {
  const alike = lastAlikeList({ instructions });
  const all = instructions.filter((said): said is Recorded & Signable => isSignable(said));
  const isDecision = ({ kind }: Signable): boolean => kind === 'executed' || kind === 'not executed';
  const isReplaced = (said: Signable, index: number): boolean =>
    (said.kind === 'go-on' && said !== alike) ||
    ('item' in said &&
      isDecision(said) &&
      all.slice(index + 1).some((later) => 'item' in later && isDecision(later) && later.item === said.item));
  return all.filter((said, index) => nowMs < signedUntilMs(said) && !isReplaced(said, index));
}

/**
 * What this key has not signed yet in this role. A signature that is over is none.
 * @param key as `ssh-ed25519 AAAA…`
 * @returns `mine`: the same without what it has signed in the other role, or may have (`isUnsure`)
 * @param verify for tests
 * @throws CommandFailure when this machine cannot verify what the key has signed
 */
export async function leftToSign(
  kept: Kept,
  { as, plan, key, nowMs, isAsked }: Omit<Signing, 'keyFile'> & { readonly plan: Plan; readonly key: string },
  verify = verifySignature,
): Promise<{
  readonly left: readonly (Signable | null)[];
  readonly mine: readonly (Signable | null)[];
  readonly isUnsure: boolean;
}> {
  // A signature for what is never sent any more is of no use.
  const ofPlan = nowMs < plan.sendWindows.withdrawalsUntilMs ? [null] : [];
  const all = [...ofPlan, ...standingIn(kept, nowMs)].filter(isAsked);
  const hash = planHash(plan);
  const words = kept.instructions.flatMap((one) => (one.kind === 'approve' ? [one] : []));
  const claimed = all.map((said) => {
    const about = words.filter((one) => one.about === (said?.id ?? null));
    return about.map((one) => ({ ...one, text: textToSign({ ...one, plan, planHash: hash, said }) }));
  });
  const { made, unverified } = await madeBy(key, claimed, verify);
  const judged = all.map((said, index) => {
    const about = claimed[index] ?? [];
    const signed = about.filter((one) => made.has(one));
    return { said, signed, isUnsure: about.some((one) => one.as !== as && unverified.has(one)) };
  });
  const left = judged.filter(({ signed }) => !signed.some((one) => one.as === as && nowMs < one.expiresAtMs));
  const ofRole = left.filter(({ signed }) => !signed.some((one) => one.as !== as));
  const mine = ofRole.filter(({ isUnsure }) => !isUnsure);
  return {
    left: left.map(({ said }) => said),
    mine: mine.map(({ said }) => said),
    isUnsure: mine.length < ofRole.length,
  };
}

/** How long a command waits for a plan that is being made. */
const PLAN_MS = 60_000;

/** Returns when the plan of the run is made or the run has ended, or after a minute. */
export async function untilPlanned(place: Place, run: RunName): Promise<void> {
  const lastMs = performance.now() + PLAN_MS;
  while ((await planOf(place, run)) === null && performance.now() < lastMs) {
    if ((await requireRun(place, run)).isOpen) await sleep(PLAN_AGAIN_MS);
    else return;
  }
}

/** `planOf` waits a second itself, once the plan is being made. */
const PLAN_AGAIN_MS = 250;

function planLines(
  plan: Plan,
  rows: readonly BatchPayment[],
  as: SignedAs,
  expiresAtMs: number,
): readonly string[] {
  const { run, credentials, policy, batch } = plan;
  const place = placeText(plan);
  const covered = batch === null ? '' : `, and all ${rows.length} rows, also those that are not shown`;
  return [
    `${runName(run)} in ${credentials.mode}, for ${credentials.organisation}, planned at ${minuteText(plan.madeAtMs)} by policy ${policy.name} (${policy.hash.slice(0, 12)}):`,
    ...(place === null ? [] : [place]),
    ...movesShown(plan),
    ...(batch === null ? [] : [...shortened(rows.map(rowText)), totalText(rows)]),
    `The signature covers this plan of this run: its mode, organisation and policy, each account, amount and price bound${covered}.`,
    signedLine(as, expiresAtMs, 'started it'),
  ];
}

function signedLine(as: SignedAs, expiresAtMs: number, has: string): string {
  const who = as === 'starter' ? `as who has ${has}` : 'as one of those who approve it';
  return `Signed ${who}; the signature counts until ${minuteText(expiresAtMs)}.`;
}

function shortened(lines: readonly string[]): readonly string[] {
  const more = lines.length - SHOWN;
  return more <= 0 ? lines : [...lines.slice(0, SHOWN), `… and ${more} more; --out FILE writes all`];
}

/** The payments, or the leg, that an instruction is about. @throws CommandFailure where they are not those that were named */
async function paymentsOf(
  place: Place,
  plan: Plan,
  { said, rows }: { readonly said: Signable; readonly rows: readonly BatchPayment[] },
): Promise<readonly string[]> {
  const textOf = (item: string): string => {
    const row = rows.find(([id]) => id === item);
    return row === undefined
      ? (movesShown(plan).find((line) => line.startsWith(`${item}: `)) ?? `${item}: not in its plan`)
      : rowText(row);
  };
  if (said.kind === 'go-on')
    return [
      '`npx cambist plan POLICY --batch FILE` shows all that look so: sign only if none of them is one.',
    ];
  if (said.kind !== 'pay these again') return [textOf(said.item)];
  const items: PaidAgain[] = [];
  for (const named of said.chunks) {
    const [chunk] = named;
    // One after the other: each chunk keeps its own list.
    const { facts } = await keptAbout(place, plan.run, chunk);
    const listed = facts.flatMap((fact) =>
      fact.kind === 'to pay again' && fact.said === said.id ? fact.items : [],
    );
    if (!isListOf(named, listed))
      throw refused(
        plan.run,
        'CHUNK_DIFFERS',
        `the payments of chunk ${chunk} that are to be paid again are not those that ${quoted(said.by)} has named`,
      );
    for (const one of listed) items.push(one);
  }
  const lines = againText(rows, items);
  if (lines === null) {
    const why = `${said.by} has named a payment to be paid again that is none of its batch, or one twice`;
    throw refused(plan.run, 'CHUNK_DIFFERS', why);
  }
  return lines;
}

/** The rows as Temporal has them, held against the hashes that are signed. */
async function rowsOf(place: Place, { run, batch }: Plan): Promise<readonly BatchPayment[]> {
  const chunks = batch?.chunks ?? [];
  const rows: BatchPayment[] = [];
  let read = 0;
  for await (const { number, payments } of new SubmittedBatch(place, run, chunks.length).chunks()) {
    if (hashOfChunk(payments) !== chunks[number - 1]?.hash) break;
    rows.push(...payments);
    read += 1;
  }
  const { odd } = movedByRows(rows);
  if (read < chunks.length || odd !== null) {
    const why = odd ?? 'Temporal does not have the payments of its batch as they were planned';
    throw refused(run, 'CHUNK_DIFFERS', `${why}, so that nobody can see what is signed`);
  }
  return rows;
}

/**
 * Signs, and keeps the signature with what people say about the run.
 * @throws CommandFailure when the key cannot sign, or no worker keeps it
 */
export async function sign(
  place: Place,
  { as, plan, planHash: hash }: ToApprove,
  { said, expiresAtMs }: Asked,
  { keyFile, by, why }: { readonly keyFile: string; readonly by: string; readonly why: string },
): Promise<void> {
  const { run } = plan;
  const signature = await signedText(keyFile, textToSign({ as, plan, planHash: hash, said, expiresAtMs }));
  const about = said?.id ?? null;
  const approval = { kind: 'approve', id: randomUUID(), by, why, as, about, expiresAtMs, signature } as const;
  await keepInstruction(place, run, approval, { seen: null });
  await wakeRun(place, run);
}

export function refused(
  run: RunName,
  code: 'RUN_ENDED' | 'PLAN_CONTRADICTS_POLICY' | 'CHUNK_DIFFERS' | 'PLAN_DIFFERS',
  message: string,
): CommandFailure {
  const fix = `Nothing was signed. See \`npx cambist status ${runName(run)}\`.`;
  return new CommandFailure('refused by us', [{ code, place: runName(run), message, fix }]);
}
