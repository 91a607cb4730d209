/** The pages of docs/ say what the code does: each of their tables is compared with the code that it is about. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { EXIT_CODES, endingOfCode } from '../../operations/exit-codes.ts';
import { REFUSALS, START_PROBLEMS } from '../../domain/command-problems.ts';
import { FILE_MISTAKES } from '../../domain/file-mistakes.ts';
import { FILES_AT_FAULT, PROBLEMS } from '../../domain/problems.ts';
import type { ReportStatus } from '../../domain/run/report.ts';
import { DECISIONS, wordsOf } from '../../domain/service/reply-rules.ts';
import { adviceOf, saidBy } from '../../domain/writes/step.ts';
import { loadReferenceRates } from '../../language/load-reference-rates.ts';
import { messagesPage, serviceRows } from '../../scripts/lib/messages-page.mjs';
import { sentencesIn, sentencesOf } from '../../scripts/lib/sentences.mjs';
import { brokenLinksOf, pageOf, readPage } from '../support/docs-tables.ts';
import { ROOT } from '../support/root.ts';

const policies = readPage('docs/policies.md');
const operations = readPage('docs/operations.md');

type Schema = {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly additionalProperties?: Schema | false;
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
  const named = schema.additionalProperties ? fieldsOf(schema.additionalProperties, `${path}.*`) : [];
  const items = schema.items === undefined ? [] : fieldsOf(schema.items, `${path}[]`);
  const arms = [...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap((arm) => fieldsOf(arm, path));
  return [...own, ...named, ...items, ...arms];
}

test('the reference rates that are shown load without a mistake', () => {
  const block = policies.block('Guards and limits', 'yaml');
  const loaded = loadReferenceRates(block, 'docs/policies.md');
  assert.ok(loaded.ok, JSON.stringify(loaded));
});

test('each link to a view of the Temporal UI opens the query that stands beside it', () => {
  const rows = operations.rows('In the Temporal UI');
  assert.equal(rows.length, 5);
  for (const [view = '', query = ''] of rows) {
    const [, address = ''] = /\]\((\S+)\)$/.exec(view) ?? [];
    const { pathname, searchParams } = new URL(address);
    assert.equal(pathname, '/namespaces/default/workflows');
    assert.equal(`\`${searchParams.get('query')}\``, query);
  }
});

test('the page of messages is what `npm run docs:messages` writes, from every sentence of the sources', () => {
  const service = serviceRows(Object.keys(DECISIONS), { wordsOf, saidBy, adviceOf, endingOf: endingOfCode });
  const tables = {
    runs: PROBLEMS,
    starts: START_PROBLEMS,
    refusals: REFUSALS,
    service,
    files: FILES_AT_FAULT,
    mistakes: FILE_MISTAKES,
  };
  const page = readPage('docs/messages.md').text;
  assert.equal(page, messagesPage(tables, EXIT_CODES, sentencesOf(ROOT)), 'renew it: npm run docs:messages');
});

test('no message has a name of the program in it', () => {
  const named = readPage('docs/messages.md')
    .text.split('\n')
    .filter((line) => /\b[a-z]+[A-Z]/.test(line.replaceAll(/"[^"]*"|`[^`]*`/g, '')));
  assert.deepEqual(named, []);
});

test('a sentence is found with its code, and without its values', () => {
  const found = (source: string) =>
    sentencesIn(source, 'domain').map(({ code, message, fix }) => [code, message, fix].join(' | '));
  assert.deepEqual(
    found(
      "const p = { code: 'SHORT', item, message: `Leg \"${id}\" lacks ${money}.`, fix: isA ? 'Pay it.' : 'Wait.' };",
    ),
    ['SHORT | Leg "…" lacks …. | Pay it.', 'SHORT |  | Wait.'],
  );
  assert.deepEqual(found("makeProblem('SHORT', id, { message: 'Nothing ' + 'is there.' });"), [
    'SHORT | Nothing is there. | ',
  ]);
  assert.deepEqual(found('return isOpen ? `${name} is open already.` : null;'), [' | … is open already. | ']);
  // What no person is told: a fault of the program, a command, a name of a kind.
  const untold =
    "throw new RangeError('The list is not sorted.'); const c = 'one two three four five'.split(' '); const a = 'npx cambist list'; const b = 'not paid';";
  assert.deepEqual(found(untold), []);
});

test('no other page has a table of our codes', () => {
  const codes = new Set([PROBLEMS, START_PROBLEMS, REFUSALS].flatMap((problems) => Object.keys(problems)));
  const rowsOfCodes = markdownPages()
    .filter((file) => file !== 'docs/messages.md')
    .flatMap((file) =>
      [...readPage(file).text.matchAll(/^\| *`([A-Z_]+)`/gm)].map(([, code = '']) => ({ file, code })),
    )
    // A state of runs has the same name.
    .filter(({ code }) => codes.has(code) && code !== 'CANCELLED');
  assert.deepEqual(rowsOfCodes, []);
});

test('every link of every page leads to a file and a heading that are there', () => {
  const pages = markdownPages();
  assert.ok(pages.length > 15, `Only ${pages.length} pages were found.`);
  assert.deepEqual(
    pages.flatMap((file) => brokenLinksOf(readPage(file)).map((target) => `${file}: ${target}`)),
    [],
  );
});

function markdownPages(): string[] {
  return ['', 'docs', 'sandbox', 'policies', 'test', 'bench'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: folder !== '', encoding: 'utf8' })
      .filter((file) => file.endsWith('.md'))
      .map((file) => join(folder, file)),
  );
}

test('a link to a file or a heading that is not there is found', () => {
  const text =
    '# Here\n[a](#here) [b](#there) [c](commands.md#exit-codes) [d](commands.md#no) [e](no.md) [f](https://x.y/no)';
  assert.deepEqual(brokenLinksOf(pageOf('docs/page.md', text)), ['#there', 'commands.md#no', 'no.md']);
});

test('every code of ours is one that something ends with', () => {
  const folders = [
    'domain',
    'workflows',
    'durable',
    'activities',
    'config',
    'service',
    'worker',
    'operations',
    'cli',
    'scripts',
  ];
  const sources = folders
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((file) => /\.(ts|mjs)$/.test(file) && !file.endsWith('problems.ts'))
        .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
    )
    .join('\n');
  const codes = [PROBLEMS, START_PROBLEMS, REFUSALS].flatMap((problems) => Object.keys(problems));
  assert.deepEqual(
    codes.filter((code) => !sources.includes(`'${code}'`)),
    [],
  );
  assert.equal(new Set(codes).size, codes.length);
});

test('the states of runs are those of reports', () => {
  const states: Readonly<Record<ReportStatus, true>> = {
    RUNNING: true,
    HELD: true,
    COMPLETED: true,
    PARTIAL: true,
    FAILED: true,
    CANCELLED: true,
    TERMINATED: true,
    TIMED_OUT: true,
  };
  const written = operations.rows('States of a run').map(([state = '']) => state.replaceAll('`', ''));
  assert.deepEqual(written, Object.keys(states));
});
