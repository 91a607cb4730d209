/** What the cells of a payment may contain, and the complaint about a cell that may not. */
import { decimalsOf, KNOWN_CURRENCIES, type Decimals } from '../../domain/currencies.ts';
import { isPart } from '../../domain/references.ts';
import {
  amountReason,
  cutTo,
  fractionDigits,
  isZero,
  POSITIVE_DECIMAL,
  smallest,
  suggestedAmount,
} from '../text/amount-text.ts';
import { account as accountSchema, currency as currencySchema, hints } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import { unknownCurrency } from '../text/unknown-currency.ts';
import type { Complaint } from '../text/yaml-source.ts';

/**
 * Null: the cell has no mistake. Otherwise a function that makes the complaint; it is not called for a mistake that is only
 * counted. `name` is the column, as messages show it.
 */
export type Verdict = ((name: string) => Complaint) | null;

const AMOUNT = new RegExp(`^${POSITIVE_DECIMAL}$`);
const ACCOUNT = accountSchema({ description: '' });
const CURRENCY = currencySchema({ description: '', example: 'USD' });
const KNOWN: ReadonlySet<string> = new Set(KNOWN_CURRENCIES);
/** Most cells look like this, and need no further check. */
const PLAIN = /^[A-Za-z0-9][ -~]*$/;

/** The name of a payment, which becomes a part of its reference. */
export function idComplaint(text: string): Verdict {
  if (isPart(text)) return null;
  return () => ({
    mistake: 'ID',
    message:
      text.length > MOST_ID_CHARACTERS
        ? `${quoted(text)} has ${text.length} characters; a part of a reference has ${MOST_ID_CHARACTERS} at most`
        : `${quoted(text)} is not an id: 1 to ${MOST_ID_CHARACTERS} of A-Z, a-z, 0-9, "_" and "-", a letter or digit first`,
    fix: isPart(text.trim())
      ? `write ${text.trim()}, without blanks around it`
      : "write an id such as inv-1042; it becomes part of the payment's reference",
  });
}

const MOST_ID_CHARACTERS = 64;

export function accountComplaint(text: string): Verdict {
  return ACCOUNT.safeParse(text).success ? null : () => adviceOf(ACCOUNT, text);
}

/** The code must be known. Otherwise the run would ask the service about a mistyped code payment by payment. */
export function currencyComplaint(text: string, decimals: Decimals): Verdict {
  if (KNOWN.has(text) || Object.hasOwn(decimals, text)) return null;
  if (!CURRENCY.safeParse(text).success) return () => adviceOf(CURRENCY, text);
  return () => unknownCurrency(text);
}

/** Only the beginning of a text gets advice, since no typing mistake is longer. */
function adviceOf(schema: typeof ACCOUNT, text: string): Complaint {
  const complain = hints.get(schema)?.complain;
  if (complain === null || complain === undefined) throw new Error('a text without advice');
  return complain({ text: text.slice(0, 250), quoted: true });
}

/** Digits with at most one point, greater than zero; no more decimals than its currency, where that is known. */
export function amountComplaint(text: string, currency: string | null, decimals: Decimals): Verdict {
  if (!AMOUNT.test(text)) {
    const start = text.slice(0, 250);
    return () => ({
      mistake: 'AMOUNT',
      message: `${quoted(text)} is not an amount: ${amountReason(start)}`,
      fix: amountFix(start),
    });
  }
  if (currency === null) return null;
  const most = decimalsOf(currency, decimals);
  if (fractionDigits(text) <= most) return null;
  return () => {
    const cut = cutTo(text, most);
    const thousands = /^([1-9][0-9]{0,2})\.([0-9]{3})$/.exec(text);
    return {
      mistake: 'AMOUNT_DECIMALS',
      message: `${quoted(text)} has ${fractionDigits(text)} decimals; ${currency} has ${most}`,
      fix:
        thousands !== null
          ? `write ${thousands[1]}${thousands[2]} if the point separates thousands, else at most ${most} decimals`
          : isZero(cut)
            ? `write at least ${smallest(most)}`
            : `write ${most === 0 ? 'no' : `at most ${most}`} decimals, such as ${cut} (cut off)`,
    };
  };
}

function amountFix(text: string): string {
  const either = /^([1-9][0-9]{0,2}),([0-9]{3})$/.exec(text);
  if (either !== null)
    return `write ${either[1]}${either[2]} if the comma separates thousands, ${either[1]}.${either[2]} if it is the decimal point`;
  const suggestion = suggestedAmount(text);
  return suggestion === null || isZero(suggestion)
    ? 'write digits with a point: 1000.00'
    : `write ${suggestion}`;
}

/** Refuses in every column a formula that a spreadsheet would run, and a character that hides what is paid. */
export function otherCellComplaint(text: string): Verdict {
  return text === '' || PLAIN.test(text) ? null : unsafeComplaint(text, HIDDEN);
}

/** The same for a cell that Cambist reads: no character in it may be invisible, not even a line end. */
export function ownCellComplaint(text: string): Verdict {
  return PLAIN.test(text) ? null : unsafeComplaint(text, HIDDEN_OR_FORMAT);
}

function unsafeComplaint(text: string, hiddenSigns: RegExp): Verdict {
  const hidden = hiddenSigns.exec(text);
  if (hidden !== null) {
    const code = (hidden[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    return (name) => ({
      mistake: 'CONTROL_CHARACTER',
      message: `${name} holds the invisible character U+${code}`,
      fix: 'delete it',
    });
  }
  if (!FORMULA.test(text)) return null;
  return (name) => ({
    mistake: 'FORMULA',
    message: `${name} begins as a formula does: ${quoted(text)}`,
    fix: 'delete the sign in front: a spreadsheet would run it',
  });
}

/**
 * Characters that hide text. Line ends and tabs are left out, since notes have them, and so are joiners, since names in some
 * scripts have them.
 */
const HIDDEN =
  /(?![\t\r\n])[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}\u{AD}\u{200B}\u{2060}-\u{2064}\u{FEFF}]/u;
const HIDDEN_OR_FORMAT = /[\p{C}\p{Zl}\p{Zp}]/u;

/**
 * The beginning of a formula for a spreadsheet, with or without blanks in front. A lone plus or minus and a signed number
 * are values.
 */
const FORMULA = /^\s*(?:[=@＝＠]|[+＋\-－](?![0-9 ,.'()/-]*$))/u;
