/** Two texts side by side as a unified difference, for people. Pure. */
import { plain } from './safe.ts';

const CONTEXT_LINES = 3;

type Line = { readonly mark: ' ' | '-' | '+'; readonly text: string };

/** Lines only in `before` are marked `-`, lines only in `after` `+`; three lines around them are shown. */
export function difference(
  before: { readonly label: string; readonly text: string },
  after: { readonly label: string; readonly text: string },
): string {
  const lines = compareLines(before.text.split('\n'), after.text.split('\n'));
  const isNear = lines.map((_, index) =>
    lines
      .slice(Math.max(0, index - CONTEXT_LINES), index + CONTEXT_LINES + 1)
      .some(({ mark }) => mark !== ' '),
  );
  const shown: string[] = [`--- ${before.label}`, `+++ ${after.label}`];
  let oldLine = 1;
  let newLine = 1;
  lines.forEach((line, index) => {
    if (isNear[index] === true) {
      if (isNear[index - 1] !== true) shown.push(`@@ -${oldLine} +${newLine} @@`);
      shown.push(`${line.mark}${plain(line.text)}`);
    }
    if (line.mark !== '+') oldLine += 1;
    if (line.mark !== '-') newLine += 1;
  });
  return shown.join('\n');
}

/** Policies have a few hundred lines; the table of two texts that are nothing but line breaks would fill the memory. */
const MAX_CELLS = 4_000_000;

/** The longest common subsequence of lines, by the usual table; all lines of both where that would be too large. */
function compareLines(before: readonly string[], after: readonly string[]): Line[] {
  if (before.length * after.length > MAX_CELLS) {
    return [
      ...before.map((text): Line => ({ mark: '-', text })),
      ...after.map((text): Line => ({ mark: '+', text })),
    ];
  }
  const lengths = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1));
  const at = (i: number, j: number): number => lengths[i]?.[j] ?? 0;
  for (let i = before.length - 1; i >= 0; i -= 1) {
    const row = lengths[i];
    if (row === undefined) continue;
    for (let j = after.length - 1; j >= 0; j -= 1) {
      row[j] = before[i] === after[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      lines.push({ mark: ' ', text: before[i] ?? '' });
      i += 1;
      j += 1;
    } else if (j >= after.length || (i < before.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push({ mark: '-', text: before[i] ?? '' });
      i += 1;
    } else {
      lines.push({ mark: '+', text: after[j] ?? '' });
      j += 1;
    }
  }
  return lines;
}
