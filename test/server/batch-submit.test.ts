/**
 * A batch is submitted whole or not at all, and by any number of people once: against a Temporal without a worker, so that
 * whatever is started stays as it is.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { BatchPayment } from '../../domain/batch.ts';
import type { ChunkInput, RunInput } from '../../domain/run/calls.ts';
import { workflowIdOf, type RunName } from '../../domain/references.ts';
import { add } from '../../domain/money.ts';
import { userInfo } from 'node:os';
import { todayIn } from '../../calendar/business-date.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import type { BatchFile } from '../../operations/batches/file.ts';
import { checkBatch } from '../../operations/batches/check.ts';
import type { CommandFailure } from '../../operations/failure.ts';
import { readStart } from '../../durable/history.ts';
import { submitBatch } from '../../operations/batches/submit.ts';
import { chunkIdOf } from '../../workflows/names.ts';
import { assertExit, command, commandProcess, documentOf, flat, startCommand } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { readPage } from '../support/docs-tables.ts';
import { eventually } from '../support/patience.ts';
import { openStage, type Stage } from '../support/stage.ts';

const ACCOUNT = 'wac_7Hk2mQ9vT4xR';

const EUR_ACCOUNT = 'wac_EuR5epaLive1';

let stage: Stage;
before(async () => {
  stage = await openStage();
});
after(() => stage.close());

type Batch = {
  readonly run: RunName;
  /** Replaces the file. */
  write(rows: readonly string[]): Promise<void>;
  /** What is typed to run it. */
  readonly argv: readonly string[];
};

/** A payout policy and its file, both of a name of their own. */
async function putBatch(
  rows: readonly string[],
  id = `${todayIn('UTC', Date.now())}-weekly`,
): Promise<Batch> {
  const name = uniqueName('pay');
  const file = `${name}.csv`;
  const policy = `${name}.yaml`;
  await writeFile(
    join(stage.folder, policy),
    `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\npayout: { fund: { mode: none } }\n`,
  );
  const write = (all: readonly string[]): Promise<void> =>
    writeFile(join(stage.folder, file), `id,account,currency,amount,note\n${all.join('\n')}\n`);
  await write(rows);
  return {
    run: { policy: name, id },
    write,
    argv: ['run', policy, '--batch', file, '--id', id, '--detach'],
  };
}

function rowOf(number: number, amount = `${number}.50`): string {
  return `inv-${number},${ACCOUNT},EUR,${amount},"for number ${number}"`;
}

function rowsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => rowOf(index + 1));
}

function paymentOf(number: number): BatchPayment {
  return [`inv-${number}`, ACCOUNT, 'EUR', `${number}.5`];
}

async function payoutOf({ run }: Batch): Promise<BatchFile['policyFile']> {
  const loaded = loadPolicy(await readFile(join(stage.folder, `${run.policy}.yaml`), 'utf8'), 'p.yaml');
  assert.ok(loaded.ok && loaded.policy.kind === 'payout');
  return { policy: loaded.policy, destinations: null };
}

/** What each chunk was started with, in order; null for one that is not there. */
async function chunksOf(batch: Batch, count: number): Promise<readonly (ChunkInput | null)[]> {
  const { client } = stage.temporal;
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const starts = await Promise.all(
    numbers.map((number) => readStart(client, chunkIdOf('SANDBOX', batch.run, number))),
  );
  return starts.map((start) => (start === null ? null : (start.input as ChunkInput)));
}

async function runInput(batch: Batch): Promise<RunInput | null> {
  const start = await readStart(stage.temporal.client, workflowIdOf('SANDBOX', batch.run));
  return start === null ? null : (start.input as RunInput);
}

/** Every chunk is there, once, with the rows of the file in their order; and then one more is not. */
async function assertSubmitted(batch: Batch, payments: number): Promise<void> {
  const count = Math.ceil(payments / 500);
  const chunks = await chunksOf(batch, count + 1);
  assert.equal(chunks.at(-1), null);
  assert.deepEqual(
    chunks.flatMap((chunk) => chunk?.payments ?? []),
    Array.from({ length: payments }, (_, index) => paymentOf(index + 1)),
  );
  const input = await runInput(batch);
  assert.deepEqual(
    input?.batch?.chunks.map((chunk) => chunk.payments),
    chunks.slice(0, count).map((chunk) => chunk?.payments.length),
  );
  assert.equal(input?.batch?.payments, payments);
  for (const [index, chunk] of chunks.slice(0, count).entries()) {
    const { isFirst, number, run, mode } = chunk ?? {};
    assert.deepEqual([isFirst, number, run, mode], [true, index + 1, batch.run, 'SANDBOX']);
  }
}

