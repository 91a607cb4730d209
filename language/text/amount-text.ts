/**
 * Amounts as texts: their pattern, and what to write instead of a text that is almost one (M5). Interface headings "POST
 * /fx/quotes" and "POST /fx/withdrawals": digits, at most one point, greater than zero.
 */
import { quoted } from './printable.ts';
import type { Complaint, Written } from './yaml-source.ts';

/** Zero or more: digits without leading zeros, at most 20 before and 18 after the point. */
export const DECIMAL = '(?:0|[1-9][0-9]{0,19})(?:\\.[0-9]{1,18})?';

/** The same, greater than zero. */
export const POSITIVE_DECIMAL = `(?=[0-9.]*[1-9])${DECIMAL}`;

const PLAIN = new RegExp(`^${DECIMAL}$`);

/** The complaint about a text that should be an amount, with the text to write instead. */
export function amountComplaint(written: Written, zeroAllowed: boolean): Complaint {
  const text = written.text;
  const suggestion = suggestedAmount(text);
  const fix =
    suggestion === null || (!zeroAllowed && isZero(suggestion))
      ? 'write digits with a point, in quotes: "1000.00"'
      : `write "${suggestion}", with the quotes`;
  if (!written.quoted && PLAIN.test(text)) {
    const message = `the amount ${text} is not in quotes: a program that reads the file could round it`;
    return { mistake: 'AMOUNT_UNQUOTED', message, fix };
  }
  return { mistake: 'AMOUNT', message: `${quoted(text)} is not an amount: ${amountReason(text)}`, fix };
}

/** Why a text is no amount, as a part of a sentence. */
export function amountReason(text: string): string {
  if (text !== text.trim() && PLAIN.test(text.trim())) return 'it has blanks around it';
  if (text.startsWith('-')) return 'it has a sign, and an amount is greater than zero';
  if (text.startsWith('+')) return 'it has a sign';
  if (/^0[0-9]/.test(text)) return 'it begins with a zero that does not belong there';
  if (PLAIN.test(text) && isZero(text)) return 'it must be greater than zero';
  if (/^[0-9.]+[eE][-+]?[0-9]+$/.test(text)) return 'it has an exponent';
  if (/^\.[0-9]/.test(text)) return 'a digit must stand before the point';
  if (/^[0-9]+\.$/.test(text)) return 'a digit must stand after the point';
  if (/^[0-9][0-9,._' \u00A0\u202F]*$/.test(text) && !/^[0-9]+\.?[0-9]*$/.test(text)) {
    return 'it has separators; only a decimal point may stand between digits';
  }
  if (/[A-Za-z$€£¥]/.test(text) && /[0-9]/.test(text)) return 'the currency does not belong here';
  if (/^[0-9]+(?:\.[0-9]+)?$/.test(text)) return 'it has more than 20 digits before or 18 after the point';
  return 'it must be digits, with at most one point';
}

/** The amount that the person probably meant; null where none is near. */
export function suggestedAmount(text: string): string | null {
  if (text.length > 80) return null;
  const bare = text.replaceAll(/[A-Za-z]{3,}|[$€£¥\s_'\u00A0\u202F+]/g, '');
  const digits = expanded(withoutSeparators(bare));
  const match = /^([0-9]*)(?:\.([0-9]*))?$/.exec(digits);
  if (match === null || digits === '' || digits === '.') return null;
  const whole = (match[1] ?? '').replace(/^0+(?=[0-9])/, '');
  const fraction = match[2] ?? '';
  const result = `${whole === '' ? '0' : whole}${fraction === '' ? '' : `.${fraction}`}`;
  return PLAIN.test(result) ? result : null;
}

/** `1,000.00` and `1.000,00` become `1000.00`; a single comma before one or two digits becomes a decimal point. */
function withoutSeparators(text: string): string {
  if (/^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?$/.test(text)) return text.replaceAll(',', '');
  if (/^[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+$/.test(text)) return text.replaceAll('.', '').replace(',', '.');
  if (/^[0-9]+,[0-9]{1,2}$/.test(text)) return text.replace(',', '.');
  return text;
}

/** `1.5e3` becomes `1500`, by moving the point in the text. A large exponent stays, and the pattern refuses it. */
function expanded(text: string): string {
  const match = /^([0-9]*)\.?([0-9]*)[eE]([0-9]{1,2})$/.exec(text);
  if (match === null) return text;
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const shift = Number(exponent);
  const moved = fraction.slice(0, shift).padEnd(shift, '0');
  const rest = fraction.slice(shift);
  return rest === '' ? `${whole}${moved}` : `${whole}${moved}.${rest}`;
}

/** How many digits an amount has after its point. */
export function fractionDigits(amount: string): number {
  const point = amount.indexOf('.');
  return point < 0 ? 0 : amount.length - point - 1;
}

/** The amount with at most `decimals` digits after its point; further digits are cut off. */
export function cutTo(amount: string, decimals: number): string {
  const [whole = '', fraction = ''] = amount.split('.');
  const kept = fraction.slice(0, decimals);
  return kept === '' ? whole : `${whole}.${kept}`;
}

/** True when every digit is 0. */
export function isZero(amount: string): boolean {
  return !/[1-9]/.test(amount);
}

/** The smallest amount that is not zero: `0.01` for 2 decimals. */
export function smallest(decimals: number): string {
  return decimals === 0 ? '1' : `0.${'1'.padStart(decimals, '0')}`;
}
