/** The pages of docs/ say what the code does: each of their tables is compared with the code that it is about. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT_CODES, endingOfCode, isKnownCode } from '../cli/exit-codes.ts';
import { DECISIONS } from '../domain/decisions.ts';
import type { ReportStatus } from '../domain/report.ts';
import { loadReferenceRates } from '../language/load-reference-rates.ts';
import { ROOT, readPage } from './docs-tables.ts';

const policies = readPage('docs/policies.md');
const operations = readPage('docs/operations.md');

type Schema = {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
};

test('the fields of policies are those of the schema, in its words', () => {
  const schema: Schema = JSON.parse(readFileSync(join(ROOT, 'policies/policy.schema.json'), 'utf8'));
  const rows = new Map(fieldsOf(schema, '').map((row) => [row[0], row]));
  assert.deepEqual(policies.rows('Fields'), [...rows.values()]);
});

function fieldsOf(schema: Schema, path: string): string[][] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const place = path === '' ? name : `${path}.${name}`;
    const needed = schema.required?.includes(name) === true ? 'yes' : 'no';
    return [[`\`${place}\``, needed, field.description ?? ''], ...fieldsOf(field, place)];
  });
  const items = schema.items === undefined ? [] : fieldsOf(schema.items, `${path}[]`);
  const arms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((arm) => fieldsOf(arm, path));
  return [...own, ...items, ...arms];
}

test('the reference rates that are shown load without a mistake', () => {
  const block = policies.block('Guards and limits', 'yaml');
  const loaded = loadReferenceRates(block, 'docs/policies.md');
  assert.ok(loaded.ok, JSON.stringify(loaded));
});

test('every code of ours has a row with its exit code', () => {
  const sources = ['domain', 'workflows', 'activities', 'cli'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
  );
  const used = new Set(sources.flatMap((text) => text.match(/(?<=\bcode: ')[A-Z_]+(?=')/g) ?? []));
  const ours = [...used].filter((code) => isKnownCode(code) && !Object.hasOwn(DECISIONS, code));
  const rows = operations.rows('Codes');
  const written = rows.map(([code = '']) => code.replaceAll('`', ''));
  assert.deepEqual(
    ours.filter((code) => !written.includes(code)),
    [],
  );
  assert.deepEqual(
    written.filter((code) => !isKnownCode(code)),
    [],
  );
  for (const [code = '', exitCode] of rows) {
    const ending = endingOfCode(code.replaceAll('`', ''));
    assert.equal(exitCode, `${EXIT_CODES[ending]}`, code);
  }
});

test('every code of worker/ with which nothing starts has a row', () => {
  const read = (folder: string): string =>
    readdirSync(join(ROOT, folder))
      .map((file) => readFileSync(join(ROOT, folder, file), 'utf8'))
      .join('\n');
  const inWorker = read('worker').match(/(?<=\b(?:code: |add\(\s*))'[A-Z_]+'/g) ?? [];
  const everywhere = ['worker', 'cli', 'service'].map(read).join('\n');
  const written = operations
    .rows('What keeps a worker or a command from starting')
    .flatMap(([names = '']) => names.match(/[A-Z_]+/g) ?? []);
  // Mistakes in a variable's value say all there is to say.
  const selfEvident = new Set(['KEY_FILE_NOT_FOUND', 'READ_KEY_FOREIGN', 'SERVICE_FILE_NOT_FOUND']);
  const codes = [...new Set(inWorker)].map((code) => code.replaceAll("'", ''));
  assert.deepEqual(
    codes.filter((code) => !written.includes(code) && !selfEvident.has(code)),
    [],
  );
  assert.deepEqual(
    written.filter((code) => !everywhere.includes(`'${code}'`)),
    [],
  );
});

test('the states of runs are those of reports', () => {
  const states: Readonly<Record<ReportStatus, true>> = {
    RUNNING: true,
    HELD: true,
    COMPLETED: true,
    PARTIAL: true,
    FAILED: true,
    CANCELLED: true,
  };
  const written = operations.rows('What needs somebody').map(([state = '']) => state.replaceAll('`', ''));
  assert.deepEqual(written, Object.keys(states));
});
