// `npm run setup`: everything a fresh checkout needs, each only when it is missing: dependencies, build, dev server.
// `npm run demo`, `npm test` and `npm run bench` call `setup()` first. The second time it returns at once, offline.
// Only Node's own modules at the top: node_modules may not exist yet.

import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { withLock } from './lib/lock.mjs';
import { runIfMain, ScriptFailed } from './lib/main.mjs';
import { npm } from './lib/npm.mjs';
import { CommandFailed, say, step } from './lib/steps.mjs';
import { ensureTemporal } from './temporal-binary.mjs';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

/**
 * Brings the checkout to a state in which everything runs.
 *
 * @param {object} [options]
 * @param {'dependencies' | 'build' | 'server'} [options.upTo] how much of it is needed; default: all
 * @param {boolean} [options.ownServer] default: false, a server that TEMPORAL_ADDRESS names is enough; true: the
 *   executable is needed all the same, because tests start servers of their own
 */
export async function setup({ upTo = 'server', ownServer = false } = {}) {
  checkNode();
  await install();
  if (upTo === 'dependencies') return;
  await build();
  if (upTo === 'build' || (process.env['TEMPORAL_ADDRESS'] && !ownServer)) return;
  await ensureTemporal();
}

function checkNode() {
  const { engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const [wantMajor = 0, wantMinor = 0] = engines.node.replace('>=', '').split('.').map(Number);
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major > wantMajor || (major === wantMajor && minor >= wantMinor)) return;
  throw new ScriptFailed(
    `Cambist needs Node ${engines.node}; this is Node ${process.versions.node}. Install a newer one.`,
  );
}

/** Installs exactly what package-lock.json names, if that is not what node_modules holds. */
async function install() {
  if (isInstalled()) return;
  await withLock(join(ROOT, '.cambist', 'install.lock'), 'installing the dependencies', async () => {
    if (isInstalled()) return;
    refuseLink(join(ROOT, 'node_modules'));
    try {
      // No package needs its install script: native parts come as packages of their own.
      await step('Installing the dependencies (npm ci)', () =>
        npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund'], ROOT),
      );
    } catch (error) {
      if (!(error instanceof CommandFailed)) throw error;
      throw new ScriptFailed(`The dependencies could not be installed.\n${error.output}\n${error.message}`);
    }
  });
}

/** `npm ci` first empties node_modules, and would do so in whatever folder a link points to. */
function refuseLink(/** @type {string} */ path) {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return;
  throw new ScriptFailed(
    `The dependencies cannot be installed: ${path} is a symbolic link to ${readlinkSync(path)}. npm would empty that ` +
      'folder, which may belong to another checkout. Remove the link and run this again.',
  );
}

/**
 * npm writes node_modules/.package-lock.json when an install is complete: it tells what is there.
 * Half an install has none, or one that differs; packages for other platforms are optional and may be absent.
 */
function isInstalled() {
  const wanted = readLock(join(ROOT, 'package-lock.json'));
  const present = readLock(join(ROOT, 'node_modules', '.package-lock.json'));
  return Object.entries(wanted).every(([path, { version, optional }]) => {
    const there = present[path];
    return path === '' || (there ? there.version === version : optional === true);
  });
}

/**
 * @param {string} path
 * @returns {Record<string, { version: string, optional?: boolean }>}
 */
function readLock(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages;
  } catch {
    return {};
  }
}

await runIfMain(import.meta.url, async () => {
  await setup();
  say('Everything is in place.');
  return 0;
});
