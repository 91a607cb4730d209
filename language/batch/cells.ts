/** What the cells of a payment may contain, and the complaint about a cell that may not. */
import { decimalsOf, KNOWN_CURRENCIES, type Decimals } from '../../domain/currencies.ts';
import type { BatchColumns, BatchFormat, BatchNumbers } from '../../domain/policy.ts';
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
import {
  amountWithCurrency,
  rewritten,
  unquoted,
  visible,
  type CellFacts,
  type WithCurrency,
} from './certain-text.ts';
import { traceComplaint } from './spreadsheet-traces.ts';

/** Makes the complaint about a cell. It is not called for a mistake that is only counted. `name` is the column, as messages show it. */
export type Complain = (name: string) => Complaint;
/** Null: the cell has no mistake. */
export type Verdict = Complain | null;
/** What a cell says, or the complaint about it. */
export type Read = string | Complain;

const AMOUNT = new RegExp(`^${POSITIVE_DECIMAL}$`);
const ACCOUNT = accountSchema({ description: '' });
const CURRENCY = currencySchema({ description: '', example: 'USD' });
const KNOWN: ReadonlySet<string> = new Set(KNOWN_CURRENCIES);
/** Most cells look like this, and need no further check. */
const PLAIN = /^[A-Za-z0-9][ -~]*$/;

/**
 * The id of a payment, which becomes a part of its reference: the text, or what `as: slug` makes of it. A slug is part of what identifies
 * money, so its rule never changes: compatibility decomposition (NFKD) without marks, and a "-" for each run of other characters.
 */
export function idOf(text: string, { slugs }: Pick<BatchFormat, 'slugs'>): string {
  if (!slugs) return text;
  const bare = text.normalize('NFKD').replaceAll(/\p{M}/gu, '');
  return bare.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^[-_]+|-+$/g, '');
}

function readId(text: string, format: Pick<BatchFormat, 'slugs'>): Read {
  const id = idOf(text, format);
  if (isPart(id)) return id;
  if (format.slugs)
    return () => ({
      mistake: 'ID',
      message: `${quoted(text)} becomes ${quoted(id)}, which is not an id: 1 to ${MOST_ID_CHARACTERS} characters`,
      fix: 'give the payment an id with letters or digits, and not so long',
    });
  return () => ({
    mistake: 'ID',
    message:
      text.length > MOST_ID_CHARACTERS
        ? `${quoted(text)} has ${text.length} characters; a part of a reference has ${MOST_ID_CHARACTERS} at most`
        : `${quoted(text)} is not an id: 1 to ${MOST_ID_CHARACTERS} of A-Z, a-z, 0-9, "_" and "-", a letter or digit first`,
    fix: isPart(visible(text))
      ? `write ${visible(text)}, without blanks around it`
      : 'write an id such as inv-1042, or write `columns: { id: { column: …, as: slug } }` into the policy',
  });
}

const MOST_ID_CHARACTERS = 64;

/** How each cell that Cambist reads is read. */
export function readersOf(
  format: BatchFormat,
  decimals: Decimals,
): {
  readonly [What in Exclude<keyof BatchColumns, 'amount'>]: (text: string) => Read;
} & { readonly amount: (text: string, currency: string | null) => Read } {
  const named = (what: keyof BatchColumns, text: string, read: (text: string) => Read): Read =>
    traceComplaint(text, { isAmount: what === 'amount' }) ?? quotesComplaint(text, read) ?? read(text);
  return {
    id: (text) => named('id', text, (one) => readId(one, format)),
    account: (text) => named('account', text, (one) => accountComplaint(one) ?? one),
    currency: (text) => named('currency', text, (one) => currencyComplaint(one, decimals) ?? one),
    amount: (text, currency) =>
      named('amount', text, (one) => readAmount(one, { currency, decimals, numbers: format.numbers })),
  };
}

/** The complaint about a cell that is right but for the quotes around it. */
function quotesComplaint(text: string, read: (text: string) => Read): Verdict {
  const bare = unquoted(text);
  if (bare === text || typeof read(text) === 'string' || typeof read(bare) !== 'string') return null;
  return () => ({
    mistake: 'QUOTES',
    message: `${quoted(text)} has quotes around it, or a sign in front, that belong to no value`,
    fix: `write ${bare}`,
  });
}

function accountComplaint(text: string): Verdict {
  return ACCOUNT.safeParse(text).success ? null : () => adviceOf(ACCOUNT, text);
}

