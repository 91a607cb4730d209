/** `cambist up` as a process: what it leaves for the other commands, and what becomes of what it started when it goes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { holderOf } from '../../cli/commands/port-holder.ts';
import { UpChildren } from '../../cli/commands/up-children.ts';
import { assertExit, commandProcess, documentOf } from '../support/commands.ts';
import { NO_PROC, answeringElsewhere, openPorts } from '../support/open-ports.ts';
import { ROOT } from '../support/root.ts';
import { childrenIn, isAlive, openUpPlace, readyOf, startUp, type UpPlace } from '../support/up.ts';

/** What ends in disorder leaves a process that keeps the test's pipes. */
const LIMIT = { timeout: 600_000 };

test(
  'the other commands in its folder find it, a second one is refused, a worker that dies is followed by another, no page from elsewhere gets an answer, and a hang-up ends all of it',
  LIMIT,
  async (t) => {
    const place = placeFor(t);
    const first = startUp(place);
    await first.says(/^Starting a Temporal dev server …\nStarting the sandbox …\nStarting a worker …$/m);
    const { worker } = await readyOf(first);
    const listed = await commandProcess(place, ['list', '--json']);
    assertExit(listed, 0);
    const examined = await commandProcess(place, ['doctor']);
    assertExit(examined, 0);
    assert.doesNotMatch(examined.stdout, /^(warning|problem)/m);
    const second = await commandProcess(place, ['up', '--json']);
    assertExit(second, 4);
    assert.match(second.stdout, /"UP_ALREADY"/);
    const pids = [first.process.pid ?? 0, ...childrenIn(place.folder)];
    if (NO_PROC === false) assert.deepEqual(await answeringElsewhere(pids.flatMap(openPorts)), []);

    process.kill(worker.pid, 'SIGKILL');
    await first.says(/\(process \d+\) ended by SIGKILL; runs wait\.\s+Starting\s+another/);
    await first.says(/Another worker takes the work: process \d+\./);
    const left = childrenIn(place.folder);
    assert.deepEqual([left.length, left.includes(worker.pid)], [2, false]);
    first.process.kill('SIGHUP');
    assertExit(await first.ended, 0);
    assert.deepEqual(
      [
        left.some(isAlive),
        ...['dev.json', 'up.json'].map((name) => existsSync(join(place.folder, '.cambist', name))),
      ],
      [false, false, false],
    );
  },
);

test('runs and records are kept for the next time, and --fresh starts anew', LIMIT, async (t) => {
  const place = placeFor(t);
  const first = startUp(place);
  await readyOf(first);
  const policy = join(ROOT, 'policies/mxn-supplier.yaml');
  const ended = await commandProcess(place, ['run', policy, '--json']);
  assertExit(ended, 0);
  first.process.kill('SIGTERM');
  assertExit(await first.ended, 0);
  for (const { args, runs, entries } of [
    { args: [], runs: ['COMPLETED'], entries: true },
    { args: ['--fresh'], runs: [], entries: false },
  ]) {
    const next = startUp(place, args);
    await readyOf(next);
    const listed = documentOf(await commandProcess(place, ['list', '--json'])) as {
      runs: { state: string }[];
    };
    const ledger = documentOf(await commandProcess(place, ['ledger', '--json'])) as {
      journal: { what: string }[];
    };
    assert.deepEqual(
      [listed.runs.map(({ state }) => state), ledger.journal.some(({ what }) => what.startsWith('trade'))],
      [runs, entries],
    );
    next.process.kill('SIGTERM');
    assertExit(await next.ended, 0);
  }
});

test('a port that is taken is told with who has it, and what to type', LIMIT, async (t) => {
  const place = placeFor(t);
  const other = createServer().listen(0, '127.0.0.1');
  t.after(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as AddressInfo;
  for (const args of [
    ['temporal', '--port'],
    ['sandbox', '--port'],
  ]) {
    const { exitCode, stderr } = await commandProcess(place, [...args, String(port)]);
    assert.equal(exitCode, 7);
    assert.match(
      stderr.replaceAll(/\s+/g, ' '),
      new RegExp(
        `PORT_TAKEN 127\\.0\\.0\\.1:${port}: the port is taken by .*: \`npx cambist ${args.join(' ')} 0\``,
      ),
    );
  }
  // Who it is can be told where one of two common programs is installed.
  const holder = await holderOf(port);
  assert.ok([`process ${process.pid} (node)`, 'another program'].includes(holder ?? ''), holder ?? 'free');
});

test('a process that is none of ours is left alone, whatever the file says', async (t) => {
  const { folder } = placeFor(t);
  const other = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.log("here")']);
  t.after(() => other.kill('SIGKILL'));
  await once(other.stdout, 'data');
  const file = join(folder, 'up.json');
  // Nobody has a number as high as that of the first.
  writeFileSync(
    file,
    JSON.stringify({ pid: 2 ** 31 - 1, children: [other.pid, process.pid, 1, -1, 0, 'x'] }),
  );
  const notes: string[] = [];
  await new UpChildren(file).takeOver({ note: (text) => void notes.push(text) });
  assert.deepEqual([notes, other.exitCode, other.signalCode], [[], null, null]);
});

test('what a killed one left behind is ended by the next', LIMIT, async (t) => {
  const place = placeFor(t);
  const killed = startUp(place);
  const before = await readyOf(killed);
  killed.process.kill('SIGKILL');
  await once(killed.process, 'exit');
  const left = childrenIn(place.folder);
  assert.deepEqual(left.map(isAlive), [true, true]);
  assert.ok(left.includes(before.worker.pid));

  const next = startUp(place);
  await readyOf(next);
  assert.deepEqual(left.map(isAlive), [false, false]);
  next.process.kill('SIGTERM');
  assertExit(await next.ended, 0);
});

function placeFor(t: TestContext): UpPlace {
  return openUpPlace((close) => t.after(close));
}
