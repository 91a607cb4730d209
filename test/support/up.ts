/** `cambist up` as a process, in a folder of its own: everything that a user has who looks round. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { documentOf, startCommand, type Started } from './commands.ts';

/** What `up` says when it is ready. */
export type Ready = {
  readonly temporal: { readonly address: string; readonly uiUrl: string };
  readonly sandbox: { readonly adminUrl: string };
  readonly worker: { readonly pid: number };
};

/** A folder, and the environment of a user who has configured nothing. */
export type UpPlace = {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly started: Started[];
};

/** @param after what is called when the test is over: everything that was started there is ended then */
export function openUpPlace(after: (close: () => void) => void): UpPlace {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-up-'));
  const started: Started[] = [];
  after(() => {
    for (const { process } of started) process.kill('SIGKILL');
    for (const pid of childrenIn(folder)) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  return { folder, started, env: { PATH: process.env['PATH'], HOME: process.env['HOME'], TZ: 'UTC' } };
}

export function startUp(place: UpPlace, args: readonly string[] = []): Started {
  const started = startCommand(place, ['up', '--json', ...args]);
  place.started.push(started);
  return started;
}

export async function readyOf(started: Started): Promise<Ready> {
  let stdout = '';
  started.process.stdout?.on('data', (text: string) => (stdout += text));
  await started.says(/"ready":"up".*\n/);
  return documentOf({ exitCode: null, stdout, stderr: '' }) as Ready;
}

/** The processes that `up` has started, as it notes them. */
export function childrenIn(folder: string): readonly number[] {
  try {
    const text = readFileSync(join(folder, '.cambist/up.json'), 'utf8');
    return (JSON.parse(text) as { readonly children: readonly number[] }).children;
  } catch {
    return [];
  }
}

/** False also for one that has ended and whose parent, gone itself, has not taken note of it. */
export function isAlive(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return /^[^Z\s]/.test(stdout);
}
