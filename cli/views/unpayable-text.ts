/** Payments of a batch of which the service already says that they cannot be paid, each with its row and the reason. */
import type { UnpayableRow } from '../../operations/batches/tally.ts';
import { money } from './amount-text.ts';

/** @param all how many there are; `first` has those that are shown */
export function unpayableLines(file: string, all: number, first: readonly UnpayableRow[]): readonly string[] {
  const head =
    all > first.length ? `Not paid nor funded, the first ${first.length} of ${all}:` : 'Not paid nor funded:';
  return [
    head,
    ...first.map(({ line, payment: [id, account, currency, amount], problem }) => {
      return `  ${file}:${line}: ${id}, ${money(amount, currency)} to ${account}. ${problem.message}`;
    }),
  ];
}

/** The same for the document of `plan --json`. */
export function unpayableDocument(all: number, first: readonly UnpayableRow[]) {
  const rows = first.map(
    ({ line, payment: [id, account, currency, amount], problem: { code, message, fix } }) => {
      return { line, id, account, currency, amount, code, message, fix };
    },
  );
  return { unpayable: { payments: all, first: rows } };
}
