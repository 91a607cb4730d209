// `npm run bench`: sets up what is missing, then measures (bench/main.ts) and prints one table. Exit code 1 when a count
// is wrong; times depend on the machine and only get a verdict.

import { runIfMain } from './lib/main.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  await setup({ ownServer: true });
  const { tsImport } = await import('tsx/esm/api');
  /** @type {{ bench: () => Promise<number> }} */
  const { bench } = await tsImport('../bench/main.ts', import.meta.url);
  return bench();
});
