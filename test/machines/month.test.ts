/**
 * A month of two treasuries over the same money: twenty business days in seconds, by the clock of the test. Rates move,
 * customers pay and are paid, what is bought settles a day or two later, workers are killed in the middle of a trade and
 * runs are reset. Every evening each currency is inside its band, and every trade of the service's ledger is one that a
 * plan explains.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after } from 'node:test';
import { Decimal } from 'decimal.js';
import { comingDays, type ComingDay } from '../../calendar/schedule.ts';
import { daysOffOf } from '../../calendar/holidays.ts';
import { todayIn } from '../../calendar/business-date.ts';
import type { Report } from '../../domain/run/report.ts';
import { loadSettings } from '../../config/config.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { startScheduled } from '../../operations/start/by-schedule.ts';
import { disagreements, movedTwice } from '../support/agreement.ts';
import { startBuiltWorker } from '../support/built-worker.ts';
import { uniqueName } from '../support/dev-server.ts';
import { diceOf } from '../support/dice.ts';
import { wakeIfOpen } from '../support/passing-time.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { test } from '../support/sliced.ts';
import { openStage, type Run } from '../support/stage.ts';

const HOUR_MS = 3_600_000;
/** A month. */
const DAYS = 20;
const ZONE = 'Europe/Paris';
const dice = diceOf(20, 'month');

const stage = await openStage({
  rates: { 'EUR/USD': '1.08', 'GBP/USD': '1.27', 'USD/MXN': '18.50', 'USD/BRL': '5.40' },
  balances: { USD: '3000000', EUR: '250000', GBP: '60000', MXN: '800000', BRL: '300000' },
  // What is bought is not there yet when the next run looks, on the day after or on the two days after.
  settings: { settlementMs: { T1: 30 * HOUR_MS, T2: 54 * HOUR_MS }, spreadBps: 6 },
  timePasses: true,
});
after(() => stage.close());
await stage.startWorker();
const QUEUE = stage.env['CAMBIST_TASK_QUEUE'] ?? '';

/** A weekday in the first week is a holiday. */
const HOLIDAY = ((): string => {
  const weekdays = Array.from({ length: 10 }, (_, days) => stage.time.now() + days * 24 * HOUR_MS).filter(
    (ms) => ![0, 6].includes(new Date(ms).getUTCDay()),
  );
  return new Date(weekdays[4] ?? 0).toISOString().slice(0, 10);
})();

type Day = Pick<ComingDay, 'date' | 'atMs'>;
type Book = { readonly text: string; readonly bands: Readonly<Record<string, readonly [number, number]>> };

function bookOf(name: string, targets: string, rest: string, bands: Book['bands']): Book {
  return {
    bands,
    text: `policy: 1
kind: rebalance
name: ${name}
environment: sandbox
zone: ${ZONE}
schedule: { at: "09:30", days: weekdays, holidays: [${HOLIDAY}] }
rebalance:
  base: { currency: USD, min: "100000.00" }
  targets: ${targets}
  min_trade: "100.00 USD"
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 30bps }
limits: { per_run: "5000000.00 USD" }
${rest}`,
  };
}

/** One follows its trades until they are settled, the other one ends when they are traded. */
const MAJORS = bookOf(
  uniqueName('majors'),
  '{ EUR: { keep: "250000.00", band: "25000.00" }, GBP: { min: "40000.00", max: "90000.00" } }',
  'quote: { settlement: T1 }\nsettle: { until: status, late_after: 10d }\n',
  { EUR: [225_000, 275_000], GBP: [40_000, 90_000] },
);
const LATAM = bookOf(
  uniqueName('latam'),
  '{ MXN: { min: "400000.00", max: "1200000.00" }, BRL: { keep: "300000.00", band: "50000.00" } }',
  'quote: { settlement: T2 }\nsettle: { until: funds }\n',
  { MXN: [400_000, 1_200_000], BRL: [250_000, 350_000] },
);

/** Where the worker of a day is killed, at once with what it was about to do or had just done; each on a day that trades. */
const KILLS: ReadonlyMap<number, string> = new Map([
  [2, 'before observation'],
  [6, 'before send trade'],
  [11, 'after send trade'],
]);
/** Which run of a day is reset once it has traded, and to which of its events. */
const RESETS: ReadonlyMap<number, 'first' | 'last'> = new Map([
  [1, 'first'],
  [6, 'last'],
  [9, 'first'],
  [11, 'first'],
  [14, 'last'],
  [18, 'first'],
]);

const CURRENCIES = [...Object.keys(MAJORS.bands), ...Object.keys(LATAM.bands)];

const units: Record<string, number> = { EUR: 1.08, GBP: 1.27, MXN: 1 / 18.5, BRL: 1 / 5.4 };

