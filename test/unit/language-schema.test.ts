/** The schema that editors read: fresh, taken by every sample, and as strict as the loader where a schema can be. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { policyJsonSchema, policyJsonSchemaText } from '../../language/policy/policy-schema.ts';
import { urlOf } from '../support/root.ts';
import { isSample } from '../support/policies.ts';

const POLICIES = urlOf('policies/');
const validate = new Ajv({ strict: false }).compile(policyJsonSchema());

function sample(name: string): string {
  return readFileSync(new URL(name, POLICIES), 'utf8');
}

test('the committed schema is the generated one', () => {
  assert.equal(sample('policy.schema.json'), policyJsonSchemaText(), 'renew it: npm run schemas');
});

test('every sample satisfies the schema', () => {
  for (const name of readdirSync(POLICIES).filter(isSample)) {
    assert.ok(validate(parse(sample(name))), `${name}: ${JSON.stringify(validate.errors)}`);
  }
});

test('every field of the schema has a description for the editor', () => {
  const bare: string[] = [];
  const visit = (node: unknown, path: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [key, inner] of Object.entries(node)) {
      if (key === 'properties') {
        for (const [field, schema] of Object.entries(inner as Record<string, object>)) {
          if (!('description' in schema)) bare.push(`${path}.${field}`);
        }
      }
      visit(inner, `${path}.${key}`);
    }
  };
  visit(policyJsonSchema(), '');
  assert.deepEqual(bare, []);
});

const EDITOR_MISTAKES: readonly (readonly [from: string, to: string])[] = [
  ['sell: "1000.00"', 'sell: 1000.00'],
  ['sell: "1000.00"', 'sell: "1e3"'],
  ['sell: "1000.00"', 'sell: "0.00"'],
  ['{ sell: "1000.00" }', '{ sell: "1000.00", buy: "1.00" }'],
  ['valid_for: 45s', 'valid_fro: 45s'],
  ['max_quotes: 5', 'max_quotes: 21'],
  ['worst_rate: "16.90 MXN per USD"', 'worst_cost: 25bps'],
  ['rounding: down', 'rounding: up'],
  ['policy: 1', 'policy: 2'],
];

for (const [from, to] of EDITOR_MISTAKES) {
  test(`the schema marks \`${to}\` in the editor`, () => {
    const text = sample('mxn-supplier.yaml');
    assert.ok(text.includes(from));
    assert.equal(validate(parse(text.replace(from, to))), false);
  });
}
