// `npm run resets`: every state of every sample policy, rewound to every event, on a service of every kind. Thousands of
// resets; `-- --some` takes some of the events on three services, `-- --state NAME --sample NAME --service N --slice K/N --seed N` a part of it.

import { parseArgs } from 'node:util';
import { numberOf, runIfMain, ScriptFailed } from './lib/main.mjs';
import { readSlice } from './lib/slice.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  const { values } = parseArgs({
    options: {
      some: { type: 'boolean', default: false },
      seed: { type: 'string' },
      service: { type: 'string' },
      state: { type: 'string' },
      sample: { type: 'string' },
      slice: { type: 'string' },
    },
  });
  const slice = readSlice(values.slice);
  const seed = numberOf(values.seed ?? String(Date.now() % 1_000_000), '--seed');
  await setup({ ownServer: true });
  const { tsImport } = await import('tsx/esm/api');
  const { SERVICES, SOME_SERVICES } = await tsImport('../test/machines/resets/services.ts', import.meta.url);
  const { resetRuns } = await tsImport('../test/machines/resets/resets.ts', import.meta.url);
  const { tableOf, sum } = await tsImport('../test/machines/resets/table.ts', import.meta.url);
  const services = values.service === undefined ? undefined : [numberOf(values.service, '--service')];
  const startedAt = performance.now();
  const { rows, failures } = await resetRuns({
    seed,
    services: values.some ? SOME_SERVICES : SERVICES,
    extent: values.some ? 'some' : 'all',
    slice,
    only: { state: values.state, sample: values.sample, services },
    tell: say,
  });
  process.stdout.write(`${tableOf(rows)}\n`);
  const { resets, unchanged, completed } = sum(rows);
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1);
  say(
    `${resets} resets in ${minutes} min, seed ${seed}: ${unchanged} times the ledger was unchanged, ${completed} times exactly what was missing was done.`,
  );
  if (failures.length === 0) return 0;
  throw new ScriptFailed(`${failures.length} failed:\n\n${failures.join('\n\n')}`);
});
