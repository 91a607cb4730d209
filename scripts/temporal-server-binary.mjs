// Finds the executable of the real Temporal server (not the dev server), or builds it once and keeps it in the user's cache.
// For tests of what the dev server does not have; no command of Cambist and no test of `npm test` asks for it.

import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolderOf } from './lib/cache-folder.mjs';
import { installWithGo } from './lib/go-program.mjs';
import { withLock } from './lib/lock.mjs';

/** The newest release that the Go toolchain of the dev server's build can compile. */
export const TEMPORAL_SERVER_VERSION = '1.31.2';

/**
 * The path of the executable. The first time, it is built with the Go toolchain: about ten minutes.
 *
 * @returns {Promise<string>}
 */
export async function ensureTemporalServer() {
  const folder = cacheFolderOf(`temporal-server-${TEMPORAL_SERVER_VERSION}`);
  const name = process.platform === 'win32' ? 'server.exe' : 'server';
  const kept = join(folder, name);
  if (existsSync(kept)) return kept;
  return withLock(join(folder, 'lock'), 'building the Temporal server', async () => {
    if (existsSync(kept)) return kept;
    const into = join(folder, 'unfinished');
    rmSync(into, { recursive: true, force: true });
    mkdirSync(into, { recursive: true });
    try {
      await installWithGo({
        into,
        target: `go.temporal.io/server/cmd/server@v${TEMPORAL_SERVER_VERSION}`,
        what: `the Temporal server ${TEMPORAL_SERVER_VERSION}`,
        cost: 'about ten minutes, and 2 GB in the caches of Go',
      });
      renameSync(join(into, name), kept);
      return kept;
    } finally {
      rmSync(into, { recursive: true, force: true });
    }
  });
}
