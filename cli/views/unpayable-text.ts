/** Payments of a batch that the service already says cannot be paid, each by its row, with the reason. */
import type { UnpayableRow } from '../../operations/batches/tally.ts';
import { money } from './amount-text.ts';

/** @param all how many there are, of which `first` are told */
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

/** The same in the document of `plan --json`. */
export function unpayableDocument(all: number, first: readonly UnpayableRow[]) {
  const rows = first.map(
    ({ line, payment: [id, account, currency, amount], problem: { code, message, fix } }) => {
      return { line, id, account, currency, amount, code, message, fix };
    },
  );
  return { unpayable: { payments: all, first: rows } };
}
