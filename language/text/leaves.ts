/**
 * The texts of which files consist (amount, rate, currency, duration, zone, id, …). Each is a zod schema for the editor and
 * the loader, with an example to show and the advice for a text that is almost right.
 */
import * as z from 'zod';
import { KNOWN_CURRENCIES } from '../../domain/currencies.ts';
import { compare } from '../../domain/money.ts';
import { amountComplaint, DECIMAL, POSITIVE_DECIMAL, suggestedAmount } from './amount-text.ts';
import {
  formatDuration,
  isCalendarDate,
  isInstant,
  isZone,
  parseDuration,
  zoneName,
} from '../../calendar/business-date.ts';
import { nearest } from './nearest.ts';
import { quoted } from './printable.ts';
import type { Complaint, Written } from './yaml-source.ts';

/** What a schema has besides its rule: an example in YAML, and the complaint about a scalar that breaks the rule. */
export type Hint = {
  readonly example: string;
  /** Null when the rule needs no explanation (a map, a list, a choice of words). */
  readonly complain: ((written: Written) => Complaint) | null;
};

/** The hints of every schema that has one. */
export const hints: z.core.$ZodRegistry<Hint> = z.registry<Hint>();

/** Gives a schema its description, which editors show, and its example, which fixes show. */
export function hinted<S extends z.ZodType>(
  schema: S,
  hint: {
    readonly description: string;
    readonly example: string;
    readonly oneOf?: readonly unknown[];
    readonly anyOf?: readonly unknown[];
  },
): S {
  const { example: _, ...shown } = hint;
  const described = schema.meta(shown);
  hints.add(described, { example: hint.example, complain: null });
  return described;
}

type Words = { readonly description: string; readonly example?: string };

/** `exists` checks the part of the rule that no pattern can express, such as that a zone or a day exists. */
function text(
  pattern: string,
  words: Words & { readonly example: string },
  complain: Hint['complain'],
  exists: (found: string) => boolean = () => true,
): z.ZodString {
  const schema = z
    .string()
    .regex(new RegExp(`^${pattern}$`))
    .refine(exists)
    .describe(words.description);
  hints.add(schema, { example: words.example, complain });
  return schema;
}

/** An amount greater than zero. Its decimals are checked where its currency is known. */
export function amount(words: Words): z.ZodString {
  return text(POSITIVE_DECIMAL, { example: '"1000.00"', ...words }, (written) =>
    amountComplaint(written, false),
  );
}

/** An amount that may be zero. */
export function amountOrZero(words: Words): z.ZodString {
  return text(DECIMAL, { example: '"0.00"', ...words }, (written) => amountComplaint(written, true));
}

/** A positive amount or the word `all`. */
export function amountOrAll(words: Words): z.ZodString {
  return text(`(?:all|${POSITIVE_DECIMAL})`, { example: '"1000.00"', ...words }, (written) =>
    nearest(written.text, ['all']) === null
      ? amountComplaint(written, false)
      : {
          mistake: 'AMOUNT',
          message: `${quoted(written.text)} is not an amount`,
          fix: 'did you mean `all`?',
        },
  );
}

const CURRENCY = '[A-Z0-9]{2,15}';

export function currency(words: Words & { readonly example: string }): z.ZodString {
  return text(CURRENCY, words, ({ text: found }) => {
    const upper = found.trim().toUpperCase();
    const near = KNOWN_CURRENCIES.includes(upper) ? upper : nearest(upper, KNOWN_CURRENCIES);
    const fix =
      near === null ? 'write its code in capitals, such as USD or USDC' : `did you mean \`${near}\`?`;
    return { mistake: 'CURRENCY', message: `${quoted(found)} is not a currency code`, fix };
  });
}

const RATE = `(${POSITIVE_DECIMAL}) (${CURRENCY}) per (${CURRENCY})`;
const WHOLE_RATE = new RegExp(`^${RATE}$`);

