/** Writes `policies/policy.schema.json` anew: `node --import tsx language/write-schema.ts`. */
import { writeFileSync } from 'node:fs';
import { policyJsonSchemaText } from './policy-schema.ts';

writeFileSync(new URL('../policies/policy.schema.json', import.meta.url), policyJsonSchemaText());
