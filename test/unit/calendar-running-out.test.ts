/** A schedule that ends soon, and a list of days off that has none of the next year, are seen a month before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Schedule } from '../../domain/policy.ts';
import { runningOutOf } from '../../calendar/running-out.ts';

const listed = (...dates: readonly string[]): Schedule['holidays'] => ({ kind: 'dates', dates });
const FRANCE: Schedule['holidays'] = { kind: 'calendar', name: 'FR' };
const OF_2026 = listed('2026-12-25', '2026-05-01');

const CASES: readonly (readonly [
  name: string,
  schedule: Pick<Schedule, 'holidays' | 'end'>,
  today: string,
  found: ReturnType<typeof runningOutOf>,
])[] = [
  ['a calendar, without an end', { holidays: FRANCE, end: null }, '2026-12-31', []],
  ['no days off at all', { holidays: listed(), end: null }, '2026-12-31', []],
  ['a list of this year, early enough', { holidays: OF_2026, end: null }, '2026-12-01', []],
  [
    'a list of this year, with the next one near',
    { holidays: OF_2026, end: null },
    '2026-12-02',
    [{ kind: 'no days off', year: '2027', last: '2026-12-25' }],
  ],
  [
    'a list of last year',
    { holidays: OF_2026, end: null },
    '2027-06-01',
    [{ kind: 'no days off', year: '2027', last: '2026-12-25' }],
  ],
  [
    'a list that has the next year',
    { holidays: listed('2026-12-25', '2027-01-01'), end: null },
    '2026-12-31',
    [],
  ],
  ['an end that is far', { holidays: FRANCE, end: '2027-06-30' }, '2027-05-31', []],
  [
    'an end that is near',
    { holidays: FRANCE, end: '2027-06-30' },
    '2027-06-01',
    [{ kind: 'ends', on: '2027-06-30', isPast: false }],
  ],
  [
    'its last day',
    { holidays: FRANCE, end: '2027-06-30' },
    '2027-06-30',
    [{ kind: 'ends', on: '2027-06-30', isPast: false }],
  ],
  [
    'an end that is past',
    { holidays: FRANCE, end: '2027-06-30' },
    '2027-07-01',
    [{ kind: 'ends', on: '2027-06-30', isPast: true }],
  ],
  [
    'a list that ends with the schedule',
    { holidays: OF_2026, end: '2026-12-31' },
    '2026-12-20',
    [{ kind: 'ends', on: '2026-12-31', isPast: false }],
  ],
];
for (const [name, schedule, today, found] of CASES) {
  const told = found.map(({ kind }) => kind).join(', ') || 'nothing';
  test(`${name}, on ${today}: ${told} to tell`, () => {
    assert.deepEqual(runningOutOf(schedule, today), found);
  });
}
