/** Workers as processes of their own, from this build or another one: killed, frozen, their clocks moved. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { ROOT } from './root.ts';

const PROGRAM = join(ROOT, 'test/support/built-worker.mjs');
/** As much of what a worker printed as its end is told with. */
const KEPT_ERRORS = 4_000;
const BUILD = join(ROOT, 'dist');

export type BuiltWorkerOptions = {
  readonly env: NodeJS.ProcessEnv;
  /** Folder of a build; absent: this one. */
  readonly build?: string;
  readonly movedMs?: number;
  /** Stops as by SIGSTOP when this moment is reached first: `before send trade`. Then every moment is told. */
  readonly freezeAt?: string;
  /** host:port of its metrics, which it renews every second. */
  readonly metricsAt?: string;
};

export type BuiltWorker = {
  readonly process: ChildProcess;
  /** Resolves when it takes work. */
  readonly ready: Promise<void>;
  /** Resolves when a moment is reached; only of a worker that freezes. */
  reached(point: string): Promise<void>;
  thaw(): void;
  /** As a power cut; resolves when it is gone. */
  kill(): Promise<void>;
};

const children = new Set<ChildProcess>();
process.on('exit', () => {
  // Also those that are frozen, and could not see that nobody is there any more.
  for (const child of children) child.kill('SIGKILL');
});

export function startBuiltWorker(options: BuiltWorkerOptions): BuiltWorker {
  const { env, build = BUILD, movedMs = 0, freezeAt = null, metricsAt = null } = options;
  const child = spawn(process.execPath, [PROGRAM, JSON.stringify({ build, movedMs, freezeAt, metricsAt })], {
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  children.add(child);
  const gone = once(child, 'exit');
  child.once('exit', () => children.delete(child));
  const told: string[] = [];
  const listeners = new Set<() => void>();
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-KEPT_ERRORS);
  });
  if (child.stdout !== null)
    createInterface({ input: child.stdout }).on('line', (line) => {
      told.push(line);
      for (const listener of listeners) listener();
    });
  return {
    process: child,
    ready: once(child, 'message').then(() => undefined),
    reached: (point) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (told.includes(`reached ${point}`)) resolve();
        };
        listeners.add(look);
        look();
        void gone.then(([code, signal]) =>
          reject(
            new Error(
              `The worker ended (${code ?? signal}) before "${point}": ${told.join(', ')}\n${errors}`,
            ),
          ),
        );
      }),
    thaw: () => {
      child.kill('SIGCONT');
    },
    kill: async () => {
      child.kill('SIGKILL');
      await gone;
    },
  };
}

/** Text in one file of a build, and what stands there in the other one. */
export type BuildEdit = readonly [file: string, from: string, to: string];

/** Puts a copy of this build into `folder`, with edits: another version of the worker. An edit that fits nothing throws. */
export async function putBuild(folder: string, edits: readonly BuildEdit[]): Promise<string> {
  const build = join(folder, 'dist');
  await mkdir(folder, { recursive: true });
  await cp(BUILD, build, { recursive: true });
  await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [file, from, to] of edits) {
    const path = join(build, file);
    const text = await readFile(path, 'utf8');
    assert.ok(text.includes(from), `"${from}" is not in ${file}`);
    await writeFile(path, text.replaceAll(from, to));
  }
  return build;
}