/** `16.90 MXN per USD`. `unquotedComplaint` checks that it is in quotes, since a schema does not see quotes. */
export function rate(words: Words & { readonly example: string }): z.ZodString {
  return text(RATE, words, ({ text: found }) => {
    const near = /^\s*(\S+)\s+([A-Za-z0-9]{2,15})\s*(?:\s[Pp][Ee][Rr]\s|\/)\s*([A-Za-z0-9]{2,15})\s*$/.exec(
      found,
    );
    const value = near?.[1] === undefined ? null : suggestedAmount(near[1]);
    const fix =
      value === null || !/[1-9]/.test(value)
        ? `write how many units of one currency one unit of the other costs: ${words.example}`
        : `write "${value} ${near?.[2]?.toUpperCase() ?? ''} per ${near?.[3]?.toUpperCase() ?? ''}", with the quotes`;
    return { mistake: 'RATE', message: `${quoted(found)} is not a rate`, fix };
  });
}

/** The parts of a text that `rate` has taken. */
export function readRate(found: string): {
  readonly value: string;
  readonly currency: string;
  readonly per: string;
} {
  const [, value = '', code = '', per = ''] = WHOLE_RATE.exec(found) ?? [];
  return { value, currency: code, per };
}

const MONEY = `(${POSITIVE_DECIMAL}) (${CURRENCY})`;
const WHOLE_MONEY = new RegExp(`^${MONEY}$`);

/** `400000.00 USD`. */
export function money(words: Words & { readonly example: string }): z.ZodString {
  return text(MONEY, words, ({ text: found }) => {
    const near = /^\s*(\S+)\s+([A-Za-z0-9]{2,15})\s*$/.exec(found);
    const value = near?.[1] === undefined ? null : suggestedAmount(near[1]);
    const fix =
      value === null || !/[1-9]/.test(value)
        ? `write an amount and its currency: ${words.example}`
        : `write "${value} ${near?.[2]?.toUpperCase() ?? ''}", with the quotes`;
    return { mistake: 'MONEY', message: `${quoted(found)} is not an amount with its currency`, fix };
  });
}

/** The parts of a text that `money` has taken. */
export function readMoney(found: string): { readonly value: string; readonly currency: string } {
  const [, value = '', code = ''] = WHOLE_MONEY.exec(found) ?? [];
  return { value, currency: code };
}

/** A duration from 1 s to 366 days. */
export function duration(words: Words & { readonly example: string }): z.ZodString {
  return text('[1-9][0-9]{0,7}[smhd]', words, durationComplaint, (found) => parseDuration(found) !== null);
}

function durationComplaint({ text: found }: Written): Complaint {
  const near = /^\s*([1-9][0-9]{0,7})\s*([smhd])[a-z]*\s*$/i.exec(found);
  const durationMs = parseDuration(`${near?.[1] ?? ''}${near?.[2]?.toLowerCase() ?? ''}`);
  return {
    mistake: 'DURATION',
    message: `${quoted(found)} is not a duration between 1s and 366d`,
    fix:
      durationMs === null
        ? 'write a whole number and s, m, h or d: 45s, 30m, 6h, 2d'
        : `write ${formatDuration(durationMs)}`,
  };
}

/** A policy's name, part of every reference. */
export function policyName(words: Words): z.ZodString {
  return text('[a-z0-9][a-z0-9-]{0,39}', { example: 'mxn-supplier', ...words }, ({ text: found }) => {
    const near = found
      .trim()
      .toLowerCase()
      .replaceAll(/[^a-z0-9-]+/g, '-')
      .replaceAll(/^-+|-+$/g, '')
      .slice(0, 40);
    return {
      mistake: 'NAME',
      message: `${quoted(found)} is not a policy name: 1 to 40 of a-z, 0-9 and "-", a letter or digit first`,
      fix: near === '' ? 'write a name such as mxn-supplier' : `write ${near}`,
    };
  });
}

