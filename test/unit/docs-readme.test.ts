/** The README and the pages of reference say what the code does: each table is compared with what it is about. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Command } from 'commander';
import { EXIT_CODES, EXIT_MEANINGS } from '../../operations/exit-codes.ts';
import {
  DECISIONS,
  FOLLOW_UPS,
  OTHER_REPLIES,
  STORED_FOLLOW_UPS,
  type Code,
  type ReplyClass,
} from '../../domain/service/reply-rules.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { loadServiceFacts } from '../../language/load-service-facts.ts';
import { MACHINES } from '../../scripts/proof.mjs';
import { commandsOf, silentProgram } from '../support/program.ts';
import { codes, readPage } from '../support/docs-tables.ts';
import { ROOT } from '../support/root.ts';

const readme = readPage('README.md');
const tutorial = readPage('docs/tutorial.md');
const contributing = readPage('CONTRIBUTING.md');
const commands = readPage('docs/commands.md');
const configuration = readPage('docs/configuration.md');
const proof = readPage('docs/proof.md');
const replies = readPage('docs/replies.md');
const pages = [
  readme,
  tutorial,
  commands,
  configuration,
  proof,
  replies,
  ...['docs/operations.md', 'docs/policies.md', 'docs/rebalancing.md', 'docs/design.md'].map(readPage),
];

test('the README is short enough to be read', () => {
  assert.ok(readme.text.split('\n').length <= 200);
});

test('the table of replies has each class with its codes and what follows', () => {
  const classes = Object.keys(FOLLOW_UPS) as ReplyClass[];
  const expected = classes.map((name) => {
    const { read, quote, trade, withdrawal } = FOLLOW_UPS[name];
    return [name, codesOf(name), read, quote, trade, withdrawal];
  });
  assert.deepEqual(replies.rows('Codes of the catalogue'), expected);
});

test('the tables of replies without a code, and of stored ones, are those of the code', () => {
  const others = Object.entries(OTHER_REPLIES).map(([reply, row]) => [
    reply,
    row.class,
    'departs' in row ? row.departs : '',
  ]);
  assert.deepEqual(replies.rows('Replies without a code of the catalogue'), others);
  const stored = (Object.keys(STORED_FOLLOW_UPS) as ReplyClass[]).map((name) => {
    const { trade, withdrawal } = { ...FOLLOW_UPS[name], ...STORED_FOLLOW_UPS[name] };
    return [name, trade, withdrawal];
  });
  assert.deepEqual(replies.rows('Stored replies'), stored);
});

test("each reason for not following the service's advice stands beside the class or the codes that it is about", () => {
  const expected = (Object.keys(FOLLOW_UPS) as ReplyClass[]).flatMap((name) => {
    const reasons = new Map<string, Code[]>();
    for (const code of codesIn(name)) {
      const row = DECISIONS[code];
      if ('departs' in row) reasons.set(row.departs, [...(reasons.get(row.departs) ?? []), code]);
    }
    return [...reasons].map(([reason, of]) => [
      of.length === codesIn(name).length ? name : codes(of),
      reason,
    ]);
  });
  assert.deepEqual(replies.rows("Where the service's advice is not followed"), expected);
});

const IN_WORDS: Partial<Record<ReplyClass, string>> = {
  done: 'a whole, valid success that equals what was sent',
  unknown: 'every other code, and whatever is no whole, valid answer',
};

function codesOf(name: ReplyClass): string {
  return IN_WORDS[name] ?? codes(codesIn(name));
}

function codesIn(name: ReplyClass): Code[] {
  return (Object.keys(DECISIONS) as Code[]).filter((code) => DECISIONS[code].class === name);
}

test('what was played is told by date, seed and slice, as a figure that `npm run proof` counts or a failure of it, no figure twice', () => {
  const written = proof.rows('What was played');
  const known = new Set(MACHINES.flatMap(({ figures }) => figures));
  for (const [date = '', seed = '', slice = '', what = '', figure = ''] of written) {
    assert.match(date, /^\d{4}-\d{2}-\d{2}$/);
    assert.match(seed, /^\d+$/);
    assert.match(slice, /^(whole|\d+\/\d+)$/);
    assert.ok(known.has(what), what);
    assert.match(figure, /^([0-9,]+( of [0-9,]+)?|FAILED)$/, what);
  }
  const places = written.map(([, , slice, what]) => `${slice} ${what}`);
  assert.equal(new Set(places).size, places.length);
});

test('the exit codes are those of the commands', () => {
  const endings = Object.keys(EXIT_CODES) as (keyof typeof EXIT_CODES)[];
  const expected = endings.map((ending) => [`${EXIT_CODES[ending]}`, EXIT_MEANINGS[ending]]);
  const rows = commands.rows('Exit codes');
  assert.deepEqual(
    rows.map(([code, meaning]) => [code, meaning]),
    expected,
  );
  for (const [code, , advice = ''] of rows) assert.notEqual(advice, '', `what to do about exit code ${code}`);
});

test('the commands and their options are those of the program', async () => {
  const known = commandsOf(await silentProgram());
  for (const { name, command } of known)
    assert.ok(
      command.options.some(({ long }) => long === '--json'),
      name,
    );
  const expected = known.flatMap(({ name, command }) => [
    [`\`${name}${argumentsOf(command)}\``, ''],
    ...optionsOf(command).map((flags) => ['', `\`${flags}\``]),
  ]);
  const written = commands.rows('Commands').map(([command = '', option = '']) => [command, option]);
  assert.deepEqual(written, expected);
});

function argumentsOf(command: Command): string {
  return command.registeredArguments
    .map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`;
      return argument.required ? ` <${name}>` : ` [${name}]`;
    })
    .join('');
}

/** Without those that are hidden, and without `--json`, which every command has. */
function optionsOf(command: Command): string[] {
  return command.options
    .filter((option) => !option.hidden && option.long !== '--json')
    .map(({ flags }) => flags);
}

