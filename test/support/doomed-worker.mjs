// A worker as a process of its own, put together by the real composition root, that dies like a power cut at a named
// moment: `node doomed-worker.mjs POINT NTH at-once|afterwards`, or without arguments when somebody else will kill it.
// The compiled sources start in half the time; `npm test` builds them first.

import { channel } from 'node:diagnostics_channel';
import { DefaultLogger, Runtime, makeTelemetryFilterString } from '@temporalio/worker';

const [, , deadlyPoint, nth, when] = process.argv;
let passed = 0;

/** @param {string} point */
function reached(point) {
  if (point !== deadlyPoint) return;
  passed += 1;
  if (passed !== Number(nth)) return;
  if (when === 'afterwards') setImmediate(die);
  else die();
}

function die() {
  process.kill(process.pid, 'SIGKILL');
}

// The moments of a request inside the client, as undici tells them to whoever listens; `signed POST /v3/fx/trades`.
const MOMENTS = {
  'undici:request:create': 'signed',
  'undici:client:sendHeaders': 'about to write',
  'undici:request:bodySent': 'written',
  'undici:request:headers': 'head of the reply read',
  'undici:request:trailers': 'reply read',
};
for (const [name, moment] of Object.entries(MOMENTS))
  channel(name).subscribe((message) => {
    const { request } = /** @type {{ request: { method: string, path: string } }} */ (message);
    reached(`${moment} ${request.method} ${request.path}`);
  });

Runtime.install({
  logger: new DefaultLogger('ERROR'),
  telemetryOptions: {
    logging: { forward: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) },
  },
});
const [{ loadSettings }, { startWorker }] = await Promise.all(
  ['config/config', 'worker/worker'].map(
    (name) => import(new URL(`../../dist/${name}.js`, import.meta.url).href),
  ),
);
const settings = await loadSettings(process.env, process.cwd());
const worker = await startWorker({ settings, env: process.env, reached });
await worker.run();
