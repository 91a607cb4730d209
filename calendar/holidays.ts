/**
 * Days off: dates that a policy lists, the closed days of a payment system (`T2`), or the public and bank holidays of a country or a
 * part of one, by ISO codes (`FR`, `US-NY`, `DE-BY`). The library with the holidays of countries is large, so it is loaded only when a
 * policy names one of them.
 */
import type { Schedule } from '../domain/policy.ts';
import { closedDays, PAYMENT_SYSTEMS } from './payment-systems.ts';

/** A day off, with its name in English; null: the policy lists the date, without a name. */
type DayOff = { readonly name: string | null };

/** Whether a date is a day off; null: it is not. */
export type DaysOff = (date: string) => DayOff | null;

/** The days off of a schedule. @throws RangeError when there is no such calendar, which `check` finds */
export async function daysOffOf(holidays: Schedule['holidays']): Promise<DaysOff> {
  switch (holidays.kind) {
    case 'dates': {
      const dates = new Set(holidays.dates);
      return (date) => (dates.has(date) ? { name: null } : null);
    }
    case 'calendar':
      return daysOffIn(holidays.name);
  }
}

const DAY_MS = 86_400_000;

async function daysOffIn(name: string): Promise<DaysOff> {
  const system = PAYMENT_SYSTEMS.get(name);
  if (system !== undefined)
    return (date) => {
      const called = closedDays(system, Number(date.slice(0, 4))).get(date);
      return called === undefined ? null : { name: called };
    };
  if (!(await calendarNames()).has(name)) throw new RangeError(`there is no calendar "${name}"`);
  const { default: Holidays } = await import('date-holidays');
  const [country = '', state = '', region = ''] = name.split('-');
  // The library then gives local moments, as if the clocks of the place were at UTC.
  const calendar = new Holidays(country, state, region, {
    languages: 'en',
    timezone: 'UTC',
    types: ['bank', 'public'],
  });
  const years = new Map<number, ReadonlyMap<string, DayOff>>();
  const inYear = (year: number): ReadonlyMap<string, DayOff> => {
    const days = new Map<string, DayOff>();
    // A holiday of several days may begin in the year before.
    for (const { start, end, name: called } of [year - 1, year].flatMap((one) => calendar.getHolidays(one))) {
      // A date is a day off when its noon is inside the holiday. Half a day off that begins at noon does not count.
      for (let noonMs = noonOf(start); noonMs < end.getTime(); noonMs += DAY_MS) {
        const date = new Date(noonMs).toISOString().slice(0, 10);
        if (noonMs > start.getTime() && !days.has(date)) days.set(date, { name: called });
      }
    }
    return days;
  };
  return (date) => {
    const year = Number(date.slice(0, 4));
    const days = years.get(year) ?? inYear(year);
    years.set(year, days);
    return days.get(date) ?? null;
  };
}

function noonOf(moment: Date): number {
  return Math.floor(moment.getTime() / DAY_MS) * DAY_MS + DAY_MS / 2;
}

/** The names of the calendars, each with the English name of its place, or with the currency of its payment system. */
export async function calendarNames(): Promise<ReadonlyMap<string, string>> {
  const { default: Holidays } = await import('date-holidays');
  const places = new Holidays();
  const names = new Map(
    [...PAYMENT_SYSTEMS].map(([name, { currency }]) => [name, `payments in ${currency}`]),
  );
  for (const [country, place] of Object.entries(places.getCountries('en'))) {
    names.set(country, place);
    for (const [state, part] of Object.entries(places.getStates(country, 'en') ?? {})) {
      names.set(`${country}-${state}`, part);
      for (const [region, town] of Object.entries(places.getRegions(country, state, 'en') ?? {}))
        names.set(`${country}-${state}-${region}`, town);
    }
  }
  return names;
}
