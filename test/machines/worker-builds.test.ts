/**
 * An upgrade in the middle of a batch: its worker is killed, and a worker of a newer build goes on, with build ids
 * (`CAMBIST_BUILD_ID`) and without. And what is said of a build that gets work and has no worker.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';

import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ensureTemporal } from '#temporal-binary';
import { runName } from '../../domain/references.ts';
import { readRouting } from '../../operations/watch/builds.ts';
import { chunkIdOf } from '../../workflows/names.ts';
import { disagreements } from '../support/agreement.ts';
import { assertPaidOnce, paymentsOf, startBatch, type BatchRun } from '../support/batches.ts';
import { putBuild, startBuiltWorker } from '../support/built-worker.ts';
import {
  assertExit,
  command,
  documentOf,
  flat,
  startCommand,
  type Ended,
  type Started,
} from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { patiently } from '../support/patiently.ts';
import { PassingTime } from '../support/passing-time.ts';
import { twoPayments } from '../support/places.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Run, type Stage } from '../support/stage.ts';

const PAYMENTS = 200;

const openBank = () => openStage({ balances: { USD: '1000000', EUR: '1000000', MXN: '1000000' } });

/** A batch of which a payment in the middle is booked, and its reply has not come. `release` lets the reply go. */
async function startHeldInTheMiddle(
  stage: Stage,
): Promise<{ readonly batch: BatchRun; readonly release: () => void }> {
  const name = uniqueName('b');
  const held = stage.sandbox.addFault({
    operation: 'createWithdrawal',
    nth: PAYMENTS / 2,
    when: { reference: `${name}.*` },
    effect: { kind: 'hold', when: 'after' },
  });
  const batch = await startBatch(stage, paymentsOf(PAYMENTS), { perChunk: PAYMENTS, name });
  await stage.sandbox.faultHit(held);
  return { batch, release: () => stage.sandbox.releaseFaults(held) };
}

function assertInTheMiddle(batch: BatchRun): void {
  const paid = batch.movements().withdrawals.length;
  assert.ok(
    paid >= PAYMENTS / 4 && paid < PAYMENTS,
    `${paid} of ${PAYMENTS} were paid when the worker was killed`,
  );
}

async function kill({ process: worker, ended }: Started): Promise<void> {
  worker.kill('SIGKILL');
  await ended;
}

type Finding = { readonly name: string; readonly state: string; readonly code: string; readonly fix: string };

/** What `doctor` says of builds, at this time. */
async function findings(stage: Stage, nowMs = Date.now()): Promise<readonly Finding[]> {
  const ended = await command(at(stage, nowMs), ['doctor', '--json']);
  const { checks } = documentOf(ended) as { readonly checks: readonly Finding[] };
  return checks.filter(({ name }) => name === 'builds');
}

const codesOf = (found: readonly Finding[]) => found.map(({ state, code }) => `${state} ${code}`);

/** The command line on the stage as if it were so late. */
function at({ env, folder }: Stage, nowMs: number): Parameters<typeof command>[0] {
  const time = new PassingTime(() => {});
  time.pass(nowMs - Date.now());
  return { env, folder, time };
}

function problemsOf(ended: Ended): readonly { readonly code: string; readonly fix: string }[] {
  return (documentOf(ended) as { readonly problems: readonly { code: string; fix: string }[] }).problems;
}

