/** The figures of resets as a table: states down, samples across; and why some of its cells are empty. */
import type { Row } from './resets.ts';

const FIGURES = {
  resets: 'all',
  copies: 'copies',
  starts: 'new starts',
  signalsAgain: 'signals again',
  signalsLeftOut: 'left out',
  unchanged: 'ledger unchanged',
  completed: 'then completed',
} as const;

type Figure = keyof typeof FIGURES;
type Sums = Readonly<Record<Figure, number>>;

export function tableOf(rows: readonly Row[]): string {
  const samples = [...new Set(rows.map(({ sample }) => sample))];
  const states = [...new Set(rows.map(({ state }) => state))];
  const line = (name: string, among: readonly Row[]): string[] => [
    name,
    ...samples.map((sample) => cellOf(among.filter((row) => row.sample === sample))),
    ...Object.values(sum(among)).map(String),
  ];
  const table = aligned([
    ['resets of', ...samples, ...Object.values(FIGURES)],
    ...states.map((state) =>
      line(
        state,
        rows.filter((row) => row.state === state),
      ),
    ),
    line('all', rows),
  ]);
  const empty = rows.flatMap(({ state, sample, leftOut }) =>
    leftOut === null ? [] : [`none: "${state}" of ${sample}: ${leftOut}.`],
  );
  return [table, ...empty].join('\n');
}

/** Sums over the rows, in the order of the table's last columns. */
export function sum(rows: readonly Row[]): Sums {
  const figures = Object.keys(FIGURES) as Figure[];
  const pairs = figures.map((figure) => [figure, rows.reduce((total, row) => total + row[figure], 0)]);
  return Object.fromEntries(pairs) as Sums;
}

function cellOf(rows: readonly Row[]): string {
  return rows.every(({ leftOut }) => leftOut !== null) ? 'none' : String(sum(rows).resets);
}

/** Words to the left, figures to the right. */
function aligned(lines: readonly (readonly string[])[]): string {
  const widths = (lines[0] ?? []).map((_head, column) =>
    Math.max(...lines.map((line) => (line[column] ?? '').length)),
  );
  return lines
    .map((line) =>
      line
        .map((cell, column) =>
          column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  '),
    )
    .join('\n');
}
