/**
 * Canaries in what a batch leaves behind: the histories of its run, chunk and instructions, its results and reports, the logs
 * of workers as processes in both forms, and what commands print about it (M6).
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { workflowIdOf } from '../../domain/references.ts';
import { chunkIdOf, instructionsIdOf, planIdOf } from '../../workflows/names.ts';
import { ACCOUNTS, assertNone, canariesOf, keptOf, quoting } from '../support/canaries.ts';
import { command, startCommand, type Started } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { patiently } from '../support/patiently.ts';
import { openServiceProxy } from '../support/proxy.ts';
import { openStage } from '../support/stage.ts';

const stage = await openStage({
  accounts: ACCOUNTS,
  balances: { USDC: '1000', MXN: '0' },
});
const service = new URL(stage.sandbox.baseUrl);
const proxy = await openServiceProxy(service.host);
// Commands ask the service as well: all of them by the proxy, which sees every token.
const seen = {
  ...stage,
  env: { ...stage.env, CAMBIST_BASE_URL: `http://${proxy.address}${service.pathname}` },
};
const started: Started[] = [];
after(async () => {
  for (const { process } of started) process.kill('SIGKILL');
  await stage.close();
  await proxy.close();
});

/** Works for as long as `work` takes; what it has logged. */
async function withWorker(options: readonly string[], work: () => Promise<void>): Promise<string> {
  const worker = startCommand(seen, ['worker', ...options]);
  started.push(worker);
  await worker.says(/ready/);
  await work();
  worker.process.kill('SIGTERM');
  const { stdout, stderr } = await worker.ended;
  return stdout + stderr;
}

const NAME = uniqueName('p');
const RUN = { policy: NAME, id: `${new Date().toISOString().slice(0, 10)}-weekly` };
const RUN_TEXT = `${NAME}.${RUN.id}`;

const POLICY = `policy: 1
kind: payout
name: ${NAME}
environment: sandbox
payout: { fund: { mode: none } }
shortfall: hold
`;

/** What else stands in a row stays in its file, and in the results, which are the same file. */
const PAYEE = 'Canary of the file';
const ROWS = [
  ...[1, 2, 3].map((index) => ['paid', index, 'wac_7Hk2mQ9vT4xR', 'MXN'] as const),
  ['shut', 1, 'wac_ShutAccount', 'MXN'] as const,
  ['broken', 1, 'wac_BrokenWa99et', 'USDC'] as const,
].map(([what, index, account, currency]) => `${what}-${index},${account},${currency},${index}0.00,${PAYEE}`);

const BATCH = ['--id', RUN.id, '--batch', `${NAME}.csv`];

/** What has been printed, by the command. */
const printed: Record<string, string> = {};

async function type(argv: readonly string[]): Promise<string> {
  const { stdout, stderr } = await command(seen, argv);
  const name = argv.join(' ');
  printed[name] = `${printed[name] ?? ''}${stdout}${stderr}`;
  return stdout;
}

/** Everything that tells how the run stands, as text and as data. */
async function askAll(): Promise<void> {
  const asked = [
    ['status'],
    ['status', RUN_TEXT],
    ['list'],
    ['list', '--attention'],
    ['explain-reset', RUN_TEXT],
    ['report', RUN_TEXT],
    ['report', RUN_TEXT, '--refresh'],
    ['doctor'],
  ];
  const all = asked.flatMap((words) => [words, [...words, '--json']]);
  await Promise.all([...all, ['report', RUN_TEXT, '--jsonl']].map(type));
}

/** All Temporal runs of all workflows of the batch. */
async function kept(): Promise<string> {
  const { client } = stage.temporal;
  const ids = [
    workflowIdOf('SANDBOX', RUN),
    planIdOf('SANDBOX', RUN),
    chunkIdOf('SANDBOX', RUN, 1),
    instructionsIdOf('SANDBOX', RUN),
  ];
  const texts: string[] = [];
  for (const id of ids) {
    const texted = texts.length;
    for await (const { runId } of client.workflow.list({ query: `WorkflowId = '${id}'` }))
      texts.push(await keptOf(client.workflow.getHandle(id, runId)));
    assert.ok(texts.length > texted, id);
  }
  return texts.join('\n');
}

test('the key, tokens, signatures and beneficiaries are in nothing that a batch leaves behind, and in no answer about it', async () => {
  await writeFile(join(stage.folder, `${NAME}.yaml`), POLICY);
  await writeFile(join(stage.folder, `${NAME}.csv`), `id,account,currency,amount,name\n${ROWS.join('\n')}\n`);
  await writeFile(
    join(stage.folder, 'shut.csv'),
    'id,account,currency,amount\nshut-2,wac_ShutAccount,MXN,5.00\n',
  );

  const asText = await withWorker([], async () => {
    await type(['run', `${NAME}.yaml`, '--id', `${RUN.id}-shut`, '--batch', 'shut.csv', '--wait']);
    // The first sends of all payments that could be paid; the next ones lack money.
    for (let sends = 0; sends < 3; sends += 1) proxy.answerNext('/fx/withdrawals', quoting('SOMETHING_NEW'));
    await type(['run', `${NAME}.yaml`, ...BATCH, '--detach']);
    await patiently(async () =>
      assert.match(await type(['status', RUN_TEXT]), /SOMETHING_NEW|INSUFFICIENT_BALANCE/),
    );
    await askAll();
  });
  const asRecords = await withWorker(['--json'], async () => {
    stage.sandbox.deposit({ currency: 'MXN', amount: '1000' });
    await type(['replay', RUN_TEXT]);
    await type(['run', `${NAME}.yaml`, ...BATCH, '--wait', '--out', 'results.csv']);
    await type(['list', '--acknowledge', RUN_TEXT, '--by', 'ana', '--reason', 'asked the bank']);
    await askAll();
  });

  const canaries = await canariesOf(stage, proxy);
  const results = await readFile(join(stage.folder, 'results.csv'), 'utf8');
  const histories = await kept();
  // What is looked for was really there, and what is searched really holds what it should.
  assert.ok(proxy.credentials.length > 30);
  assert.ok(histories.includes(`${RUN_TEXT}.paid-1`) && histories.includes('asked the bank'));
  assert.ok(histories.includes('The service answered SOMETHING_NEW'));
  assert.match(results, /^paid-1,.*,PAID,/m);
  for (const log of [asText, asRecords]) assert.match(log, /warning.*Workflow failed/);
  for (const [asked, text] of Object.entries(printed)) assert.ok(text.length > 20, asked);
  assertNone(canaries, { histories, results, asText, asRecords, ...printed });
  assertNone([PAYEE], { histories, asText, asRecords, ...printed });
});
