/**
 * Bad luck with people: a cancel in the middle of a write and a reset after it, the buttons that Temporal's UI has for
 * an activity, a worker that is frozen and wakes up late, two workers of different versions. Under each way in which a
 * service keeps errors and shows tags: what was sent is reported truly, nothing else is sent, and nothing moves twice.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Report } from '../domain/report.ts';
import { isCancelled } from '../domain/instructions.ts';
import { readInstructions, recordInstruction } from '../operations/instructions.ts';
import type { FaultEffect } from '../sandbox/server.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';
import { SOME_SERVICES, type Service } from './resets/sweep.ts';
import { disagreements, movedTwice, withoutEvidence } from './support/agreement.ts';
import {
  putBuild,
  startBuiltWorker,
  type BuiltWorker,
  type BuiltWorkerOptions,
} from './support/built-worker.ts';
import { uniqueName } from './support/dev-server.ts';
import { MXN_ACCOUNT, convertPolicy, type PolicyParts } from './support/policies.ts';
import { resetPoints, resetTo } from './support/resets.ts';
import { openStage, type Run, type Stage } from './support/stage.ts';
import { said } from './support/instructions.ts';

/** Nearly all of the time is waiting: for a lost worker to be missed, for a freeze to last, for doubt to end. */
const AT_ONCE = { concurrency: 10 };
const WRITES = ['createTrade', 'createWithdrawal'] as const;
type Write = (typeof WRITES)[number];

/** A service with its own way of keeping errors and showing tags, and workers of this process for it. */
type Place = {
  readonly service: Service;
  readonly stage: Stage;
  startWorker(queue?: string): Promise<void>;
  /** Clocks of workers and service go forward together: what waits for time need not be waited for. */
  passTime(ms: number): void;
};

const nameOf = (service: Service): string =>
  `where ${service.storeErrors} errors are kept and tags are shown ${service.metadataInLists}`;

async function openPlace(service: Service): Promise<Place> {
  const stage = await openStage({
    rates: { 'USD/MXN': '17.25' },
    balances: { USD: '1000000', MXN: '1000000' },
    // Our own guards are tried, not the service's second one.
    settings: { ...service, duplicateReferenceRefused: false },
  });
  let movedMs = 0;
  const clock = { wallMs: () => Date.now() + movedMs, monotonicMs: () => performance.now() };
  return {
    service,
    stage,
    startWorker: async (queue) => {
      await stage.startWorker({ clock, ...(queue !== undefined && { env: { CAMBIST_TASK_QUEUE: queue } }) });
    },
    passTime: (ms) => {
      movedMs += ms;
      stage.sandbox.clock.advance(ms);
    },
  };
}

/** A place of its own for one test, in which time may pass. */
async function withPlace(service: Service, work: (place: Place) => Promise<void>): Promise<void> {
  const place = await openPlace(service);
  try {
    await work(place);
  } finally {
    await closePlace(place);
  }
}

async function closePlace({ stage }: Place): Promise<void> {
  const twice = movedTwice(stage.sandbox.ledger());
  await stage.close();
  assert.deepEqual(twice, []);
}

const places: readonly Place[] = await Promise.all(SOME_SERVICES.map(openPlace));
await Promise.all(places.map((place) => place.startWorker()));
const builtWorkers: BuiltWorker[] = [];
after(async () => {
  await Promise.all(builtWorkers.map((worker) => worker.kill()));
  await Promise.all(places.map(closePlace));
});

let policies = 0;

/** Two payments whose amounts no other run has: where no tags are shown, equal ones could be taken for one another. */
function twoPayments(parts: PolicyParts = {}): string {
  policies += 1;
  const cents = String(policies).padStart(2, '0');
  return convertPolicy({
    withdraw: [
      { id: 'first', account: MXN_ACCOUNT, fixed: `1${cents}.00` },
      { id: 'second', account: MXN_ACCOUNT, fixed: `5${cents}.00` },
    ],
    ...parts,
  });
}

type Held = { readonly run: Run; readonly queue: string; readonly release: () => void };

