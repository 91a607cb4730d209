/** What the readers of batch files return, piece by piece in the order of the file. It is the same for each form of file. */
import type { Complaint, Place } from '../text/yaml-source.ts';
import type { ControlTotals } from './totals.ts';

/** A text and the line of the file (from 1) on which it begins. `row`: its row in a spreadsheet (from 1), where that is another number. */
export type LineText = { readonly line: number; readonly text: string; readonly row?: number };

/** One payment, as the file has it. */
export type RowPiece = LineText & {
  readonly kind: 'row';
  /** The cells by column; in JSON some may be missing. */
  readonly cells: Readonly<Record<string, string>>;
  /** Columns whose value is no plain text. Only JSON has them. */
  readonly odd: ReadonlyMap<string, OddCell>;
  /** The place of a column's cell in `text`; the whole text where the row has no such column. */
  readonly placeOf: (column: string) => Place;
};

/**
 * `no text`: a number, true, null, a list or an object. `escaped`: the file writes the text with escapes, and so not as it
 * is read.
 */
export type OddCell = 'no text' | 'escaped';

export type Piece =
  | RowPiece
  /** A mistake that is found before any cell is read. `isRow`: the line was meant as a payment. */
  | (LineText & {
      readonly kind: 'mistake';
      readonly place: Place;
      readonly complaint: Complaint;
      readonly isRow: boolean;
    })
  /** A row that is no payment, as the policy says. */
  | (LineText & { readonly kind: 'ignored' })
  /** The count and the sums that the file gives for its own rows. No line may follow. */
  | (LineText & { readonly kind: 'trailer'; readonly expected: ControlTotals });

/** A mistake of a whole line. */
export function mistakeOf(
  { line, text, row }: LineText,
  complaint: Complaint,
  {
    place = { start: 0, end: text.length },
    isRow = true,
  }: { readonly place?: Place; readonly isRow?: boolean } = {},
): Piece {
  return { kind: 'mistake', line, text, ...(row !== undefined && { row }), place, complaint, isRow };
}

/** No payment needs a longer row. */
const MOST_CHARACTERS = 16 * 1024;

/** The mistake of a row that is too long to be one; null: it is not. */
export function tooLongRow(standing: LineText): Piece | null {
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
