/** Server, worker and run are started in any order: nobody reads of search attributes, or of a server that is not up yet. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startDevServer } from '../../worker/dev-server.ts';
import { InfrastructureError } from '../../config/errors.ts';
import { connectTemporal } from '../../config/temporal.ts';
import { modeAttribute } from '../../workflows/names.ts';
import { assertExit, commandProcess, putPolicy, startCommand } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { openStage } from '../support/stage.ts';

const stage = await openStage();
after(() => stage.close());

test('worker and run that are typed before the server wait for it, say so, and do the work', async () => {
  // A port that is free now; the server is told to take it.
  const probe = await startDevServer({ port: 0, headless: true });
  await probe.stop();
  const { address } = probe;
  const env = { TEMPORAL_ADDRESS: address };
  const waiting = /Waiting up to \d+ s for Temporal at 127\.0\.0\.1:\d+/;
  const policy = await putPolicy(stage);
  const worker = startCommand(stage, ['worker'], { env });
  const run = startCommand(stage, ['run', policy.file, '--json'], { env });
  await Promise.all([worker.says(waiting), run.says(waiting)]);

  const server = await startDevServer({
    port: Number(address.split(':')[1]),
    headless: true,
    shortTimers: true,
    searchAttributes: [],
  });
  try {
    assertExit(await run.ended, 0);
    worker.process.kill('SIGTERM');
    assertExit(await worker.ended, 0);
  } finally {
    worker.process.kill('SIGKILL');
    await server.kill();
  }
});

test('a namespace that lacks the search attributes takes runs as soon as several have connected side by side', async () => {
  const server = await startDevServer({ port: 0, headless: true, searchAttributes: [] });
  try {
    const env = { TEMPORAL_ADDRESS: server.address };
    const patience = { ms: 30_000, say: () => {} };
    const all = await Promise.all([1, 2, 3].map(() => connectTemporal(env, 'SANDBOX', patience)));
    for (const { client } of all) {
      await client.workflow.start('none', {
        taskQueue: 'nobody',
        workflowId: uniqueName('run'),
        typedSearchAttributes: [{ key: modeAttribute, value: 'SANDBOX' }],
      });
    }
    await Promise.all(all.map(({ connection }) => connection.close()));
    await assert.rejects(
      connectTemporal({ ...env, TEMPORAL_NAMESPACE: 'nowhere' }, 'SANDBOX'),
      (error) => error instanceof InfrastructureError && error.code === 'TEMPORAL_NAMESPACE',
    );
  } finally {
    await server.kill();
  }
});

test('without a server, a command waits for a while, says so, and ends with 7', async () => {
  const ended = await commandProcess(stage, ['list'], { env: { TEMPORAL_ADDRESS: '127.0.0.1:1' } });
  assertExit(ended, 7);
  assert.match(ended.stderr, /Waiting up to 15 s for Temporal at 127\.0\.0\.1:1 …\nTEMPORAL_UNREACHABLE/);
});
