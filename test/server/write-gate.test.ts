/** A worker with a folder of policies sends what the folder allows, whatever run and policy somebody puts into Temporal (M4). */
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { todayIn } from '../../calendar/business-date.ts';
import { ConfigurationError } from '../../config/errors.ts';
import { assertExit, command } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, assertNothingMoved, openStage } from '../support/stage.ts';

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '1000000', MXN: '1000000' },
  timePasses: true,
});
after(() => stage.close());
const policies = join(stage.folder, 'policies');
await mkdir(policies);

/** The policy as the operator of the worker has it. */
const name = uniqueName('p');
const ours = convertPolicy().replace(/^name: .*$/m, `name: ${name}`);
/** The same policy as somebody else would have it. */
const theirs = convertPolicy({ amount: '{ sell: "50000.00" }' });

test('a run with somebody’s own version of a policy sends nothing and is named; once the folder has it, the run goes on by itself', async () => {
  await writeFile(join(policies, 'p.yaml'), ours);
  await stage.startWorker({ env: { CAMBIST_POLICIES: policies } });
  const allowed = await stage.start(ours, { name, id: `${todayIn('UTC', Date.now())}-ours` });
  assertDoneOnce(allowed, await allowed.report());

  const run = await stage.start(theirs, { name });
  const held = await run.heldBy('NOT_ALLOWED');
  assert.match(JSON.stringify(held.problems), /sells 1,?000\.00 USD, not what was asked for/);
  const attention = await command(stage, ['list', '--attention']);
  assertExit(attention, 6);
  assert.match(attention.stdout, new RegExp(`${name}\\..*NOT_ALLOWED`, 's'));
  assertNothingMoved(run);

  await writeFile(join(policies, 'p.yaml'), theirs.replace(/^name: .*$/m, `name: ${name}`));
  await run.wake();
  assertDoneOnce(run, await run.report());
});

test('a worker does not start with a folder that has no policy', async () => {
  const empty = join(stage.folder, 'empty');
  await mkdir(empty);
  const started = stage.startWorker({ env: { CAMBIST_POLICIES: empty } });
  await assert.rejects(started, (error) => {
    assert.ok(error instanceof ConfigurationError);
    assert.match(error.problems[0]?.message ?? '', /has no policy that can be used: it has no file \*\.yaml/);
    return true;
  });
  await rm(empty, { recursive: true });
});
