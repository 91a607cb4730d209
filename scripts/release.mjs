// `npm run release`: makes a release of the version in package.json, on this machine alone: every test, every machine of the
// proof, the histories that this version records, kept for ever, the tarball with its SBOM and digests, and a tag. It begins
// only on a clean main whose changelog has a section for the version and today. It publishes nothing, and says how to.
// `-- --dry-run` says what stands against it and what it would do, and does nothing.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { historyFolders, keepHistories } from './lib/kept-histories.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { reasonsAgainst } from './lib/release-check.mjs';
import { run, say } from './lib/steps.mjs';
import { makePackage } from './package.mjs';
import { setup } from './setup.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * What a release does, in this order.
 *
 * @param {string} version
 * @returns {readonly { what: string, work: () => Promise<unknown> }[]}
 */
export function stepsOf(version) {
  return [
    { what: 'every check and every test: npm test', work: () => script('test.mjs') },
    { what: 'every machine: npm run proof -- --write', work: () => script('proof.mjs', '--write') },
    {
      what: 'the histories recorded anew: npm run record-histories',
      work: () => node('--import', 'tsx', 'test/support/record-histories.ts'),
    },
    {
      what: `these kept for ever: test/machines/histories/releases/${version}`,
      work: async () => keepHistories(version),
    },
    {
      what: 'all histories replayed: npm test -- run-replay.test',
      work: () => script('test.mjs', 'run-replay.test'),
    },
    {
      what: `a commit of the histories and of docs/proof.md: release: ${version}`,
      work: async () => {
        await git('add', 'test/machines/histories', 'docs/proof.md');
        await git('commit', '--quiet', '--message', `release: ${version}`);
      },
    },
    { what: 'the tarball, its SBOM and digests: npm run package', work: makePackage },
    {
      what: `a tag: v${version}`,
      work: () => git('tag', '--annotate', `v${version}`, '--message', `Cambist ${version}`),
    },
  ];
}

await runIfMain(import.meta.url, async () => {
  const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false } } });
  const { name, version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const reasons = await reasonsNow(version);
  for (const reason of reasons) say(`Against it: ${reason}`);
  if (values['dry-run']) {
    say(`A release of ${version} would be, in this order:`);
    for (const { what } of stepsOf(version)) say(`  ${what}`);
    say('Nothing was done.');
    return reasons.length === 0 ? 0 : 1;
  }
  if (reasons.length > 0) throw new ScriptFailed(`No release of ${version} was begun.`);
  await setup({ ownServer: true });
  for (const { what, work } of stepsOf(version)) {
    say(`Release ${version}: ${what} …`);
    // One after the other: each needs the one before.
    await work();
  }
  say(
    [
      `Release ${version} is made, and nothing is published. docs/releasing.md says what publishing needs. To publish it:`,
      `  git push origin main v${version}`,
      `  npm publish .cambist/package/${name}-${version}.tgz`,
    ].join('\n'),
  );
  return 0;
});

/** @param {string} version */
async function reasonsNow(version) {
  return reasonsAgainst({
    version,
    today: new Date().toISOString().slice(0, 10),
    branch: await git('rev-parse', '--abbrev-ref', 'HEAD'),
    changes: await git('status', '--porcelain'),
    isTagged: (await git('tag', '--list', `v${version}`)) !== '',
    isKept: historyFolders().some((kept) => kept.version === version),
    changelog: readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8'),
  });
}

/** @param {string[]} args */
function git(...args) {
  return run('git', args, { cwd: ROOT });
}

/**
 * @param {string} file
 * @param {string[]} args
 */
function script(file, ...args) {
  return node(join('scripts', file), ...args);
}

/** What it prints is shown as it comes. @param {string[]} args */
async function node(...args) {
  const child = spawn(process.execPath, args, { cwd: ROOT, stdio: 'inherit' });
  const [exitCode] = await once(child, 'close');
  if (exitCode !== 0)
    throw new ScriptFailed(`node ${args.join(' ')} ended with ${exitCode}. There is no release.`);
}