/** A run whose first write of this kind is held at the service; `more` then happens to the reply. */
async function startHeld(
  { stage }: Place,
  operation: Write,
  how: {
    readonly when: 'before' | 'after';
    readonly reply?: FaultEffect;
    readonly queue?: string;
  },
): Promise<Held> {
  const name = uniqueName('p');
  const meets = { operation, times: 1, when: { reference: `${name}.*` } } as const;
  const held = stage.sandbox.addFault({ ...meets, effect: { kind: 'hold', when: how.when } });
  if (how.reply !== undefined) stage.sandbox.addFault({ ...meets, effect: how.reply });
  const queue = how.queue ?? stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  const run = await stage.start(twoPayments(), { name, taskQueue: queue });
  await stage.sandbox.faultHit(held);
  return { run, queue, release: () => stage.sandbox.releaseFaults(held) };
}

/** A worker of this build, as a process, on a queue of its own. */
function startProcess(
  { stage }: Place,
  queue: string,
  options: Omit<BuiltWorkerOptions, 'env'> = {},
): BuiltWorker {
  const worker = startBuiltWorker({ env: { ...stage.env, CAMBIST_TASK_QUEUE: queue }, ...options });
  builtWorkers.push(worker);
  return worker;
}

async function baseOf(run: Run): Promise<{ readonly workflowId: string; readonly runId: string }> {
  const { workflowId, runId } = await run.handle.describe();
  return { workflowId, runId };
}

async function resetToStart({ stage }: Place, run: Run, options = { signals: true }): Promise<void> {
  const [first] = await resetPoints(run.handle);
  assert.ok(first !== undefined);
  await resetTo(stage.temporal, await baseOf(run), first, options);
}

function operationsOf(run: Run): readonly string[] {
  return run.writes().map(({ operation }) => String(operation));
}

function assertAgreed({ stage }: Place, report: Report): void {
  assert.deepEqual(disagreements(report, stage.sandbox.ledger()), [], JSON.stringify(report, null, 2));
}

/** Everything is done, once. */
function assertAllDone(place: Place, run: Run, report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  assertAgreed(place, report);
  const { trades, withdrawals } = run.movements();
  assert.deepEqual([trades.length, withdrawals.length], [1, 2]);
}

/** Longer than an attempt of a write, its token and the doubt of the stage together. */
const DOUBT_MS = 70_000;

/**
 * The end of a cancelled run: time passes while it is in doubt, and where lists show no tags a person says which record
 * is the payment.
 */
async function endOfCancelled(place: Place, run: Run): Promise<Report> {
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one hold after the other
    const report = await run.until(({ status }) => status !== 'RUNNING');
    // oxlint-disable-next-line no-await-in-loop -- see above
    if (report.status !== 'HELD') return run.report();
    const needsPerson = report.payments.find(({ outcome }) => outcome === 'NEEDS_HUMAN');
    if (needsPerson === undefined) place.passTime(DOUBT_MS);
    // oxlint-disable-next-line no-await-in-loop -- see above
    else await nameRecord(place, run, needsPerson.id);
    // oxlint-disable-next-line no-await-in-loop -- see above
    await wakeIfOpen(run);
    // oxlint-disable-next-line no-await-in-loop -- what woke it must have been looked at
    await delay(500);
  }
}

async function wakeIfOpen(run: Run): Promise<void> {
  try {
    await run.wake();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}

/** Wakes a run again and again, so that it looks at once, to its end. */
async function reportOfWoken(run: Run): Promise<Report> {
  const waker = setInterval(() => void wakeIfOpen(run), 1_000);
  try {
    return await run.report();
  } finally {
    clearInterval(waker);
  }
}

/** Shorter than the service can keep a write waiting: the word must not wait for the write. */
const KEPT_WITHIN_MS = 12_000;

async function untilCancelIsKept({ stage }: Place, run: Run): Promise<void> {
  const { client } = stage.temporal;
  for (const giveUpAtMs = Date.now() + KEPT_WITHIN_MS; Date.now() < giveUpAtMs;) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other
    const kept = await readInstructions({ client, mode: 'SANDBOX', run: run.name });
    if (isCancelled(kept?.instructions ?? [])) return;
    // oxlint-disable-next-line no-await-in-loop -- Temporal tells nobody
    await delay(150);
  }
  assert.fail('The cancel is kept nowhere but in the history of the run.');
}