test('the variables are those that the code reads', () => {
  const sources = ['cli', 'config', 'worker'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => readFileSync(join(ROOT, folder, file), 'utf8')),
  );
  const read = new Set(sources.flatMap((text) => text.match(/\bCAMBIST_[A-Z_]*[A-Z]\b/g) ?? []));
  const written = configuration.rows('Variables').map(([name = '']) => name.replaceAll('`', ''));
  assert.deepEqual(written.filter((name) => name.startsWith('CAMBIST_')).toSorted(), [...read].toSorted());
});

test('the service file that is shown is the default', () => {
  const loaded = loadServiceFacts(configuration.block('The service file', 'yaml'), configuration.file);
  assert.ok(loaded.ok, JSON.stringify(loaded));
  const { decimals, ...facts } = loaded.facts;
  const { decimals: _none, ...defaults } = DEFAULT_SERVICE_FACTS;
  assert.deepEqual(facts, defaults);
  assert.deepEqual(decimals, { USDC: 6 });
});

test('each dependency has its reason', () => {
  const { dependencies, devDependencies, overrides } = readPackage();
  const names = (of: Readonly<Record<string, string>>): string[] => Object.keys(of).toSorted();
  const written = (rows: readonly (readonly string[])[]): string[] =>
    rows.map(([name = '', reason = '']) =>
      reason === '' ? `${name} without a reason` : name.replaceAll('`', ''),
    );
  assert.deepEqual(written(readme.rows('Dependencies')), names(dependencies));
  assert.deepEqual(written(contributing.rows('Dependencies for development')), [
    ...names(devDependencies),
    ...names(overrides),
  ]);
});

test('each npm script is explained', () => {
  const written = contributing.rows('npm scripts').map(([name = '']) => name.replaceAll('`', ''));
  const expected = Object.keys(readPackage().scripts).map((name) =>
    name === 'test' ? 'npm test' : `npm run ${name}`,
  );
  assert.deepEqual(written.toSorted(), expected.toSorted());
});

function readPackage(): Record<
  'dependencies' | 'devDependencies' | 'overrides' | 'scripts',
  Record<string, string>
> {
  return JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
}

test('each promise has a row', () => {
  const all = ['M1', 'M2', 'M3', 'M4', 'M5', 'M6', 'M7', 'M8'];
  assert.deepEqual(
    readPage('docs/design.md')
      .rows('The promise')
      .map(([number]) => number),
    all,
  );
  assert.deepEqual(
    readPage('docs/architecture.md')
      .rows('Where each promise is kept')
      .map(([number]) => number),
    all,
  );
});

test('policies that are shown load without a mistake', () => {
  for (const page of pages) {
    for (const block of page.blocks('yaml').filter((text) => text.includes('policy: 1'))) {
      const loaded = loadPolicy(block, page.file);
      assert.ok(loaded.ok, JSON.stringify(loaded));
    }
  }
});
