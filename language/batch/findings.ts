/**
 * The mistakes and warnings of a batch. All are counted, and the first ones are kept. No message is made for the
 * others, so that a file in which everything is wrong costs no more memory or time than a file without a mistake.
 */
import { excerptOf, type PolicyProblem } from '../text/problem.ts';
import type { Complaint, Place } from '../text/yaml-source.ts';
import type { LineText } from './pieces.ts';

export class Findings {
  readonly #file: string;
  readonly #most: number;
  readonly #alsoOf: (at: LineText) => string | null;
  readonly #mistakes: Kept = { count: 0, first: [] };
  readonly #warnings: Kept = { count: 0, first: [] };

  /**
   * @param most at most this many mistakes and as many warnings are kept
   * @param alsoOf what a person finds a row by, besides its line; null: nothing
   */
  constructor(file: string, most: number, alsoOf: (at: LineText) => string | null) {
    this.#file = file;
    this.#most = most;
    this.#alsoOf = alsoOf;
  }

  /** Notes a mistake, which refuses the batch. */
  mistake(at: LineText, placeOf: () => Place, complain: () => Complaint): void {
    this.#note(this.#mistakes, at, placeOf, complain);
  }

  /** Notes something that is allowed but that the person probably did not mean. */
  warning(at: LineText, placeOf: () => Place, complain: () => Complaint): void {
    this.#note(this.#warnings, at, placeOf, complain);
  }

  get mistakes(): Readonly<Kept> {
    return this.#mistakes;
  }

  get warnings(): Readonly<Kept> {
    return this.#warnings;
  }

  #note(kept: Kept, at: LineText, placeOf: () => Place, complain: () => Complaint): void {
    kept.count += 1;
    if (kept.first.length >= this.#most) return;
    const { mistake, message, fix } = complain();
    const { line, text, start, end } = lineOf(at, placeOf());
    const also = this.#alsoOf(at);
    kept.first.push({
      code: `BATCH_${mistake}`,
      file: this.#file,
      line,
      column: start + 1,
      ...(also !== null && { also }),
      message,
      fix,
      excerpt: excerptOf(text, { start, end }),
    });
  }
}

type Kept = { count: number; readonly first: PolicyProblem[] };

/** The line on which a place begins: a cell in quotes may hold line ends. */
function lineOf({ line, text }: LineText, { start, end }: Place): LineText & Place {
  const before = text.slice(0, start).split(/\r\n|\n|\r/);
  const column = before.at(-1)?.length ?? 0;
  const [own = ''] = text.slice(start - column).split(/[\r\n]/, 1);
  return {
    line: line + before.length - 1,
    text: own,
    start: column,
    end: Math.min(column + end - start, own.length),
  };
}