test('a batch is submitted in chunks, then its run is started, and the same again changes nothing', async () => {
  const batch = await putBatch(rowsOf(1_200));
  const first = await command(stage, batch.argv);
  assertExit(first, 8);
  assert.match(flat(first.stderr), /1200 payments, 721,200\.00 EUR\./);
  await assertSubmitted(batch, 1_200);
  const { client } = stage.temporal;
  const chunk = await client.workflow.getHandle(chunkIdOf('SANDBOX', batch.run, 3)).describe();
  assert.equal(chunk.type, 'chunk');
  assert.equal(chunk.memo?.['payments'], 200);
  const again = await command(stage, batch.argv);
  assertExit(again, 8);
  assert.match(again.stderr, /is open already; attaching/);
  const same = await client.workflow.getHandle(chunkIdOf('SANDBOX', batch.run, 3)).describe();
  assert.equal(same.runId, chunk.runId);
  await assertSubmitted(batch, 1_200);
});

test('a submission that is killed at any chunk is completed by the same command', async () => {
  const batch = await putBatch(rowsOf(12_000));
  const from = randomInt(1, 9);
  const killed = startCommand(stage, batch.argv);
  const { client } = stage.temporal;
  const isThere = async (): Promise<boolean> =>
    (await readStart(client, chunkIdOf('SANDBOX', batch.run, from))) !== null;
  await eventually(`chunk ${from}`, async () => killed.process.exitCode !== null || isThere());
  killed.process.kill('SIGKILL');
  await killed.ended;
  const there = await chunksOf(batch, 24);
  assert.ok(there.some((chunk) => chunk === null) || (await runInput(batch)) === null, `killed at ${from}`);
  assertExit(await command(stage, batch.argv), 8);
  await assertSubmitted(batch, 12_000);
});

test('three submissions side by side make one set of chunks and one run', async () => {
  const batch = await putBatch(rowsOf(2_600));
  const ended = await Promise.all([1, 2, 3].map(() => commandProcess(stage, batch.argv)));
  for (const one of ended) assertExit(one, 8);
  await assertSubmitted(batch, 2_600);
});

test('a changed file is refused with the rows that differ, and nothing more is started', async () => {
  const batch = await putBatch(rowsOf(1_001));
  assertExit(await command(stage, batch.argv), 8);
  await batch.write([...rowsOf(999), 'inv-1000b,wac_7Hk2mQ9vT4xR,EUR,7.00,x', rowOf(1_001, '2')]);
  const refused = await command(stage, batch.argv);
  assertExit(refused, 4);
  const said = flat(refused.stderr);
  assert.match(
    said,
    /^\S+: 1001 payments, .* BATCH_CHANGED \S+: .* now: 1 new, 1 changed, 1 gone; nothing was sent\./,
  );
  assert.match(said, /BATCH_ROW_NEW \S+\.csv:1001: inv-1000b is new: 7\.00 EUR to wac_7Hk2mQ9vT4xR\./);
  assert.match(
    said,
    /BATCH_ROW_CHANGED \S+\.csv:1002: inv-1001 is changed: it was 1,001\.50 EUR to wac_\w+, and is 2\.00 EUR/,
  );
  assert.match(said, /BATCH_ROW_GONE \S+-weekly: inv-1000 is gone: 1,000\.50 EUR to wac_7Hk2mQ9vT4xR\./);
  const document = documentOf(await command(stage, [...batch.argv, '--json'])) as {
    readonly problems: readonly { readonly code: string }[];
    readonly exitCode: number;
  };
  assert.equal(document.exitCode, 4);
  assert.deepEqual(
    document.problems.map(({ code }) => code),
    ['BATCH_CHANGED', 'BATCH_ROW_NEW', 'BATCH_ROW_CHANGED', 'BATCH_ROW_GONE'],
  );
  await batch.write(rowsOf(1_001).toReversed());
  const turned = await command(stage, batch.argv);
  assertExit(turned, 4);
  assert.match(flat(turned.stderr), /now: the same ones, in another order;/);
  await batch.write(rowsOf(400));
  assert.match(flat((await command(stage, batch.argv)).stderr), /0 new, 0 changed, 601 gone/);
  await batch.write(rowsOf(1_001));
  assertExit(await command(stage, batch.argv), 8);
  await assertSubmitted(batch, 1_001);
});

