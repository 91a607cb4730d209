/**
 * The days on which the systems that settle a currency between banks are closed, besides weekends. Each is a small table of rules, with
 * its source and how sure it is; docs/policies.md shows both. Single days that a country adds in one year (a jubilee, a funeral) are not known before they are proclaimed. Pure.
 */
import { DateTime } from 'luxon';

export type PaymentSystem = {
  /** As policies name it. */
  readonly name: string;
  /** The currency that it settles. */
  readonly currency: string;
  /** Who publishes the days, and under which name. */
  readonly source: string;
  /** How sure the table is, as a sentence for people. */
  readonly sureness: string;
  readonly days: readonly Rule[];
  /** What becomes of a day that falls on a weekend. */
  readonly weekend: Weekend;
};

/** A day of each year; `easter`: so many days after Easter Sunday; `nth`: the nth such weekday of a month, -1 the last one. */
type Rule = { readonly called: string } & (
  | { readonly month: number; readonly day: number }
  | { readonly easter: number }
  | { readonly month: number; readonly weekday: number; readonly nth: number }
);

/**
 * `lost`: the system is closed anyway. `sunday`: a Sunday is made up for on Monday, and a Saturday is not. `next`: on the next weekday
 * that is not closed already.
 */
type Weekend = 'lost' | 'sunday' | 'next';

const MONDAY = 1;
const THURSDAY = 4;

const NEW_YEAR: Rule = { called: 'New Year’s Day', month: 1, day: 1 };
const GOOD_FRIDAY: Rule = { called: 'Good Friday', easter: -2 };
const EASTER_MONDAY: Rule = { called: 'Easter Monday', easter: 1 };
const LABOUR_DAY: Rule = { called: 'Labour Day', month: 5, day: 1 };
const CHRISTMAS: Rule = { called: 'Christmas Day', month: 12, day: 25 };
const DAY_AFTER_CHRISTMAS: Rule = { called: 'St Stephen’s Day', month: 12, day: 26 };

const SYSTEMS: readonly PaymentSystem[] = [
  {
    name: 'T2',
    currency: 'EUR',
    source: 'European Central Bank, “TARGET closing days”',
    sureness: 'The rule of the operator: these six days in every year since 2002.',
    days: [NEW_YEAR, GOOD_FRIDAY, EASTER_MONDAY, LABOUR_DAY, CHRISTMAS, DAY_AFTER_CHRISTMAS],
    weekend: 'lost',
  },
  {
    name: 'fedwire',
    currency: 'USD',
    source: 'Federal Reserve, “Holidays Observed (K.8)”',
    sureness:
      'The rule of the operator. It has announced (Federal Register 2025-19942) that Fedwire will open on Sundays and on these days in 2028 or 2029; no date is fixed.',
    days: [
      NEW_YEAR,
      { called: 'Martin Luther King Day', month: 1, weekday: MONDAY, nth: 3 },
      { called: 'Presidents’ Day', month: 2, weekday: MONDAY, nth: 3 },
      { called: 'Memorial Day', month: 5, weekday: MONDAY, nth: -1 },
      { called: 'Juneteenth', month: 6, day: 19 },
      { called: 'Independence Day', month: 7, day: 4 },
      { called: 'Labor Day', month: 9, weekday: MONDAY, nth: 1 },
      { called: 'Columbus Day', month: 10, weekday: MONDAY, nth: 2 },
      { called: 'Veterans Day', month: 11, day: 11 },
      { called: 'Thanksgiving Day', month: 11, weekday: THURSDAY, nth: 4 },
      CHRISTMAS,
    ],
    weekend: 'sunday',
  },
  {
    name: 'chaps',
    currency: 'GBP',
    source:
      'Bank of England, “CHAPS operating days”: all weekdays but the bank holidays of England and Wales (Banking and Financial Dealings Act 1971)',
    sureness:
      'The rule of the operator. Days that a proclamation adds or moves in one year (a jubilee) are not in it.',
    days: [
      NEW_YEAR,
      GOOD_FRIDAY,
      EASTER_MONDAY,
      { called: 'Early May bank holiday', month: 5, weekday: MONDAY, nth: 1 },
      { called: 'Spring bank holiday', month: 5, weekday: MONDAY, nth: -1 },
      { called: 'Summer bank holiday', month: 8, weekday: MONDAY, nth: -1 },
      CHRISTMAS,
      { ...DAY_AFTER_CHRISTMAS, called: 'Boxing Day' },
    ],
    weekend: 'next',
  },
  {
    name: 'sic',
    currency: 'CHF',
    source: 'SIX Interbank Clearing, “Clearing Day Calendar”: the bank holidays of Zurich',
    sureness:
      'Not sure for 1 May: that SIC is closed then is known at second hand only. Look at the calendar of SIX before you rely on it.',
    days: [
      NEW_YEAR,
      { called: 'Berchtold’s Day', month: 1, day: 2 },
      GOOD_FRIDAY,
      EASTER_MONDAY,
      { ...LABOUR_DAY, called: 'Labour Day, as we know at second hand only' },
      { called: 'Ascension Day', easter: 39 },
      { called: 'Whit Monday', easter: 50 },
      { called: 'National Day', month: 8, day: 1 },
      CHRISTMAS,
      DAY_AFTER_CHRISTMAS,
    ],
    weekend: 'lost',
  },
];

