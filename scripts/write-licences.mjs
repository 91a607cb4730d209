// `npm run docs:licences`: writes LICENCES.md anew, from package-lock.json and the packages that are installed. A test tells when
// it is due.

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { licencesPage } from './lib/licences.mjs';
import { runIfMain } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

await runIfMain(import.meta.url, async () => {
  await setup({ upTo: 'dependencies' });
  const { packages } = JSON.parse(readFileSync(new URL('../package-lock.json', import.meta.url), 'utf8'));
  writeFileSync(new URL('../LICENCES.md', import.meta.url), licencesPage(packages, ROOT));
  say('Wrote LICENCES.md.');
  return 0;
});
