/** What the readers of batch files give, piece by piece in the order of the file, whatever its form. */
import type { Complaint, Place } from '../text/yaml-source.ts';
import type { ControlTotals } from './totals.ts';

/** Where something stands: a line of the file (from 1), and the text that begins there. */
export type Standing = { readonly line: number; readonly text: string };

/** One payment, as it is written. */
export type RowPiece = Standing & {
  readonly kind: 'row';
  /** By column; in JSON any may be missing. */
  readonly cells: Readonly<Record<string, string>>;
  /** Columns whose value is no plain text, which only JSON has. */
  readonly odd: ReadonlyMap<string, OddCell>;
  /** Where the cell of a column stands in `text`; the whole of it where the row has no such column. */
  readonly placeOf: (column: string) => Place;
};

/**
 * `no text`: a number, true, null, a list or an object. `escaped`: the text does not stand in the file as it is read.
 */
export type OddCell = 'no text' | 'escaped';

export type Piece =
  | RowPiece
  /** A mistake that shows before any cell is read. `isRow`: the line was meant as a payment. */
  | (Standing & {
      readonly kind: 'mistake';
      readonly place: Place;
      readonly complaint: Complaint;
      readonly isRow: boolean;
    })
  /** What the file says of its own rows; nothing may follow. */
  | (Standing & { readonly kind: 'trailer'; readonly expected: ControlTotals });

/** A mistake of a whole line. */
export function mistakeOf(
  { line, text }: Standing,
  complaint: Complaint,
  {
    place = { start: 0, end: text.length },
    isRow = true,
  }: { readonly place?: Place; readonly isRow?: boolean } = {},
): Piece {
  return { kind: 'mistake', line, text, place, complaint, isRow };
}

/** No payment needs a longer row. */
const MOST_CHARACTERS = 16 * 1024;

/** The mistake of a row that is too long to be one; null: it is not. */
export function tooLongRow(standing: Standing): Piece | null {
  const { length } = standing.text;
  if (length <= MOST_CHARACTERS) return null;
  return mistakeOf(
    standing,
    {
      mistake: 'TOO_LARGE',
      message: `the row has ${length} characters; at most ${MOST_CHARACTERS} are read`,
      fix: 'shorten it; see that every quote is closed',
    },
    { place: { start: 0, end: 1 } },
  );
}
