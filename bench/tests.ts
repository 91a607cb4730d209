/** How long the tests take: `npm test` as a newcomer runs it, without its set-up. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timed, type Section } from './figures.ts';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
/** On two cores with nothing else to do. */
const GOAL_MINUTES = 10;

/** Runs all tests and holds their time against the goal. @throws Error when a test fails: half a run tells no time */
export async function measureTests(): Promise<Section> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [join(ROOT, 'scripts', 'test.mjs')], {
    cwd: ROOT,
    stdio: ['ignore', process.stderr, process.stderr],
  });
  const [exitCode] = await once(child, 'exit');
  if (exitCode !== 0) throw new Error('Some test failed: see above.');
  const minutes = (performance.now() - startedAt) / 60_000;
  const name = 'npm test, everything set up: minutes';
  return {
    title: 'Tests',
    figures: [timed(name, minutes.toFixed(1), `at most ${GOAL_MINUTES}`, minutes <= GOAL_MINUTES)],
  };
}
