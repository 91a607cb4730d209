/** What a person sees of a batch of several chunks: how it goes, its report, and the file of its results. */
import assert from 'node:assert/strict';
import { seenAs } from '../../domain/run/report.ts';
import { readFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { CHUNK } from '../../domain/batch.ts';
import { assertExit, command, documentOf, flat, reportOf } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { startChunk } from '../../durable/batches/chunks.ts';
import { listUnfinished } from '../../operations/batches/unfinished.ts';
import { chunkIdOf } from '../../workflows/names.ts';
import { patiently } from '../support/patiently.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage({ balances: { USD: '1000000' } });
  await stage.startWorker();
});
after(() => stage.close());

/** The last cell of a row of results. */
function traceOf(line: string): string | null {
  return line.slice(line.lastIndexOf(',') + 1) || null;
}

/** Of two chunks. */
const PAYMENTS = 600;
/** One payment more than a chunk has. */
const FEWEST_OF_TWO_CHUNKS = CHUNK.payments + 1;
const DATE = new Date().toISOString().slice(0, 10);

test('a batch of 600 payments is followed in a few lines, told in a few more, and its results stand behind its rows', async () => {
  const name = uniqueName('p');
  await writeFile(
    join(stage.folder, `${name}.yaml`),
    `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\npayout: { fund: { mode: none } }\n`,
  );
  // Every hundredth goes to an account that the service does not list.
  const rows = Array.from({ length: PAYMENTS }, (_, index) => {
    const account = index % 100 === 7 ? 'wac_Nowhere1' : 'wac_U5DFedw1re9';
    return `"Nr; ${index}",inv-${index},${account},USD,1.00`;
  });
  const text = `note,id,account,currency,amount\n${rows.join('\n')}\n`;
  await writeFile(join(stage.folder, `${name}.csv`), text);
  const run = `${name}.${DATE}-weekly`;
  const ran = await command(stage, [
    ...['run', `${name}.yaml`, '--batch', `${name}.csv`, '--id', `${DATE}-weekly`],
    ...['--out', `${name}-results.csv`, '--wait'],
  ]);
  assertExit(ran, 5);
  assert.match(ran.stdout, /batch payments: \d+ of 600 accepted, \d+ paid/);
  assert.match(ran.stdout, /^594 of 600 payments are paid, 6 are not paid \(6 account not registered\)\.$/m);
  assert.match(ran.stdout, /^6 payments, ACCOUNT_MISSING: /m);
  assert.ok(ran.stdout.split('\n').length < 100, ran.stdout);
  assert.match(ran.stderr, /results\.csv: the results of 600 payments\./);

  const written = await readFile(join(stage.folder, `${name}-results.csv`), 'utf8');
  const [header, ...lines] = written.trimEnd().split('\n');
  assert.equal(
    header,
    'note,id,account,currency,amount,outcome,withdrawal_id,status,sent_at (UTC),seen_paid_at (UTC),reason,trace_id',
  );
  assert.equal(lines.length, PAYMENTS);
  const booked = new Set(stage.sandbox.ledger().withdrawals.map(({ id }) => String(id)));
  const sent = stage.sandbox.requests().filter(({ operation }) => operation === 'createWithdrawal');
  const traces = new Set(sent.map(({ traceId }) => traceId));
  for (const [index, line] of lines.entries()) {
    const row = rows[index] ?? '';
    assert.ok(line.startsWith(`${row},`), line);
    const [outcome, withdrawalId = ''] = line.slice(row.length + 1).split(',');
    assert.equal(outcome, index % 100 === 7 ? 'NOT_PAID' : 'PAID', line);
    assert.equal(booked.has(withdrawalId), outcome === 'PAID', line);
    assert.equal(traces.has(traceOf(line) ?? ''), outcome === 'PAID', line);
  }
  assert.deepEqual(
    (await readdir(stage.folder)).filter((file) => file.endsWith('.part')),
    [],
  );

  const status = await command(stage, ['status', run]);
  assertExit(status, 5);
  assert.match(
    flat(status.stdout),
    /ended PARTIAL \(594 of 600 items done\)\. 6 not paid: 6 account not registered\./,
  );
  assert.match(status.stdout, /^payments +600 +594 +594 +6 +0$/m);
  assert.match(status.stdout, /^USD +600\.00 +594\.00 +594\.00 +6\.00 +0\.00$/m);
  const told = documentOf(await command(stage, ['status', run, '--json']));
  assert.equal((told as { batch: { counts: { paid: number } } }).batch.counts.paid, 594);

  const reported = await command(stage, ['report', run, '--json']);
  assert.deepEqual(
    reportOf(reported).payments.map(({ id }) => id),
    Array.from({ length: PAYMENTS }, (_, index) => `inv-${index}`),
  );

  const streamed = await command(stage, ['report', run, '--jsonl']);
  assert.equal(streamed.exitCode, reported.exitCode);
  const { payments, problems, evidence, ...whole } = reportOf(reported);
  // When each payment was seen paid stands beside it.
  const seenPaid = seenAs('paid', { evidence });
  const wanted = [
    { run: { ...whole, evidence: evidence.filter(({ item }) => !seenPaid.has(item)) } },
    ...payments.map((payment, index) => ({
      payment,
      traceId: traceOf(lines[index] ?? ''),
      seenPaidAt: seenPaid.get(payment.id) ?? null,
    })),
    ...problems.map((problem) => ({ problem })),
  ];
  const byLine = (one: unknown): string => JSON.stringify(one);
  assert.deepEqual(streamed.stdout.trimEnd().split('\n').toSorted(), wanted.map(byLine).toSorted());
  assert.equal(streamed.stdout.split('\n')[0], byLine(wanted[0]));

  const later = ['report', run, '--batch', `${name}.csv`, '--out', `${name}-later.csv`];
  assertExit(await command(stage, later), 5);
  assert.equal(await readFile(join(stage.folder, `${name}-later.csv`), 'utf8'), written);
  await writeFile(join(stage.folder, `${name}.csv`), text.replace('USD,1.00', 'USD,2.00'));
  assertExit(await command(stage, later), 4);
});

