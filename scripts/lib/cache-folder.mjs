// The folder of the user's cache: what Cambist downloads, builds or compiles for this user is kept there, and nothing of it in
// the package, which may belong to another user. `bin/cambist.mjs` asks at every start.

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

function userCacheFolder() {
  const { XDG_CACHE_HOME: xdg, LOCALAPPDATA: local } = process.env;
  if (xdg) return xdg;
  if (process.platform === 'win32') return local ?? join(homedir(), 'AppData', 'Local');
  return process.platform === 'darwin' ? join(homedir(), 'Library', 'Caches') : join(homedir(), '.cache');
}
