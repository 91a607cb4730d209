#!/usr/bin/env node
// The command `cambist`: hands over to cli/main.ts as it is bundled in dist/. In a checkout it builds first when the build is
// missing or stale; an installed package has no sources, and so nothing to build. Decides nothing, and answers nothing itself
// but the version.

import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { cacheFolderOf, keptToUs } from '../scripts/lib/cache-folder.mjs';
import { runMain } from '../scripts/lib/main.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const require = module.createRequire(import.meta.url);

/** The exit code of the command line for trouble below it. */
const INFRASTRUCTURE = 7;

async function main() {
  const argv = process.argv.slice(2);
  if (argv.length === 1 && /^(?:-V|--version)$/.test(argv[0] ?? '')) return showVersion();
  keepCompiled();
  if (existsSync(new URL('../cli/main.ts', import.meta.url))) await buildIfStale();
  /** @type {{ main: (argv: string[]) => Promise<number> }} */
  const cli = require(`${ROOT}dist/cli/main.cjs`);
  return cli.main(argv);
}

/** Needs nothing that is built or loaded. */
function showVersion() {
  // Whoever reads it may have left.
  process.stdout.on('error', () => {});
  process.stdout.write(`${require(`${ROOT}package.json`).version}\n`);
  return 0;
}

/**
 * From Node 22 on, the next start finds compiled what this one loads. Where nothing can be kept that only this user may write,
 * nothing is: what is kept is run.
 */
function keepCompiled() {
  /** @type {typeof module & { enableCompileCache?: (folder: string) => unknown }} */
  const node = module;
  if (node.enableCompileCache === undefined) return;
  try {
    node.enableCompileCache(keptToUs(cacheFolderOf('code')));
  } catch {
    // A user without a home, or with one that others share, compiles each time.
  }
}

async function buildIfStale() {
  const { isAsSeen } = await import('../scripts/lib/glimpse.mjs');
  if (isAsSeen(ROOT)) return;
  const { setup } = await import('../scripts/setup.mjs');
  await setup({ upTo: 'build' });
}

await runMain(main, { failureCode: INFRASTRUCTURE });
