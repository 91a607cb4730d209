// `npm run schemas`: writes policies/*.schema.json anew from the schemas in language/ and cli/. Tests tell when it is due.

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { importBuilt } from './build.mjs';
import { runIfMain } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  await setup({ upTo: 'build' });
  const { policyJsonSchemaText } = await importBuilt('language/policy/policy-schema.js');
  await write('policy.schema.json', policyJsonSchemaText());
  const { reportJsonSchema } = await importBuilt('cli/views/report-schema.js');
  await write('report.schema.json', JSON.stringify(reportJsonSchema(), null, 2));
  return 0;
});

/**
 * @param {string} name
 * @param {string} text
 */
async function write(name, text) {
  const { format, resolveConfig } = await import('prettier');
  const file = fileURLToPath(new URL(`../policies/${name}`, import.meta.url));
  writeFileSync(file, await format(text, { ...(await resolveConfig(file)), filepath: file }));
  say(`Wrote policies/${name}.`);
}