/** One part of a reference, which is never changed. */
export function itemId(words: Words): z.ZodString {
  return text('[A-Za-z0-9][A-Za-z0-9_-]{0,63}', { example: 'supplier', ...words }, ({ text: found }) => ({
    mistake: 'ID',
    message: `${quoted(found)} is not an id: 1 to 64 of A-Z, a-z, 0-9, "_" and "-", a letter or digit first`,
    fix: "write an id such as supplier or inv-1042; it becomes part of the payment's reference",
  }));
}

/** A withdrawal account's id, by heading "POST /fx/withdrawals". */
export function account(words: Words): z.ZodString {
  const uuid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
  const pattern = `(?:[a-z]{3,5}_[1-9A-HJ-NP-Za-km-z]{1,22}|${uuid})`;
  return text(pattern, { example: 'wac_7Hk2mQ9vT4xR', ...words }, ({ text: found }) => ({
    mistake: 'ACCOUNT',
    message: `${quoted(found)} is not the id of a withdrawal account`,
    fix: new RegExp(`^${uuid}$`).test(found.toLowerCase())
      ? `write ${found.toLowerCase()}`
      : 'copy the id as the service shows it: `wac_` and up to 22 letters and digits (never 0, O, I, l), or a lower-case UUID',
  }));
}

/** A zone of the IANA database, by its exact name. */
export function zone(words: Words): z.ZodString {
  const pattern = '[A-Za-z][A-Za-z0-9_+-]*(?:/[A-Za-z0-9_+-]+){0,2}';
  return text(pattern, { example: 'Europe/Paris', ...words }, zoneComplaint, isZone);
}

function zoneComplaint({ text: found }: Written): Complaint {
  const near = zoneName(found) ?? nearest(found, ['UTC', ...Intl.supportedValuesOf('timeZone')]);
  return {
    mistake: 'ZONE',
    message: `${quoted(found)} is not a time zone`,
    fix:
      near === null ? 'write the name of a zone, such as UTC or Europe/Paris' : `did you mean \`${near}\`?`,
  };
}

/** `25bps`: a cost in basis points, 0 to 9999.99. */
export function basisPoints(words: Words): z.ZodString {
  return text(
    '(?:0|[1-9][0-9]{0,3})(?:\\.[0-9]{1,4})?bps',
    { example: '25bps', ...words },
    ({ text: found }) => ({
      mistake: 'COST',
      message: `${quoted(found)} is not a cost in basis points`,
      fix: 'write a number from 0 to 9999 and bps: 25bps is 0.25 %',
    }),
  );
}

const PERCENT = '(?:100|[0-9]{1,2})(?:\\.[0-9]{1,4})?%';

/** `12.5%`, 0 to 100. */
export function percent(words: Words & { readonly example: string }): z.ZodString {
  return text(PERCENT, words, percentComplaint, (found) => readPercent(found) !== null);
}

function percentComplaint({ text: found }: Written): Complaint {
  const near = /^\s*([0-9]{1,3}(?:\.[0-9]{1,4})?)\s*(?:%|percent|pct)?\s*$/i.exec(found);
  return {
    mistake: 'PERCENT',
    message: `${quoted(found)} is not a percentage from 0% to 100%`,
    fix:
      near?.[1] !== undefined && Number(near[1]) <= 100 ? `write ${near[1]}%` : 'write a number and %: 12.5%',
  };
}

/** The number of a text that `percent` takes; null for one over 100. */
export function readPercent(found: string): string | null {
  const number = found.slice(0, -1);
  return found.endsWith('%') && compare(number, '100') <= 0 ? number : null;
}

/** An amount that may be zero, or a percentage. */
export function amountOrPercent(words: Words & { readonly example: string }): z.ZodString {
  return text(`(?:${DECIMAL}|${PERCENT})`, words, (written) =>
    written.text.includes('%') ? percentComplaint(written) : amountComplaint(written, true),
  );
}

