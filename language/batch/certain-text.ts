/** What a cell says without a doubt, though it is not written as it should be. */
import { KNOWN_CURRENCIES } from '../../domain/currencies.ts';
import type { BatchColumns } from '../../domain/policy.ts';

/** Characters that show nothing and move nothing: soft hyphens, blanks of no width, joiners, byte order marks. */
const UNSEEN = /[\u{AD}\u{200B}-\u{200E}\u{2060}-\u{2064}\u{FEFF}]/gu;

/** The same, but for joiners: names in some scripts have them. */
const UNSEEN_IN_NOTES = /[\u{AD}\u{200B}\u{2060}-\u{2064}\u{FEFF}]/gu;

/** A text that is only kept, such as a note, without characters that nobody can see. */
export function seen(text: string): string {
  return text.replaceAll(UNSEEN_IN_NOTES, '');
}

/**
 * A text as people see it, without the blanks around it. Signs that turn the direction of writing stay, and such a cell is refused: a
 * person sees other characters there than a program.
 */
export function visible(text: string): string {
  return text.replaceAll(UNSEEN, '').trim();
}

/** Pairs of quotes, and the sign by which a spreadsheet marks a cell as text. */
const QUOTED = /^(?:“(.+)”|„(.+)[“”]|«(.+)»|‘(.+)’|‚(.+)[‘’]|'(.+?)'?)$/u;

/** A text without the quotes around it that are not those of CSV. */
export function unquoted(text: string): string {
  const match = QUOTED.exec(text);
  return match === null ? text : visible(match.slice(1).find((part) => part !== undefined) ?? text);
}

/** An amount with a currency in one cell, such as `12.50 EUR` or `€12.50`. */
export type WithCurrency = {
  readonly amount: string;
  readonly sign: string;
  /** Null: several currencies are written so. */
  readonly currency: string | null;
};

const AMOUNT_TEXT = "[0-9](?:[0-9.,'\u2019 \u00A0\u2009\u202F]*[0-9])?";
const SIGN_TEXT = '[\\p{L}\\p{Sc}]{1,5}[.]?';
const BLANKS = '[ \u00A0\u2009\u202F]*';
const IN_FRONT = new RegExp(`^(${SIGN_TEXT})${BLANKS}(${AMOUNT_TEXT})$`, 'u');
const BEHIND = new RegExp(`^(${AMOUNT_TEXT})${BLANKS}(${SIGN_TEXT})$`, 'u');

/** The one currency that has this sign. Dollars, crowns and yen have theirs in common with other currencies. */
const SIGNS: Readonly<Record<string, string>> = { '€': 'EUR', '£': 'GBP' };
const KNOWN: ReadonlySet<string> = new Set(KNOWN_CURRENCIES);

/** Null: the text is no amount with a currency. */
export function amountWithCurrency(text: string): WithCurrency | null {
  const [, first, second] = IN_FRONT.exec(text) ?? [];
  const [, amount = second, sign = first] = BEHIND.exec(text) ?? [];
  if (amount === undefined || sign === undefined) return null;
  const code = sign.toUpperCase();
  return { amount, sign, currency: KNOWN.has(code) ? code : (SIGNS[sign] ?? null) };
}

/** What the reader of a cell needs to know of its file and of its row. */
export type CellFacts = {
  /** The sign between whole units and the rest. */
  readonly decimal: string;
  /** Of the row; null: it cannot be read. */
  readonly currency: string | null;
};

/**
 * The text that a cell means: without blanks and unseen characters, without quotes around it, a currency in capitals, an amount without a
 * plus or zeros in front, with a digit on both sides of its point, and without the currency that its row has too. It may still be wrong.
 * An amount is never guessed at.
 */
export function rewritten(what: keyof BatchColumns, written: string, facts: CellFacts): string {
  const text = unquoted(visible(written));
  switch (what) {
    case 'id':
      return text;
    case 'account':
      return UUID.test(text) ? text.toLowerCase() : text;
    case 'currency':
      return text.toUpperCase();
    case 'amount': {
      const both = amountWithCurrency(text);
      const alone = both !== null && both.currency === facts.currency ? both.amount : text;
      const digits = alone.replace(/^\+/, '').replace(/^0+(?=[0-9])/, '');
      const started = digits.startsWith(facts.decimal) ? `0${digits}` : digits;
      return started.endsWith(facts.decimal) ? started.slice(0, -1) : started;
    }
  }
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;