/** The code must be known. Otherwise the run would ask the service about a mistyped code payment by payment. */
function currencyComplaint(text: string, decimals: Decimals): Verdict {
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

/**
 * An amount greater than zero, as the policy says that the file writes it: digits with at most one point. It has no more decimals than
 * its currency, where that is known; zeros behind these are cut off, since nothing is lost.
 */
function readAmount(
  text: string,
  { currency, decimals, numbers }: { currency: string | null; decimals: Decimals; numbers: BatchNumbers },
): Read {
  const plain = plainAmount(text, numbers);
  if (plain === null || !AMOUNT.test(plain)) {
    const start = text.slice(0, 250);
    const both = amountWithCurrency(visible(start));
    if (both !== null) return () => withCurrencyComplaint(text, { ...both, ofRow: currency, numbers });
    return () => ({
      mistake: 'AMOUNT',
      message: `${quoted(text)} is not an amount: ${isUsual(numbers) || plain !== null ? amountReason(plain ?? start) : `the policy says that amounts are written as ${exampleOf(numbers)}`}`,
      fix: isUsual(numbers) ? amountFix(start) : declaredFix(start, numbers),
    });
  }
  const most = currency === null ? Infinity : decimalsOf(currency, decimals);
  if (fractionDigits(plain) <= most) return plain;
  const cut = cutTo(plain, most);
  // Unless the policy says what separates thousands, the point of "1.000" may do so.
  const thousands = numbers.group === null ? /^([1-9][0-9]{0,2})[.,]([0-9]{3})$/.exec(text) : null;
  if (thousands === null && isZero(plain.slice(cut.length))) return cut;
  return () => {
    return {
      mistake: 'AMOUNT_DECIMALS',
      message: `${quoted(text)} has ${fractionDigits(plain)} decimals; ${currency ?? ''} has ${most}`,
      fix:
        thousands !== null
          ? `write ${thousands[1]}${thousands[2]} if the point separates thousands (or set \`numbers\` in the policy), else at most ${most} decimals`
          : isZero(cut)
            ? `write at least ${smallest(most)}`
            : `write ${most === 0 ? 'no' : `at most ${most}`} decimals, such as ${cut} (cut off)`,
    };
  };
}

/** The complaint about an amount beside which its cell has a currency. */
function withCurrencyComplaint(
  text: string,
  {
    amount,
    sign,
    currency,
    ofRow,
    numbers,
  }: WithCurrency & { readonly ofRow: string | null; readonly numbers: BatchNumbers },
): Complaint {
  const write =
    plainAmount(amount, numbers) !== null
      ? `write ${amount}`
      : isUsual(numbers)
        ? amountFix(amount)
        : declaredFix(amount, numbers);
  const isOther = currency !== null && ofRow !== null && currency !== ofRow;
  return {
    mistake: 'AMOUNT_WITH_CURRENCY',
    message: isOther
      ? `${quoted(text)} says ${currency}, but the currency of the row is ${ofRow}`
      : currency === null
        ? `${quoted(text)} has ${quoted(sign)} beside the amount, which may stand for several currencies`
        : `${quoted(text)} has the currency beside the amount`,
    fix: isOther
      ? 'correct the one that is wrong, and write the amount alone'
      : currency === null
        ? `see that the row names the right currency, and ${write}`
        : write,
  };
}

/** Whether amounts are written as Cambist writes them. */
function isUsual({ decimal, group }: BatchNumbers): boolean {
  return decimal === '.' && group === null;
}

function exampleOf(numbers: BatchNumbers): string {
  return writtenAs('1857.05', numbers);
}

/** What may stand between thousands. */
const GROUPS = { '.': '[.]', ',': '[,]', "'": "['\u2019]", space: '[ \u00A0\u2009\u202F]' } as const;
const WRITTEN = new Map<string, RegExp>();

/** The amount with a point and nothing between its thousands; null: it is not written as the policy says. Thousands are separated everywhere or nowhere. */
function plainAmount(text: string, { decimal, group }: BatchNumbers): string | null {
  const key = `${decimal}${group ?? ''}`;
  const groups = group === null ? '' : `|[0-9]{1,3}(${GROUPS[group]})[0-9]{3}(?:\\2[0-9]{3})*`;
  const written = WRITTEN.get(key) ?? new RegExp(`^([0-9]+${groups})(?:[${decimal}]([0-9]+))?$`);
  WRITTEN.set(key, written);
  const match = written.exec(text);
  if (match === null) return null;
  const fraction = match.at(-1);
  const whole = (match[1] ?? '').replaceAll(/[^0-9]/g, '');
  return fraction === undefined ? whole : `${whole}.${fraction}`;
}

function amountFix(text: string): string {
  const either = /^([1-9][0-9]{0,2}),([0-9]{3})$/.exec(text);
  if (either !== null)
    return `write ${either[1]}${either[2]} if the comma separates thousands, ${either[1]}.${either[2]} if it is the decimal point; or set \`numbers\` in the policy`;
  const suggestion = suggestedAmount(text);
  if (suggestion === null || isZero(suggestion)) return 'write digits with a point: 1000.00';
  const style = STYLES.find(({ pattern }) => pattern.test(text));
  const declared = style === undefined ? '' : `, or \`numbers: ${style.numbers}\` into the policy`;
  return `write ${suggestion}${declared}`;
}

/** What to write where the policy says how: the same amount, where no other one can be meant. */
function declaredFix(text: string, numbers: BatchNumbers): string {
  // Whether the sign in "2.400" separates thousands or decimals, nobody can see.
  const isTwofold = /^[0-9]{1,3}[^0-9][0-9]{3}$/.test(text);
  const isKnown = /^[0-9]+\.[0-9]{1,2}$/.test(text) || STYLES.some(({ pattern }) => pattern.test(text));
  const meant = isKnown && !isTwofold ? suggestedAmount(text) : null;
  const isAmount = meant !== null && !isZero(meant);
  return `write ${isAmount ? writtenAs(meant, numbers) : `it in the form of ${exampleOf(numbers)}`}, or correct \`numbers\` in the policy`;
}

/** A plain amount as the policy says that the file writes it. */
function writtenAs(plain: string, { decimal, group }: BatchNumbers): string {
  const [whole = '', fraction] = plain.split('.');
  const grouped = whole.replaceAll(/\B(?=(?:[0-9]{3})+$)/g, group === 'space' ? ' ' : (group ?? ''));
  return fraction === undefined ? grouped : `${grouped}${decimal}${fraction}`;
}

/** How people write amounts otherwise, and what a policy says of it. */
const STYLES = [
  { pattern: /^[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+$/, numbers: '{ decimal: ",", group: "." }' },
  { pattern: /^[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?$/, numbers: '{ decimal: ".", group: "," }' },
  { pattern: /^[0-9]{1,3}(?:['\u2019][0-9]{3})+(?:\.[0-9]+)?$/, numbers: `{ decimal: ".", group: "'" }` },
  {
    pattern: /^[0-9]{1,3}(?:[ \u00A0\u2009\u202F][0-9]{3})+,[0-9]+$/,
    numbers: '{ decimal: ",", group: space }',
  },
  { pattern: /^[0-9]+,[0-9]{1,2}$/, numbers: '{ decimal: "," }' },
] as const;

/**
 * What a cell says without a doubt, though it is not written as it should be. `read` says whether that is right. Null: the cell has no
 * mistake, or another one.
 */
export function certainText(
  what: keyof BatchColumns,
  text: string,
  { read, ...facts }: CellFacts & { readonly read: (text: string) => Read },
): string | null {
  if (ownCellComplaint(text) === null && typeof read(text) === 'string') return null;
  const certain = rewritten(what, text, facts);
  const isRight = ownCellComplaint(certain) === null && typeof read(certain) === 'string';
  return isRight && certain !== '' && certain !== text ? certain : null;
}

/** Refuses in every column a formula that a spreadsheet would run, and a character that hides what is paid. */
export function otherCellComplaint(text: string): Verdict {
  return text === '' || PLAIN.test(text) ? null : unsafeComplaint(text, HIDDEN);
}

/**
 * In templates of banks a column says whether an amount is in the currency of the payee (`target`) or in the one that is debited
 * (`source`). Cambist pays amounts in the currency of the payee, so it refuses what does not say so.
 * @param column the name of a column that Cambist does not read. @param currency of the payment; null: it cannot be read
 */
export function amountCurrencyComplaint(column: string, text: string, currency: string | null): Verdict {
  if (column.replaceAll(/[\s_-]/g, '').toLowerCase() !== 'amountcurrency') return null;
  if (text.toLowerCase() === 'target' || text === currency) return null;
  return (name) => ({
    mistake: 'AMOUNT_CURRENCY',
    message: `${name} is ${quoted(text)}, not "target": the amount may be in another currency than ${currency ?? 'that of the payment'}`,
    fix: 'write the amount that the payee gets, in the currency of the payment, and "target"',
  });
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