/** However often it was sent: a trade under one name, and two payments, each under one key. */
function assertOneKeyEach(run: Run): void {
  const of = (operation: Write): ReturnType<Run['writes']> =>
    run.writes().filter((entry) => entry.operation === operation);
  // On a slow machine a quote dies, and the next one has a key of its own.
  assert.equal(new Set(of('createTrade').map(({ reference }) => reference)).size, 1);
  assert.equal(new Set(of('createWithdrawal').map(({ idempotencyKey }) => idempotencyKey)).size, 2);
}

/** A person names the one record there is. */
async function nameRecord({ stage, service }: Place, run: Run, item: string): Promise<void> {
  assert.notEqual(service.metadataInLists, 'always');
  const [record, ...others] = run.movements().withdrawals;
  assert.ok(record !== undefined && others.length === 0);
  const { client } = stage.temporal;
  const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  await recordInstruction(
    { client, taskQueue, mode: 'SANDBOX', run: run.name },
    said({ kind: 'executed', item, recordId: String(record['id']) }),
  );
}

/** Of a cancelled run: what was under way is told as the ledger has it, and nothing else was sent. */
function assertOnlyUnderWay(place: Place, run: Run, report: Report, operation: Write): void {
  assert.equal(report.status, 'CANCELLED', JSON.stringify(report, null, 2));
  assertAgreed(place, report);
  const { trades, withdrawals } = run.movements();
  const isTrade = operation === 'createTrade';
  const [first, second] = report.payments;
  assert.equal(report.legs[0]?.outcome, trades.length === 1 ? 'TRADED' : 'NOT_TRADED');
  assert.equal(first?.outcome, withdrawals.length === 1 ? 'PAID' : 'NOT_PAID');
  assert.equal(second?.outcome, 'NOT_PAID');
  assert.match(second.reason ?? '', /cancelled/i);
  const keys = new Set(run.writes().map(({ idempotencyKey }) => idempotencyKey));
  assert.equal(keys.size, isTrade ? 1 : 2);
  assert.equal(trades.length + withdrawals.length <= keys.size, true);
}

type Again = 'reset' | 'reset without signals' | 'started again';
const AGAIN: readonly Again[] = ['reset', 'reset without signals', 'started again'];

/** What was cancelled stays unsent, however it is begun again. */
async function assertStaysSo(place: Place, run: Run, first: Report, again: Again): Promise<void> {
  const before = run.writes().length;
  await (again === 'started again'
    ? run.startAgain()
    : resetToStart(place, run, { signals: again === 'reset' }));
  assert.deepEqual(essence(await endOfCancelled(place, run)), essence(first));
  assert.equal(run.writes().length, before);
}

/** Without what the service has said since: a trade settles although nobody waits for it any more. */
function essence(report: Report): unknown {
  return { ...withoutEvidence(report), legs: report.legs.map((leg) => ({ ...leg, settled: null })) };
}

/** What can become of a write that is under way when the run is cancelled. */
const FATES: readonly {
  readonly what: string;
  readonly when: 'before' | 'after';
  readonly reply?: FaultEffect;
}[] = [
  { what: 'is held back and comes', when: 'after' },
  { what: 'is held back and lost', when: 'after', reply: { kind: 'lose-reply' } },
  { what: 'never comes because nothing was done', when: 'before', reply: { kind: 'close-before' } },
];

