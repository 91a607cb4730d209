/**
 * What the image of deploy/Dockerfile does when it is started, without an image: its entry, command and health check as
 * processes, by a user without rights who can write none of the files, and the signal that ends it.
 */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { patiently } from '../support/patiently.ts';
import { convertPolicy } from '../support/policies.ts';
import { ROOT } from '../support/root.ts';
import { test } from '../support/sliced.ts';
import { assertDoneOnce, openStage, type Stage } from '../support/stage.ts';

const DOCKERFILE = readFileSync(join(ROOT, 'deploy/Dockerfile'), 'utf8');
/** Only root may start a process of another user. */
const IS_ROOT = process.getuid?.() === 0;

/** The words of an instruction, with this checkout in the place of the installed package. */
function wordsOf(instruction: string): readonly string[] {
  const [, words] = new RegExp(`^${instruction} (\\[.*\\])$`, 'm').exec(DOCKERFILE) ?? [];
  assert.ok(words !== undefined, `The Dockerfile has no ${instruction}.`);
  return (JSON.parse(words) as string[]).map((word) => word.replace('/opt/cambist', ROOT));
}

function userOf(): { readonly uid?: number; readonly gid?: number } {
  const [, uid, gid] = /^USER (\d+):(\d+)$/m.exec(DOCKERFILE) ?? [];
  return IS_ROOT ? { uid: Number(uid), gid: Number(gid) } : {};
}

function start(stage: Stage, [program = '', ...argv]: readonly string[]): ChildProcess {
  assert.equal(program, 'node');
  const env = { ...stage.env, NODE_ENV: 'production', TZ: 'UTC' };
  return spawn(process.execPath, argv, {
    ...userOf(),
    env,
    cwd: stage.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

async function endOf(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

/** The folder and its files are as secrets are in a pod: the user's group may read them, and nobody else. */
function asSecrets({ folder }: Stage): void {
  const { gid } = userOf();
  for (const name of ['key.json', 'service.yaml']) chmodSync(join(folder, name), 0o440);
  if (gid === undefined) return;
  for (const name of ['key.json', 'service.yaml', '.']) chownSync(join(folder, name), 0, gid);
  chmodSync(folder, 0o750);
}

test(
  'the image serves as a user who can write nothing, says that it is well, and on its signal finishes the call under way',
  async () => {
    const stage = await openStage({ rates: { 'USD/MXN': '17.25' } });
    const before = readdirSync(stage.folder).toSorted();
    asSecrets(stage);
    const worker = start(stage, [...wordsOf('ENTRYPOINT'), ...wordsOf('CMD')]);
    try {
      assert.ok(worker.stdout !== null);
      const [ready] = await once(createInterface({ input: worker.stdout }), 'line');
      assert.match(String(ready), /"ready":"worker"/);
      await patiently(async () => assert.equal(await endOf(start(stage, wordsOf(String.raw` +CMD`))), 0));
      const { run, release } = await stage.startHeld(convertPolicy(), 'createWithdrawal', { when: 'before' });
      const [, signal = ''] = /^STOPSIGNAL (\w+)$/m.exec(DOCKERFILE) ?? [];
      worker.kill(signal as NodeJS.Signals);
      await stage.startWorker();
      release();
      assert.equal(await endOf(worker), 0);
      assertDoneOnce(run, await run.report());
      assert.deepEqual(
        run.writes().map(({ operation }) => operation),
        ['createTrade', 'createWithdrawal'],
      );
      const after = readdirSync(stage.folder).filter((name) => !name.startsWith('sandbox.json'));
      assert.deepEqual(
        after.toSorted(),
        before.filter((name) => !name.startsWith('sandbox.json')),
      );
    } finally {
      worker.kill('SIGKILL');
      chmodSync(stage.folder, 0o700);
      await stage.close();
    }
  },
  { skip: process.platform === 'win32' ? 'Windows has no such users.' : false },
);
