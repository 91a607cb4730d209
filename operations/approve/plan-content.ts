/**
 * What a plan will do, in lines that a person can read and compare: every leg, every payment and every row of a batch. `plan --out` writes
 * it before a run is started, and `approve` holds the plan of the run against it. Two plans with the same lines move the same money by the
 * same policy.
 */
import type { BatchPayment } from '../../domain/batch.ts';
import type { PaidAgain } from '../../domain/people/instructions.ts';
import { CommandFailure } from '../failure.ts';
import { openBytes, type BatchFile } from '../batches/file.ts';
import { writeNewFile } from '../new-file.ts';
import { moneyText } from '../../domain/currencies.ts';
import { divide } from '../../domain/money.ts';
import { totalsOf } from '../../domain/plan/amounts.ts';
import { movesOf } from '../../domain/plan/moves.ts';
import type { Leg, Plan } from '../../domain/plan/plan.ts';
import { placeText } from '../../domain/replacement.ts';
import { movedByRows } from '../../domain/writes/approvals.ts';

/** @param rows all rows of its batch; none: it has no batch */
export function contentOf(plan: Plan, rows: readonly BatchPayment[]): readonly string[] {
  const { policy, credentials } = plan;
  const place = placeText(plan);
  return [
    `Policy ${policy.name} (${policy.hash}) in ${credentials.mode}, for ${credentials.organisation}.`,
    ...(place === null ? [] : [place]),
    ...movesShown(plan),
    ...rows.map(rowText),
    ...(plan.batch === null ? [] : [totalText(rows)]),
  ];
}

/**
 * The legs, and the payments that are not in a batch. Totals are added up anew, and the price is the one that binds: what a plan says of
 * both in words may say anything.
 */
export function movesShown({ legs, payments }: Plan): readonly string[] {
  const alone = { legs: legs.map(withBound), payments, batch: null };
  return legs.length + payments.length === 0 ? [] : movesOf({ ...alone, totals: totalsOf(alone) });
}

function withBound(leg: Leg): Leg {
  const { guard, sell, buy } = leg;
  if (guard === null) return leg;
  const { bound } = guard;
  const text =
    bound === null
      ? 'at no price, since there is no rate to compare it with'
      : `not below ${divide(bound.sellFactor, bound.buyFactor, 12)} ${buy} per ${sell}`;
  return { ...leg, guard: { ...guard, text } };
}

export function rowText([id, account, currency, value]: BatchPayment): string {
  return `${id}: pay ${moneyText(value, currency)} to ${account}`;
}

/**
 * The payments of a batch that a list has paid again, and after which record of each. Null: it names one that is no row.
 * @param listed each item once
 */
export function againText(
  rows: readonly BatchPayment[],
  listed: readonly PaidAgain[],
): readonly string[] | null {
  const byItem = new Map(listed.map((one) => [one[0], one]));
  const named = rows.flatMap((row) => {
    const [, follows, recordId] = byItem.get(row[0]) ?? [];
    if (follows === undefined) return [];
    const record = recordId ? `whose record ${recordId} has failed` : 'which has no record';
    return [{ row, text: `${rowText(row)}, again after generation ${follows}, ${record}` }];
  });
  if (named.length !== listed.length) return null;
  return [...named.map(({ text }) => text), totalText(named.map(({ row }) => row))];
}

export function totalText(rows: readonly BatchPayment[]): string {
  const { sums } = movedByRows(rows);
  const all = sums.map(({ value, currency }) => moneyText(value, currency)).join(', ');
  return `The batch: ${rows.length} payment${rows.length === 1 ? '' : 's'}, in total ${all}.`;
}

/** The first line in which the two differ, as a part of a sentence; null: they are the same. */
export function differenceOf(written: readonly string[], content: readonly string[]): string | null {
  const index = content.findIndex((line, at) => written[at] !== line);
  if (index === -1 && written.length === content.length) return null;
  const at = index === -1 ? content.length : index;
  const said = (line: string | undefined): string => (line === undefined ? 'nothing more' : `"${line}"`);
  return `in line ${at + 1} the file has ${said(written[at])}, and the plan of the run ${said(content[at])}`;
}

/** Writes such lines into a file. @throws CommandFailure when it cannot be written */
export async function writeContent(
  beside: Pick<BatchFile, 'cwd'>,
  out: string,
  content: readonly string[],
): Promise<void> {
  async function* lines(): AsyncGenerator<string> {
    for (const line of content) yield `${line}\n`;
  }
  await writeNewFile(beside, { out }, lines());
}

/** Reads such a file. @throws CommandFailure when it cannot be read */
export async function readContent(of: Pick<BatchFile, 'file' | 'cwd'>): Promise<readonly string[]> {
  const opened = await openBytes(of);
  if (!opened.ok) throw new CommandFailure('bad input', [opened.problem]);
  const parts: Uint8Array[] = [];
  for await (const part of opened.chunks) parts.push(Uint8Array.from(part));
  const lines = Buffer.concat(parts).toString('utf8').split(/\r?\n/);
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}