/** Types the last command that a text shows; `yes` answers for the person where it would ask. */
async function typeCommandOf(stage: Stage, text: string, yes: readonly string[] = []): Promise<void> {
  const shown =
    text
      .match(/`temporal [^`]+`/g)
      ?.at(-1)
      ?.slice('`temporal '.length, -1) ?? '';
  assert.notEqual(shown, '', text);
  const words = [...shown.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const temporal = await ensureTemporal();
  await promisify(execFile)(temporal, [...words, ...yes, '--address', stage.env['TEMPORAL_ADDRESS'] ?? '']);
}

/** `cambist worker` of a build that is not current yet, and what it said about that. @param started it is added to these */
async function startOfBuild(
  stage: Stage,
  build: string,
  started: Started[],
): Promise<{ worker: Started; said: string }> {
  const worker = startCommand(stage, ['worker', '--json'], { env: { CAMBIST_BUILD_ID: build } });
  started.push(worker);
  let said = '';
  worker.process.stderr?.on('data', (text: string) => (said += text));
  await worker.says(/"ready":"worker"/);
  await worker.says(/BUILD_NOT_CURRENT.*set-current-version.*\n/);
  await patiently(async () => {
    const { present } = await readRouting(stage.temporal, stage.env['CAMBIST_TASK_QUEUE'] ?? '', Date.now());
    assert.ok(
      present.some((known) => known?.id === build),
      `Temporal has not heard of build ${build}`,
    );
  });
  return { worker, said: (JSON.parse(said.trim()) as { message: string }).message };
}

cell(
  'a batch whose worker was killed goes on under a newer build once that is current, and pays each once',
  async () => {
    const stage = await openBank();
    const started: Started[] = [];
    const start = (build: string) => startOfBuild(stage, build, started);
    try {
      const old = await start('1.4.0');
      assert.deepEqual(codesOf(await findings(stage)), [
        'problem BUILD_WITHOUT_WORKER',
        'warning BUILD_NOT_CURRENT',
      ]);
      await typeCommandOf(stage, old.said, ['--yes']);
      assert.deepEqual(codesOf(await findings(stage)), ['ok null']);

      const { batch, release } = await startHeldInTheMiddle(stage);
      const killedAtMs = Date.now();
      await kill(old.worker);
      release();
      assertInTheMiddle(batch);

      // Temporal tells in whole seconds when somebody has asked for work.
      await delay(2_000);
      // By now the service has booked what the killed worker had sent.
      const before = batch.movements().withdrawals.length;
      const next = await start('1.5.0');
      assert.deepEqual(codesOf(await findings(stage)), ['warning BUILD_NOT_CURRENT', 'ok null']);
      // Just when the killed one has not been heard of for so long that it must be gone.
      const later = killedAtMs + 71_500;
      const [gone] = await findings(stage, later);
      assert.equal(gone?.code, 'BUILD_WITHOUT_WORKER');
      assert.match(
        gone.fix,
        /Start a worker with CAMBIST_BUILD_ID=1\.4\.0\. Or make workers of build .* current: `.* --build-id 1\.5\.0`/,
      );
      for (const asked of ['replay', 'explain-reset']) {
        const ended = await command(at(stage, killedAtMs + 121_500), [asked, runName(batch.name), '--json']);
        assertExit(ended, 7);
        assert.deepEqual(
          problemsOf(ended).map(({ code }) => code),
          ['BUILD_WITHOUT_WORKER'],
        );
      }
      assert.equal(batch.movements().withdrawals.length, before, 'a build that is not current pays nobody');

      await typeCommandOf(stage, next.said, ['--yes']);
      assertPaidOnce(batch, await batch.report());
    } finally {
      await Promise.all(started.map(kill));
      await stage.close();
    }
  },
);

test('a batch whose worker was killed goes on under another bundle without any build ids, and pays each once', async () => {
  const stage = await openBank();
  const { env, temporal } = stage;
  const workers = [startBuiltWorker({ env })];
  const [old] = workers;
  try {
    assert.ok(old !== undefined, 'a worker');
    await old.ready;
    // Another wording, and another time between tries: what the old one did is replayed by another code.
    const build = await putBuild(join(stage.folder, 'newer'), [
      ['workflow-bundle.js', ' is traded, but its ', ' was traded, but its '],
      ['workflow-bundle.js', "initialInterval: '1s'", "initialInterval: '2s'"],
    ]);
    assert.deepEqual(await findings(stage), [], 'nothing is said of builds where there are none');
    const { batch, release } = await startHeldInTheMiddle(stage);
    await old.kill();
    release();
    assertInTheMiddle(batch);
    const newer = startBuiltWorker({ env, build });
    workers.push(newer);
    assertPaidOnce(batch, await batch.report());
    const chunk = await temporal.client.workflow
      .getHandle(chunkIdOf('SANDBOX', batch.name, 1))
      .fetchHistory();
    const by = (chunk.events ?? []).flatMap(({ workflowTaskCompletedEventAttributes: task }) =>
      task ? [task.identity ?? ''] : [],
    );
    const pids = [...new Set(by)].map((identity) => Number.parseInt(identity, 10));
    assert.deepEqual(
      pids,
      [old.process.pid, newer.process.pid],
      'the newer one replayed what the older one did',
    );
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await stage.close();
  }
});

/** As a person does in Temporal. */
async function pin({ temporal, env }: Stage, run: Run, buildId: string): Promise<void> {
  const deploymentName = env['CAMBIST_TASK_QUEUE'] ?? '';
  await temporal.client.workflowService.updateWorkflowExecutionOptions({
    namespace: temporal.namespace,
    workflowExecution: { workflowId: run.handle.workflowId },
    updateMask: { paths: ['versioning_override'] },
    workflowExecutionOptions: {
      versioningOverride: { pinned: { behavior: 1, version: { deploymentName, buildId } } },
    },
  });
}

test('runs that somebody has pinned to builds without worker are named, also where nobody has a build, and go on when their pins are taken back', async () => {
  const stage = await openBank();
  try {
    await stage.startWorker();
    const first = await stage.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
    const second = await stage.startHeld(twoPayments(), 'createWithdrawal', { when: 'after' });
    await pin(stage, first.run, '1.0.0');
    await pin(stage, second.run, '1.1.0');
    first.release();
    second.release();
    // What the list shows comes later.
    const found = await patiently(async () => {
      const all = await findings(stage);
      assert.deepEqual(codesOf(all), [
        'problem BUILD_WITHOUT_WORKER',
        'problem BUILD_WITHOUT_WORKER',
        'ok null',
      ]);
      return all;
    });
    const ofFirst = found.find(({ fix }) => fix.startsWith('Start a worker with CAMBIST_BUILD_ID=1.0.0. '));
    assert.ok(ofFirst !== undefined, JSON.stringify(found));
    await typeCommandOf(stage, ofFirst.fix, ['--yes']);
    await assertCompleted(stage, first.run);

    const status = await command(stage, ['status', runName(second.run.name)]);
    assertExit(status, 7);
    assert.match(
      flat(status.stdout),
      /: a person has pinned it to workers of build "1\.1\.0" .* Start a worker with CAMBIST_BUILD_ID=1\.1\.0\. /,
    );
    const ended = await command(stage, ['replay', runName(second.run.name), '--event', '4', '--json']);
    assertExit(ended, 7);
    const [problem] = problemsOf(ended);
    assert.equal(problem?.code, 'BUILD_WITHOUT_WORKER');
    assert.match(problem.fix, /^Start a worker with CAMBIST_BUILD_ID=1\.1\.0\. /, 'its pin was left');
    await typeCommandOf(stage, problem.fix);
    await assertCompleted(stage, second.run);
  } finally {
    await stage.close();
  }
});

async function assertCompleted(stage: Stage, run: Run): Promise<void> {
  const report = await run.report();
  assert.equal(report.status, 'COMPLETED');
  assert.deepEqual(disagreements(report, stage.sandbox.ledger()), []);
}

test('a ramp to a build without worker is named, and the current build gets all of the work when it is taken back', async () => {
  const stage = await openBank();
  const started: Started[] = [];
  const start = (build: string) => startOfBuild(stage, build, started);
  try {
    // Temporal knows a ramp only on queues of which the build has asked for work.
    const ramped = await start('2.1.0');
    const killedAtMs = Date.now();
    await kill(ramped.worker);
    await delay(2_000);
    const { said } = await start('2.0.0');
    await typeCommandOf(stage, said, ['--yes']);
    const { client, namespace } = stage.temporal;
    await client.workflowService.setWorkerDeploymentRampingVersion({
      namespace,
      deploymentName: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
      buildId: '2.1.0',
      percentage: 100,
      ignoreMissingTaskQueues: true,
      allowNoPollers: true,
    });
    const [gone, idle] = await patiently(async () => {
      const all = await findings(stage, killedAtMs + 71_500);
      assert.deepEqual(codesOf(all), ['problem BUILD_WITHOUT_WORKER', 'warning BUILD_NOT_CURRENT']);
      return all;
    });
    assert.match(idle?.fix ?? '', /--build-id 2\.1\.0 --delete`/);
    await typeCommandOf(stage, gone?.fix ?? '', ['--yes']);
    await patiently(async () =>
      assert.deepEqual(codesOf(await findings(stage, killedAtMs + 71_500)), ['ok null']),
    );
  } finally {
    await Promise.all(started.map(kill));
    await stage.close();
  }
});
