// Calls npm: the one that has started this script, or the one on the PATH.

import { run } from './steps.mjs';

/**
 * Resolves with what npm printed.
 *
 * @param {string[]} args
 * @param {string} cwd
 */
export function npm(args, cwd) {
  const cli = process.env['npm_execpath'];
  if (cli?.endsWith('npm-cli.js')) return run(process.execPath, [cli, ...args], { cwd });
  return run('npm', args, { cwd, shell: process.platform === 'win32' });
}