/** The systems by their names in policies. */
export const PAYMENT_SYSTEMS: ReadonlyMap<string, PaymentSystem> = new Map(
  SYSTEMS.map((system) => [system.name, system]),
);

/** The system that settles a currency; null: none is known here. */
export function systemOf(currency: string): PaymentSystem | null {
  return SYSTEMS.find((system) => system.currency === currency) ?? null;
}

/** Why a system is closed on `date` (`2026-12-25`), weekends included; null: it is open. */
export function whyClosed(system: PaymentSystem, date: string): string | null {
  const { weekday, year } = dayOf(date);
  if (weekday > 5) return weekday === 6 ? 'a Saturday' : 'a Sunday';
  return closedDays(system, year).get(date) ?? null;
}

/** The first weekday from `date` on, that day included, on which all these systems are open. */
export function firstOpenDay(systems: readonly PaymentSystem[], date: string): string {
  let day = dayOf(date);
  const isClosed = (): boolean =>
    day.weekday > 5 || systems.some((system) => whyClosed(system, dateOf(day)) !== null);
  while (isClosed()) day = day.plus({ days: 1 });
  return dateOf(day);
}

/** The weekdays of a year on which a system is closed, each with the reason. */
export function closedDays({ days, weekend }: PaymentSystem, year: number): ReadonlyMap<string, string> {
  const closed = new Map<string, string>();
  const moved: { readonly day: DateTime; readonly called: string }[] = [];
  for (const rule of days) {
    const day = dayOfRule(rule, year);
    if (day.weekday <= 5) closed.set(dateOf(day), rule.called);
    else if (weekend === 'next' || (weekend === 'sunday' && day.weekday === 7))
      moved.push({ day, called: rule.called });
  }
  for (const { day, called } of moved) {
    let free = day;
    while (free.weekday > 5 || closed.has(dateOf(free))) free = free.plus({ days: 1 });
    closed.set(dateOf(free), called);
  }
  return closed;
}

function dayOfRule(rule: Rule, year: number): DateTime {
  if ('easter' in rule) return easterSunday(year).plus({ days: rule.easter });
  if ('day' in rule) return DateTime.utc(year, rule.month, rule.day);
  const { month, weekday, nth } = rule;
  if (nth > 0) {
    const first = DateTime.utc(year, month, 1);
    return first.plus({ days: ((weekday - first.weekday + 7) % 7) + 7 * (nth - 1) });
  }
  const last = DateTime.utc(year, month, 1).endOf('month').startOf('day');
  return last.minus({ days: (last.weekday - weekday + 7) % 7 });
}

/** By the rule of the Gregorian calendar (Meeus, Jones and Butcher). */
function easterSunday(year: number): DateTime {
  const [golden, century, ofCentury] = [year % 19, Math.floor(year / 100), year % 100];
  const correction = Math.floor((century - Math.floor((century + 8) / 25) + 1) / 3);
  const moon = (19 * golden + century - Math.floor(century / 4) - correction + 15) % 30;
  const days = (32 + 2 * (century % 4) + 2 * Math.floor(ofCentury / 4) - moon - (ofCentury % 4)) % 7;
  const shift = Math.floor((golden + 11 * moon + 22 * days) / 451);
  const sum = moon + days - 7 * shift + 114;
  return DateTime.utc(year, Math.floor(sum / 31), (sum % 31) + 1);
}

function dayOf(date: string): DateTime {
  return DateTime.fromISO(date, { zone: 'utc' });
}

function dateOf(day: DateTime): string {
  return day.toFormat('yyyy-MM-dd');
}
