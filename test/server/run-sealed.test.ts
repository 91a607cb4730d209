/**
 * What Temporal keeps is sealed: nobody without the file of keys reads an account or an amount there, or puts words into
 * it. Whoever may write to the namespace moves nothing by what he writes, and stops no run of others by it.
 */
import assert from 'node:assert/strict';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Client } from '@temporalio/client';
import type { Payload, PayloadCodec } from '@temporalio/common';
import { loadSettings } from '../../config/config.ts';
import { keysInFile } from '../../config/seal/key-file.ts';
import { sealKeysText, withNewestActive, withNextKey } from '../../config/seal/keys.ts';
import { runName } from '../../domain/references.ts';
import { standingOf } from '../../operations/follow/standing.ts';
import { readStuckChunk } from '../../operations/follow/stuck.ts';
import { listRuns, requireRun } from '../../operations/follow/runs.ts';
import { resetPointsOf } from '../../operations/replay/points.ts';
import { readResetPoints } from '../../operations/replay/verdict.ts';
import { startDevServer } from '../../worker/dev-server.ts';
import { RUN_TYPE, instructionsIdOf, planIdOf, turnIdOf } from '../../workflows/names.ts';
import { applySchedule } from '../support/applied-schedule.ts';
import { assertPaidOnce, paymentsOf, startBatch, untilAllEnded } from '../support/batches.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, assertNothingMoved, openStage, type Run } from '../support/stage.ts';

const dbFile = join(tmpdir(), `cambist-sealed-${process.pid}.db`);
const server = await startDevServer({ port: 0, headless: true, shortTimers: true, dbFile });
const funds = { rates: { 'USD/MXN': '17.25' }, balances: { USD: '1000000', MXN: '1000000' } };
const stage = await openStage({ ...funds, sealed: true, temporalAddress: server.address });
await stage.startWorker();
after(async () => {
  await stage.close();
  await server.stop();
  for (const name of await readdir(tmpdir()))
    if (join(tmpdir(), name).startsWith(dbFile)) await rm(join(tmpdir(), name));
});
const { client } = stage.temporal;
const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
const sealFile = stage.env['CAMBIST_SEAL_KEYS'] ?? '';

/** Somebody with every right on the namespace, and no file of keys. */
const stranger = new Client({ connection: client.connection, namespace: client.options.namespace });

/** Somebody who has copied what stands in Temporal, and writes it again as it is. */
function copier(copy: Payload): Client {
  const codec: PayloadCodec = { encode: async () => [copy], decode: async (payloads) => payloads };
  const { connection, options } = client;
  return new Client({ connection, namespace: options.namespace, dataConverter: { payloadCodecs: [codec] } });
}

async function inputOf(run: Run): Promise<Payload> {
  const { events } = await run.handle.fetchHistory();
  const payload = events?.[0]?.workflowExecutionStartedEventAttributes?.input?.payloads?.[0];
  assert.ok(payload);
  return payload;
}

const PAYMENTS = 6;
const CHUNKS = 2;

/** What `doctor --json` says. */
type Told = {
  readonly checks: readonly { readonly name: string; readonly says: string; readonly code: string | null }[];
};

/** The database with the files beside it, each of which the server may delete at any moment. */
async function database(): Promise<Buffer> {
  const beside = ['-wal', '-journal'].map((end) =>
    readFile(`${dbFile}${end}`).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return Buffer.alloc(0);
      throw error;
    }),
  );
  return Buffer.concat(await Promise.all([readFile(dbFile), ...beside]));
}

test('a run that is paid and one that is refused leave no account, amount, comment or word of a policy in the database of Temporal', async (t) => {
  const comment = 'comment-that-nobody-reads';
  const paid = await stage.start(`# ${comment}\n${convertPolicy()}`);
  const done = await paid.report();
  assertDoneOnce(paid, done);
  const refused = await stage.start(
    convertPolicy({ withdraw: [{ id: 'supplier', account: 'wac_Nobody0001' }] }),
  );
  const report = await refused.report();
  assert.equal(report.status, 'FAILED');
  assert.ok(JSON.stringify(report.problems).includes('wac_Nobody0001'));
  const amount = done.payments[0]?.amount ?? '';
  assert.match(amount, /^\d{4,}/);

  // The control: unsealed, all of it is found there.
  const plain = await openStage({ ...funds, sealed: false, temporalAddress: server.address });
  t.after(() => plain.close());
  await plain.startWorker();
  const words = [MXN_ACCOUNT, amount, comment, 'wac_Nobody0001', 'withdraw:', 'Pay supplier'];
  const sealedOnly = await database();
  for (const word of words) assert.ok(!sealedOnly.includes(word), `"${word}" is in the database`);
  const open = await plain.start(`# ${comment}\n${convertPolicy()}`);
  await open.report();
  const both = await database();
  for (const word of [MXN_ACCOUNT, amount, comment, 'withdraw:', 'Pay supplier'])
    assert.ok(both.includes(word), `"${word}" is not even found where nothing is sealed`);
});