test('the guide shows how a changed file is refused', async () => {
  const batch = await putBatch(rowsOf(3));
  assertExit(await command(stage, batch.argv), 8);
  await batch.write([rowOf(1), rowOf(2, '20'), rowOf(4, '11')]);
  const { exitCode, stderr } = await command(stage, batch.argv);
  assert.equal(exitCode, 4);
  const { policy, id } = batch.run;
  const said = stderr
    .replaceAll(`${policy}.csv`, 'november.csv')
    .replaceAll(policy, 'contractors')
    .replaceAll(id, '2026-11-21-weekly');
  const shown = readPage('docs/payouts.md').block('Running a batch', 'console');
  assert.equal(flat(said).trim(), flat(shown.replace(/^\$.*\n/, '')).trim());
});

test('a file that changes while it is submitted is refused, and starts no run', async () => {
  const batch = await putBatch(rowsOf(1_100));
  const file: BatchFile = {
    file: `${batch.run.policy}.csv`,
    cwd: stage.folder,
    policyFile: await payoutOf(batch),
    decimals: {},
  };
  const expected = { count: null, sums: [] };
  const { manifest } = await checkBatch(file, { expected, mostFindings: 50, onRows: () => {} });
  assert.ok(manifest !== null);
  const taskQueue = stage.env['CAMBIST_TASK_QUEUE'] ?? '';
  const place = { ...stage.temporal, mode: 'SANDBOX', taskQueue, uiUrl: null, say: () => {} } as const;
  const submission = { run: batch.run, batch: { file, manifest }, isFirst: true, onSubmitted: () => {} };
  for (const rows of [rowsOf(1_101), rowsOf(1_000), [...rowsOf(1_099), rowOf(1_100, '1,1')]]) {
    await batch.write(rows);
    await assert.rejects(submitBatch(place, submission), (error: CommandFailure) => {
      assert.deepEqual(
        [error.ending, error.problems.map(({ code }) => code)],
        ['refused by us', ['BATCH_FILE_CHANGED']],
      );
      return true;
    });
  }
  assert.equal(await runInput(batch), null);
  await batch.write(rowsOf(1_100));
  assertExit(await command(stage, batch.argv), 8);
  await assertSubmitted(batch, 1_100);
});

test('a file that differs from what was submitted in part is refused, and nothing of it is started', async () => {
  const batch = await putBatch([rowOf(1, '9'), ...rowsOf(1_400).slice(1, -1)]);
  const { client } = stage.temporal;
  for (const number of [1, 2]) {
    const payments = Array.from({ length: 500 }, (_, index) => paymentOf(500 * (number - 1) + index + 1));
    const input: ChunkInput = { run: batch.run, mode: 'SANDBOX', number, payments, isFirst: true };
    await client.workflow.start('chunk', {
      workflowId: chunkIdOf('SANDBOX', batch.run, number),
      taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
      args: [input],
    });
  }
  const differs = async (what: RegExp): Promise<void> => {
    const refused = await command(stage, batch.argv);
    assertExit(refused, 4);
    assert.match(flat(refused.stderr), what);
  };
  await differs(
    /now: 1 changed, 0 gone; it cannot be told which are new, since only a part of the batch was submitted;/,
  );
  await batch.write(rowsOf(300));
  await differs(/now: 0 changed, 700 gone;/);
  await batch.write(rowsOf(500));
  await differs(/now: 0 changed, 500 gone;/);
  assert.deepEqual((await chunksOf(batch, 4)).slice(2), [null, null]);
  assert.equal(await runInput(batch), null);
  await batch.write(rowsOf(1_400));
  assertExit(await command(stage, batch.argv), 8);
  await assertSubmitted(batch, 1_400);
});

