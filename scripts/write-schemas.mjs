// `npm run schemas`: writes policies/policy.schema.json anew from the schema in language/. A test tells when it is due.

import { writeFileSync } from 'node:fs';
import { runIfMain } from './lib/main.mjs';
import { say } from './lib/steps.mjs';
import { setup } from './setup.mjs';

await runIfMain(import.meta.url, async () => {
  await setup({ upTo: 'build' });
  const built = new URL('../dist/language/policy-schema.js', import.meta.url);
  /** @type {{ policyJsonSchemaText: () => string }} */
  const { policyJsonSchemaText } = await import(built.href);
  const file = new URL('../policies/policy.schema.json', import.meta.url);
  writeFileSync(file, policyJsonSchemaText());
  say(`Wrote policies/policy.schema.json.`);
  return 0;
});
