/** Starts a worker as a process of its own that dies like a power cut, by its own hand or by the test's. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { isBuilt } from '../../scripts/build.mjs';
import { ROOT } from './root.ts';

const PROGRAM = join(ROOT, 'test/support/doomed-worker.mjs');

export type KillPoint = {
  /** A name that the driver, a poll or the client reaches: `before send trade`, `signed POST /v3/fx/trades`. */
  readonly point: string;
  /** At which passing, from 1. */
  readonly nth: number;
  /** Lets the event loop turn once more: the activity has returned, and Temporal may not know yet. */
  readonly afterwards?: boolean;
};

export type DoomedWorker = {
  /** The signal that ended it. */
  readonly gone: Promise<NodeJS.Signals | null>;
  readonly kill: () => void;
};

/** Starts a worker that kills itself at the point; without one it works until `kill`. */
export function startDoomedWorker(env: NodeJS.ProcessEnv, killPoint: KillPoint | null): DoomedWorker {
  assert.ok(isBuilt(), 'The doomed worker runs from `dist`, which is stale: run `npm run build`.');
  const words =
    killPoint === null
      ? []
      : [killPoint.point, String(killPoint.nth), killPoint.afterwards === true ? 'afterwards' : 'at-once'];
  const child = spawn(process.execPath, [PROGRAM, ...words], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  const kill = () => {
    child.kill('SIGKILL');
  };
  process.once('exit', kill);
  const gone = once(child, 'exit').then(([, signal]) => {
    process.removeListener('exit', kill);
    return signal as NodeJS.Signals | null;
  });
  return { gone, kill };
}