test('a file with a mistake starts nothing, and neither does one with other totals', async () => {
  const batch = await putBatch([...rowsOf(700), rowOf(701, '"1,50"')]);
  const refused = await command(stage, batch.argv);
  assertExit(refused, 2);
  assert.match(
    flat(refused.stderr),
    /^BATCH_AMOUNT \S+\.csv:702:\d+ \(payment \S+\): .* BATCH_REFUSED: \S+\.csv has 1 mistake in 701 payments;/,
  );
  await batch.write(rowsOf(3));
  const short = await command(stage, [...batch.argv, '--expect-count', '4', '--expect-total', '9.00 EUR']);
  assertExit(short, 2);
  assert.match(
    flat(short.stderr),
    /^BATCH_CONTROL_COUNT --expect-count: .* BATCH_CONTROL_TOTAL .* 2 mistakes/,
  );
  assert.deepEqual(await chunksOf(batch, 2), [null, null]);
  assert.equal(await runInput(batch), null);
});

test('a chunk that Temporal has lost is submitted once more, as one that is not the first', async () => {
  const batch = await putBatch(rowsOf(1_200));
  assertExit(await command(stage, batch.argv), 8);
  const { client } = stage.temporal;
  const workflowId = chunkIdOf('SANDBOX', batch.run, 2);
  await client.workflowService.deleteWorkflowExecution({
    namespace: stage.temporal.namespace,
    workflowExecution: { workflowId },
  });
  await eventually('the chunk is deleted', async () => (await readStart(client, workflowId)) === null);
  assertExit(await command(stage, batch.argv), 8);
  const chunks = await chunksOf(batch, 3);
  assert.deepEqual(
    chunks.map((chunk) => chunk?.isFirst),
    [true, false, true],
  );
});

test('a plan of a batch tells its sums and what cannot be paid, and starts nothing', async () => {
  const batch = await putBatch([
    ...rowsOf(3),
    `gone,wac_NotRegistered1,EUR,5.00,x`,
    `free,${EUR_ACCOUNT},EUR,7.00,x`,
  ]);
  const [, policy = '', ...rest] = batch.argv;
  const typed = ['plan', policy, ...rest.slice(0, 2)];
  const planned = await command(stage, typed);
  assertExit(planned, 0);
  const said = flat(planned.stdout);
  assert.match(
    said,
    /Batch It has 5 payments: 19\.50 EUR\. Of these, 4 cannot be paid and would not be funded; they are listed below\./,
  );
  assert.match(
    said,
    new RegExp(`To run it: npx cambist run ${policy} --batch \\S+\\.csv --id \\d{4}-\\d\\d-\\d\\d $`),
  );
  assert.match(
    said,
    /Of 5 payments, 4 cannot be paid and would not be funded: 1 payment, ACCOUNT_MISSING: .* (\S+\.csv):5: gone, 5\.00 EUR to wac_NotRegistered1\. The service does not know .*\. 3 payments, ACCOUNT_CURRENCY: .* \1:2: inv-1, 1\.50 EUR to wac_7Hk2mQ9vT4xR\. Withdrawal account "wac_7Hk2mQ9vT4xR" does not take EUR\./,
  );
  const document = documentOf(await command(stage, [...typed, '--json'])) as {
    readonly batch: unknown;
    readonly unpayable: {
      readonly payments: number;
      readonly first: readonly Readonly<Record<string, unknown>>[];
    };
  };
  assert.equal(document.unpayable.payments, 4);
  assert.deepEqual(
    document.unpayable.first.map(({ line, id, code }) => [line, id, code]),
    [
      [2, 'inv-1', 'ACCOUNT_CURRENCY'],
      [3, 'inv-2', 'ACCOUNT_CURRENCY'],
      [4, 'inv-3', 'ACCOUNT_CURRENCY'],
      [5, 'gone', 'ACCOUNT_MISSING'],
    ],
  );
  assert.deepEqual(document.batch, {
    payments: 5,
    totals: [{ currency: 'EUR', value: '19.5' }],
    payable: [{ currency: 'EUR', value: '7' }],
  });
  const fileless = await command(stage, ['plan', policy]);
  assertExit(fileless, 2);
  assert.match(fileless.stderr, /^BATCH_MISSING --batch: /);
  assert.deepEqual(await chunksOf(batch, 1), [null]);
});

