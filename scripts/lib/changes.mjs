// What has changed in this checkout since a commit, by git.

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ScriptFailed } from './main.mjs';
import { CommandFailed, run } from './steps.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * The files that differ from what they were where the history of `ref` and ours parted.
 *
 * @param {string} ref
 * @returns {Promise<string[]>}
 */
export async function changedSince(ref) {
  try {
    const base = await run('git', ['merge-base', ref, 'HEAD'], { cwd: ROOT });
    const names = await run('git', ['diff', '--name-only', '--no-renames', base], { cwd: ROOT });
    return names.split('\n').filter((name) => name !== '');
  } catch (error) {
    if (!(error instanceof CommandFailed)) throw error;
    throw new ScriptFailed(
      `What has changed since '${ref}' cannot be told. ${error.output || error.message}`,
    );
  }
}
