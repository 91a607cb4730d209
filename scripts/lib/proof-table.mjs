// The table of docs/proof.md: what was played when, by which seed. A row is date, seed, slice, what, figure.

import { ScriptFailed } from './main.mjs';

const [BEGIN, END] = ['<!-- npm run proof -->\n', '<!-- end -->'];
const HEAD = ['date', 'seed', 'slice', 'what', 'figure'];

/**
 * The page with these rows in place of those about the same slice of the same thing.
 *
 * @param {string} page
 * @param {readonly (readonly string[])[]} rows
 * @param {readonly string[]} known everything that is counted: rows about anything else go
 */
export function refreshed(page, rows, known) {
  const [before, rest = ''] = page.split(BEGIN);
  const [table, after] = rest.split(END);
  if (before === undefined || table === undefined || after === undefined)
    throw new ScriptFailed('docs/proof.md has no place for the table.');
  const isAsOf = (
    /** @type {readonly string[]} */ [, , slice, what],
    /** @type {readonly string[]} */ other,
  ) => slice === other[2] && what === other[3];
  const kept = rowsOf(table).filter((row) => !rows.some((other) => isAsOf(row, other)));
  const place = (/** @type {readonly string[]} */ [, , , what = '']) => known.indexOf(what);
  const all = [...kept, ...rows]
    .filter((row) => place(row) >= 0)
    .toSorted((a, b) => place(a) - place(b) || (a[2] ?? '').localeCompare(b[2] ?? ''));
  return `${before}${BEGIN}\n${tableOf(all)}\n\n${END}${after}`;
}

/** The cells of a Markdown table, below its head. */
function rowsOf(/** @type {string} */ table) {
  const lines = table.split('\n').filter((line) => line.startsWith('|'));
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

/** A table of Markdown. */
function tableOf(/** @type {readonly (readonly string[])[]} */ rows) {
  const widths = HEAD.map((_, column) =>
    Math.max(...[HEAD, ...rows].map((row) => (row[column] ?? '').length)),
  );
  const line = (/** @type {readonly string[]} */ row) =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(HEAD), rule, ...rows.map(line)].join('\n');
}
