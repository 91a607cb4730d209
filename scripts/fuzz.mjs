// `npm run fuzz`: the model-based test over as many schedules as wanted: `-- --schedules N --rebalances N --batches N
// --seed S`; without their own numbers, a quarter as many rebalances and a fortieth as many batches. A schedule that
// breaks a promise is printed as data, with its story; `-- --of KIND --seed S --path P` shows it again. `--table` prints
// what was hit.

import { parseArgs } from 'node:util';
import { numberOf, runIfMain, ScriptFailed } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { importTest } from './lib/test-build.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  const { values } = parseArgs({
    options: {
      schedules: { type: 'string', default: '20000' },
      rebalances: { type: 'string' },
      batches: { type: 'string' },
      of: { type: 'string', default: 'runs' },
      seed: { type: 'string' },
      path: { type: 'string' },
      processes: { type: 'string', default: '2' },
      table: { type: 'boolean', default: false },
    },
  });
  const seed = numberOf(values.seed ?? String(Date.now() % 1_000_000_000), '--seed');
  const schedules = numberOf(values.schedules, '--schedules');
  // A rebalancing takes longer than a run of one leg, and a batch much longer.
  const rebalances = numberOf(values.rebalances ?? String(Math.ceil(schedules / 4)), '--rebalances');
  const batches = numberOf(values.batches ?? String(Math.ceil(schedules / 40)), '--batches');
  const processes = numberOf(values.processes, '--processes');
  await setup({ upTo: 'dependencies' });
  const { fuzz, runShare, textOfFailure } = await importTest('machines/model/fuzz.ts');
  const { tableOf } = await importTest('machines/model/coverage.ts');
  const startedAt = performance.now();
  const outcome =
    values.path === undefined
      ? await fuzz({ schedules, rebalances, batches, seed, processes })
      : // A path leads to a schedule that is as short as it can be.
        await runShare({
          of: values.of,
          schedules,
          seed,
          path: values.path,
          shrinks: false,
        });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (values.table) process.stdout.write(`${tableOf(outcome.counts)}\n`);
  const pace = (outcome.schedules / seconds).toFixed(0);
  say(`${outcome.schedules} schedules in ${seconds.toFixed(0)} s (${pace} a second), seed ${seed}.`);
  if (outcome.failure === null) return 0;
  throw new ScriptFailed(textOfFailure(outcome.failure));
});
