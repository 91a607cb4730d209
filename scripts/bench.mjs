// `npm run bench`: sets up what is missing, then measures (bench/main.ts) and prints one table. Exit code 1 when a count
// is wrong; times depend on the machine and only get a verdict. `npm run bench -- large` measures batches of up to 100,000
// payments instead, `-- actions` what runs cost in Temporal Cloud and where Temporal keeps them, `-- tests` how long `npm test`
// takes, `-- start-up` how long a command takes to start.

import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  const [word, ...more] = process.argv.slice(2);
  await setup({ ownServer: true });
  const { tsImport } = await import('tsx/esm/api');
  /** @type {Record<'bench' | 'benchLarge' | 'benchActions' | 'benchTests' | 'benchStartUp', () => Promise<number>>} */
  const { bench, benchLarge, benchActions, benchTests, benchStartUp } = await tsImport(
    '../bench/main.ts',
    import.meta.url,
  );
  const measured =
    word === undefined
      ? bench
      : { large: benchLarge, actions: benchActions, tests: benchTests, 'start-up': benchStartUp }[word];
  if (measured === undefined || more.length > 0)
    throw new ScriptFailed(
      `'${[word, ...more].join(' ')}' is not known. There is 'large', 'actions', 'tests' or 'start-up'.`,
    );
  return measured();
});
