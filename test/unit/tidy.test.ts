// What every file of this repository keeps to. The allowed edges between folders are data, here and nowhere else;
// `.oxlintrc.json` repeats them for editors, and a test below compares the two.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { join, posix, relative, sep } from 'node:path';
import { test } from 'node:test';
import { listUnitTests } from '../../scripts/lib/test-files.mjs';
import { codes, readPage } from '../support/docs-tables.ts';
import { ROOT } from '../support/root.ts';

type Edges = {
  /** Other folders of ours. */
  readonly folders: readonly string[];
  readonly packages: readonly string[] | 'any';
  readonly node: readonly string[] | 'any';
};

const EDGES: Readonly<Record<string, Edges>> = {
  domain: { folders: [], packages: ['decimal.js'], node: [] },
  calendar: { folders: ['domain'], packages: ['luxon', 'date-holidays'], node: [] },
  language: {
    folders: ['domain', 'calendar'],
    packages: ['yaml', 'zod', 'damerau-levenshtein', 'string-width', 'csv-parse'],
    node: ['node:buffer', 'node:crypto', 'node:stream'],
  },
  service: { folders: ['domain'], packages: ['jose', 'undici', 'zod'], node: 'any' },
  workflows: { folders: ['domain'], packages: ['@temporalio/workflow', '@temporalio/common'], node: [] },
  durable: {
    folders: ['domain', 'language', 'workflows'],
    packages: ['@temporalio/client', '@temporalio/common'],
    node: [],
  },
  activities: {
    folders: ['domain', 'calendar', 'language', 'service', 'workflows', 'durable'],
    packages: ['@temporalio/activity', '@temporalio/common', 'p-limit'],
    node: 'any',
  },
  config: {
    folders: ['domain', 'calendar', 'language', 'service', 'workflows'],
    packages: [
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/envconfig',
      '@temporalio/interceptors-opentelemetry',
      '@opentelemetry/api',
      '@opentelemetry/context-async-hooks',
      '@opentelemetry/core',
      '@opentelemetry/exporter-trace-otlp-proto',
      '@opentelemetry/resources',
      '@opentelemetry/sdk-trace-base',
    ],
    node: 'any',
  },
  operations: {
    folders: ['domain', 'calendar', 'language', 'service', 'workflows', 'durable', 'config'],
    packages: ['@temporalio/client', '@temporalio/common'],
    node: 'any',
  },
  worker: {
    folders: ['domain', 'workflows', 'durable', 'activities', 'config', 'operations'],
    packages: [
      '@temporalio/worker',
      '@temporalio/client',
      '@temporalio/common',
      '@temporalio/interceptors-opentelemetry',
      '@opentelemetry/api',
      'node-forge',
      '#temporal-binary',
    ],
    node: 'any',
  },
  cli: {
    folders: ['domain', 'calendar', 'language', 'config', 'operations', 'worker', 'sandbox'],
    packages: 'any',
    node: 'any',
  },
  // Independent, so that a mistake of ours in signing or rounding meets another reading of the interface.
  sandbox: { folders: [], packages: ['decimal.js', 'jose'], node: 'any' },
};

/** Inside `domain/`: no arrow runs back, and what stands at its top may be imported by all of them. */
const EDGES_OF_DOMAIN: Readonly<Record<string, readonly string[]>> = {
  // What lies in no folder of it.
  '': ['service'],
  service: [],
  people: [],
  plan: ['service'],
  writes: ['service', 'people', 'plan'],
  run: ['service', 'people', 'plan', 'writes'],
};

/** Workflow code runs in a sandbox of its own: the others use its types, and of its values only what these hold. */
const SHARED_BY_WORKFLOWS = [
  'workflows/names.ts',
  'workflows/limits.ts',
  'workflows/steps.ts',
  'workflows/trace-header.ts',
];

/** Only the commands that serve something put a worker, a dev server or a sandbox together. */
const SERVING_COMMANDS = ['up', 'worker', 'sandbox', 'temporal', 'codec'].map(
  (name) => `cli/commands/${name}.ts`,
);

/** The only places that read the environment; everything else is handed what it needs. */
const READS_ENVIRONMENT = ['config/config.ts', 'cli/', 'scripts/', 'test/', 'bench/'];

/** Folders in which files still import each other in a circle. Only types may, and it is to become empty. */
const HAS_CIRCLES_OF_TYPES = ['test/machines/model/'];

const NOT_OURS = new Set(['node_modules', 'dist', 'dist.next', 'dist.old', '.git', '.cambist']);
const TEXT = /\.(ts|mts|mjs|js|json|jsonc|yaml|yml|md|csv|html|css|sh)$|^\.ci\/run$|^\.npmrc$/;