test('a plan of a batch that buys nothing says before the first payment what money is missing', async () => {
  const batch = await putBatch([`big,${EUR_ACCOUNT},EUR,987654321.00,x`, `small,${EUR_ACCOUNT},EUR,1.00,x`]);
  const [, policy = '', ...rest] = batch.argv;
  const planned = await command(stage, ['plan', policy, ...rest.slice(0, 2)]);
  assertExit(planned, 4);
  const [, missing = '', there = ''] =
    /short of ([\d,]+\.\d\d) EUR \(it pays 987,654,322\.00 EUR, and ([\d,]+\.\d\d) EUR are withdrawable\)/
      .exec(flat(planned.stdout))
      ?.map((amount) => amount.replaceAll(',', '')) ?? [];
  assert.equal(add(missing, there), '987654322', planned.stdout);
  assert.ok(Number(there) > 0, planned.stdout);
  assert.match(flat(planned.stdout), /`shortfall: skip`: the payments for which there is no money/);
});

test('a batch that is started says as well what money is missing and which rows cannot be paid, before it is submitted', async () => {
  const batch = await putBatch([
    `big,${EUR_ACCOUNT},EUR,987654321.00,x`,
    `gone,wac_NotRegistered1,EUR,5.00,x`,
  ]);
  const started = await command(stage, batch.argv);
  assertExit(started, 8);
  assert.match(
    flat(started.stderr),
    /2 payments, 987,654,326\.00 EUR\. Of 2 payments, 1 cannot be paid and would not be funded: 1 payment, ACCOUNT_MISSING: .* \S+\.csv:3: gone, 5\.00 EUR .* warning SHORTFALL p\S+-weekly: The batch is short of .* EUR are withdrawable\)\. `shortfall: skip`: the payments for which there is no money would not be paid\. Bring money in,/,
  );
  assert.equal((await runInput(batch))?.batch?.payments, 2);
  assert.doesNotMatch((await command(stage, batch.argv)).stderr, /SHORTFALL/);
});

test('a payout needs an id and its file to be started, and only the file to be shown', async () => {
  const batch = await putBatch(rowsOf(2));
  const [run = '', policy = ''] = batch.argv;
  const nameless = await command(stage, [run, policy, '--batch', `${batch.run.policy}.csv`]);
  assertExit(nameless, 2);
  const today = todayIn('UTC', Date.now());
  assert.match(
    flat(nameless.stderr),
    new RegExp(`^RUN_ID --id: a batch needs an --id, so .* --id ${today}-weekly,`),
  );
  const fileless = await command(stage, [run, policy, '--id', batch.run.id, '--detach']);
  assertExit(fileless, 2);
  assert.match(fileless.stderr, /^BATCH_MISSING --batch: /);
  assertExit(await command(stage, batch.argv), 8);
  const shown = await command(stage, [run, policy, '--id', batch.run.id, '--detach', '--json']);
  assertExit(shown, 8);
  assert.equal(
    (JSON.parse(shown.stdout) as { startedBy: string }).startedBy,
    `${userInfo().username} (login of this machine)`,
  );
  assert.match(shown.stderr, /is open already; attaching/);
});

test('a batch of yesterday is submitted, one whose payments are not sent any more is not', async () => {
  const daysAgo = (days: number): string => todayIn('UTC', Date.now() - days * 86_400_000);
  const yesterday = await putBatch(rowsOf(2), `${daysAgo(1)}-weekly`);
  assertExit(await command(stage, yesterday.argv), 8);
  const old = await putBatch(rowsOf(2), `${daysAgo(7)}-weekly`);
  const refused = await command(stage, old.argv);
  assertExit(refused, 2);
  assert.match(refused.stderr, /^.*\nRUN_ID_PAST --id: /);
  assert.deepEqual(await chunksOf(old, 1), [null]);
});