test('with the keys, the steps of a sealed run are told as those of any other one', async () => {
  const run = await stage.start(convertPolicy());
  assertDoneOnce(run, await run.report());
  const facts = await requireRun({ ...stage.temporal, mode: 'SANDBOX' }, run.name);
  const place = { ...stage.temporal, mode: 'SANDBOX', taskQueue, uiUrl: null, say: () => {} } as const;
  const steps = (await readResetPoints(place, facts)).map(({ step }) => step);
  assert.ok(steps.includes('Trade 1,000.00 USD → MXN'), steps.join('\n'));
  const { events } = await run.handle.fetchHistory();
  const unread = await resetPointsOf(events ?? [], async ({ data }) => Buffer.from(data ?? []).toString());
  assert.ok(!unread.some(({ step }) => step.includes('1,000.00')));
});

test('plain inputs, signals, updates and memos of a stranger move nothing, stop nobody, and the list goes on', async () => {
  const ours = await stage.startHeld(convertPolicy(), 'createWithdrawal', { when: 'before' });
  const { workflowId } = ours.run.handle;
  const strange = stranger.workflow.getHandle(workflowId);
  for (const signal of ['news', 'wake', 'anything']) await strange.signal(signal, ours.run.input);
  const words = stranger.workflow.getHandle(instructionsIdOf('SANDBOX', ours.run.name));
  for (const update of ['record', 'note'])
    await assert.rejects(
      words.executeUpdate(update, { args: [{ kind: 'cancel', id: 'x', by: 'ana', why: 'y' }] }),
    );
  const { organisation } = await loadSettings(stage.env, stage.folder).then(({ key }) => key);
  const turn = stranger.workflow.getHandle(turnIdOf('SANDBOX', organisation));
  for (const signal of ['giveBack', 'forget', 'reopen']) await turn.signal(signal, [runName(ours.run.name)]);
  await assert.rejects(turn.executeUpdate('take', { args: [{ run: 'a.b', isPlanning: true }] }));
  ours.release();
  assertDoneOnce(ours.run, await ours.run.report());

  const forged = stage.find(convertPolicy(), {});
  const started = await stranger.workflow.start(RUN_TYPE, {
    workflowId: forged.handle.workflowId,
    taskQueue,
    args: [forged.input],
    memo: { items: ['x'] },
  });
  await assert.rejects(started.result());
  assertNothingMoved(forged);
  const own = ours.run.name.policy;
  const listed = await listRuns(client, 'SANDBOX', { policy: own, onlyOpen: false, limit: null });
  assert.deepEqual(
    listed.map(({ workflowId: id }) => id),
    [workflowId],
  );
});

test('a schedule whose key this command does not have is named by `schedule list` and `doctor`, which go on with the others', async () => {
  const readable = await applySchedule(stage);
  const ahead = join(stage.folder, 'seal-ahead.json');
  const newer = withNewestActive(withNextKey(keysInFile(sealFile).now(), Date.now()));
  await writeFile(ahead, sealKeysText(newer), { mode: 0o600 });
  const sealed = await applySchedule({ ...stage, env: { ...stage.env, CAMBIST_SEAL_KEYS: ahead } });
  const listed = await command(stage, ['schedule', 'list', '--json']);
  assertExit(listed, 0);
  const { schedules } = JSON.parse(listed.stdout) as {
    readonly schedules: readonly { readonly policy: string; readonly missingKey: string | null }[];
  };
  const keyOf = (name: string) => schedules.find(({ policy }) => policy === name)?.missingKey;
  assert.deepEqual([keyOf(readable.name), keyOf(sealed.name)], [null, newer.active.id]);

  // On a busy machine the five seconds of `doctor` may be over before it has asked about the schedules.
  const checks = await eventually('doctor names the schedule', async () => {
    const told = JSON.parse((await command(stage, ['doctor', '--json'])).stdout) as Told;
    const isThere = told.checks.some(
      ({ name, code }) => name === `schedule ${sealed.name}` && code === 'SEAL_KEY_MISSING',
    );
    return isThere ? told.checks : null;
  });
  const found = (name: string) => checks.filter((check) => check.name === name);
  const active = keysInFile(sealFile).now().active.id;
  assert.match(found('sealing keys')[0]?.says ?? '', new RegExp(`^"${active}" of .* seals`));
  assert.deepEqual(found(`schedule ${readable.name}`), []);
});

