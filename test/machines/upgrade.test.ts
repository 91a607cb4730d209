/**
 * Two builds side by side while a batch is paid: the commands of docs/operations/workers.md, typed as they stand there, give
 * the newer build a share of the work, all of it, none of it, and all of it for good. Each payment is made once by the
 * ledger of the service, and no workflow is stuck.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensureTemporal } from '#temporal-binary';
import {
  assertPaidOnce,
  chunkOf,
  paymentsOf,
  startBatch,
  untilAllEnded,
  untilBooked,
  type BatchRun,
} from '../support/batches.ts';
import { putBuild, startBuiltWorker, type BuildEdit, type BuiltWorker } from '../support/built-worker.ts';
import { command, documentOf } from '../support/commands.ts';
import { readPage } from '../support/docs-tables.ts';
import { eventually } from '../support/patience.ts';
import { patiently } from '../support/patiently.ts';
import { test } from '../support/sliced.ts';
import { openStage, type Stage } from '../support/stage.ts';

const PAGE = readPage('docs/operations/workers.md');
/** The names that the page uses. */
const [QUEUE, OLDER, NEWER] = ['cambist-live', '1.4.0', '1.5.0'];
const PAYMENTS = 120;
/** As many workflows that a share of ten percent is some of them. */
const PER_CHUNK = 6;

/** Another wording of what people read: workflows record the same. */
const SAME_RECORD: readonly BuildEdit[] = [
  ['workflow-bundle.js', ' is traded, but its ', ' was traded, but its '],
];

/** Behind a patch, a chunk waits before each call that pays. */
const OTHER_RECORD: readonly BuildEdit[] = [
  [
    'workflow-bundle.js',
    'createWithdrawals: (call) => {\n            const summary = summaryOfPayments(call);\n',
    "createWithdrawals: async (call) => {\n            if ((0,lib.patched)('waits')) await (0,lib.sleep)(1);\n            const summary = summaryOfPayments(call);\n",
  ],
];

type Builds = { readonly stage: Stage; readonly older: BuiltWorker; readonly newer: BuiltWorker };

/** A stage with a worker of each build, of which the older one gets the work. */
async function withTwoBuilds(
  edits: readonly BuildEdit[],
  work: (builds: Builds) => Promise<void>,
): Promise<void> {
  const stage = await openStage({ balances: { USD: '1000000', EUR: '1000000', MXN: '1000000' } });
  const workers: BuiltWorker[] = [];
  const start = async (id: string, build?: string): Promise<BuiltWorker> => {
    const env = { ...stage.env, CAMBIST_BUILD_ID: id };
    const worker = startBuiltWorker({ env, ...(build !== undefined && { build }) });
    workers.push(worker);
    await worker.ready;
    return worker;
  };
  try {
    const older = await start(OLDER);
    await type(stage, `set-current-version --deployment-name ${QUEUE} --build-id ${OLDER}`);
    await saysOfBuilds(stage, [`${OLDER} get the work`]);
    const newer = await start(NEWER, await putBuild(join(stage.folder, 'newer'), edits));
    await work({ stage, older, newer });
  } finally {
    await Promise.all(workers.map((worker) => worker.kill()));
    await stage.close();
  }
}

/** Types the line of the page that holds this, with the stage's queue for that of the page. */
async function type({ env }: Stage, line: string): Promise<void> {
  const shown = PAGE.blocks('sh')
    .flatMap((block) => block.split('\n'))
    .find((each) => each.startsWith('temporal ') && each.includes(line));
  assert.ok(shown !== undefined, `The page has no line "${line}".`);
  const own =
    shown
      .split(' #')[0]
      ?.trim()
      .replaceAll(QUEUE, env['CAMBIST_TASK_QUEUE'] ?? '') ?? '';
  const words = [...own.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare ?? '');
  const temporal = await ensureTemporal();
  const address = ['--address', env['TEMPORAL_ADDRESS'] ?? ''];
  // Temporal may not have heard of a worker that has just started.
  await patiently(() => promisify(execFile)(temporal, [...words.slice(1), '--yes', ...address]));
}

/** Waits until `doctor` says this of builds, and nothing else that is well. */
async function saysOfBuilds(stage: Stage, expected: readonly string[]): Promise<void> {
  await patiently(async () => {
    const { checks } = documentOf(await command(stage, ['doctor', '--json'])) as {
      readonly checks: readonly { readonly name: string; readonly state: string; readonly says: string }[];
    };
    const said = checks
      .filter(({ name, state }) => name === 'builds' && state === 'ok')
      .map(({ says }) => says);
    assert.deepEqual(
      said.map((says) => says.replace(/^workers of build "(.*)" \(deployment ".*"\)/, '$1')),
      expected,
    );
  });
}