/** The price of each currency moves by up to one percent a day. Returns the reference rates of the morning. */
function moveRates(): string {
  for (const currency of Object.keys(units))
    units[currency] = (units[currency] ?? 1) * (0.99 + 0.02 * dice.share());
  const usdPer = (currency: string): string => (units[currency] ?? 1).toFixed(6);
  const perUsd = (currency: string): string => (1 / (units[currency] ?? 1)).toFixed(4);
  stage.sandbox.setRates({
    'EUR/USD': usdPer('EUR'),
    'GBP/USD': usdPer('GBP'),
    'USD/MXN': perUsd('MXN'),
    'USD/BRL': perUsd('BRL'),
  });
  return `as_of: ${new Date(stage.time.now()).toISOString().slice(0, 19)}Z
rates:
  - "${usdPer('EUR')} USD per EUR"
  - "${usdPer('GBP')} USD per GBP"
  - "${perUsd('MXN')} MXN per USD"
  - "${perUsd('BRL')} BRL per USD"
`;
}

const LARGEST_FLOWS: Readonly<Record<string, number>> = {
  USD: 50_000,
  EUR: 60_000,
  GBP: 40_000,
  MXN: 500_000,
  BRL: 90_000,
};

/** What customers pay in and are paid since yesterday. */
function moveMoney(mustTrade: boolean): void {
  for (const [currency, largest] of Object.entries(LARGEST_FLOWS)) {
    const amount = mustTrade && currency === 'EUR' ? largest : Math.floor(largest * dice.share());
    const isIn = dice.isHit(0.5);
    if (amount === 0 || (!mustTrade && dice.isHit(0.3))) continue;
    if (isIn) stage.sandbox.deposit({ currency, amount: String(amount) });
    else {
      const left = new Decimal(balanceOf(currency).withdrawable).minus(amount);
      stage.sandbox.setBalances({ [currency]: Decimal.max(left, 0).toFixed() });
    }
  }
}

type Balance = ReturnType<typeof stage.sandbox.ledger>['balances'][string];

function balanceOf(currency: string): Balance {
  const balance = stage.sandbox.ledger().balances[currency];
  assert.ok(balance !== undefined, currency);
  return balance;
}

/** What will be there when everything has settled, by the service's own ledger. */
function settledLater(currency: string): string {
  const { withdrawable, accounts } = balanceOf(currency);
  return new Decimal(withdrawable).plus(accounts.incoming).toFixed();
}

const settings = await loadSettings({ ...stage.env, CAMBIST_FILES: stage.folder }, stage.folder);

/** What a worker does when Temporal's schedule starts the policy; `taskQueue`: of the worker. */
function startBySchedule(
  book: Book,
  nominalMs: number,
  taskQueue: string,
): ReturnType<typeof startScheduled> {
  return startScheduled(
    {
      place: { ...stage.temporal, mode: 'SANDBOX', taskQueue, uiUrl: null, say: () => {} },
      settings,
      now: stage.time.now,
    },
    {
      input: { mode: 'SANDBOX', policy: nameOf(book), policyText: book.text, policyFile: 'policy.yaml' },
      nominalMs,
      startedAtMs: stage.time.now(),
    },
  );
}

/** The run of the date, started by its schedule; a second start of the date finds it there. */
async function start(book: Book, day: Day, taskQueue = QUEUE): Promise<Run> {
  const first = await startBySchedule(book, day.atMs, taskQueue);
  assert.equal(first.kind, 'started', JSON.stringify(first));
  const second = await startBySchedule(book, day.atMs, taskQueue);
  assert.ok(second.kind === 'open' || second.kind === 'ended', JSON.stringify(second));
  return stage.find(book.text, { name: nameOf(book), id: day.date, taskQueue });
}

/** The same on a worker that is killed at the point; another worker goes on. */
async function startAndKill(book: Book, day: Day, point: string): Promise<Run> {
  const queue = uniqueName('queue');
  const env = { CAMBIST_TASK_QUEUE: queue };
  const doomed = startBuiltWorker({
    env: { ...stage.env, ...env },
    movedMs: stage.time.now() - Date.now(),
    freezeAt: point,
  });
  const run = await start(book, day, queue);
  await doomed.reached(point);
  await doomed.kill();
  await stage.startWorker({ env });
  return run;
}

function nameOf({ text }: Book): string {
  return /^name: (.*)$/m.exec(text)?.[1] ?? '';
}

/** Nothing of it will be traded any more. */
function isTraded({ status, legs }: Report): boolean {
  const hasEnded = status !== 'RUNNING' && status !== 'HELD';
  return hasEnded || (legs.length > 0 && legs.every(({ outcome }) => outcome === 'TRADED'));
}

async function reset(run: Run, where: 'first' | 'last'): Promise<void> {
  const points = await resetPoints(run.handle);
  const point = where === 'first' ? points[0] : points.at(-1);
  assert.ok(point !== undefined);
  const { workflowId, runId } = await run.handle.describe();
  await resetTo(stage.temporal, { workflowId, runId }, point);
}

