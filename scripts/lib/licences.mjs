// The text of LICENCES.md: under which licence each package is that Cambist needs when it runs, and the whole licence of those
// whose code is in what we build. A licence that nobody has looked at is refused.

import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ScriptFailed } from './main.mjs';

/** Licences under which a package may be used by a program under Apache-2.0 that only installs it. */
const KNOWN = [
  '0BSD',
  'Apache-2.0',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC-BY-3.0',
  'CC-BY-4.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Unlicense',
];

/** Packages that name none in their package.json, and what their README says. @type {Readonly<Record<string, string>>} */
const SAID_ELSEWHERE = { unionfs: 'Unlicense' };

/** The packages whose code is in the workflow bundle, which we hand on. */
export const IN_THE_BUNDLE = [
  '@temporalio/common',
  '@temporalio/workflow',
  'decimal.js',
  'long',
  'ms',
  'nexus-rpc',
];

/** The packages whose code is in the bundled command line. `npm run build` refuses to build with any other. */
export const IN_THE_COMMAND_LINE = [
  'ansi-escapes',
  'ansi-regex',
  'ansi-styles',
  'cli-cursor',
  'commander',
  'csv-parse',
  'damerau-levenshtein',
  'decimal.js',
  'diff',
  'emoji-regex',
  'environment',
  'get-east-asian-width',
  'is-fullwidth-code-point',
  'jose',
  'log-update',
  'luxon',
  'mimic-function',
  'onetime',
  'picocolors',
  'restore-cursor',
  'signal-exit',
  'slice-ansi',
  'string-width',
  'strip-ansi',
  'wrap-ansi',
  'yaml',
  'zod',
];

/**
 * @typedef {{ name: string, version: string, licence: string }} Package
 * @typedef {{ version?: string, license?: string, dev?: boolean }} Locked
 */

/**
 * The packages that are not for development, each version once.
 *
 * @param {Readonly<Record<string, Locked>>} locked the packages of package-lock.json
 * @returns {Package[]}
 * @throws ScriptFailed where the licence of one is not known
 */
export function packagesIn(locked) {
  const found = Object.entries(locked)
    .filter(([path, { dev }]) => path !== '' && dev !== true)
    .map(([path, { version = '', license }]) => {
      const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
      return { name, version, licence: license ?? SAID_ELSEWHERE[name] ?? '' };
    });
  const unknown = found.filter(({ licence }) => !isKnown(licence));
  if (unknown.length > 0)
    throw new ScriptFailed(
      `Look at these licences, then name them in scripts/lib/licences.mjs: ${unknown.map(({ name, licence }) => `${name} (${licence || 'none'})`).join(', ')}.`,
    );
  const byName = new Map(found.map((one) => [`${one.name}@${one.version}`, one]));
  return [...byName.keys()].toSorted().flatMap((key) => byName.get(key) ?? []);
}

/**
 * `(A AND B)` needs both, and of `(A OR B)` one may be chosen.
 *
 * @param {string} licence an expression of SPDX, without brackets in brackets
 */
function isKnown(licence) {
  const plain = licence.replace(/^\((.*)\)$/, '$1');
  return plain.split(' AND ').every((part) => part.split(' OR ').some((name) => KNOWN.includes(name)));
}

/**
 * @param {Readonly<Record<string, Locked>>} locked
 * @param {string} root where the packages are installed
 */
export function licencesPage(locked, root) {
  const packages = packagesIn(locked);
  const width = (/** @type {(one: Package) => string} */ of, /** @type {string} */ head) =>
    Math.max(head.length, ...packages.map((one) => of(one).length));
  const [first, second, third] = [
    width(({ name }) => name, 'package'),
    width(({ version }) => version, 'version'),
    width(({ licence }) => licence, 'licence'),
  ];
  const row = (/** @type {string[]} */ [name = '', version = '', licence = '']) =>
    `| ${name.padEnd(first)} | ${version.padEnd(second)} | ${licence.padEnd(third)} |`;
  return [
    '# Licences',
    '',
    `Cambist is under [Apache-2.0](LICENSE). \`npm run docs:licences\` writes this page from the versions in \`package-lock.json\`.`,
    '',
    '## The packages that npm installs',
    '',
    'Of those for other platforms npm installs none.',
    '',
    row(['package', 'version', 'licence']),
    `| ${'-'.repeat(first)} | ${'-'.repeat(second)} | ${'-'.repeat(third)} |`,
    ...packages.map(({ name, version, licence }) => row([name, version, licence])),
    '',
    '## The packages whose code is in `dist/workflow-bundle.js` or in `dist/cli/`',
    ...[...new Set([...IN_THE_BUNDLE, ...IN_THE_COMMAND_LINE])]
      .toSorted()
      .flatMap((name) => [
        '',
        `### ${name}`,
        '',
        '```text',
        licenceOf(join(root, 'node_modules', name)),
        '```',
      ]),
    '',
  ].join('\n');
}

/** @param {string} folder of a package */
function licenceOf(folder) {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(?:-mit)?(?:\.\w+)?$/i.test(name));
  if (file === undefined) throw new ScriptFailed(`There is no file with a licence in ${folder}.`);
  return readFileSync(join(folder, file), 'utf8')
    .replaceAll('\r', '')
    .trim()
    .replaceAll(/[ \t]+$/gm, '');
}
