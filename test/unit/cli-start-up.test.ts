// Which packages each command loads before it does anything: what it does not need costs it no time. Counted over the
// imports of the sources, so that nothing of it depends on how busy a machine is; `npm run bench` measures the time.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix } from 'node:path';
import { test } from 'node:test';
import { COMMANDS, nameOf } from '../../cli/commands.ts';
import { ROOT } from '../support/root.ts';

const OUTPUT = ['picocolors', 'string-width', 'wrap-ansi'];
const POLICY = ['damerau-levenshtein', 'decimal.js', 'luxon', 'yaml', 'zod'];
const SERVICE = ['jose', 'undici'];
const TEMPORAL = [
  '@temporalio/client',
  '@temporalio/common',
  '@temporalio/envconfig',
  '@temporalio/workflow',
];
const DEV_SERVER = ['@temporalio/client', '@temporalio/common', '@temporalio/workflow'];

/** What each command loads, besides what the overview does. Only `worker` loads the worker's native part. */
const LOADS: Readonly<Record<string, readonly string[]>> = {
  up: [...OUTPUT, ...DEV_SERVER, 'decimal.js', 'jose'],
  check: [...OUTPUT, ...POLICY],
  plan: [...OUTPUT, ...POLICY, ...SERVICE],
  run: [...OUTPUT, ...POLICY, ...SERVICE, ...TEMPORAL, 'log-update'],
  status: [...OUTPUT, 'decimal.js', ...TEMPORAL],
  report: [...OUTPUT, ...POLICY, ...SERVICE, ...TEMPORAL],
  list: [...OUTPUT, 'luxon', 'decimal.js', ...TEMPORAL],
  watch: [...OUTPUT, 'luxon', 'decimal.js', ...TEMPORAL],
  approve: [...OUTPUT, 'decimal.js', ...TEMPORAL],
  cancel: [...OUTPUT, ...POLICY, ...SERVICE, ...TEMPORAL],
  resolve: [...OUTPUT, ...POLICY, ...SERVICE, ...TEMPORAL],
  doctor: [...OUTPUT, ...POLICY, ...SERVICE, ...TEMPORAL],
  halt: [...OUTPUT, ...TEMPORAL],
  resume: [...OUTPUT, ...TEMPORAL],
  replay: [...OUTPUT, 'luxon', 'decimal.js', ...TEMPORAL, 'log-update'],
  'explain-reset': [...OUTPUT, ...POLICY, ...TEMPORAL],
  schedule: [],
  'schedule/next': [...OUTPUT, ...POLICY],
  'schedule/apply': [...OUTPUT, ...POLICY, ...TEMPORAL, 'diff'],
  'schedule/list': [...OUTPUT, 'luxon', 'decimal.js', ...TEMPORAL],
  'schedule/pause': [...OUTPUT, 'luxon', ...TEMPORAL],
  'schedule/resume': [...OUTPUT, 'luxon', ...TEMPORAL],
  'schedule/trigger': [...OUTPUT, 'luxon', 'decimal.js', 'yaml', ...TEMPORAL, 'log-update'],
  'schedule/backfill': [...OUTPUT, 'luxon', 'decimal.js', 'yaml', ...TEMPORAL, 'log-update'],
  balances: [...OUTPUT, ...POLICY, ...SERVICE],
  accounts: [...OUTPUT, ...POLICY, ...SERVICE],
  ledger: [...OUTPUT, 'decimal.js', 'zod'],
  audit: [],
  'audit/verify': [...OUTPUT, ...POLICY, ...SERVICE],
  keys: [],
  'keys/new': OUTPUT,
  'keys/rotate': OUTPUT,
  'keys/list': OUTPUT,
  worker: [
    ...OUTPUT,
    ...POLICY,
    ...SERVICE,
    ...TEMPORAL,
    '@temporalio/activity',
    '@temporalio/worker',
    'p-limit',
  ],
  sandbox: [...OUTPUT, 'decimal.js', 'jose'],
  temporal: [...OUTPUT, ...DEV_SERVER],
  codec: [...OUTPUT, '@temporalio/common', '@temporalio/workflow'],
  completion: OUTPUT,
};

test('the overview loads the parser of the line, and none of the commands', () => {
  const loaded = loadedBy('cli/main.ts');
  assert.deepEqual([...loaded.packages], ['commander']);
  assert.deepEqual(
    [...loaded.files].filter((file) => file.startsWith('cli/commands/')),
    ['cli/commands/version.ts'],
  );
});

test('before the program nothing is loaded but how it ends and where its cache is, and nothing that starts processes', () => {
  const { files, packages } = loadedBy('bin/cambist.mjs');
  assert.deepEqual(
    [[...files].toSorted(), [...packages]],
    [
      ['bin/cambist.mjs', 'scripts/lib/cache-folder.mjs', 'scripts/lib/main.mjs', 'scripts/lib/steps.mjs'],
      [],
    ],
  );
  const wrong = [...files].filter((file) =>
    /^import .*node:child_process/m.test(readFileSync(join(ROOT, file), 'utf8')),
  );
  assert.deepEqual(wrong, []);
});

/** By its file: `schedule/next` for what is typed behind `schedule`. */
const FILES = COMMANDS.flatMap((entry) => [
  nameOf(entry),
  ...(entry.commands ?? []).map((inner) => `${nameOf(entry)}/${nameOf(inner)}`),
]);

for (const name of FILES) {
  test(`${name} loads what it needs, and nothing else`, () => {
    const { packages } = loadedBy(`cli/commands/${name}.ts`);
    packages.delete('commander');
    assert.deepEqual([...packages].toSorted(), [...new Set(LOADS[name])].toSorted());
  });
}

/** Every file and package that a file loads at once: not what it only takes types of, nor what it loads when it is used. */
function loadedBy(file: string): { readonly files: ReadonlySet<string>; readonly packages: Set<string> } {
  const files = new Set([file]);
  const packages = new Set<string>();
  for (const each of files)
    for (const specifier of importsOf(each)) {
      if (specifier.startsWith('.')) files.add(posix.join(posix.dirname(each), specifier));
      else if (!isBuiltin(specifier)) packages.add(specifier);
    }
  return { files, packages };
}

/** Prettier keeps each import at the start of a line. An import with no more than types in its braces is loaded all the same. */
function importsOf(file: string): string[] {
  const text = readFileSync(join(ROOT, file), 'utf8');
  const imports = /^(?:import|export)\s+(?!type\b)(?:[^'";]*?\sfrom\s*)?['"]([^'"]+)['"]/gm;
  return [...text.matchAll(imports)].map(([, specifier = '']) => specifier);
}