describe('bad luck with people and machines', { concurrency: 4 }, () => {
  describe('a cancel in the middle of a write', AT_ONCE, () => {
    for (const [turn, service] of SOME_SERVICES.entries())
      for (const operation of WRITES) {
        for (const [index, { what, when, reply }] of FATES.entries()) {
          // Each way to begin again meets each fate.
          const again = AGAIN[(turn + index) % AGAIN.length] ?? 'reset';
          test(`the reply to ${operation} ${what}, ${nameOf(service)}: it is told truly, nothing else is sent; nor when it is ${again}`, () =>
            withPlace(service, async (place) => {
              await place.startWorker();
              const more = reply === undefined ? {} : { reply };
              const { run, release } = await startHeld(place, operation, { when, ...more });
              await run.handle.cancel();
              await untilCancelIsKept(place, run);
              release();
              const report = await endOfCancelled(place, run);
              assertOnlyUnderWay(place, run, report, operation);
              await assertStaysSo(place, run, report, again);
            }));
        }

        test(`followed by a reset while ${operation} is under way, ${nameOf(service)}: what was cancelled stays unsent`, () =>
          withPlace(service, async (place) => {
            await place.startWorker();
            const { run, release } = await startHeld(place, operation, { when: 'after' });
            await run.handle.cancel();
            await untilCancelIsKept(place, run);
            await resetToStart(place, run);
            release();
            const report = await endOfCancelled(place, run);
            assertOnlyUnderWay(place, run, report, operation);
          }));
      }
  });

  /** The one activity of a run that is under way, as the UI's page of pending activities shows it. */
  async function pendingOf(run: Run): Promise<{ readonly id: string; readonly attempt: number } | null> {
    const [pending] = (await run.handle.describe()).raw.pendingActivities ?? [];
    return pending === undefined ? null : { id: pending.activityId ?? '', attempt: pending.attempt ?? 0 };
  }

  /** What the UI's buttons beside a pending activity call. */
  type Button = 'pause' | 'unpause' | 'reset';

  async function press({ stage }: Place, run: Run, button: Button): Promise<void> {
    const { client, namespace } = stage.temporal;
    const { workflowId, runId } = await baseOf(run);
    const pending = await pendingOf(run);
    assert.ok(pending !== null);
    const what = { namespace, execution: { workflowId, runId }, identity: 'somebody', id: pending.id };
    if (button === 'pause') await client.workflowService.pauseActivity(what);
    else if (button === 'unpause') await client.workflowService.unpauseActivity(what);
    else await client.workflowService.resetActivity(what);
  }

  /** By then everything has been looked at that can be looked at while nothing is there. */
  const LATE_MS = 60_000;

  /** Waits until Temporal has missed the worker, and holds a second attempt ready. */
  async function untilMissed(run: Run): Promise<void> {
    for (;;) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other
      const pending = await pendingOf(run);
      if (pending !== null && pending.attempt > 1) return;
      // oxlint-disable-next-line no-await-in-loop -- Temporal tells nobody
      await delay(200);
    }
  }

  describe('the buttons beside a pending activity', AT_ONCE, () => {
    for (const place of places)
      for (const operation of WRITES) {
        for (const buttons of [['pause', 'unpause'], ['reset'], ['pause', 'reset']] as const)
          test(`${buttons.join(' and ')} while the reply to ${operation} is on its way, ${nameOf(place.service)}: once`, async () => {
            const { run, release } = await startHeld(place, operation, { when: 'after' });
            for (const button of buttons) {
              // oxlint-disable-next-line no-await-in-loop -- as fast as somebody clicks
              await press(place, run, button);
            }
            release();
            assertAllDone(place, run, await run.report());
          });

        test(`reset when the worker of ${operation} was lost, ${nameOf(place.service)}: it looks, and knows that it may have been sent`, () =>
          withPlace(place.service, async (own) => {
            const { sandbox, env } = own.stage;
            const name = uniqueName('p');
            const late = sandbox.addFault({
              operation,
              times: 1,
              when: { reference: `${name}.*` },
              effect: { kind: 'late-commit', ms: LATE_MS },
            });
            const lost = startProcess(own, env['CAMBIST_TASK_QUEUE'] ?? '');
            // The quote is dead by then: nothing but the doubt stands against another one.
            const quote = '{ valid_for: 3s, settlement: T0 }';
            const run = await own.stage.start(twoPayments({ quote }), { name });
            await sandbox.faultHit(late);
            await lost.kill();
            await untilMissed(run);
            await press(own, run, 'reset');
            assert.equal((await pendingOf(run))?.attempt, 1, 'Temporal counts from one again');
            const before = sandbox.requests().length;
            await own.startWorker();
            const look = operation === 'createTrade' ? 'listTrades' : 'listWithdrawals';
            const since = (): readonly string[] =>
              sandbox
                .requests()
                .slice(before)
                .map((entry) => String(entry.operation));
            // oxlint-disable-next-line no-await-in-loop -- the service tells nobody
            while (!since().includes(look)) await delay(100);
            assert.ok(!since().slice(0, since().indexOf(look)).includes(operation), since().join(', '));
            own.passTime(LATE_MS);
            const report = await reportOfWoken(run);
            assertAllDone(own, run, report);
            assert.equal(report.evidence.filter(({ call }) => call === 'send quote').length, 1);
            assertOneKeyEach(run);
          }));
      }
  });

  describe('a worker that is frozen until past its deadline sends nothing when it wakes', AT_ONCE, () => {
    /** Starts a run on a worker that freezes before it sends; `meanwhile` is what happens until it may not send any more. */
    const freezeBefore = async (
      place: Place,
      operation: Write,
      meanwhile: (run: Run, queue: string) => Promise<void>,
    ): Promise<void> => {
      const sending = operation === 'createTrade' ? 'send trade' : 'send withdrawal';
      const queue = uniqueName('queue');
      const frozen = startProcess(place, queue, { freezeAt: `before ${sending}` });
      const run = await place.stage.start(twoPayments(), { taskQueue: queue });
      await frozen.reached(`before ${sending}`);
      const deadline = delay(WRITE_LIMITS.sendWithinMs + 1_000);
      await meanwhile(run, queue);
      await deadline;
      const before = operationsOf(run);
      frozen.thaw();
      // What it had in hand is dropped, whoever goes on.
      await frozen.reached(`after ${sending}`);
      assert.deepEqual(operationsOf(run), before);
      assertAllDone(place, run, await run.report());
      assertOneKeyEach(run);
    };

    for (const operation of WRITES) {
      for (const place of places)
        test(`before ${operation}, while another one goes on, ${nameOf(place.service)}`, () =>
          freezeBefore(place, operation, async (run, queue) => {
            await place.startWorker(queue);
            assertAllDone(place, run, await run.report());
          }));

      const [place] = places;
      assert.ok(place !== undefined);
      test(`before ${operation}, while nobody else is there`, () =>
        freezeBefore(place, operation, () => Promise.resolve()));
    }
  });

  describe('two workers of different versions', AT_ONCE, () => {
    // Each task of a run goes to whoever asks first, as after an eviction.
    const noCache = ['worker/worker.js', 'maxCachedWorkflows: 500', 'maxCachedWorkflows: 0'] as const;
    const other = [
      noCache,
      ['workflow-bundle.js', "initialInterval: '1s'", "initialInterval: '2s'"],
      ['workflow-bundle.js', ' is traded; its ', ' was traded; its '],
    ] as const;
    const unfit = [
      'workflow-bundle.js',
      'await this.convert(plan, leg);',
      '{ await this.ports.waitUntil(() => false, 1); await this.convert(plan, leg); }',
    ] as const;

    for (const place of places) {
      test(`whose workflow code agrees share runs, ${nameOf(place.service)}: once each`, async () => {
        const queue = uniqueName('queue');
        const [oldBuild, newBuild] = await Promise.all([
          putBuild(join(place.stage.folder, 'old'), other),
          putBuild(join(place.stage.folder, 'new'), [noCache]),
        ]);
        const workers = [oldBuild, newBuild].map((build) => startProcess(place, queue, { build }));
        await Promise.all(workers.map(({ ready }) => ready));
        const runs = await Promise.all(
          Array.from({ length: 2 }, () => place.stage.start(twoPayments(), { taskQueue: queue })),
        );
        for (const run of runs) {
          // oxlint-disable-next-line no-await-in-loop -- they go on side by side all the same
          assertAllDone(place, run, await run.report());
        }
        const histories = await Promise.all(runs.map(({ handle }) => handle.fetchHistory()));
        const shared = histories.filter(({ events }) => {
          const by = (events ?? []).map(
            (event) => event.workflowTaskCompletedEventAttributes?.identity ?? null,
          );
          return new Set(by.filter((identity) => identity !== null)).size > 1;
        });
        assert.ok(shared.length > 0, 'no run was shared');
      });

      test(`whose workflow code does not agree, ${nameOf(place.service)}: what one began is reset under the other, once`, async () => {
        const queue = uniqueName('queue');
        const build = await putBuild(join(place.stage.folder, 'unfit'), [unfit]);
        const before = startProcess(place, queue, { build });
        const { run, release } = await startHeld(place, 'createWithdrawal', { when: 'after', queue });
        await before.kill();
        release();
        await place.startWorker(queue);
        await resetToStart(place, run);
        assertAllDone(place, run, await run.report());
        assertOneKeyEach(run);
      });
    }
  });
});
