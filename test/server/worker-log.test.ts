/** The log of a worker as it stands in a file, while its Temporal is away: the part of the SDK that is not JavaScript speaks then. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { startCommand } from '../support/commands.ts';
import { testServerAddress } from '../support/dev-server.ts';
import { openWire } from '../support/proxy.ts';
import { openStage } from '../support/stage.ts';

const stage = await openStage();
after(() => stage.close());

test('a worker that loses its Temporal writes lines of one form only, and no colours', async (t) => {
  const wire = await openWire(await testServerAddress());
  t.after(() => wire.close());
  const env = { TEMPORAL_ADDRESS: wire.address };
  const logs = [['worker', '--json'], ['worker']].map((argv) => startCommand(stage, argv, { env }));
  t.after(() => logs.forEach(({ process }) => process.kill('SIGKILL')));
  await Promise.all(logs.map((worker) => worker.says(/ready/)));
  wire.setWeather({ kind: 'refusing' });
  await Promise.all(logs.map((worker) => worker.says(/retried/)));
  for (const worker of logs) worker.process.kill('SIGKILL');
  const [records, lines] = await Promise.all(logs.map(({ ended }) => ended));
  assert.ok(records && lines);
  const written = records.stderr.split('\n').slice(0, -1);
  for (const line of written) {
    const { at, level, message } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    assert.deepEqual([typeof at, level, typeof message], ['string', 'warning', 'string'], line);
  }
  for (const { stdout } of [records, lines]) assert.match(stdout, /^.*ready.*\n$/);
  // What is wrapped goes on behind a line that says how bad it is.
  assert.match(lines.stderr, /^warning /);
  assert.doesNotMatch(lines.stderr, /temporalio_|\u001B|\d{4}-\d\d-\d\dT/);
});
