// The folder of the user's cache: what Cambist downloads, builds or compiles for this user is kept there, and nothing of it in
// the package, which may belong to another user. `bin/cambist.mjs` asks at every start.

import { lstatSync, mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/**
 * The folder of the user's cache for one thing in one version, as `temporal-1.5.1`.
 *
 * @param {string} name
 * @throws where the system knows no home of this user
 */
export function cacheFolderOf(name) {
  return join(userCacheFolder(), 'cambist', name);
}

/**
 * A folder that is there, and that nobody but this user may read or write.
 *
 * @param {string} folder
 * @returns {string} the same folder
 * @throws where it cannot be made, or is another's or open to others
 */
export function keptToUs(folder) {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const facts = lstatSync(folder);
  // Windows has neither users nor modes of this kind; there a profile is its user's own.
  const isOurs =
    process.getuid === undefined || (facts.uid === process.getuid() && (facts.mode & 0o077) === 0);
  if (!facts.isDirectory() || !isOurs) throw new Error(`Others may use '${folder}'.`);
  return folder;
}

function userCacheFolder() {
  const { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local } = process.env;
  if (xdg) return xdg;
  if (process.platform === 'win32') return local ?? join(homedir(), 'AppData', 'Local');
  return process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache');
}