const files = listFiles(ROOT).filter((file) => TEXT.test(file));
const sources = files.filter((file) => /\.(ts|mts|mjs|js)$/.test(file));
const typescript = sources.filter((file) => file.endsWith('.ts'));

test('each folder imports only what it may', () => {
  const wrong = typescript.flatMap((file) => {
    const edges = EDGES[topOf(file)];
    return edges ? importsOf(file).flatMap((found) => describeWrong(file, found, edges)) : [];
  });
  assert.deepEqual(wrong, []);
});

test('a worker needs each file of durable/: what only commands use is in operations/', () => {
  const known = importsAmong(typescript, () => true);
  const met = new Set<string>();
  const visit = (file: string): void => {
    if (met.has(file) || topOf(file) === 'operations') return;
    met.add(file);
    for (const next of known.get(file) ?? []) visit(next);
  };
  for (const file of typescript) if (['activities', 'worker'].includes(topOf(file))) visit(file);
  const durable = typescript.filter((file) => topOf(file) === 'durable');
  assert.ok(durable.length > 0);
  assert.deepEqual(
    durable.filter((file) => !met.has(file)),
    [],
  );
});

test('Temporal is asked about a workflow, for a list and for a history in one place each', () => {
  const places: readonly (readonly [pattern: RegExp, stands: readonly string[]])[] = [
    [/(?<!schedule\.getHandle\(.*)\.describe\(\)/, ['durable/described.ts']],
    [/status\.name [!=]== '(RUNNING|PAUSED)'/, ['durable/described.ts']],
    // Its own query: by the build to which somebody has pinned a run.
    [/workflow\.list\(/, ['durable/listed.ts', 'operations/watch/builds.ts']],
    [/ExecutionStatus = 'Running'/, []],
    [/\.fetchHistory\(|getWorkflowExecutionHistory\(/, ['durable/history.ts']],
  ];
  const product = typescript.filter((file) => EDGES[topOf(file)] !== undefined);
  for (const [pattern, stands] of places)
    assert.deepEqual(matching(product, pattern).toSorted(compare), stands, String(pattern));
});

test('no folder of operations/ and durable/ has more than a dozen files', () => {
  const counts = new Map<string, number>();
  for (const file of typescript.filter((name) => ['operations', 'durable'].includes(topOf(name)))) {
    const folder = posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  assert.deepEqual(
    [...counts].filter(([, count]) => count > 12),
    [],
  );
});

test('only commands that serve import what serves', () => {
  const wrong = typescript
    .filter((file) => topOf(file) === 'cli' && !SERVING_COMMANDS.includes(file))
    .flatMap((file) =>
      importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.join(posix.dirname(file), specifier))
        .filter((target) => ['worker', 'sandbox'].includes(topOf(target)))
        .map((target) => `${file}: '${target}'`),
    );
  assert.deepEqual(wrong, []);
});

test('each folder of the domain imports only what it may', () => {
  const wrong = typescript
    .filter((file) => topOf(file) === 'domain')
    .flatMap((file) =>
      importsOf(file).flatMap(({ specifier }) => {
        const inner = (path: string): string | null =>
          path.split('/')[2] !== undefined ? (path.split('/')[1] ?? null) : null;
        const from = inner(file);
        const to = specifier.startsWith('.') ? inner(posix.join(posix.dirname(file), specifier)) : null;
        const isAllowed = to === null || to === from || EDGES_OF_DOMAIN[from ?? '']?.includes(to);
        return isAllowed ? [] : [`${file}: '${specifier}'`];
      }),
    );
  assert.deepEqual(wrong, []);
});

test('each folder with sources has its edges stated, or is free to import anything', () => {
  const free = new Set(['test', 'bench']);
  const unknown = typescript.map(topOf).filter((folder) => !free.has(folder) && !EDGES[folder]);
  assert.deepEqual([...new Set(unknown)], []);
});

test('the linter forbids the same edges', () => {
  const config: { overrides: { files: string[]; rules: Record<string, unknown> }[] } = JSON.parse(
    read('.oxlintrc.json'),
  );
  for (const [folder, edges] of Object.entries(EDGES))
    for (const depth of [1, 2]) {
      const glob = depth === 1 ? `${folder}/*.ts` : `${folder}/*/**`;
      const override = config.overrides.find(({ files: globs }) => globs.includes(glob));
      assert.deepEqual(
        override?.rules['no-restricted-imports'],
        linterRule(folder, edges, depth),
        `in .oxlintrc.json for ${glob}`,
      );
    }
});

test('the documentation shows the same edges, as a table and as a picture', () => {
  const page = readPage('docs/architecture.md');
  const heading = 'Which folder may import which';
  const listed = (names: readonly string[] | 'any'): string =>
    names === 'any' ? 'any' : names.length === 0 ? 'none' : codes(names);
  const expected = Object.entries(EDGES).map(([folder, { folders, packages, node }]) => [
    `\`${folder}/\``,
    listed(folders),
    listed(packages),
    listed(node),
  ]);
  assert.deepEqual(page.rows(heading), expected);
  const drawn = page.block(heading, 'mermaid').match(/\w+ --> \w+/g) ?? [];
  const arrows = Object.entries(EDGES).flatMap(([folder, { folders }]) =>
    folders.filter((other) => other !== 'domain').map((other) => `${folder} --> ${other}`),
  );
  assert.deepEqual(drawn.toSorted(compare), arrows.toSorted(compare));
});

test('no file imports itself through others, types included', () => {
  const found = circlesOf(typescript, () => true);
  const elsewhere = found.filter(
    (circle) => !HAS_CIRCLES_OF_TYPES.some((folder) => circle.every((file) => file.startsWith(folder))),
  );
  assert.deepEqual(elsewhere, []);
});

test('no file runs itself through what it imports', () => {
  assert.deepEqual(
    circlesOf(typescript, ({ isType }) => !isType),
    [],
  );
});

test('a circle of imports is found, and the shortest is named', () => {
  const imports: Record<string, readonly string[]> = {
    a: ['b'],
    b: ['c', 'd'],
    c: ['d'],
    d: ['b'],
    e: ['a', 'e'],
  };
  assert.deepEqual(
    circlesAmong(['a', 'b', 'c', 'd', 'e'], (file) => imports[file] ?? []),
    [
      ['b', 'd', 'b'],
      ['e', 'e'],
    ],
  );
});

test('a test of test/unit/ starts no server', () => {
  const known = importsAmong(typescript, () => true);
  const reaches = (file: string, met = new Set<string>()): boolean => {
    if (file === 'test/support/dev-server.ts') return true;
    if (met.has(file)) return false;
    met.add(file);
    return (known.get(file) ?? []).some((next) => reaches(next, met));
  };
  assert.deepEqual(
    listUnitTests().filter((name) => reaches(`test/${name}`)),
    [],
  );
  assert.ok(reaches('test/server/run-happy.test.ts'));
});

test('relative imports end in the name of the file', () => {
  const wrong = typescript.flatMap((file) =>
    importsOf(file)
      .filter(({ specifier }) => specifier.startsWith('.') && !/\.(ts|mjs|json)$/.test(specifier))
      .map(({ specifier }) => `${file}: '${specifier}'`),
  );
  assert.deepEqual(wrong, []);
});

test('exports have names', () => {
  assert.deepEqual(matching(sources, /^export default\b|^export \{[^}]*\bas default\b/m), []);
});

test('every source opens with a comment on what it is', () => {
  const wrong = sources.filter((file) => !/^(#![^\n]*\n)?\s*(\/\/|\/\*)/.test(read(file)));
  assert.deepEqual(wrong, []);
});

test('nothing is left for later in a comment', () => {
  const others = sources.filter((file) => file !== 'test/unit/tidy.test.ts');
  assert.deepEqual(matching(others, /\b(TODO|FIXME|XXX)\b/), []);
});

test('no path of one machine is written down', () => {
  assert.deepEqual(matching(files, new RegExp('/(work|root|Users)/[a-z.]|/home/[a-z]')), []);
});

test('the environment is read in one place', () => {
  const others = sources.filter((file) => !READS_ENVIRONMENT.some((place) => file.startsWith(place)));
  assert.deepEqual(matching(others, /\bprocess\s*(\.\s*env\b|\[\s*['"]env['"]\s*\])/), []);
});

test('no message has a moment as programs write it: minuteText, or a clock with the zone of the policy', () => {
  const ours = typescript.filter((file) => /^(?:domain|operations|activities|workflows|cli)\//.test(file));
  const moment = /\$\{(?:new Date\([^`]*\)\.toISOString\(\)|[\w.]*createdAt)\}(?!')/;
  assert.deepEqual(matching(ours, moment), []);
});

test('policies hold no code', () => {
  const allowed = /\.(yaml|yml|json|csv|md)$/;
  const wrong = listFiles(join(ROOT, 'policies')).filter((file) => !allowed.test(file));
  assert.deepEqual(wrong, []);
});

test('the lock file names no address, and one protobufjs of version 8 at the top', () => {
  const lock: { packages: Record<string, { version?: string; resolved?: string }> } = JSON.parse(
    read('package-lock.json'),
  );
  const addresses = Object.values(lock.packages).filter(({ resolved }) => resolved !== undefined);
  assert.deepEqual(addresses, []);
  assert.match(lock.packages['node_modules/protobufjs']?.version ?? '', /^8\./);
});

type Import = { readonly specifier: string; readonly isType: boolean };

/** Prettier keeps each import at the start of a line, so text in a template string is not taken for one. */
function importsOf(file: string): Import[] {
  const text = read(file);
  const from =
    /^(?:import|export)\s+(type\s+)?(?:\*(?:\s+as\s+\w+)?|\{[^}]*\}|\w+(?:\s*,\s*\{[^}]*\})?)\s*from\s*['"]([^'"]+)['"]/gm;
  const bare = /^import\s*['"]([^'"]+)['"]/gm;
  const dynamic = /\bimport\(\s*['"]([^'"]+)['"]/g;
  return [
    ...[...text.matchAll(from)].map(([, type, specifier = '']) => ({
      specifier,
      isType: type !== undefined,
    })),
    ...[...text.matchAll(bare), ...text.matchAll(dynamic)].map(([, specifier = '']) => ({
      specifier,
      isType: false,
    })),
  ];
}

/** The circles that imports of the chosen kind make among files. */
function circlesOf(among: readonly string[], chosen: (found: Import) => boolean): string[][] {
  const known = importsAmong(among, chosen);
  return circlesAmong(among, (file) => known.get(file) ?? []);
}

/** The files of ours that each file imports, by imports of the chosen kind. */
function importsAmong(
  among: readonly string[],
  chosen: (found: Import) => boolean,
): ReadonlyMap<string, readonly string[]> {
  return new Map(
    among.map((file) => [
      file,
      importsOf(file)
        .filter((found) => found.specifier.startsWith('.') && chosen(found))
        .map(({ specifier }) => posix.join(posix.dirname(file), specifier)),
    ]),
  );
}

/** For each file that is the first by name in some circle, the shortest such circle, from this file back to it. */
function circlesAmong(names: readonly string[], next: (name: string) => readonly string[]): string[][] {
  return names.flatMap((start) => {
    const paths = [[start]];
    const met = new Set<string>();
    for (const path of paths) {
      for (const name of next(path.at(-1) ?? start)) {
        if (name === start) return [[...path, start]];
        if (name < start || met.has(name)) continue;
        met.add(name);
        paths.push([...path, name]);
      }
    }
    return [];
  });
}

/** One line if the import is not allowed, none if it is. */
function describeWrong(file: string, { specifier, isType }: Import, edges: Edges): string[] {
  const line = `${file}: '${specifier}'`;
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(file), specifier);
    if (topOf(target) === topOf(file)) return [];
    if (!edges.folders.includes(topOf(target))) return [line];
    if (isType || topOf(target) !== 'workflows' || SHARED_BY_WORKFLOWS.includes(target)) return [];
    return [`${line} (only types, or values come from ${SHARED_BY_WORKFLOWS.join(' and ')})`];
  }
  const allowed = isBuiltin(specifier) ? edges.node : edges.packages;
  if (allowed === 'any') return [];
  const name = isBuiltin(specifier) ? specifier : packageOf(specifier);
  return allowed.includes(name) ? [] : [line];
}

/** The rule of the linter that says the same as the edges of a folder, as far as the linter can. */
/** @param depth of the importing file in its folder: 1 lies in it, 2 in a folder of it */
function linterRule(folder: string, { folders, packages, node }: Edges, depth: number): unknown {
  const out = '../'.repeat(depth);
  const allowed = [
    ...folders.map((name) => `${out}${name}/**`),
    ...(node === 'any' ? ['node:**', 'node:*/*'] : node),
    ...(packages === 'any' ? [] : packages),
  ];
  const inside = ['./**', ...(depth === 1 ? [] : ['../*.ts', '../[!.]*/**'])];
  const others = Object.keys(EDGES).filter((name) => name !== folder && !folders.includes(name));
  const group =
    packages === 'any'
      ? others.map((name) => `${out}${name}/**`)
      : ['*', ...[...inside, ...allowed].map((pattern) => `!${pattern}`)];
  return [
    'error',
    { patterns: [{ group, message: `test/unit/tidy.test.ts says what ${folder}/ may import.` }] },
  ];
}

function matching(among: readonly string[], pattern: RegExp): string[] {
  return among.filter((file) => pattern.test(read(file)));
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

function packageOf(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}

function topOf(file: string): string {
  return file.split('/')[0] ?? '';
}

function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

/** Relative to the root, with forward slashes. */
function listFiles(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (NOT_OURS.has(entry.name)) return [];
    return entry.isDirectory() ? listFiles(path) : [relative(ROOT, path).split(sep).join('/')];
  });
}
