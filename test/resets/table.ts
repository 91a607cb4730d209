/** The figures of a sweep as a table: states down, samples across. */
import type { Row } from './sweep.ts';

export function tableOf(rows: readonly Row[]): string {
  const samples = [...new Set(rows.map(({ sample }) => sample))];
  const states = [...new Set(rows.map(({ state }) => state))];
  const line = (name: string, among: readonly Row[]): string[] => [
    name,
    ...samples.map((sample) => String(sum(among.filter((row) => row.sample === sample)).resets || '·')),
    ...Object.values(sum(among)).map(String),
  ];
  return aligned([
    ['resets of', ...samples, 'all', 'copies', 'new starts', 'ledger unchanged', 'then completed'],
    ...states.map((state) =>
      line(
        state,
        rows.filter((row) => row.state === state),
      ),
    ),
    line('all', rows),
  ]);
}

type Figure = 'resets' | 'copies' | 'starts' | 'unchanged' | 'completed';

/** Sums in the order of the table's last columns. */
export function sum(rows: readonly Row[]): Readonly<Record<Figure, number>> {
  const of = (figure: Figure): number => rows.reduce((total, row) => total + row[figure], 0);
  return {
    resets: of('resets'),
    copies: of('copies'),
    starts: of('starts'),
    unchanged: of('unchanged'),
    completed: of('completed'),
  };
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
