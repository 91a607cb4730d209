// `npm run chaos -- --minutes N --seed S`: the chaos run for as long as wanted. A failing seed prints the command that
// repeats it, and leaves the logs of all processes in a temporary folder.

import { parseArgs } from 'node:util';
import { numberOf, runIfMain, ScriptFailed } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  const { values } = parseArgs({
    options: { minutes: { type: 'string', default: '5' }, seed: { type: 'string' } },
  });
  const minutes = numberOf(values.minutes, '--minutes', Number.isFinite);
  const seed = numberOf(values.seed ?? String(Date.now() % 1_000_000), '--seed', Number.isFinite);
  await setup({ ownServer: true });
  const { tsImport } = await import('tsx/esm/api');
  const { chaos } = await tsImport('../test/machines/chaos/chaos.ts', import.meta.url);
  const startedAt = performance.now();
  const { figures, failures, folder } = await chaos({ seed, stormMs: minutes * 60_000, tell: say });
  for (const [name, figure] of Object.entries(figures)) say(`${String(figure).padStart(8)}  ${name}`);
  const took = ((performance.now() - startedAt) / 60_000).toFixed(1);
  if (failures.length === 0) {
    say(`Everything moved once, and everything ended: seed ${seed}, ${took} min.`);
    return 0;
  }
  throw new ScriptFailed(
    `${failures.length} failed:\n${failures.join('\n')}\nLogs: ${folder}\nAgain: npm run chaos -- --minutes ${minutes} --seed ${seed}`,
  );
});
