#!/usr/bin/env node
// The command `cambist`: hands over to cli/main.ts as it is compiled in dist/. In a checkout it builds first when the build is
// missing or stale; an installed package has no sources, and so nothing to build. Decides nothing, and prints nothing on
// stdout.

import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';
import { cacheFolderOf } from '../scripts/lib/cache-folder.mjs';
import { runMain } from '../scripts/lib/main.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The exit code of the command line for trouble below it. */
const INFRASTRUCTURE = 7;

async function main() {
  keepCompiled();
  if (existsSync(new URL('../cli/main.ts', import.meta.url))) await buildIfStale();
  const built = new URL('../dist/cli/main.js', import.meta.url);
  /** @type {{ main: (argv: string[]) => Promise<number> }} */
  const cli = await import(built.href);
  return cli.main(process.argv.slice(2));
}

/** From Node 22 on, the next start finds compiled what this one loads. Where nothing can be kept, nothing is. */
function keepCompiled() {
  /** @type {typeof module & { enableCompileCache?: (folder: string) => unknown }} */
  const node = module;
  try {
    node.enableCompileCache?.(cacheFolderOf('compiled'));
  } catch {
    // A user without a home compiles each time.
  }
}

async function buildIfStale() {
  const { isAsSeen } = await import('../scripts/lib/glimpse.mjs');
  if (isAsSeen(ROOT)) return;
  const { setup } = await import('../scripts/setup.mjs');
  await setup({ upTo: 'build' });
}

await runMain(main, { failureCode: INFRASTRUCTURE });
