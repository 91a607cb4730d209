/**
 * What the plan of a batch would say of its payments: their sums, and which of them the service already says cannot be paid.
 */
import {
  isUnpayable,
  nameOfPayment,
  type BatchPayment,
  type SeenBatch,
  type Unpayable,
} from '../../domain/batch.ts';
import { decimalsOf } from '../../domain/currencies.ts';
import { AccountBook, BatchTally, unpayable, type Held } from '../../domain/plan/batch-items.ts';
import type { Problem } from '../../domain/problems.ts';
import type { ServiceFacts } from '../../domain/service/facts.ts';
import type { BatchReader } from '../../language/batch/batch-reader.ts';
import { chunksOf, paymentOf, type Chunk } from '../../language/batch/chunks.ts';
import type { ServiceClient } from '../../service/client.ts';
import { readAccounts } from '../../service/observe.ts';
import { openBatch, type BatchFile } from './file.ts';
import { CommandFailure } from '../failure.ts';

/**
 * Reads the file twice, and keeps none of its rows. `problems`: why there would be no plan.
 * @param heldOf says which of the payments with these names other batches have paid
 */
export async function tallyBatch(
  client: ServiceClient,
  batch: BatchFile,
  facts: Pick<ServiceFacts, 'accountStatuses' | 'decimals'>,
  heldOf: (names: ReadonlySet<string>) => Promise<Held>,
): Promise<{ readonly batch: SeenBatch; readonly problems: readonly Problem[] }> {
  const wanted = new Set<string>();
  const names = new Set<string>();
  for await (const { payments } of chunksOfFile(batch)) {
    for (const payment of payments) {
      wanted.add(payment[1]);
      names.add(nameOfPayment(payment));
    }
  }
  const listed = await readAccounts(client, {
    wanted: [...wanted],
    unusable: facts.accountStatuses.unusable,
  });
  const tally = new BatchTally({
    limits: batch.policyFile.policy.rules.limits,
    decimalsOf: (currency) => decimalsOf(currency, facts.decimals),
    book: new AccountBook(listed),
    // The reader of the file has checked them.
    destinations: null,
    held: await heldOf(names),
  });
  for await (const { payments, hash } of chunksOfFile(batch))
    tally.add({ payments: payments.length, hash }, payments, null);
  return { batch: tally.batch, problems: tally.problems };
}

/** A payment that the service already says cannot be paid: its place in the file, and the reason. */
export type UnpayableRow = {
  readonly line: number;
  readonly payment: BatchPayment;
  readonly problem: Problem;
};

/** The rows that cannot be paid, as the plan sees the file; `most`: the first so many of each reason. */
export async function firstUnpayable(
  batch: BatchFile,
  { chunks, heldBy }: Pick<SeenBatch, 'chunks' | 'heldBy'>,
  most: number,
): Promise<readonly UnpayableRow[]> {
  const found: UnpayableRow[] = [];
  if (chunks.every(({ unpayable: letters }) => letters === null)) return found;
  // One letter for each row, in the order of the rows.
  const letters = chunks.map((chunk) => chunk.unpayable ?? '.'.repeat(chunk.payments)).join('');
  const left = new Map<Unpayable, number>(
    [...new Set(letters)].filter(isUnpayable).map((one) => [one, most]),
  );
  let index = 0;
  for await (const row of (await opened(batch)).rows()) {
    const letter = letters[index];
    index += 1;
    if (!isUnpayable(letter)) continue;
    const more = left.get(letter) ?? 0;
    if (more === 0) continue;
    const payment = paymentOf(row);
    found.push({ line: row.line, payment, problem: unpayable(payment, letter, heldBy) });
    left.set(letter, more - 1);
    if ([...left.values()].every((one) => one === 0)) break;
  }
  return found;
}

/** The chunks in which the file is submitted. */
export async function* chunksOfFile(batch: BatchFile): AsyncGenerator<Chunk> {
  yield* chunksOf((await opened(batch)).rows());
}

async function opened(batch: BatchFile): Promise<BatchReader> {
  const file = await openBatch(batch, 0);
  if (!file.ok) throw new CommandFailure('bad input', [file.problem]);
  return file.reader;
}
