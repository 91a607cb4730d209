// `npm run bench`: sets up what is missing, then measures (bench/main.ts) and prints one table. Exit code 1 when a count
// is wrong; times depend on the machine and only get a verdict. `npm run bench -- large` measures batches of up to 100,000
// payments instead.

import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  const asked = process.argv.slice(2);
  const [unknown] = asked.filter((word) => word !== 'large');
  if (unknown !== undefined) throw new ScriptFailed(`'${unknown}' is not known. There is 'large'.`);
  await setup({ ownServer: true });
  const { tsImport } = await import('tsx/esm/api');
  /** @type {{ bench: () => Promise<number>, benchLarge: () => Promise<number> }} */
  const { bench, benchLarge } = await tsImport('../bench/main.ts', import.meta.url);
  return asked.includes('large') ? benchLarge() : bench();
});
