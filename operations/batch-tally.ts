/** What the plan of a batch would say of its payments: sums, and what the service already says against some of them. */
import type { SeenBatch } from '../domain/batch.ts';
import { decimalsOf } from '../domain/currencies.ts';
import { AccountBook, BatchTally } from '../domain/plan/batch-items.ts';
import type { Problem } from '../domain/problems.ts';
import type { ServiceFacts } from '../domain/service/facts.ts';
import { chunksOf, type Chunk } from '../language/batch/chunks.ts';
import type { ServiceClient } from '../service/client.ts';
import { readAccounts } from '../service/observe.ts';
import { openBatch, type BatchFile } from './batch-file.ts';
import { CommandFailure } from './failure.ts';

/** Goes through the file twice, and keeps no row of it. `problems`: why there would be no plan. */
export async function tallyBatch(
  client: ServiceClient,
  batch: BatchFile,
  facts: Pick<ServiceFacts, 'accountStatuses' | 'decimals'>,
): Promise<{ readonly batch: SeenBatch; readonly problems: readonly Problem[] }> {
  const wanted = new Set<string>();
  for await (const { payments } of chunksOfFile(batch))
    for (const [, account] of payments) wanted.add(account);
  const listed = await readAccounts(client, {
    wanted: [...wanted],
    unusable: facts.accountStatuses.unusable,
  });
  const tally = new BatchTally({
    limits: batch.policyFile.policy.limits,
    decimalsOf: (currency) => decimalsOf(currency, facts.decimals),
    book: new AccountBook(listed),
    held: new Map(),
  });
  for await (const { payments, hash } of chunksOfFile(batch))
    tally.add({ payments: payments.length, hash }, payments, null);
  return { batch: tally.batch, problems: tally.problems };
}

/** The file in the chunks in which it is submitted. */
export async function* chunksOfFile(batch: BatchFile): AsyncGenerator<Chunk> {
  const opened = await openBatch(batch, 0);
  if (!opened.ok) throw new CommandFailure('bad input', [opened.problem]);
  yield* chunksOf(opened.reader.rows());
}
