/** Business dates and send windows over zones and clock changes, run ids, durations. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  dateOfRunId,
  sendWindowsOf,
  formatDuration,
  isZone,
  parseDuration,
  settlesBeforeMs,
  todayIn,
} from '../../calendar/business-date.ts';

function iso(ms: number): string {
  return new Date(ms).toISOString().replace(':00.000Z', 'Z');
}

const SEND_WINDOWS: readonly (readonly [
  what: string,
  zone: string,
  date: string,
  opens: string,
  tradesUntil: string,
])[] = [
  [
    'the first zone to begin a date',
    'Pacific/Kiritimati',
    '2026-11-21',
    '2026-11-20T10:00Z',
    '2026-11-21T12:00Z',
  ],
  ['the last inhabited zone', 'Pacific/Pago_Pago', '2026-11-21', '2026-11-21T11:00Z', '2026-11-22T13:00Z'],
  [
    'a zone without clock changes',
    'America/Mexico_City',
    '2026-11-21',
    '2026-11-21T06:00Z',
    '2026-11-22T08:00Z',
  ],
  ['UTC', 'UTC', '2026-12-31', '2026-12-31T00:00Z', '2027-01-01T02:00Z'],
  ['a quarter-hour zone', 'Asia/Kathmandu', '2026-11-21', '2026-11-20T18:15Z', '2026-11-21T20:15Z'],
  ['a day of 23 hours', 'Europe/Paris', '2026-03-29', '2026-03-28T23:00Z', '2026-03-30T00:00Z'],
  ['a day of 25 hours', 'Europe/Paris', '2026-10-25', '2026-10-24T22:00Z', '2026-10-26T01:00Z'],
  ['a day that begins at 01:00', 'America/Santiago', '2026-09-06', '2026-09-06T04:00Z', '2026-09-07T05:00Z'],
  [
    'the day before a skipped midnight',
    'America/Santiago',
    '2026-09-05',
    '2026-09-05T04:00Z',
    '2026-09-06T06:00Z',
  ],
  ['a midnight skipped in spring', 'Asia/Beirut', '2026-03-29', '2026-03-28T22:00Z', '2026-03-29T23:00Z'],
  ['a midnight turned back to 23:00', 'Asia/Beirut', '2026-10-24', '2026-10-23T21:00Z', '2026-10-25T00:00Z'],
  ['a midnight that comes twice', 'America/Havana', '2026-11-01', '2026-11-01T04:00Z', '2026-11-02T07:00Z'],
  ['a leap day', 'Asia/Tokyo', '2028-02-29', '2028-02-28T15:00Z', '2028-02-29T17:00Z'],
];

for (const [what, zone, date, opens, tradesUntil] of SEND_WINDOWS) {
  test(`the send windows of ${date} in ${zone} hold on ${what}`, () => {
    const sendWindows = sendWindowsOf(date, zone);
    assert.deepEqual(
      { opens: iso(sendWindows.opensAtMs), tradesUntil: iso(sendWindows.tradesUntilMs) },
      { opens, tradesUntil },
    );
    assert.equal(sendWindows.withdrawalsUntilMs, Date.parse(`${date}T00:00:00Z`) + (5 * 24 + 12) * 3_600_000);
  });
}

test('in every zone the send window opens with the first millisecond of the date, and no key grows older than 6 days 2 h', () => {
  for (const zone of Intl.supportedValuesOf('timeZone')) {
    const { opensAtMs, withdrawalsUntilMs } = sendWindowsOf('2026-11-21', zone);
    assert.equal(todayIn(zone, opensAtMs), '2026-11-21', zone);
    assert.equal(todayIn(zone, opensAtMs - 1), '2026-11-20', zone);
    assert.ok(withdrawalsUntilMs - opensAtMs <= (6 * 24 + 2) * 3_600_000, zone);
  }
});

test('a send window of a date or zone that does not exist is refused', () => {
  assert.throws(() => sendWindowsOf('2026-02-30', 'UTC'), /"2026-02-30" is not a calendar date/);
  assert.throws(() => sendWindowsOf('2026-11-21', 'Mars/Base'), /no date for zone "Mars\/Base"/);
});

test('today is counted in the zone', () => {
  const nowMs = Date.parse('2026-11-21T10:30:00Z');
  assert.equal(todayIn('Pacific/Kiritimati', nowMs), '2026-11-22');
  assert.equal(todayIn('Pacific/Pago_Pago', nowMs), '2026-11-20');
  assert.equal(todayIn('UTC', nowMs), '2026-11-21');
});

const RUN_IDS: readonly (readonly [id: string, date: string | null])[] = [
  ['2026-11-21', '2026-11-21'],
  ['2026-11-21-weekly', '2026-11-21'],
  ['2026-11-21-2', '2026-11-21'],
  ['2028-02-29', '2028-02-29'],
  ['2026-02-29', null],
  ['2026-13-01', null],
  ['2026-11-21weekly', null],
  ['2026-11-21-', null],
  ['2026-11-21-a.b', null],
  ['2026-11-21-a~2', null],
  ['2026-11-21-ü', null],
  ['2026-11-21-Weekly', null],
  ['2026-11-21\n', null],
  [` 2026-11-21`, null],
  ['weekly-2026-11-21', null],
  [`2026-11-21-${'x'.repeat(53)}`, '2026-11-21'],
  [`2026-11-21-${'x'.repeat(54)}`, null],
  ['', null],
];

for (const [id, date] of RUN_IDS) {
  test(`the run id ${JSON.stringify(id)} ${date === null ? 'has no date' : `is of ${date}`}`, () => {
    assert.equal(dateOfRunId(id), date);
  });
}

const DURATIONS: readonly (readonly [text: string, durationMs: number | null])[] = [
  ['1s', 1_000],
  ['45s', 45_000],
  ['90m', 5_400_000],
  ['6h', 21_600_000],
  ['2d', 172_800_000],
  ['366d', 31_622_400_000],
  ['367d', null],
  ['0s', null],
  ['06h', null],
  ['1.5h', null],
  ['-1s', null],
  ['6', null],
  ['6 h', null],
  ['6H', null],
  ['1w', null],
  ['', null],
];

for (const [text, durationMs] of DURATIONS) {
  test(`the duration "${text}" is ${durationMs === null ? 'refused' : `${durationMs} ms and comes back`}`, () => {
    assert.equal(parseDuration(text), durationMs);
    if (durationMs !== null) assert.equal(parseDuration(formatDuration(durationMs)), durationMs);
  });
}

test('a duration is shown in its largest whole unit', () => {
  assert.deepEqual(
    [86_400_000, 5_400_000, 7_200_000, 61_000, 1_500].map((durationMs) => formatDuration(durationMs)),
    ['1d', '90m', '2h', '61s', '1500ms'],
  );
});

test('a zone is named exactly as the IANA database does', () => {
  for (const zone of [
    'UTC',
    'Europe/Paris',
    'America/Argentina/Buenos_Aires',
    'Asia/Calcutta',
    'Asia/Kolkata',
    'Etc/GMT+5',
  ]) {
    assert.equal(isZone(zone), true, zone);
  }
  for (const zone of [
    'europe/paris',
    'Europe/Pariss',
    '+02:00',
    'UTC+2',
    '',
    'Europe/Paris ',
    '../../etc/passwd',
  ]) {
    assert.equal(isZone(zone), false, zone);
  }
});

test('a trade settles by the end of its settlement date; Saturdays and Sundays are not counted', () => {
  // 19 November 2026 is a Thursday.
  for (const [date, window, end] of [
    ['2026-11-19', 'T0', '2026-11-20T00:00Z'],
    ['2026-11-19', 'IMMEDIATE', '2026-11-20T00:00Z'],
    ['2026-11-19', 'T1', '2026-11-21T00:00Z'],
    ['2026-11-19', 'T2', '2026-11-24T00:00Z'],
    ['2026-11-20', 'T1', '2026-11-24T00:00Z'],
    ['2026-11-21', 'T2', '2026-11-25T00:00Z'],
    ['2026-11-18', 'T2', '2026-11-21T00:00Z'],
  ] as const)
    assert.equal(iso(settlesBeforeMs(date, window)), end, `${date} ${window}`);
});
