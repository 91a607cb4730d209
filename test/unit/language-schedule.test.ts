/** The schedule of a policy from text to record, and every mistake in it, as it is printed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { scheduleProblems } from '../../language/policy/schedule-problems.ts';
import { formatTrouble, troubleOfPolicy } from '../../language/text/problem.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

const HEAD = `policy: 1
kind: convert
name: p
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { sell: "1.00" } }
`;

function policy(schedule: string, zone = 'Europe/Paris'): string {
  return `${HEAD}zone: ${zone}\nschedule: ${schedule}\n`;
}

/** What `check` would print. */
async function printed(text: string): Promise<string> {
  const loaded = loadPolicy(text, 'p.yaml');
  const timely = await scheduleProblems({ text, file: 'p.yaml', nowMs: NOW });
  const problems = [...(loaded.ok ? [] : loaded.problems), ...timely];
  return problems.map((problem) => formatTrouble(troubleOfPolicy(problem), (line) => line)).join('\n');
}

test('a schedule becomes a record with every default filled in', () => {
  const loaded = loadPolicy(policy('{ at: "09:30", days: weekdays }'), 'p.yaml');
  assert.ok(loaded.ok);
  assert.deepEqual(loaded.policy.schedule, {
    at: { hour: 9, minute: 30 },
    weekdays: [1, 2, 3, 4, 5],
    holidays: { kind: 'dates', dates: [] },
    skip: [],
    start: null,
    end: null,
  });
  const without = loadPolicy(HEAD, 'p.yaml');
  assert.ok(without.ok);
  assert.equal(without.policy.schedule, null);
});

test('days, dates and bounds are kept in order, and a rebalancing has the same', () => {
  const text = `policy: 1
kind: rebalance
name: p
environment: sandbox
zone: Asia/Tokyo
schedule:
  at: "00:05"
  days: [sun, mon, wed]
  holidays: [2027-01-01, 2026-12-31]
  skip: [2026-12-29, 2026-12-28]
  start: 2026-12-01
  end: 2027-06-30
rebalance: { base: { currency: USD }, targets: { EUR: { min: "1.00" } } }
guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 25bps }
`;
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  assert.deepEqual(loaded.policy.schedule, {
    at: { hour: 0, minute: 5 },
    weekdays: [1, 3, 7],
    holidays: { kind: 'dates', dates: ['2026-12-31', '2027-01-01'] },
    skip: ['2026-12-28', '2026-12-29'],
    start: '2026-12-01',
    end: '2027-06-30',
  });
  const named = loadPolicy(policy('{ at: "23:59", days: daily, holidays: US-NY }'), 'p.yaml');
  assert.ok(named.ok);
  assert.deepEqual(named.policy.schedule?.weekdays, [1, 2, 3, 4, 5, 6, 7]);
  assert.deepEqual(named.policy.schedule?.holidays, { kind: 'calendar', name: 'US-NY' });
});

const PRINTED: readonly (readonly [what: string, text: string, printed: string])[] = [
  [
    'a time that clocks skip and pass twice',
    policy('{ at: "02:30", days: daily }'),
    `POLICY_CLOCK_CHANGE p.yaml:7:17: in Europe/Paris 02:30 does not come on 2027-03-28, 2028-03-26, and comes twice on 2027-10-31, 2028-10-29: clocks are changed there.
    schedule: { at: "02:30", days: daily }
                    ^^^^^^^
  fix: write "03:00", the nearest time that every day of the next two years has once`,
  ],
  [
    'a time that only some day skips',
    policy('{ at: "00:15", days: daily }', 'America/Santiago'),
    `POLICY_CLOCK_CHANGE p.yaml:7:17: in America/Santiago 00:15 does not come on 2027-09-05, 2028-09-03: clocks are changed there.
    schedule: { at: "00:15", days: daily }
                    ^^^^^^^
  fix: write "01:00", the nearest time that every day of the next two years has once`,
  ],
  [
    'a time that is none',
    policy('{ at: "9.30 am", days: weekdays }'),
    `POLICY_TIME p.yaml:7:17: "9.30 am" is not a time of day.
    schedule: { at: "9.30 am", days: weekdays }
                    ^^^^^^^^^
  fix: write "09:30"`,
  ],
  [
    'a calendar of a country written out',
    policy('{ at: "09:30", days: weekdays, holidays: France }'),
    `POLICY_CALENDAR p.yaml:7:52: "France" is not a calendar of days off that Cambist knows.
    schedule: { at: "09:30", days: weekdays, holidays: France }
                                                       ^^^^^^
  fix: did you mean \`FR\` (France)?`,
  ],
  [
    'a last date before the first',
    policy('{ at: "09:30", days: weekdays, start: 2027-02-01, end: 2027-01-31 }'),
    `POLICY_CONTRADICTION p.yaml:7:66: the last date, 2027-01-31, is before the first, 2027-02-01.
    …hedule: { at: "09:30", days: weekdays, start: 2027-02-01, end: 2027-01-31 }
                                                                    ^^^^^^^^^^
  fix: write a later \`end\`, or an earlier \`start\``,
  ],
  [
    'a schedule without a zone',
    `${HEAD}schedule: { at: "09:30", days: weekdays }\n`,
    `POLICY_MISSING_FIELD p.yaml:6:1: a schedule needs \`zone\` written out: its time is by the clocks of that zone.
    schedule: { at: "09:30", days: weekdays }
    ^^^^^^^^
  fix: add for example \`zone: Europe/Paris\``,
  ],
  [
    'a schedule that is over',
    policy('{ at: "09:30", days: weekdays, end: 2026-11-20 }'),
    `POLICY_NO_DAY_LEFT p.yaml:7:47: the schedule is over: its last date was 2026-11-20.
    schedule: { at: "09:30", days: weekdays, end: 2026-11-20 }
                                                  ^^^^^^^^^^
  fix: write a later \`end\`, or other days; or delete \`schedule\`: what a run does, and which run it is, stay the same`,
  ],
];

