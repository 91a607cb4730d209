/** Prints `policies/policy.schema.json`: `node --import tsx language/write-schema.ts > policies/policy.schema.json`. */
import { policyJsonSchemaText } from './policy-schema.ts';

process.stdout.write(policyJsonSchemaText());
