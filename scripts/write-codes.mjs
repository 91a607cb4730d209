// `npm run docs:codes`: writes docs/codes.md anew from the tables of codes in domain/. A test tells when it is due.

import { writeFileSync } from 'node:fs';
import { importBuilt } from './build.mjs';
import { codesPage } from './lib/codes-page.mjs';
import { runIfMain } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  await setup({ upTo: 'build' });
  const { PROBLEMS, FILES_AT_FAULT } = await importBuilt('domain/problems.js');
  const { START_PROBLEMS, REFUSALS } = await importBuilt('domain/command-problems.js');
  const { EXIT_CODES } = await importBuilt('operations/exit-codes.js');
  const tables = { runs: PROBLEMS, starts: START_PROBLEMS, refusals: REFUSALS, files: FILES_AT_FAULT };
  writeFileSync(new URL('../docs/codes.md', import.meta.url), codesPage(tables, EXIT_CODES));
  say('Wrote docs/codes.md.');
  return 0;
});
