/** The schedule of a policy from text to record, and every mistake in it, as it is printed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { ratesAgeWarnings, scheduleProblems } from '../../language/policy/schedule-problems.ts';
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
  fix: write "03:00", the nearest time that comes once on every day of the next two years`,
  ],
  [
    'a time that only some day skips',
    policy('{ at: "00:15", days: daily }', 'America/Santiago'),
    `POLICY_CLOCK_CHANGE p.yaml:7:17: in America/Santiago 00:15 does not come on 2027-09-05, 2028-09-03: clocks are changed there.
    schedule: { at: "00:15", days: daily }
                    ^^^^^^^
  fix: write "01:00", the nearest time that comes once on every day of the next two years`,
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
    `POLICY_MISSING_FIELD p.yaml:6:1: a schedule needs \`zone\`: its time is by the clocks of that zone.
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
  fix: write a later \`end\`, or other days; or delete \`schedule\`; the runs of the policy stay the same`,
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

const GUARDED = `policy: 1
kind: convert
name: p
environment: sandbox
zone: Europe/Paris
convert: { sell: USD, buy: EUR, amount: { sell: "1.00" } }
`;

/** What `check` would warn of, with rates of `asOf`. */
async function agePrinted({
  schedule,
  maxAge,
  asOf,
}: Readonly<Record<'schedule' | 'maxAge' | 'asOf', string>>) {
  const text = `${GUARDED}schedule: ${schedule}
guard: { reference: { file: r.yaml, max_age: ${maxAge} }, worst_cost: 25bps }
`;
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const warnings = await ratesAgeWarnings({ text, file: 'p.yaml', policy: loaded.policy, asOf, nowMs: NOW });
  return warnings.map((problem) => formatTrouble(troubleOfPolicy(problem), (line) => line)).join('\n');
}

const FRIDAY_AFTERNOON = '2026-11-20T16:00:00+01:00';

test('rates that every Monday finds too old are warned of, with the first date and a max_age that holds', async () => {
  assert.equal(
    await agePrinted({ schedule: '{ at: "09:30", days: weekdays }', maxAge: '30h', asOf: FRIDAY_AFTERNOON }),
    `POLICY_MAX_AGE p.yaml:8:46: the run of 2026-11-23 would trade nothing: its newest rates would be of 2026-11-20 16:00, 66h old, if they are fixed at the same time of day as those of the file.
    guard: { reference: { file: r.yaml, max_age: 30h }, worst_cost: 25bps }
                                                 ^^^
  fix: write \`max_age: 67h\` or more, which is long enough for every run of the next year; or have rates fixed on the day of the run, before it starts`,
  );
});

const AGES: readonly {
  readonly what: string;
  readonly schedule: string;
  readonly maxAge: string;
  readonly asOf?: string;
  readonly first: string | null;
  readonly write?: string;
}[] = [
  {
    what: 'a weekend that max_age outlasts',
    schedule: '{ at: "09:30", days: weekdays }',
    maxAge: '67h',
    first: null,
  },
  {
    what: 'Easter, which is longer than a weekend',
    schedule: '{ at: "09:30", days: weekdays, holidays: GB-ENG }',
    maxAge: '66h',
    first: '2026-12-29',
    write: '114h',
  },
  {
    what: 'one day off in the week',
    schedule: '{ at: "09:30", days: [tue, wed, thu, fri], holidays: [2027-01-06] }',
    maxAge: '30h',
    first: '2027-01-07',
    write: '42h',
  },
  {
    what: 'a run on a Sunday',
    schedule: '{ at: "09:30", days: daily }',
    maxAge: '30h',
    first: '2026-11-22',
    // In the night to 2027-10-31 the clocks go back, and one weekend has an hour more.
    write: '67h',
  },
  {
    what: 'rates that are fixed in the morning, before the run',
    schedule: '{ at: "09:30", days: weekdays }',
    maxAge: '2h',
    asOf: '2026-11-20T08:00:00+01:00',
    first: null,
  },
  {
    what: 'rates that are fixed on weekends too',
    schedule: '{ at: "09:30", days: daily }',
    maxAge: '19h',
    asOf: '2026-11-21T16:00:00+01:00',
    first: null,
  },
  {
    what: 'an age that no day keeps',
    schedule: '{ at: "09:30", days: [wed] }',
    maxAge: '6h',
    first: '2026-11-25',
    write: '18h',
  },
];

for (const { what, first, write, asOf = FRIDAY_AFTERNOON, ...policyOf } of AGES) {
  test(`${first === null ? 'nothing is warned of' : 'the first run with old rates is named'}: ${what}`, async () => {
    const printedOut = await agePrinted({ ...policyOf, asOf });
    assert.equal(/run of ([0-9-]+)/.exec(printedOut)?.[1] ?? null, first);
    assert.equal(/`max_age: (\S+)`/.exec(printedOut)?.[1], write);
  });
}
