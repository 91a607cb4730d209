// `npm run cluster -- --payments N --seed S`: two batches of N payments (default: 10,000) beside a rebalancing and twenty
// conversions on a real Temporal server over PostgreSQL, with four workers, all of them killed in the middle. It says how
// long the conversions took. It builds the server when it is not there (about ten minutes), and needs PostgreSQL.

import { parseArgs } from 'node:util';
import { numberOf, runIfMain, ScriptFailed } from './lib/main.mjs';
import { WHOLE } from './lib/slice.mjs';
import { runSliced } from './lib/sliced-files.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';
import { ensureTemporalServer, ensureTemporalSqlTool } from './temporal-server-binary.mjs';

/** Of each of the two batches. */
export const PAYMENTS = 10_000;
/** Its tests press _Pause_, which the dev server does not have. */
export const REAL_SERVER = 'machines/temporal-server.test.ts';

/**
 * @param {{ payments: number, seed: number }} options
 * @param {(file: string) => Promise<any>} load
 * @returns {Promise<import('../test/machines/cluster/cluster.ts').ClusterResult>}
 */
export async function cluster({ payments, seed }, load) {
  await ensureTemporalServer();
  await ensureTemporalSqlTool();
  const { playCluster } = await load('cluster/cluster.ts');
  return playCluster({
    payments,
    seed,
    tell: say,
    press: (/** @type {string} */ address) => {
      process.env['CAMBIST_TEST_REAL_SERVER'] = address;
      return runSliced([REAL_SERVER], { seed, slice: WHOLE });
    },
  });
}

await runIfMain(import.meta.url, async () => {
  const { values } = parseArgs({
    options: { payments: { type: 'string', default: String(PAYMENTS) }, seed: { type: 'string' } },
  });
  const payments = numberOf(values.payments, '--payments');
  const seed = numberOf(values.seed ?? String(Date.now() % 1_000_000), '--seed');
  await setup({ ownServer: true });
  const { tsImport } = await import('tsx/esm/api');
  const startedAt = performance.now();
  const { failures, paid, smallRuns, harms, pressed } = await cluster({ payments, seed }, (file) =>
    tsImport(`../test/machines/${file}`, import.meta.url),
  );
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  if (failures.length > 0)
    throw new ScriptFailed(
      `${failures.length} failed:\n${failures.join('\n')}\nAgain: npm run cluster -- --payments ${payments} --seed ${seed}`,
    );
  say(
    `${paid} payments and ${smallRuns} runs beside them, each made once, through ${harms} kills; ${pressed} tests of buttons: seed ${seed}, ${minutes} min.`,
  );
  return 0;
});
