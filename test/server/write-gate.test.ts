/** A worker with a folder of policies sends what the folder allows, whatever run and policy somebody puts into Temporal (M4). */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { todayIn } from '../../calendar/business-date.ts';
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

test('a ceiling of the day holds over several runs of a policy, and over a worker that is started anew', async () => {
  const day = await openStage({
    rates: { 'USD/MXN': '17.25' },
    balances: { USD: '1000000' },
    timePasses: true,
  });
  try {
    const folder = join(day.folder, 'policies');
    await mkdir(folder);
    const capped = uniqueName('p');
    await writeFile(join(folder, 'p.yaml'), convertPolicy().replace(/^name: .*$/m, `name: ${capped}`));
    const ceilings = (dollars: string): Promise<void> =>
      writeFile(
        join(folder, 'ceilings.yaml'),
        `ceilings: 1\nworkers: 1\npaid: { per_day: ["99999.00 MXN"] }\ntraded: { per_day: ["${dollars} USD"] }\n`,
      );
    await ceilings('1999.99');
    const env = { CAMBIST_POLICIES: folder };
    const start = (suffix: string) =>
      day.start(convertPolicy(), { name: capped, id: `${todayIn('UTC', Date.now())}-${suffix}` });
    const worker = await day.startWorker({ env });
    const first = await start('first');
    assertDoneOnce(first, await first.report());
    worker.shutdown();
    await worker.ended;

    await day.startWorker({ env });
    const second = await start('second');
    const held = await second.heldBy('OVER_CEILING');
    assert.match(
      JSON.stringify(held.problems),
      /left of the ceiling of 1,?999\.99 USD traded on one UTC day: 999\.99 USD/,
    );
    assertNothingMoved(second);
    await ceilings('2000.00');
    await second.wake();
    assertDoneOnce(second, await second.report());
  } finally {
    await day.close();
  }
});
