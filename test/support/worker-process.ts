/**
 * A worker as a process of its own, put together by the real composition root, that dies like a power cut at a named
 * moment. As a program: `worker-process.ts POINT NTH`; as a module: starts that program for a test.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadSettings } from '../../worker/config.ts';
import { startWorker } from '../../worker/worker.ts';

const PROGRAM = fileURLToPath(import.meta.url);

export type KillPoint = {
  /** A name that the driver or a poll reaches: `before send trade`, `before result`. */
  readonly point: string;
  /** At which passing, from 1. */
  readonly nth: number;
  /** Lets the event loop turn once more: the activity has returned, and Temporal may not know yet. */
  readonly afterwards?: boolean;
};

/** Starts a worker that kills itself at the point. `gone` tells the signal that ended it. */
export function startDoomedWorker(
  env: NodeJS.ProcessEnv,
  { point, nth, afterwards = false }: KillPoint,
): { readonly gone: Promise<NodeJS.Signals | null>; readonly kill: () => void } {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', PROGRAM, point, String(nth), afterwards ? 'afterwards' : 'at once'],
    { env, stdio: ['ignore', 'inherit', 'inherit'] },
  );
  process.once('exit', () => child.kill('SIGKILL'));
  return {
    gone: once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null),
    kill: () => child.kill('SIGKILL'),
  };
}

if (process.argv[1] === PROGRAM) {
  const [, , killPoint, nth, when] = process.argv;
  let passed = 0;
  const die = (): void => {
    process.kill(process.pid, 'SIGKILL');
  };
  const worker = await startWorker({
    settings: await loadSettings(process.env, process.cwd()),
    env: process.env,
    reached: (point) => {
      if (point !== killPoint) return;
      passed += 1;
      if (passed !== Number(nth)) return;
      if (when === 'afterwards') setImmediate(die);
      else die();
    },
  });
  await worker.run();
}