test('what was sealed for one run starts no other, and another plan does not count', async () => {
  const paid = await stage.start(convertPolicy());
  assertDoneOnce(paid, await paid.report());
  const copy = await inputOf(paid);
  const other = stage.find(convertPolicy(), {});
  const started = await copier(copy).workflow.start(RUN_TYPE, {
    workflowId: other.handle.workflowId,
    taskQueue,
    args: [null],
  });
  await assert.rejects(started.result());
  assertNothingMoved(other);

  // Into the same id it adopts what was paid.
  await copier(copy).workflow.start(RUN_TYPE, {
    workflowId: paid.handle.workflowId,
    taskQueue,
    args: [null],
  });
  assertDoneOnce(paid, await paid.report());

  // A plan that a stranger's own worker would answer with: a plain result is no plan.
  const third = stage.find(convertPolicy(), {});
  await stranger.workflow.start('plan', {
    workflowId: planIdOf('SANDBOX', third.name),
    taskQueue: uniqueName('nobody'),
    args: [third.input],
  });
  await third.startAgain();
  const { status } = await third.until((report) => report.status !== 'RUNNING' || report.legs.length === 0);
  assert.notEqual(status, 'COMPLETED');
  assertNothingMoved(third);
  await third.handle.terminate('seen');
});

test('in the middle of a batch the next key seals at one worker: the other one sends nothing without it and says so, and once it has it everybody is paid once', async (t) => {
  const balances = { ...funds.balances, EUR: '1000000' };
  const office = await openStage({ balances, sealed: true, temporalAddress: server.address });
  t.after(() => office.close());
  const file = office.env['CAMBIST_SEAL_KEYS'] ?? '';
  const newer = withNewestActive(withNextKey(keysInFile(file).now(), Date.now()));
  const ahead = join(office.folder, 'seal-ahead.json');
  await writeFile(ahead, sealKeysText(newer), { mode: 0o600 });
  const operation = 'createWithdrawal';
  const held = office.sandbox.addFault({
    operation,
    times: CHUNKS,
    effect: { kind: 'hold', when: 'before' },
  });
  const first = await office.startWorker({ env: { CAMBIST_SEAL_KEYS: ahead } });
  const batch = await startBatch(office, paymentsOf(PAYMENTS), { perChunk: PAYMENTS / CHUNKS });
  await office.sandbox.faultHit(held, CHUNKS);
  await office.startWorker();
  first.shutdown();
  office.sandbox.releaseFaults(held);
  await first.ended;

  const place = { ...office.temporal, mode: 'SANDBOX', taskQueue, uiUrl: null, say: () => {} } as const;
  const facts = await requireRun(place, batch.name);
  // One look after the other: the first task has failed once Temporal gives it a second time.
  while ((await readStuckChunk(place, batch.name, [1, 2], Date.now()))?.code !== 'SEAL_KEY_MISSING');
  const standing = await standingOf(place, facts, Date.now);
  assert.equal(standing.kind === 'untold' && standing.problem?.code, 'SEAL_KEY_MISSING');
  const told = JSON.parse((await command(office, ['doctor', '--json'])).stdout) as Told;
  assert.deepEqual(
    told.checks.flatMap((check) => (check.name === `run ${runName(batch.name)}` ? [check.code] : [])),
    ['SEAL_KEY_MISSING'],
  );
  console.error(
    'WRITES',
    new Date().toISOString(),
    batch.writes().length,
    batch.movements().withdrawals.length,
  );
  assert.ok(batch.writes().length < PAYMENTS);

  await writeFile(file, sealKeysText(newer));
  assertPaidOnce(batch, await untilAllEnded(office, batch));
});