test('what became of each payment of a batch that is completed is told without a worker', async (context) => {
  const own = await openStage({ balances: { USD: '1000000' } });
  context.after(() => own.close());
  const worker = await own.startWorker();
  const name = uniqueName('p');
  await writeFile(
    join(own.folder, `${name}.yaml`),
    `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\npayout: { fund: { mode: none } }\n`,
  );
  const rows = Array.from(
    { length: FEWEST_OF_TWO_CHUNKS },
    (_, index) => `inv-${index},wac_U5DFedw1re9,USD,1.00`,
  );
  await writeFile(join(own.folder, `${name}.csv`), `id,account,currency,amount\n${rows.join('\n')}\n`);
  const ran = ['run', `${name}.yaml`, '--batch', `${name}.csv`, '--id', `${DATE}-weekly`, '--wait'];
  assertExit(await command(own, ran), 0);
  // They end a moment after their run: then nobody need be asked.
  const run = { policy: name, id: `${DATE}-weekly` };
  for (const number of [1, 2])
    await own.temporal.client.workflow.getHandle(chunkIdOf('SANDBOX', run, number)).result();
  worker.shutdown();
  await worker.ended;
  const { payments, totals } = reportOf(await command(own, ['report', `${name}.${DATE}-weekly`, '--json']));
  assert.deepEqual(totals, [
    {
      currency: 'USD',
      planned: `${FEWEST_OF_TWO_CHUNKS}`,
      paid: `${FEWEST_OF_TWO_CHUNKS}`,
      notPaid: '0',
      needsHuman: '0',
    },
  ]);
  const booked = own.sandbox.ledger().withdrawals.map(({ id }) => String(id));
  const told = payments.map(({ withdrawalId }) => String(withdrawalId));
  assert.deepEqual(told.toSorted(), booked.toSorted());
  assert.deepEqual(
    payments.map(({ id }) => id),
    Array.from({ length: FEWEST_OF_TWO_CHUNKS }, (_, index) => `inv-${index}`),
  );
});

test('results that could not be written are refused before anything moves', async () => {
  const name = uniqueName('p');
  await writeFile(
    join(stage.folder, `${name}.yaml`),
    `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\npayout: { fund: { mode: none } }\n`,
  );
  const batch = `${name}.csv`;
  await writeFile(join(stage.folder, batch), 'id,account,currency,amount\na-1,wac_U5DFedw1re9,USD,1.00\n');
  const args = ['run', `${name}.yaml`, '--batch', batch, '--id', `${DATE}-weekly`];
  for (const [out, said] of [
    [['--out', 'nowhere/results.csv'], /RESULTS_UNWRITABLE nowhere\/results\.csv/],
    [['--out', batch], /it is p-[^ ]+\.csv, which the command reads/],
    [['--out', '.'], /it is no file/],
    [['--out', 'results.csv', '--detach'], /before there are results/],
  ] as const) {
    const refused = await command(stage, [...args, ...out]);
    assertExit(refused, 2);
    assert.match(refused.stderr.replaceAll(/\s+/g, ' '), said);
  }
  assertExit(await command(stage, ['report', `${name}.${DATE}-weekly`]), 2);
});

test('a batch of which nobody completed the submission is found, once it is old enough', async () => {
  const { client } = stage.temporal;
  const run = { policy: uniqueName('p'), id: `${DATE}-cut` };
  const payments = [['a-1', 'wac_U5DFedw1re9', 'USD', '1']] as const;
  // Where no worker is, it stays as it is.
  const input = { run, mode: 'SANDBOX' as const, number: 1, payments, isFirst: true };
  await startChunk(client, uniqueName('nobody'), input, 'REJECT_DUPLICATE');
  const find = async (nowMs: number) =>
    (await listUnfinished(client, 'SANDBOX', nowMs)).find((one) => one.run.policy === run.policy) ?? null;
  const found = await patiently(async () => {
    const one = await find(Date.now() + 200_000);
    assert.ok(one !== null);
    return one;
  });
  assert.deepEqual([found.run, found.chunks], [run, 1]);
  assert.equal(await find(Date.now()), null);
  await client.workflow.getHandle(chunkIdOf('SANDBOX', run, 1)).terminate();
});
