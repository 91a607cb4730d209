/**
 * What the bench measures, as rows of one table: the figure, the goal it is held against, and the verdict. A wrong count
 * fails the bench; times depend on the machine and are only reported.
 */

export type Verdict = 'ok' | 'missed' | 'wrong';

export type Figure = {
  readonly name: string;
  readonly measured: string;
  /** Null: there is no goal, the figure is there to compare with. */
  readonly goal: string | null;
  readonly verdict: Verdict | null;
};

export type Section = { readonly title: string; readonly figures: readonly Figure[] };

/** A figure without a goal. */
export function plain(name: string, measured: string): Figure {
  return { name, measured, goal: null, verdict: null };
}

/** A time or a ratio: reported, never gated. */
export function timed(name: string, measured: string, goal: string, reached: boolean): Figure {
  return { name, measured, goal, verdict: reached ? 'ok' : 'missed' };
}

/** A count: the same on every machine, so a difference is a fault. */
export function counted(name: string, counts: readonly number[], wanted: number): Figure {
  const all = [...new Set(counts)].toSorted((a, b) => a - b);
  const right = all.length === 1 && all[0] === wanted;
  return { name, measured: all.join(' or '), goal: `${wanted}`, verdict: right ? 'ok' : 'wrong' };
}

/** A count, or a share of counts, that differs from run to run; above this it is a fault. */
export function atMost(name: string, value: number, most: number, digits = 0): Figure {
  const verdict = value <= most ? 'ok' : 'wrong';
  return { name, measured: value.toFixed(digits), goal: `at most ${most}`, verdict };
}

export function isRight(sections: readonly Section[]): boolean {
  return sections.every(({ figures }) => figures.every(({ verdict }) => verdict !== 'wrong'));
}

/** All sections as one table. */
export function tableOf(sections: readonly Section[]): string {
  const rows = sections.flatMap(({ figures }) => figures);
  const widthOf = (title: string, texts: readonly string[]): number =>
    Math.max(title.length, ...texts.map((text) => text.length));
  const widths = [
    widthOf('', [...rows.map(({ name }) => `  ${name}`), ...sections.map(({ title }) => title)]),
    widthOf(
      'measured',
      rows.map(({ measured }) => measured),
    ),
    widthOf(
      'goal',
      rows.map(({ goal }) => goal ?? ''),
    ),
  ];
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [
    line(['', 'measured', 'goal', '']),
    ...sections.flatMap(({ title, figures }) => [
      title,
      ...figures.map(({ name, measured, goal, verdict }) =>
        line([`  ${name}`, measured, goal ?? '', verdict ?? '']),
      ),
    ]),
  ].join('\n');
}

/** The value that `share` of the values do not exceed; of the lower half's end and the upper half's, the upper. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

/** `3` gives `3`, `12.345` gives `12.3`, `1234` gives `1,234`. */
export function number(value: number): string {
  return value.toLocaleString('en-US', { maximumFractionDigits: value < 100 ? 1 : 0 });
}
