/** Schedules by the calendar: days off, coming runs over clock changes, and times of day that some day does not have once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unsafeTime } from '../../calendar/clock-changes.ts';
import { daysOffOf } from '../../calendar/holidays.ts';
import { comingDays, scheduledDay } from '../../calendar/schedule.ts';
import type { Schedule, TimeOfDay } from '../../domain/policy.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

const WEEKDAYS: Schedule = {
  at: { hour: 9, minute: 30 },
  weekdays: [1, 2, 3, 4, 5],
  holidays: { kind: 'dates', dates: ['2026-12-25'] },
  skip: ['2026-12-24'],
  start: null,
  end: null,
};

function at(text: string): TimeOfDay {
  const [hour = 0, minute = 0] = text.split(':').map(Number);
  return { hour, minute };
}

function told({ days, nearest }: NonNullable<ReturnType<typeof unsafeTime>>): readonly string[] {
  const time = [nearest.hour, nearest.minute].map((part) => String(part).padStart(2, '0')).join(':');
  return [...days.map(({ date, what }) => `${date} ${what}`), `nearest ${time}`];
}

const UNSAFE: readonly (readonly [zone: string, time: string, told: readonly string[]])[] = [
  [
    'Europe/Paris',
    '02:30',
    ['2027-03-28 skipped', '2027-10-31 twice', '2028-03-26 skipped', '2028-10-29 twice', 'nearest 03:00'],
  ],
  [
    'Europe/Paris',
    '02:00',
    ['2027-03-28 skipped', '2027-10-31 twice', '2028-03-26 skipped', '2028-10-29 twice', 'nearest 01:59'],
  ],
  ['America/New_York', '02:59', ['2027-03-14 skipped', '2028-03-12 skipped', 'nearest 03:00']],
  ['America/New_York', '01:15', ['2027-11-07 twice', '2028-11-05 twice', 'nearest 00:59']],
  ['America/Santiago', '00:30', ['2027-09-05 skipped', '2028-09-03 skipped', 'nearest 01:00']],
  ['America/Santiago', '23:30', ['2027-04-03 twice', '2028-04-01 twice', 'nearest 22:59']],
  ['Australia/Lord_Howe', '02:15', ['2027-10-03 skipped', '2028-10-01 skipped', 'nearest 02:30']],
  ['Australia/Lord_Howe', '01:45', ['2027-04-04 twice', '2028-04-02 twice', 'nearest 01:29']],
];

for (const [zone, time, expected] of UNSAFE) {
  test(`${time} in ${zone} is unsafe on the days on which clocks are changed there`, () => {
    const unsafe = unsafeTime(at(time), zone, NOW);
    assert.ok(unsafe !== null);
    assert.deepEqual(told(unsafe), expected);
    assert.equal(unsafeTime(unsafe.nearest, zone, NOW), null);
  });
}

for (const [zone, time] of [
  ['Europe/Paris', '01:59'],
  ['Europe/Paris', '03:00'],
  ['America/New_York', '00:59'],
  ['America/New_York', '03:00'],
  ['America/Santiago', '22:59'],
  ['America/Santiago', '01:00'],
  ['Australia/Lord_Howe', '02:30'],
  ['Australia/Lord_Howe', '01:29'],
  ['Asia/Tokyo', '02:30'],
  ['UTC', '00:00'],
] as const) {
  test(`${time} in ${zone} comes once on every day`, () => {
    assert.equal(unsafeTime(at(time), zone, NOW), null);
  });
}

test('only the clock changes of the next two years count', () => {
  const afterLast = Date.parse('2027-10-31T12:00:00Z');
  const unsafe = unsafeTime(at('02:30'), 'Europe/Paris', afterLast);
  assert.ok(unsafe !== null);
  assert.deepEqual(
    unsafe.days.map(({ date }) => date),
    ['2028-03-26', '2028-10-29', '2029-03-25', '2029-10-28'],
  );
});

const noneOff = (): null => null;

test('every date is a run, or says why it is none', async () => {
  const daysOff = await daysOffOf(WEEKDAYS.holidays);
  const schedule = { ...WEEKDAYS, start: '2026-12-01', end: '2026-12-31' };
  const kinds = Object.fromEntries(
    ['2026-11-30', '2026-12-01', '2026-12-05', '2026-12-24', '2026-12-25', '2026-12-31', '2027-01-01'].map(
      (date) => [date, scheduledDay(schedule, daysOff, date).kind],
    ),
  );
  assert.deepEqual(kinds, {
    '2026-11-30': 'before start',
    '2026-12-01': 'run',
    '2026-12-05': 'other day',
    '2026-12-24': 'skip',
    '2026-12-25': 'holiday',
    '2026-12-31': 'run',
    '2027-01-01': 'after end',
  });
});

/** `2026-12-23T08:30Z run`, in UTC. */
function coming(schedule: Schedule, zone: string, from: string, runs: number): readonly string[] {
  const dates = new Set(schedule.holidays.kind === 'dates' ? schedule.holidays.dates : []);
  const daysOff = (date: string): { name: null } | null => (dates.has(date) ? { name: null } : null);
  return comingDays({ schedule, zone, daysOff }, { fromMs: Date.parse(from), runs }).map(
    ({ date, day, atMs }) => {
      const utc = new Date(atMs).toISOString().replace(':00.000Z', 'Z');
      return `${date} ${utc} ${day.kind}`;
    },
  );
}

