/**
 * Bad luck with workers: one that is frozen and wakes up late, and two of different versions. Under each way in which a
 * service keeps errors and shows tags, nothing moves twice.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { ANSWER_LIMIT_MS } from '../../operations/follow/answers.ts';
import { readRun } from '../../operations/follow/read-run.ts';
import { describeRun } from '../../operations/follow/runs.ts';
import { WRITE_LIMITS } from '../../workflows/limits.ts';
import { putBuild } from '../support/built-worker.ts';
import { uniqueName } from '../support/dev-server.ts';
import {
  AT_ONCE,
  assertAllDone,
  assertOneKeyEach,
  closePlace,
  nameOf,
  openPlaces,
  operationsOf,
  resetToStart,
  startHeld,
  startProcess,
  twoPayments,
  withPlace,
  type Place,
} from '../support/places.ts';
import { convertPolicy } from '../support/policies.ts';
import { startCommand } from '../support/commands.ts';
import { cell, test } from '../support/sliced.ts';
import { WRITES, assertDoneOnce, openStage, type Run, type Write } from '../support/stage.ts';

const places = await openPlaces();
after(() => Promise.all(places.map(closePlace)));

/** One that froze in the middle of a workflow task ends when it wakes: Temporal gives such a task five seconds. */
function unlessInTheMiddle(error: unknown): void {
  if (!(error instanceof Error) || !/execution timed out/i.test(error.message)) throw error;
}

describe('a worker that is frozen', AT_ONCE, () => {
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
    await frozen.reached(`after ${sending}`).catch(unlessInTheMiddle);
    assert.deepEqual(operationsOf(run), before);
    assertAllDone(place, run, await run.report());
    assertOneKeyEach(run);
  };

  for (const operation of WRITES) {
    for (const [index, { service }] of places.entries()) {
      // Of the services the last one helps least.
      const play = operation === 'createWithdrawal' && index === places.length - 1 ? cell : test;
      play(
        `sends nothing when it wakes: before ${operation}, while another one goes on, ${nameOf(service)}`,
        () =>
          withPlace(service, (place) =>
            freezeBefore(place, operation, async (run, queue) => {
              await place.startWorker(queue);
              assertAllDone(place, run, await run.report());
            }),
          ),
      );
    }

    const [place] = places;
    assert.ok(place !== undefined);
    test(`sends nothing when it wakes: before ${operation}, while nobody else is there`, () =>
      freezeBefore(place, operation, () => Promise.resolve()));
  }

  test('is waited for when it is asked something: it may just be busy', async () => {
    const [place] = places;
    assert.ok(place !== undefined);
    const queue = uniqueName('queue');
    const frozen = startProcess(place, queue, { freezeAt: 'before send trade' });
    const run = await place.stage.start(twoPayments(), { taskQueue: queue });
    await frozen.reached('before send trade');
    const { client } = place.stage.temporal;
    const facts = await describeRun(client, 'SANDBOX', run.name);
    assert.ok(facts !== null);
    const said: string[] = [];
    const asked = readRun({ client, say: (message) => said.push(message) }, facts);
    // Longer than one would be waited for of whom Temporal has never heard.
    await delay(ANSWER_LIMIT_MS + 2_000);
    frozen.thaw();
    assert.equal((await asked).report.legs.length, 1);
    assert.match(said.join('\n'), /^No worker has answered for 10 s\. .* Waiting up to 20 s more\.$/);
    assertAllDone(place, run, await run.report());
  });
});

describe('two workers of different versions', AT_ONCE, () => {
  // Each task of a run goes to whoever asks first, as after an eviction.
  const noCache = ['worker/worker.js', 'maxCachedWorkflows: 500', 'maxCachedWorkflows: 0'] as const;
  const other = [
    noCache,
    ['workflow-bundle.js', "initialInterval: '1s'", "initialInterval: '2s'"],
    ['workflow-bundle.js', ' is traded, but its ', ' was traded, but its '],
  ] as const;
  const unfit = [
    'workflow-bundle.js',
    'while (!this.isOver()) {',
    'while (!this.isOver()) { await ports.waitUntil(() => false, 1);',
  ] as const;

  for (const [index, place] of places.entries()) {
    const play = index === places.length - 1 ? cell : test;
    play(`whose workflow code agrees share runs, ${nameOf(place.service)}: once each`, async () => {
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
        // They go on side by side all the same.
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

    play(
      `whose workflow code does not agree, ${nameOf(place.service)}: what one began is reset under the other, once`,
      () =>
        withPlace(place.service, async (own) => {
          const queue = uniqueName('queue');
          const build = await putBuild(join(own.stage.folder, 'unfit'), [unfit]);
          const before = startProcess(own, queue, { build });
          const { run, release } = await startHeld(own, 'createWithdrawal', {
            when: 'after',
            taskQueue: queue,
          });
          await before.kill();
          release();
          await own.startWorker(queue);
          await resetToStart(own, run);
          assertAllDone(own, run, await run.report());
          assertOneKeyEach(run);
        }),
    );
  }
});

describe('a worker that is told to end in the middle of a write', AT_ONCE, () => {
  for (const operation of WRITES)
    test(`${operation}: finishes it, and another worker goes on`, async () => {
      const stage = await openStage({ rates: { 'USD/MXN': '17.25' } });
      try {
        const ending = startCommand(stage, ['worker']);
        await ending.says(/^ready worker/m);
        const { run, release } = await stage.startHeld(convertPolicy(), operation, { when: 'before' });
        ending.process.kill('SIGTERM');
        const ended = ending.ended.then(({ exitCode }) => exitCode);
        assert.equal(await Promise.race([ended, delay(1_000, 'at work')]), 'at work');
        await stage.startWorker();
        release();
        assert.equal(await ended, 0);
        assertDoneOnce(run, await run.report());
        assert.deepEqual(
          run.writes().map((write) => write.operation),
          [...WRITES],
        );
      } finally {
        await stage.close();
      }
    });
});
