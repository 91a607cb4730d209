/**
 * A person signs the plan of a run: what the signature is for is read from Temporal, and shown before anybody signs. The signature is kept
 * outside the run's history, as everything that people say. Whether it counts, the worker that sends decides.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { BatchPayment } from '../domain/batch.ts';
import { moneyText } from '../domain/currencies.ts';
import { totalsOf } from '../domain/plan/amounts.ts';
import { movesOf } from '../domain/plan/moves.ts';
import type { Plan } from '../domain/plan/plan.ts';
import type { Money } from '../domain/policy.ts';
import { runName, type RunName } from '../domain/references.ts';
import { minuteText } from '../domain/waits.ts';
import { movedByRows, textToSign, together, type Moved, type SignedAs } from '../domain/writes/approvals.ts';
import { signText } from '../config/ssh-keygen.ts';
import { hashOfChunk } from '../language/batch/chunk-hash.ts';
import { planHash } from '../language/plan-hash.ts';
import { SubmittedBatch } from './batches/submitted.ts';
import { CommandFailure } from './failure.ts';
import { requireRun } from './follow/runs.ts';
import type { Place } from './place.ts';
import { keepInstruction, wakeRun } from './decide/keep-instruction.ts';
import { planOf, requirePlan } from './decide/plan-made.ts';

/** What a person is asked to sign. */
export type ToApprove = {
  readonly as: SignedAs;
  readonly plan: Plan;
  readonly planHash: string;
  readonly expiresAtMs: number;
  /** What a person must have read: everything that is traded and paid, with the first payees of a batch. */
  readonly lines: readonly string[];
};

/** So many payments of a batch are shown. */
const SHOWN = 20;

/**
 * Reads what is to be signed.
 * @throws CommandFailure when the run has ended or has no plan, or Temporal does not have the rows of its batch as they were planned
 */
export async function readToApprove(place: Place, run: RunName, as: SignedAs): Promise<ToApprove> {
  const facts = await requireRun(place, run);
  if (!facts.isOpen)
    throw refused(run, 'RUN_ENDED', `it has ended (${facts.state}), so that there is nothing to sign`);
  const plan = await requirePlan(place, run);
  const { credentials } = plan;
  if (runName(plan.run) !== runName(run) || credentials.mode !== place.mode)
    throw refused(run, 'PLAN_CONTRADICTS_POLICY', 'the plan that Temporal has of it is another one’s');
  const rows = plan.batch === null ? null : await rowsOf(place, plan);
  // A signature for what is never sent any more is of no use.
  const expiresAtMs = plan.sendWindows.withdrawalsUntilMs;
  const lines = [
    `${runName(run)} in ${credentials.mode}, for ${credentials.organisation}, planned at ${minuteText(plan.madeAtMs)} by policy ${plan.policy.name} (${plan.policy.hash.slice(0, 12)}):`,
    ...movesShown(plan),
    ...(rows === null ? [] : rowsShown(rows)),
    `Signed ${as === 'starter' ? 'as who has started it' : 'as one of those who approve it'}; the signature counts until ${minuteText(expiresAtMs)}.`,
  ];
  return { as, plan, planHash: planHash(plan), expiresAtMs, lines };
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

/** The legs, and the payments that are not in a batch. Totals are added up anew: those in the plan may say anything. */
function movesShown(plan: Plan): readonly string[] {
  const { legs, payments } = plan;
  const alone = { legs, payments, batch: null };
  return legs.length + payments.length === 0 ? [] : movesOf({ ...alone, totals: totalsOf(alone) });
}

type Rows = {
  readonly count: number;
  readonly first: readonly BatchPayment[];
  readonly sums: readonly Money[];
};

function rowsShown({ count, first, sums }: Rows): readonly string[] {
  return [
    ...first.map(
      ([id, account, currency, value]) => `${id}: pay ${moneyText(value, currency)} to ${account}`,
    ),
    ...(count > first.length ? [`… and ${count - first.length} more`] : []),
    `The batch: ${count} payments, in total ${sums.map(({ value, currency }) => moneyText(value, currency)).join(', ')}.`,
  ];
}

/** The rows as Temporal has them, held against the hashes that are signed. */
async function rowsOf(place: Place, { run, batch }: Plan): Promise<Rows> {
  const chunks = batch?.chunks ?? [];
  const first: BatchPayment[] = [];
  const parts: Moved[] = [];
  let count = 0;
  for await (const { number, payments } of new SubmittedBatch(place, run, chunks.length).chunks()) {
    if (hashOfChunk(payments) !== chunks[number - 1]?.hash) break;
    parts.push(movedByRows(payments));
    count += payments.length;
    first.push(...payments.slice(0, Math.max(SHOWN - first.length, 0)));
  }
  const { sums, odd } = together(parts);
  if (parts.length < chunks.length || odd !== null) {
    const why = odd ?? 'Temporal does not have the payments of its batch as they were planned';
    throw refused(run, 'CHUNK_DIFFERS', `${why}, so that nobody can see what is signed`);
  }
  return { count, first, sums };
}

/**
 * Signs, and keeps the signature with what people say about the run.
 * @throws CommandFailure when the key cannot sign, or no worker keeps it
 */
export async function sign(
  place: Place,
  { as, plan, planHash: hash, expiresAtMs }: ToApprove,
  { keyFile, by, why }: { readonly keyFile: string; readonly by: string; readonly why: string },
): Promise<void> {
  const { run } = plan;
  const signed = await signText(keyFile, textToSign({ as, plan, planHash: hash, expiresAtMs }));
  if (!signed.ok)
    throw new CommandFailure('configuration', [
      {
        code: 'NOT_SIGNED',
        place: keyFile,
        message: `\`ssh-keygen\` could not sign with it: ${signed.message}`,
        fix: 'Name a private key of OpenSSH, or its public part where an agent or a hardware key has the rest. OpenSSH 8.2 or later can sign.',
      },
    ]);
  const { signature } = signed;
  const said = { kind: 'approve', id: randomUUID(), by, why, as, expiresAtMs, signature } as const;
  await keepInstruction(place, run, said, { seen: null });
  await wakeRun(place, run);
}

function refused(
  run: RunName,
  code: 'RUN_ENDED' | 'PLAN_CONTRADICTS_POLICY' | 'CHUNK_DIFFERS',
  message: string,
): CommandFailure {
  const fix = `Nothing was signed. See \`npx cambist status ${runName(run)}\`.`;
  return new CommandFailure('refused by us', [{ code, place: runName(run), message, fix }]);
}
