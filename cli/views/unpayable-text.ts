/** Payments of a batch that are known to be impossible before anything is sent: how many for each reason, and the first rows. */
import { UNPAYABLE, unpayableOf, type PlanBatch } from '../../domain/batch.ts';
import { forRun, withNames } from '../../domain/problems.ts';
import type { RunName } from '../../domain/references.ts';
import { adviceOf } from '../../domain/writes/step.ts';
import type { UnpayableRow } from '../../operations/batches/tally.ts';
import { count } from '../terminal/text.ts';
import { money } from './amount-text.ts';

/** The first so many rows of each reason are shown. */
const OF_A_KIND = 3;

/**
 * Nothing where all can be paid. The rarest reason comes first, since one row among five hundred of another reason would be
 * overlooked.
 * @param rows the first of each reason, in the order of the file
 */
export function unpayableLines(
  file: string,
  { run, batch }: { readonly run: RunName; readonly batch: PlanBatch },
  rows: readonly UnpayableRow[],
): readonly string[] {
  const letters = unpayableOf(batch);
  if (letters.length === 0) return [];
  const kinds = Object.entries(UNPAYABLE)
    .map(([letter, code]) => ({ code, payments: letters.filter((one) => one === letter).length }))
    .filter(({ payments }) => payments > 0)
    .toSorted((a, b) => a.payments - b.payments);
  return [
    `Of ${count(batch.payments, 'payment')}, ${letters.length} cannot be paid and would not be funded:`,
    ...kinds.flatMap(({ code, payments }) => {
      const few = rows.filter(({ problem }) => problem.code === code).slice(0, OF_A_KIND);
      const more = payments - few.length;
      return [
        `${count(payments, 'payment')}, ${code}: ${withNames(adviceOf(code), run)}`,
        ...few.map(({ line, payment: [id, account, currency, amount], problem }) => {
          return `  ${file}:${line}: ${id}, ${money(amount, currency)} to ${account}. ${problem.message}`;
        }),
        ...(more > 0 ? [`  and ${more} more`] : []),
      ];
    }),
  ];
}

/** The same for `--json`, with all rows that are given. */
export function unpayableDocument(
  { run, batch }: { readonly run: RunName; readonly batch: PlanBatch },
  rows: readonly UnpayableRow[],
) {
  const first = rows.map(({ line, payment: [id, account, currency, amount], problem }) => {
    const { code, message, fix } = forRun(problem, run);
    return { line, id, account, currency, amount, code, message, fix };
  });
  return { unpayable: { payments: unpayableOf(batch).length, first } };
}