test('the coming runs pass over weekends and show what is left out, the moment of now not among them', () => {
  assert.deepEqual(coming(WEEKDAYS, 'Europe/Paris', '2026-12-23T08:29:59Z', 2), [
    '2026-12-23 2026-12-23T08:30Z run',
    '2026-12-24 2026-12-24T08:30Z skip',
    '2026-12-25 2026-12-25T08:30Z holiday',
    '2026-12-28 2026-12-28T08:30Z run',
  ]);
  assert.deepEqual(coming(WEEKDAYS, 'Europe/Paris', '2026-12-28T08:30:00Z', 1), [
    '2026-12-29 2026-12-29T08:30Z run',
  ]);
});

test('a run keeps its local time over a clock change, and its date is that of its zone', () => {
  const sundays: Schedule = { ...WEEKDAYS, weekdays: [7], at: at('09:30') };
  assert.deepEqual(coming(sundays, 'Europe/Paris', '2027-03-20T00:00:00Z', 2), [
    '2027-03-21 2027-03-21T08:30Z run',
    '2027-03-28 2027-03-28T07:30Z run',
  ]);
  const early: Schedule = { ...WEEKDAYS, weekdays: [1], at: at('08:00') };
  assert.deepEqual(coming(early, 'Asia/Tokyo', '2026-11-22T00:00:00Z', 1), [
    '2026-11-23 2026-11-22T23:00Z run',
  ]);
});

test('a schedule that begins later begins then, and one that ends has no more runs', () => {
  const bounded: Schedule = { ...WEEKDAYS, start: '2026-12-30', end: '2027-01-04' };
  assert.deepEqual(coming(bounded, 'UTC', '2026-11-21T12:00:00Z', 10), [
    '2026-12-30 2026-12-30T09:30Z run',
    '2026-12-31 2026-12-31T09:30Z run',
    '2027-01-01 2027-01-01T09:30Z run',
    '2027-01-04 2027-01-04T09:30Z run',
  ]);
  assert.deepEqual(coming(bounded, 'UTC', '2027-01-05T00:00:00Z', 10), []);
});

test('a schedule whose every day is left out comes to an end all the same', () => {
  const everyMonday = (date: string): { name: string } => ({ name: `day off ${date}` });
  const days = comingDays(
    { schedule: { ...WEEKDAYS, weekdays: [1] }, zone: 'UTC', daysOff: everyMonday },
    { fromMs: NOW, runs: 1 },
  );
  assert.ok(days.length > 100);
  assert.ok(days.every(({ day }) => day.kind === 'holiday'));
  assert.ok(
    comingDays({ schedule: WEEKDAYS, zone: 'UTC', daysOff: noneOff }, { fromMs: NOW, runs: 1 }).length === 1,
  );
});

const CALENDARS: readonly (readonly [name: string, date: string, called: string | null])[] = [
  ['FR', '2026-12-25', 'Christmas Day'],
  ['FR', '2027-03-29', 'Easter Monday'],
  ['FR', '2026-12-26', null],
  ['FR', '2026-12-24', null],
  ['US', '2026-11-26', 'Thanksgiving Day'],
  ['US', '2027-02-12', null],
  ['US-NY', '2027-02-12', "Lincoln's Birthday"],
  ['DE-BY', '2027-01-06', 'Epiphany'],
  ['DE', '2027-01-06', null],
  ['GB-ENG', '2026-12-28', 'Boxing Day (substitute day)'],
];

for (const [name, date, called] of CALENDARS) {
  test(`the calendar ${name} says that ${date} is ${called ?? 'no day off'}`, async () => {
    const daysOff = await daysOffOf({ kind: 'calendar', name });
    assert.deepEqual(daysOff(date), called === null ? null : { name: called });
  });
}

test('a holiday of several days takes each of them, and half a day from noon on takes none', async () => {
  const turkey = await daysOffOf({ kind: 'calendar', name: 'TR' });
  const days = ['2027-03-08', '2027-03-09', '2027-03-10', '2027-03-11', '2027-03-12'];
  assert.deepEqual(
    days.map((date) => turkey(date) !== null),
    [false, true, true, true, false],
  );
  const china = await daysOffOf({ kind: 'calendar', name: 'CN' });
  assert.deepEqual([china('2027-03-08'), china('2027-02-06')], [null, { name: 'Spring Festival' }]);
});

test('a calendar that nobody knows is refused', async () => {
  await assert.rejects(daysOffOf({ kind: 'calendar', name: 'TARGET2' }), RangeError);
});