/** The path of a YAML file, relative and inside the folder of its policy. */
export function fileBeside(words: Words & { readonly what: string; readonly example: string }): z.ZodString {
  const step = '[A-Za-z0-9_-][A-Za-z0-9._-]*';
  const pattern = `(?=.{1,200}$)(?:${step}/)*${step}\\.ya?ml`;
  return text(pattern, words, ({ text: found }) => ({
    mistake: 'FILE',
    message: `${quoted(found)} is not the path of ${words.what}`,
    fix: `write a relative path below this folder that ends in .yaml: ${words.example}`,
  }));
}

const ONE_LINE = '(?=\\S)[^\\u0000-\\u001F\\u007F-\\u009F]{1,100}(?<=\\S)';

/** The name of a person or thing, for people. */
export function label(words: Words & { readonly example: string }): z.ZodString {
  return text(ONE_LINE, words, ({ text: found }) => ({
    mistake: 'TEXT',
    message: `${quoted(found)} is not a label: 1 to 100 characters on one line, no blanks around them`,
    fix: `write a short name: ${words.example}`,
  }));
}

/** The name of a column, as the first line of a batch file has it. */
export function columnName(words: Words & { readonly example: string }): z.ZodString {
  return text(ONE_LINE, words, ({ text: found }) => ({
    mistake: 'COLUMN',
    message: `${quoted(found)} is not the name of a column`,
    fix: `write it as it stands in the first line of the file, without blanks around it: ${words.example}`,
  }));
}

/** A moment with its offset from UTC. */
export function instant(words: Words & { readonly example: string }): z.ZodString {
  const pattern =
    '[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\\.[0-9]{1,9})?(?:Z|[+-][0-9]{2}:[0-9]{2})';
  return text(pattern, words, instantComplaint, isInstant);
}

function instantComplaint({ text: found }: Written): Complaint {
  return {
    mistake: 'INSTANT',
    message: `${quoted(found)} is not a moment with its offset from UTC`,
    fix: 'write date, T, time and offset: 2026-11-20T16:00:00+01:00',
  };
}

/** A calendar date. */
export function calendarDate(words: Words & { readonly example: string }): z.ZodString {
  return text('[0-9]{4}-[0-9]{2}-[0-9]{2}', words, dateComplaint, isCalendarDate);
}

function dateComplaint({ text: found }: Written): Complaint {
  return {
    mistake: 'DATE',
    message: `${quoted(found)} is not a calendar date`,
    fix: 'write year, month and day: 2026-11-01',
  };
}

/** A time of day, to the minute. */
export function timeOfDay(words: Words): z.ZodString {
  return text('(?:[01][0-9]|2[0-3]):[0-5][0-9]', { example: '"09:30"', ...words }, timeComplaint);
}

function timeComplaint({ text: found }: Written): Complaint {
  const near = /^\s*([01]?[0-9]|2[0-3])[:.h]([0-5][0-9])(?:[:.]00)?\s*(am|pm)?\s*$/i.exec(found);
  const half = near?.[3]?.toLowerCase();
  const hour = Number(near?.[1]) % (half === undefined ? 24 : 12);
  const written = `${String(half === 'pm' ? hour + 12 : hour).padStart(2, '0')}:${near?.[2] ?? ''}`;
  return {
    mistake: 'TIME',
    message: `${quoted(found)} is not a time of day`,
    fix: near === null ? 'write hours and minutes, 00:00 to 23:59: "09:30"' : `write "${written}"`,
  };
}

/** The parts of a text that `timeOfDay` has taken. */
export function readTimeOfDay(found: string): { readonly hour: number; readonly minute: number } {
  return { hour: Number(found.slice(0, 2)), minute: Number(found.slice(3, 5)) };
}