for (const [what, text, expected] of PRINTED) {
  test(`${what} is refused with its place, a picture and what to write`, async () => {
    assert.equal(await printed(text), expected);
  });
}

const REFUSED: readonly (readonly [what: string, text: string, problems: readonly string[]])[] = [
  ['an empty schedule', policy('{}'), ['MISSING_FIELD 7:1', 'MISSING_FIELD 7:1']],
  [
    'a field that is none',
    policy('{ at: "09:30", dyas: daily }'),
    ['MISSING_FIELD 7:1', 'UNKNOWN_FIELD 7:26'],
  ],
  ['an hour that is none', policy('{ at: "24:00", days: daily }'), ['TIME 7:17']],
  ['a time outside quotes', policy('{ at: 10:30, days: daily }'), ['TIME 7:17']],
  ['a time with seconds', policy('{ at: "09:30:15", days: daily }'), ['TIME 7:17']],
  ['days that are none', policy('{ at: "09:30", days: workdays }'), ['NOT_ONE_OF 7:32']],
  ['a day outside a list', policy('{ at: "09:30", days: mon }'), ['NOT_ONE_OF 7:32']],
  ['a day that is none', policy('{ at: "09:30", days: [mon, tues] }'), ['NOT_ONE_OF 7:38']],
  ['no day', policy('{ at: "09:30", days: [] }'), ['WRONG_TYPE 7:32']],
  ['a day twice', policy('{ at: "09:30", days: [mon, tue, mon] }'), ['LISTED_TWICE 7:43']],
  [
    'a holiday that is no date',
    policy('{ at: "09:30", days: daily, holidays: [2026-02-30] }'),
    ['DATE 7:50'],
  ],
  ['a skip that is no date', policy('{ at: "09:30", days: daily, skip: [25.12.2026] }'), ['DATE 7:46']],
  [
    'a skipped date twice',
    policy('{ at: "09:30", days: daily, skip: [2026-12-24, 2026-12-25, 2026-12-24] }'),
    ['LISTED_TWICE 7:70'],
  ],
  ['one date outside a list', policy('{ at: "09:30", days: daily, skip: 2026-12-24 }'), ['WRONG_TYPE 7:45']],
  ['no holiday', policy('{ at: "09:30", days: daily, holidays: [] }'), ['WRONG_TYPE 7:49']],
  ['an unknown zone', policy('{ at: "02:30", days: daily }', 'Europe/Pariss'), ['ZONE 6:7']],
  ['an unknown calendar', policy('{ at: "09:30", days: daily, holidays: TARGET2 }'), ['CALENDAR 7:49']],
  ['a calendar in small letters', policy('{ at: "09:30", days: daily, holidays: us-ny }'), ['CALENDAR 7:49']],
  ['a calendar that is no name', policy('{ at: "09:30", days: daily, holidays: "F R" }'), ['CALENDAR 7:49']],
  [
    'days that are all left out',
    policy('{ at: "09:30", days: [fri], holidays: [2026-11-27], start: 2026-11-22, end: 2026-12-03 }'),
    ['NO_DAY_LEFT 7:87'],
  ],
  [
    'an unsafe time and an unknown calendar at once, beside a mistake elsewhere',
    policy('{ at: "02:30", days: daily, holidays: XX }').replace('sell: USD', 'sell: usd'),
    ['CURRENCY 5:18', 'CLOCK_CHANGE 7:17', 'CALENDAR 7:49'],
  ],
];

for (const [what, text, expected] of REFUSED) {
  test(`${what} is refused`, async () => {
    const loaded = loadPolicy(text, 'p.yaml');
    const timely = await scheduleProblems({ text, file: 'p.yaml', nowMs: NOW });
    assert.deepEqual(
      [...(loaded.ok ? [] : loaded.problems), ...timely].map(
        ({ code, line, column }) => `${code.replace('POLICY_', '')} ${line}:${column}`,
      ),
      expected,
    );
  });
}

test('the last day of a schedule is a day that is left; the day after, a worker reads the policy all the same', async () => {
  const text = policy('{ at: "09:30", days: daily, end: 2026-11-21 }');
  assert.deepEqual(await scheduleProblems({ text, file: 'p.yaml', nowMs: NOW }), []);
  const later = await scheduleProblems({ text, file: 'p.yaml', nowMs: NOW + 86_400_000 });
  assert.deepEqual(
    later.map(({ code }) => code),
    ['POLICY_NO_DAY_LEFT'],
  );
  assert.ok(loadPolicy(text, 'p.yaml').ok);
});
