/** `cambist watch` as a process: a real run that waits is told to a program once, and again as solved by the next process. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { assertExit, command, startCommand } from '../support/commands.ts';
import { eventually } from '../support/patience.ts';
import { convertPolicy } from '../support/policies.ts';
import { openStage } from '../support/stage.ts';

const stage = await openStage({ balances: { USD: '0' } });
await stage.startWorker();
after(() => stage.close());

test('a run that waits for money is told to a program once, and what a person does meanwhile by the watch that is started next', async () => {
  const run = await stage.start(convertPolicy({ shortfall: 'hold' }));
  await run.heldBy('SHORTFALL');
  const name = `${run.name.policy}.${run.name.id}`;
  writeFileSync(join(stage.folder, 'receiver'), '#!/bin/sh\ncat >> told\n', { mode: 0o700 });
  const told = (): readonly string[] => {
    const path = join(stage.folder, 'told');
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
    return lines.flatMap((line) => {
      const { change, name: of, code } = JSON.parse(line) as Readonly<Record<string, string>>;
      return of === name ? [`${change} ${code}`] : [];
    });
  };
  const watchUntil = async (count: number): Promise<void> => {
    const watching = startCommand(stage, ['watch', '--exec', './receiver', '--json']);
    await watching.says(/"ready":"watch"/);
    await eventually(`${count} pieces of news`, () => told().length >= count || null);
    watching.process.kill('SIGINT');
    const { exitCode, stdout } = await watching.ended;
    assert.equal(exitCode, 0);
    assert.match(stdout, /^\{"ready":"watch",.*\}\n$/);
  };
  await watchUntil(1);
  assertExit(await command(stage, ['list', '--acknowledge', name, '--by', 'ana']), 0);
  await watchUntil(2);
  assert.deepEqual(told(), ['new SHORTFALL', 'solved SHORTFALL']);
});

for (const [argv, code] of [
  [['watch'], 'WATCH_RECEIVER'],
  [['watch', '--webhook', 'https://alerts.example.com/x'], 'WATCH_RECEIVER'],
  [['watch', '--exec', 'a', '--webhook', 'https://alerts.example.com/x'], 'WATCH_RECEIVER'],
  [['watch', '--webhook', 'https://alerts.example.com/x', '--secret', 'none'], 'WATCH_SECRET_UNUSABLE'],
] as const)
  test(`"cambist ${argv.join(' ')}" tells nobody: ${code}`, async () => {
    const { stderr, exitCode } = await command(stage, argv);
    assert.equal(exitCode, code === 'WATCH_RECEIVER' ? 2 : 3);
    assert.ok(stderr.startsWith(code), stderr);
  });
