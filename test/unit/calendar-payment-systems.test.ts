/**
 * The closed days of payment systems from 2026 to 2030, against lists that were written down day by day, without the rules of the code.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readPage } from '../support/docs-tables.ts';
import { daysOffOf, calendarNames } from '../../calendar/holidays.ts';
import {
  closedDays,
  firstOpenDay,
  PAYMENT_SYSTEMS,
  systemOf,
  whyClosed,
  type PaymentSystem,
} from '../../calendar/payment-systems.ts';

/** Weekdays only, as month and day. */
const CLOSED: Readonly<Record<string, Readonly<Record<number, string>>>> = {
  T2: {
    2026: '01-01 04-03 04-06 05-01 12-25',
    2027: '01-01 03-26 03-29',
    2028: '04-14 04-17 05-01 12-25 12-26',
    2029: '01-01 03-30 04-02 05-01 12-25 12-26',
    2030: '01-01 04-19 04-22 05-01 12-25 12-26',
  },
  fedwire: {
    2026: '01-01 01-19 02-16 05-25 06-19 09-07 10-12 11-11 11-26 12-25',
    2027: '01-01 01-18 02-15 05-31 07-05 09-06 10-11 11-11 11-25',
    2028: '01-17 02-21 05-29 06-19 07-04 09-04 10-09 11-23 12-25',
    2029: '01-01 01-15 02-19 05-28 06-19 07-04 09-03 10-08 11-12 11-22 12-25',
    2030: '01-01 01-21 02-18 05-27 06-19 07-04 09-02 10-14 11-11 11-28 12-25',
  },
  chaps: {
    2026: '01-01 04-03 04-06 05-04 05-25 08-31 12-25 12-28',
    2027: '01-01 03-26 03-29 05-03 05-31 08-30 12-27 12-28',
    2028: '01-03 04-14 04-17 05-01 05-29 08-28 12-25 12-26',
    2029: '01-01 03-30 04-02 05-07 05-28 08-27 12-25 12-26',
    2030: '01-01 04-19 04-22 05-06 05-27 08-26 12-25 12-26',
  },
  sic: {
    2026: '01-01 01-02 04-03 04-06 05-01 05-14 05-25 12-25',
    2027: '01-01 03-26 03-29 05-06 05-17',
    2028: '04-14 04-17 05-01 05-25 06-05 08-01 12-25 12-26',
    2029: '01-01 01-02 03-30 04-02 05-01 05-10 05-21 08-01 12-25 12-26',
    2030: '01-01 01-02 04-19 04-22 05-01 05-30 06-10 08-01 12-25 12-26',
  },
};

function systemNamed(name: string): PaymentSystem {
  const system = PAYMENT_SYSTEMS.get(name);
  assert.ok(system !== undefined, name);
  return system;
}

for (const [name, years] of Object.entries(CLOSED)) {
  test(`${name} is closed from 2026 to 2030 on the days that were written down`, () => {
    for (const [year, days] of Object.entries(years)) {
      const closed = [...closedDays(systemNamed(name), Number(year)).keys()].toSorted();
      assert.deepEqual(
        closed,
        days.split(' ').map((day) => `${year}-${day}`),
        year,
      );
    }
  });
}

test('every system has a list here, and settles one currency', () => {
  assert.deepEqual([...PAYMENT_SYSTEMS.keys()], Object.keys(CLOSED));
  const settled = ['EUR', 'USD', 'GBP', 'CHF'].map((currency) => systemOf(currency)?.name);
  assert.deepEqual(settled, Object.keys(CLOSED));
  assert.equal(systemOf('MXN'), null);
});

test('a system is closed on weekends too, and says why', () => {
  const [t2, fedwire] = [systemNamed('T2'), systemNamed('fedwire')];
  assert.equal(whyClosed(t2, '2026-12-24'), null);
  assert.equal(whyClosed(t2, '2026-12-25'), 'Christmas Day');
  assert.equal(whyClosed(t2, '2026-12-26'), 'a Saturday');
  assert.equal(whyClosed(t2, '2026-12-27'), 'a Sunday');
  assert.equal(firstOpenDay([t2], '2026-12-25'), '2026-12-28');
  assert.equal(firstOpenDay([t2], '2026-12-28'), '2026-12-28');
  assert.equal(firstOpenDay([t2, systemNamed('chaps')], '2026-12-25'), '2026-12-29');
  assert.equal(whyClosed(fedwire, '2026-07-03'), null, 'a holiday on a Saturday is not made up for');
  assert.equal(whyClosed(fedwire, '2027-07-05'), 'Independence Day');
});

test('each calendar names its source and how sure it is, and the guide says the same', () => {
  assert.deepEqual(
    readPage('docs/policies.md').rows('Calendars of payment systems'),
    [...PAYMENT_SYSTEMS.values()].map(({ name, currency, source, sureness }) => [
      `\`${name}\``,
      currency,
      source,
      sureness,
    ]),
  );
});

test('a day that is known at second hand only is told so, in a plan and as a day off of a schedule', async () => {
  const said = 'Labour Day, as we know at second hand only';
  assert.equal(whyClosed(systemNamed('sic'), '2026-05-01'), said);
  assert.deepEqual((await daysOffOf({ kind: 'calendar', name: 'sic' }))('2026-05-01'), { name: said });
  assert.equal(whyClosed(systemNamed('T2'), '2026-05-01'), 'Labour Day');
});

test('a schedule may name a payment system as its calendar', async () => {
  const daysOff = await daysOffOf({ kind: 'calendar', name: 'T2' });
  assert.deepEqual(daysOff('2027-03-26'), { name: 'Good Friday' });
  assert.equal(daysOff('2027-05-31'), null);
  const names = await calendarNames();
  for (const name of PAYMENT_SYSTEMS.keys()) assert.ok(names.has(name), name);
});
