// A worker as a process of its own, from a build, as users run it; started by `built-worker.ts`. Its clock can be moved
// (`{ movedMs }`), it can freeze at a named moment, and it can show metrics that it renews all the time. It ends with the process that started it.

import { writeSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { DefaultLogger, Runtime } from '@temporalio/worker';

/** @type {{ build: string, movedMs: number, freezeAt: string | null, metricsAt: string | null }} */
const { build, freezeAt, metricsAt, ...options } = JSON.parse(process.argv[2] ?? '{}');
const from = pathToFileURL(`${build}/`);
/** @type {{ loadSettings: typeof import('../../config/config.ts').loadSettings }} */
const { loadSettings } = await import(new URL('config/config.js', from).href);
/** @type {{ machineClock: typeof import('../../activities/deps.ts').machineClock }} */
const { machineClock } = await import(new URL('activities/deps.js', from).href);
/** @type {{ startWorker: typeof import('../../worker/worker.ts').startWorker }} */
const { startWorker } = await import(new URL('worker/worker.js', from).href);

let { movedMs } = options;
let hasFrozen = false;

process.on('message', (/** @type {{ movedMs: number }} */ message) => {
  ({ movedMs } = message);
});
process.on('disconnect', () => process.exit(1));

/** Tells each moment before anything else happens, so that a frozen worker has told it. */
function reached(/** @type {string} */ point) {
  if (freezeAt === null) return;
  writeSync(1, `reached ${point}\n`);
  if (point !== freezeAt || hasFrozen) return;
  hasFrozen = true;
  process.kill(process.pid, 'SIGSTOP');
}

/** Of a worker that shows metrics: as often as it looks at what they show. */
const PACE = { ownMs: 500, runsMs: 1_000, cameBackMs: 1_000 };

async function metrics() {
  if (metricsAt === null) return {};
  /** @type {{ metricsServedAt: typeof import('../../worker/metrics.ts').metricsServedAt }} */
  const { metricsServedAt } = await import(new URL('worker/metrics.js', from).href);
  const logging = { forward: {}, filter: { core: 'ERROR', other: 'ERROR' } };
  Runtime.install({
    logger: new DefaultLogger('ERROR'),
    telemetryOptions: /** @type {any} */ ({ logging, ...metricsServedAt(metricsAt) }),
  });
  return { metrics: { meter: Runtime.instance().metricMeter, version: 'test', pace: PACE } };
}

const worker = await startWorker({
  settings: await loadSettings(process.env, process.cwd()),
  env: process.env,
  clock: { ...machineClock, wallMs: () => Date.now() + movedMs },
  reached,
  ...(await metrics()),
});
process.send?.('ready');
await worker.run();
