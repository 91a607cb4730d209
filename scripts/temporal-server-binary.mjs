// Finds the executables of the real Temporal server (not the dev server), or builds each once and keeps it in the user's cache.
// For tests of what the dev server does not have; no command of Cambist and no test of `npm test` asks for them.

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolderOf } from './lib/cache-folder.mjs';
import { installWithGo } from './lib/go-program.mjs';
import { withLock } from './lib/lock.mjs';

/** The newest release that the Go toolchain of the dev server's build can compile. */
export const TEMPORAL_SERVER_VERSION = '1.31.2';

/**
 * @typedef {object} Program
 * @property {string} name of its executable
 * @property {string} path of its package in the server's module
 * @property {string} what for people
 * @property {string} cost for people
 */

/** @type {Program} */
const SERVER = {
  name: 'server',
  path: 'cmd/server',
  what: `the Temporal server ${TEMPORAL_SERVER_VERSION}`,
  cost: 'about ten minutes, and 2 GB in the caches of Go',
};
/** Temporal calls it `temporal-sql-tool`. @type {Program} */
const SQL_TOOL = {
  name: 'sql',
  path: 'cmd/tools/sql',
  what: `the tool of Temporal ${TEMPORAL_SERVER_VERSION} that makes its tables`,
  cost: 'half a minute after the server, and ten minutes without it',
};

/** The path of the server. The first time, it is built with the Go toolchain. */
export const ensureTemporalServer = () => ensure(SERVER);

/** The path of what makes the server's tables in a database. The first time, it is built with the Go toolchain. */
export const ensureTemporalSqlTool = () => ensure(SQL_TOOL);

/**
 * @param {Program} program
 * @returns {Promise<string>}
 */
async function ensure({ name, path, what, cost }) {
  const folder = cacheFolderOf(`temporal-server-${TEMPORAL_SERVER_VERSION}`);
  const file = process.platform === 'win32' ? `${name}.exe` : name;
  const kept = join(folder, file);
  if (existsSync(kept)) return kept;
  return withLock(join(folder, 'lock'), `building ${what}`, async () => {
    if (existsSync(kept)) return kept;
    const into = join(folder, 'unfinished');
    rmSync(into, { recursive: true, force: true });
    mkdirSync(into, { recursive: true });
    try {
      const target = `go.temporal.io/server/${path}@v${TEMPORAL_SERVER_VERSION}`;
      await installWithGo({ into, target, what, cost });
      renameSync(join(into, file), kept);
      return kept;
    } finally {
      rmSync(into, { recursive: true, force: true });
    }
  });
}