/** The plan explains what was traded: what was there, what is kept, what was missing or too much, and all of it was traded. */
function assertExplained(run: Run, report: Report, before: ReadonlyMap<string, string>): void {
  for (const { currency, projected, low, high, wanted, traded, restraint } of report.positions) {
    // What the base gives and takes is told by the others.
    if (currency === 'USD') continue;
    const at = `${report.run} ${currency}`;
    assert.equal(new Decimal(projected ?? NaN).toFixed(), before.get(currency), at);
    assert.equal(restraint, null, at);
    assert.equal(new Decimal(traded).toFixed(), new Decimal(wanted?.value ?? 0).toFixed(), at);
    const isOutside =
      (low !== null && new Decimal(projected ?? NaN).lessThan(low)) ||
      (high !== null && new Decimal(projected ?? NaN).greaterThan(high));
    assert.equal(wanted !== null, isOutside, at);
    const moved = run
      .movements()
      .trades.flatMap((trade) => [
        [trade['sellCurrency'], trade['sellAmount']],
        [trade['buyCurrency'], trade['buyAmount']],
      ])
      .filter(([of, amount]) => of === currency && typeof amount === 'string')
      .map(([, amount]) => new Decimal(String(amount)));
    assert.equal(Decimal.sum(0, ...moved).toFixed(), new Decimal(traded).toFixed(), at);
  }
}

function assertInBands(date: string): void {
  for (const [currency, [low, high]] of Object.entries({ ...MAJORS.bands, ...LATAM.bands })) {
    const total = new Decimal(settledLater(currency));
    const isInside = total.greaterThanOrEqualTo(low) && total.lessThanOrEqualTo(high);
    assert.ok(isInside, `${date}: ${total.toFixed()} ${currency} are not between ${low} and ${high}`);
  }
  assert.ok(new Decimal(balanceOf('USD').withdrawable).greaterThanOrEqualTo(100_000), `${date}: USD`);
}

test(`over ${DAYS} business days each currency is inside its band every evening, and every trade is made once and explained`, async () => {
  const loaded = loadPolicy(MAJORS.text, 'majors.yaml');
  assert.ok(loaded.ok && loaded.policy.schedule !== null, JSON.stringify(loaded));
  const { schedule } = loaded.policy;
  const daysOff = await daysOffOf(schedule.holidays);
  const days = comingDays({ schedule, zone: ZONE, daysOff }, { fromMs: stage.time.now(), runs: DAYS });
  assert.deepEqual(
    days.flatMap(({ date, day }) => (day.kind === 'holiday' ? date : [])),
    [HOLIDAY],
  );

  const runs: Run[] = [];
  let number = 0;
  for (const day of days) {
    stage.time.pass(day.atMs - stage.time.now());
    assert.equal(todayIn(ZONE, stage.time.now()), day.date);
    if (day.day.kind !== 'run') {
      assert.equal((await startBySchedule(MAJORS, day.atMs, QUEUE)).kind, 'day off');
      continue;
    }
    await passDay(number, day, runs);
    number += 1;
  }

  // Over the weekend everything settles.
  stage.time.pass(72 * HOUR_MS);
  for (const run of runs) {
    await wakeIfOpen(run);
    const report = await run.report();
    assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
    assert.deepEqual(disagreements(report, stage.sandbox.ledger()), []);
  }
  assertInBands('the end');
  const ledger = stage.sandbox.ledger();
  assert.deepEqual(movedTwice(ledger), []);
  // Every trade of the month is of one run's plan; there were purchases and sales, in every currency.
  const explained = runs.flatMap((run) => run.movements().trades.map(({ id }) => id));
  assert.deepEqual(new Set(explained), new Set(ledger.trades.map(({ id }) => id)));
  assert.ok(explained.length > DAYS, String(explained.length));
  const traded = ledger.trades.map(({ sellCurrency, buyCurrency }) => [sellCurrency, buyCurrency]);
  assert.ok(traded.some(([sold]) => sold === 'USD') && traded.some(([, bought]) => bought === 'USD'));
  assert.deepEqual(new Set(traded.flat()), new Set(['USD', 'EUR', 'GBP', 'MXN', 'BRL']));
});

async function passDay(number: number, day: Day, runs: Run[]): Promise<void> {
  await writeFile(join(stage.folder, 'rates.yaml'), moveRates());
  const kill = KILLS.get(number);
  moveMoney(kill !== undefined);
  for (const open of runs) await wakeIfOpen(open);
  const before = new Map(CURRENCIES.map((currency) => [currency, settledLater(currency)]));
  // Both at the same minute: they take turns.
  const majors = kill === undefined ? await start(MAJORS, day) : await startAndKill(MAJORS, day, kill);
  const latam = await start(LATAM, day);
  runs.push(majors, latam);
  const reports = await Promise.all([majors, latam].map((run) => run.until(isTraded)));
  for (const [index, run] of [majors, latam].entries()) {
    const report = reports[index];
    assert.ok(report !== undefined);
    assertExplained(run, report, before);
  }
  const where = RESETS.get(number);
  if (where !== undefined) {
    const idsOf = (): readonly unknown[] => majors.movements().trades.map(({ id }) => id);
    const traded = idsOf();
    await reset(majors, where);
    assertExplained(majors, await majors.until(isTraded), before);
    assert.deepEqual(idsOf(), traded);
  }
  assertInBands(day.date);
}
