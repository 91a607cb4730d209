#!/usr/bin/env node
// The command `cambist`: builds first when the build is missing or stale, then hands over to cli/main.ts.
// Decides nothing, and prints nothing on stdout.

import { fileURLToPath } from 'node:url';
import { isAsSeen } from '../scripts/lib/glimpse.mjs';
import { runMain } from '../scripts/lib/main.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** The exit code of the command line for trouble below it. */
const INFRASTRUCTURE = 7;

async function main() {
  if (!isAsSeen(ROOT)) {
    const { setup } = await import('../scripts/setup.mjs');
    await setup({ upTo: 'build' });
  }
  const built = new URL('../dist/cli/main.js', import.meta.url);
  /** @type {{ main: (argv: string[]) => Promise<number> }} */
  const cli = await import(built.href);
  return cli.main(process.argv.slice(2));
}

await runMain(main, { failureCode: INFRASTRUCTURE });