/** Once so many of the payments are made, does this while the others wait at the service. */
async function inTheMiddle(
  { sandbox }: Stage,
  batch: BatchRun,
  share: number,
  work: () => Promise<void>,
): Promise<void> {
  await untilBooked(batch, PAYMENTS * share);
  const held = sandbox.addFault({
    operation: 'createWithdrawal',
    when: { reference: `${batch.name.policy}.*` },
    effect: { kind: 'hold', when: 'before' },
  });
  const before = batch.movements().withdrawals.length;
  assert.ok(before < PAYMENTS, 'payments are left');
  await work();
  sandbox.clearFaults(held);
}

type Tasks = { readonly done: ReadonlyMap<number, number>; readonly failed: number };

/** How many workflow tasks of the chunks each process has done, by its id, and how many have failed. */
async function tasksOf(stage: Stage, batch: BatchRun): Promise<Tasks> {
  const done = new Map<number, number>();
  let failed = 0;
  for (let number = 1; number <= batch.chunks; number += 1) {
    // One after the other: there are many.
    const { events } = await chunkOf(stage, batch, number).fetchHistory();
    for (const { workflowTaskCompletedEventAttributes: task, workflowTaskFailedEventAttributes } of events ??
      []) {
      if (workflowTaskFailedEventAttributes) failed += 1;
      const pid = Number.parseInt(task?.identity ?? '', 10);
      if (!Number.isNaN(pid)) done.set(pid, (done.get(pid) ?? 0) + 1);
    }
  }
  return { done, failed };
}

/** The workflows of the batch that are open. */
async function openOf({ temporal, env }: Stage, batch: BatchRun): Promise<readonly string[]> {
  const query = `TaskQueue = '${env['CAMBIST_TASK_QUEUE'] ?? ''}' AND CloseTime IS NULL`;
  const open: string[] = [];
  for await (const { workflowId } of temporal.client.workflow.list({ query }))
    if (workflowId.includes(batch.name.policy)) open.push(workflowId);
  return open;
}

const startIt = (stage: Stage) => startBatch(stage, paymentsOf(PAYMENTS), { perChunk: PER_CHUNK });

test('a batch goes on while a newer build gets a tenth of the work, all of it, none of it and all of it for good', () =>
  withTwoBuilds(SAME_RECORD, async ({ stage, older, newer }) => {
    const batch = await startIt(stage);
    await inTheMiddle(stage, batch, 0.1, async () => {
      await type(stage, `--build-id ${NEWER} --percentage 10`);
      await saysOfBuilds(stage, [`${OLDER} get 90 % of the workflows`, `${NEWER} get 10 % of the workflows`]);
    });
    await inTheMiddle(stage, batch, 0.3, async () => {
      await type(stage, `--build-id ${NEWER} --percentage 100`);
      await saysOfBuilds(stage, [`${NEWER} get the work`]);
    });
    await inTheMiddle(stage, batch, 0.5, async () => {
      await type(stage, `--build-id ${NEWER} --delete`);
      await saysOfBuilds(stage, [`${OLDER} get the work`]);
    });
    await inTheMiddle(stage, batch, 0.7, async () => {
      await type(stage, `set-current-version --deployment-name ${QUEUE} --build-id ${NEWER}`);
      await saysOfBuilds(stage, [`${NEWER} get the work`]);
      await older.kill();
    });
    assertPaidOnce(batch, await batch.report());
    const { done, failed } = await tasksOf(stage, batch);
    assert.equal(failed, 0);
    for (const { process } of [older, newer])
      assert.ok((done.get(process.pid ?? 0) ?? 0) > 0, `process ${process.pid} has done some of it`);
    await eventually(
      'the end of every workflow of the batch',
      async () => (await openOf(stage, batch)).length === 0,
      async () => (await openOf(stage, batch)).length,
    );
  }));

test('what a newer build has recorded otherwise is reset after the older one is current again, and each is paid once', () =>
  withTwoBuilds(OTHER_RECORD, async ({ stage }) => {
    const batch = await startIt(stage);
    await inTheMiddle(stage, batch, 0.2, async () => {
      await type(stage, `set-current-version --deployment-name ${QUEUE} --build-id ${NEWER}`);
      await saysOfBuilds(stage, [`${NEWER} get the work`]);
    });
    await inTheMiddle(stage, batch, 0.5, async () => {
      await type(stage, `set-current-version --deployment-name ${QUEUE} --build-id ${OLDER}`);
      await saysOfBuilds(stage, [`${OLDER} get the work`]);
    });
    const failures = async () => (await tasksOf(stage, batch)).failed;
    await eventually(
      'a workflow task that the older build cannot do',
      async () => (await failures()) > 0,
      failures,
    );
    await eventually('a run that needs a person', async () => {
      const { exitCode, stdout } = await command(stage, ['list', '--attention']);
      return exitCode === 6 && stdout.includes(batch.name.policy) && stdout.includes('STUCK');
    });
    await type(stage, '--type FirstWorkflowTask');
    assertPaidOnce(batch, await untilAllEnded(stage, batch));
    await eventually(
      'the end of every workflow of the batch',
      async () => (await openOf(stage, batch)).length === 0,
      async () => (await openOf(stage, batch)).length,
    );
  }));
