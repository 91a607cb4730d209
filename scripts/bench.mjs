// `npm run bench`: sets up what is missing, then measures (bench/main.ts) and prints one table. Exit code 1 when a count
// is wrong; times depend on the machine and only get a verdict. `npm run bench -- NAME…` measures only these: `large` (batches
// of up to 100,000 payments), `actions` (what runs cost in Temporal Cloud and where Temporal keeps them) and `tests` (how long
// `npm test` takes) are measured in no other way.

import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  const names = process.argv.slice(2);
  const { tsImport } = await import('tsx/esm/api');
  /** @type {{ bench: (names: readonly string[]) => Promise<number>, NAMES: readonly string[] }} */
  const { bench, NAMES } = await tsImport('../bench/main.ts', import.meta.url);
  const unknown = names.find((name) => !NAMES.includes(name));
  if (unknown !== undefined)
    throw new ScriptFailed(`'${unknown}' is not known. There is ${NAMES.join(', ')}.`);
  await setup({ ownServer: true });
  return bench(names);
});
