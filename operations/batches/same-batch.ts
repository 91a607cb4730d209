/** Whether a file of payments is still the batch that was submitted under its id, and where it differs. Reads only. */
import type { BatchPayment, ChunkDigest, Manifest } from '../../domain/batch.ts';
import { moneyText } from '../../domain/currencies.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { differenceOf, type BatchDifference, type RowDifference } from '../../language/batch/difference.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { openBatch, type BatchFile } from './file.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { readInput, type RunFacts } from '../follow/runs.ts';
import { SubmittedBatch } from './submitted.ts';

/** A file that was read to its end, without a mistake. */
export type ReadBatch = { readonly file: BatchFile; readonly manifest: Manifest };

/** At most this many rows are shown. */
const SHOWN = 50;

/** Compares with the plan, else with what the run was started with. @throws CommandFailure with the rows that differ */
export async function requireSameBatch(
  place: Place,
  of: { readonly run: RunName; readonly batch: ReadBatch; readonly facts: RunFacts | null },
): Promise<void> {
  const { run, batch, facts } = of;
  const plan = await readFirstPlan(place.client, place.mode, run);
  const input = plan === null && facts !== null ? await readInput(place.client, facts) : null;
  const planned = plan?.batch ?? input?.batch ?? null;
  if (planned === null || isSame(planned.chunks, batch.manifest.chunks)) return;
  const isRefused = plan === null && facts !== null && !facts.isOpen;
  throw await batchChanged(place, { run, file: batch.file, chunks: planned.chunks.length, isRefused });
}

function isSame(planned: readonly ChunkDigest[], given: readonly ChunkDigest[]): boolean {
  return planned.length === given.length && planned.every(({ hash }, index) => given[index]?.hash === hash);
}

/**
 * The refusal of a file that is another batch, with the rows that differ.
 * @param of `chunks`: how many chunks were submitted; null: not known, since the submission was not completed. `isRefused`: the run has
 * ended without a plan
 */
export async function batchChanged(
  place: Place,
  of: {
    readonly run: RunName;
    readonly file: BatchFile;
    readonly chunks: number | null;
    readonly isRefused?: boolean;
  },
): Promise<CommandFailure> {
  const { run, file, chunks, isRefused = false } = of;
  const opened = await openBatch(file, 0);
  if (!opened.ok) return new CommandFailure('bad input', [opened.problem]);
  const submitted = new SubmittedBatch(place, run, chunks);
  const found = await differenceOf(opened.reader.rows(), submitted.payments(), {
    most: SHOWN,
    isWhole: () => submitted.isWhole,
  });
  return new CommandFailure('refused by us', [
    {
      code: 'BATCH_CHANGED',
      place: runName(run),
      message: `the batch was submitted with other payments than ${file.file} has now: ${inWords(found, submitted.isWhole)}; nothing was sent`,
      fix: isRefused
        ? 'It was not started, since no plan of it could be made. Start the corrected file under another --id: what was paid under an id is not paid a second time.'
        : 'Put back the file that it was submitted with. Payments that are new go into a file of their own, with an --id of its own, and without those of this batch.',
    },
    ...found.first.map((difference) => troubleOf(difference, run, file)),
  ]);
}

function inWords({ counts }: BatchDifference, isWhole: boolean): string {
  const all = `${counts.changed} changed, ${counts.gone} gone`;
  if (!isWhole)
    return `${all}; it cannot be told which are new, since only a part of the batch was submitted`;
  if (counts.new + counts.changed + counts.gone === 0) return 'the same ones, in another order';
  return `${counts.new} new, ${all}`;
}

function troubleOf(difference: RowDifference, run: RunName, { file, decimals }: BatchFile): Trouble {
  const moneyOf = ([, account, currency, amount]: BatchPayment): string =>
    `${moneyText(amount, currency, decimals)} to ${account}`;
  switch (difference.kind) {
    case 'new': {
      const { line, now } = difference;
      return row('BATCH_ROW_NEW', `${file}:${line}`, `${now[0]} is new: ${moneyOf(now)}`);
    }
    case 'gone': {
      const { before } = difference;
      return row('BATCH_ROW_GONE', runName(run), `${before[0]} is gone: ${moneyOf(before)}`);
    }
    case 'changed': {
      const { line, before, now } = difference;
      return row(
        'BATCH_ROW_CHANGED',
        `${file}:${line}`,
        `${now[0]} is changed: it was ${moneyOf(before)}, and is ${moneyOf(now)}`,
      );
    }
  }
}

function row(code: Trouble['code'], place: string, message: string): Trouble {
  return { code, place, message, fix: '' };
}
