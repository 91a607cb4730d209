/**
 * Writes the outcome of each payment of a batch behind its row, into a new file. Rows are written as they are read: memory does not
 * grow with the batch.
 */
import type { RowResult } from '../../language/batch/results.ts';
import { openBytes, type BatchFile } from './file.ts';
import { writeNewFile } from '../new-file.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { readPayments, type TracedPayment } from '../follow/read-run.ts';
import type { RunFacts } from '../follow/runs.ts';
import type { AsNow } from '../watch/came-back.ts';

/** The result of a row about which the run says nothing yet. */
const PENDING: RowResult = { outcome: 'PENDING' };

/**
 * @param out the file's name as given; relative to the folder in which the command runs
 * @param asNow tells payments that came back; null: none did
 * @returns how many rows it has, the first line of CSV not counted
 * @throws CommandFailure when the file cannot be written; the run goes on all the same
 */
export async function writeResults(
  place: Place,
  {
    facts,
    batch,
    out,
    asNow,
  }: {
    readonly facts: RunFacts;
    readonly batch: BatchFile;
    readonly out: string;
    readonly asNow: AsNow | null;
  },
): Promise<number> {
  const opened = await openBytes(batch);
  if (!opened.ok) throw new CommandFailure('bad input', [opened.problem]);
  const { resultLines } = await import('../../language/batch/results.ts');
  const results = new Results(readPayments(place, facts), asNow);
  const { zone, payout } = batch.policyFile.policy;
  const lines = resultLines(opened.chunks, { format: payout.format, zone }, (id) => results.of(id));
  await writeNewFile(batch, { out, run: facts.run }, lines);
  return results.asked;
}

/**
 * The results of payments in the order of the file. The report has the same order, but some payments may be missing from it.
 */
class Results {
  asked = 0;
  readonly #payments: AsyncGenerator<TracedPayment>;
  readonly #asNow: AsNow | null;
  #next: TracedPayment | null = null;
  #isOver = false;

  constructor(payments: AsyncGenerator<TracedPayment>, asNow: AsNow | null) {
    this.#payments = payments;
    this.#asNow = asNow;
  }

  async of(id: string): Promise<RowResult> {
    this.asked += 1;
    if (this.#next === null && !this.#isOver) {
      const { value, done } = await this.#payments.next();
      this.#isOver = done === true;
      this.#next = done === true ? null : value;
    }
    if (this.#next?.id !== id) return PENDING;
    const result = this.#next;
    this.#next = null;
    return this.#asNow?.payment(result) ?? result;
  }
}
