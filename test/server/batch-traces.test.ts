/** The trace id of each payment of a batch, by which the service finds its reply: also where a chunk has gone on in a new history. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { chunkIdOf } from '../../workflows/names.ts';
import { assertExit, command } from '../support/commands.ts';
import { startServerOfShortHistories, uniqueName } from '../support/dev-server.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { openStage } from '../support/stage.ts';

const server = await startServerOfShortHistories(30);
const stage = await openStage({ balances: { USD: '1000000' }, temporalAddress: server.address });
await stage.startWorker();
after(async () => {
  await stage.close();
  await server.kill();
});

const PAYMENTS = 200;
const DATE = new Date().toISOString().slice(0, 10);

/** What the service has under the name of each payment. */
function tracesAtService(): ReadonlyMap<string, string> {
  const sent = stage.sandbox.requests().filter(({ operation }) => operation === 'createWithdrawal');
  return new Map(sent.map(({ reference, traceId }) => [String(reference).split('.').at(-1) ?? '', traceId]));
}

test('the trace id of every payment stands in the results and in the JSON Lines, also after new histories and a reset', async () => {
  const name = uniqueName('p');
  await writeFile(
    join(stage.folder, `${name}.yaml`),
    `policy: 1\nkind: payout\nname: ${name}\nenvironment: sandbox\npayout: { fund: { mode: none } }\n`,
  );
  const rows = Array.from(
    { length: PAYMENTS },
    (_, index) => `inv-${index},wac_U5DFedw1re9,USD,${index + 1}`,
  );
  await writeFile(join(stage.folder, `${name}.csv`), `id,account,currency,amount\n${rows.join('\n')}\n`);
  const run = { policy: name, id: `${DATE}-weekly` };
  const asked = ['--batch', `${name}.csv`, '--out', 'results.csv'];
  assertExit(await command(stage, ['run', `${name}.yaml`, '--id', run.id, ...asked, '--wait']), 0);

  const chunk = stage.temporal.client.workflow.getHandle(chunkIdOf('SANDBOX', run, 1));
  const { raw, runId } = await chunk.describe();
  assert.notEqual(raw.workflowExecutionInfo?.firstRunId, runId, 'The chunk has gone on in a new history.');
  const traces = tracesAtService();
  assert.equal(traces.size, PAYMENTS);

  const assertTold = async (): Promise<void> => {
    const runText = `${name}.${run.id}`;
    assertExit(await command(stage, ['report', runText, ...asked]), 0);
    const [, ...lines] = (await readFile(join(stage.folder, 'results.csv'), 'utf8')).trimEnd().split('\n');
    const inResults = lines.map((line) => [line.split(',')[0], line.split(',').at(-1)] as const);
    assertTraces(new Map(inResults), traces);
    const { stdout } = await command(stage, ['report', runText, '--jsonl']);
    const told = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);
    const inLines = told.flatMap(({ payment, traceId }) => (payment ? [[payment.id, traceId] as const] : []));
    assertTraces(new Map(inLines), traces);
  };
  await assertTold();

  // After the last send: of what a reset leaves behind, the history that goes on knows nothing.
  const point = (await resetPoints(chunk)).at(-1);
  assert.ok(point !== undefined);
  await resetTo(stage.temporal, { workflowId: chunk.workflowId, runId }, point);
  await chunk.result();
  await assertTold();
});

/**
 * What was told is so, of the same payments. On a busy machine some calls end before their reply: those payments are found in the
 * list, which has no trace ids.
 */
function assertTraces(told: ReadonlyMap<unknown, unknown>, traces: ReadonlyMap<unknown, unknown>): void {
  const known = [...told].filter(([, traceId]) => Boolean(traceId));
  assert.deepEqual(
    known,
    known.map(([id]) => [id, traces.get(id)]),
  );
  assert.deepEqual(new Set(told.keys()), new Set(traces.keys()));
  assert.ok(known.length > PAYMENTS / 2, `${known.length} of ${PAYMENTS} are told`);
}

type Line = { readonly payment?: { readonly id: string }; readonly traceId?: string | null };
