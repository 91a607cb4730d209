/** What spreadsheets and people leave in a cell in place of what it should hold, named for what it is. */
import { quoted } from '../text/printable.ts';
import type { Complaint } from '../text/yaml-source.ts';

/** A number that a spreadsheet shows with fewer digits than it has: `1.23E+15`. */
const SHORTENED = /^[0-9](?:[.,][0-9]+)?E\+[0-9]{1,3}$/i;
const EXPONENT = /^[0-9.,]+E[+-]?[0-9]{1,3}$/i;

/** What a spreadsheet writes where it cannot calculate a value, or not show it. */
const SHEET_ERROR = /^#(?:#+|N\/A|NV|[\p{Lu}0-9/]+[!?])$/u;

/** Null: the cell holds nothing of the kind. */
export function traceComplaint(
  text: string,
  { isAmount }: { readonly isAmount: boolean },
): (() => Complaint) | null {
  if ((isAmount ? EXPONENT : SHORTENED).test(text))
    return () => ({
      mistake: 'SHORTENED',
      message: `${quoted(text)} is a number that a spreadsheet has shortened: some of its digits are lost`,
      fix: 'in the spreadsheet make the cells of this column text, and copy the value once more from where it came',
    });
  if (SHEET_ERROR.test(text))
    return () => ({
      mistake: 'SHEET_ERROR',
      message: `${quoted(text)} is what a spreadsheet writes where it cannot calculate or show a value`,
      fix: 'mend the formula or widen the column in the spreadsheet, and save the file again',
    });
  return null;
}

/** An amount below zero: `-12.50`, `12.50-`, `(12.50)`, each also with a currency. */
const BELOW_ZERO = /^(?:[-\u2212\u2013][0-9.,'\u2019]+|[0-9.,'\u2019]+[-\u2212\u2013]|\([0-9.,'\u2019]+\))$/;

/** Null: the amount is not below zero. */
export function belowZeroComplaint(text: string): (() => Complaint) | null {
  if (!BELOW_ZERO.test(text.slice(0, 250).replaceAll(/[\p{L}\p{Sc}\s]/gu, ''))) return null;
  return () => ({
    mistake: 'AMOUNT_BELOW_ZERO',
    message: `${quoted(text)} is below zero, and a batch only pays out`,
    fix: 'delete the row; if the payee owes you this amount, lower another payment to the payee by it',
  });
}