/** A time of day in a zone, `15:30 Europe/Brussels`. */
export function timeInZone(words: Words): z.ZodString {
  const pattern = '(?:[01][0-9]|2[0-3]):[0-5][0-9] [A-Za-z][A-Za-z0-9_+/-]*';
  return text(pattern, { example: '"15:30 Europe/Brussels"', ...words }, timeInZoneComplaint, (found) =>
    isZone(readTimeInZone(found).zone),
  );
}

function timeInZoneComplaint({ text: found }: Written): Complaint {
  return {
    mistake: 'TIME',
    message: `${quoted(found)} is not a time of day in a time zone`,
    fix: 'write hours, minutes and a zone of the IANA database: "15:30 Europe/Brussels"',
  };
}

/** The parts of a text that `timeInZone` has taken. */
export function readTimeInZone(found: string): {
  readonly at: { readonly hour: number; readonly minute: number };
  readonly zone: string;
} {
  return { at: readTimeOfDay(found), zone: found.slice('15:30 '.length) };
}

/**
 * The name of a calendar of days off. Whether there is such a calendar is checked elsewhere, where the calendars are known.
 */
export function calendarName(words: Words): z.ZodString {
  return text('[A-Za-z0-9]{1,20}(?:-[A-Za-z0-9]{1,20}){0,2}', { example: 'FR', ...words }, calendarComplaint);
}

function calendarComplaint({ text: found }: Written): Complaint {
  return {
    mistake: 'CALENDAR',
    message: `${quoted(found)} is not the name of a calendar`,
    fix: 'write a country by its ISO code, with a part of it where it has calendars of their own: FR, US-NY; a payment system: T2; or list dates: [2026-12-25]',
  };
}

/** The days by ISO 8601: the first one is day 1. */
export const DAYS_OF_WEEK = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** Monday to Friday, or every day; a list of days may take its place. */
export function daysOfWeek(words: Words): z.ZodEnum<{ weekdays: 'weekdays'; daily: 'daily' }> {
  const schema = z.enum(['weekdays', 'daily']).describe(words.description);
  hints.add(schema, { example: 'weekdays', complain: daysComplaint });
  return schema;
}

function daysComplaint({ text: found }: Written): Complaint {
  const near = nearest(found, ['weekdays', 'daily', ...DAYS_OF_WEEK]);
  const day = DAYS_OF_WEEK.find((one) => one === near || found.toLowerCase().startsWith(one));
  return {
    mistake: 'NOT_ONE_OF',
    message: `${quoted(found)} is not what \`days\` takes: weekdays, daily, or a list of ${DAYS_OF_WEEK.join(', ')}`,
    fix:
      day !== undefined
        ? `write \`days: [${day}]\``
        : near === null
          ? 'write for example `days: weekdays`'
          : `did you mean \`${near}\`?`,
  };
}

/** A status, as the service sends it. */
export function status(words: Words): z.ZodString {
  return text('[A-Za-z][A-Za-z0-9_ -]{0,63}', { example: 'COMPLETED', ...words }, ({ text: found }) => ({
    mistake: 'STATUS',
    message: `${quoted(found)} is not a status`,
    fix: 'write the status as the service sends it, such as COMPLETED; put "NO" or "NULL" in quotes',
  }));
}

/** A whole number between two bounds. */
export function wholeNumber(from: number, to: number, words: Words & { readonly example: string }): z.ZodInt {
  const schema = z.int().min(from).max(to).describe(words.description);
  hints.add(schema, {
    example: words.example,
    complain: ({ text: found }) => ({
      mistake: 'NUMBER',
      message: `${quoted(found)} is not a whole number from ${from} to ${to}`,
      fix:
        from === to
          ? `write ${from}, without quotes`
          : `write a whole number from ${from} to ${to}, without quotes`,
    }),
  });
  return schema;
}

/** The complaint about a rate or an amount with currency that is not in quotes. */
export function unquotedComplaint(found: string): Complaint {
  return {
    mistake: 'AMOUNT_UNQUOTED',
    message: `${quoted(found)} is not in quotes`,
    fix: `write "${found}", with the quotes`,
  };
}
