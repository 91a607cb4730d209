// Processes that are started in a group of their own, so that nothing that they start outlives them.

/** For `spawn` and `fork`: Ctrl-C reaches this process only. Windows has no groups. */
export const OWN_GROUP = { detached: process.platform !== 'win32' };

/**
 * Ends a process with whatever it has started, or what it has left behind.
 *
 * @param {import('node:child_process').ChildProcess} child started with `OWN_GROUP`
 */
export function killGroup(child) {
  try {
    process.kill(-(child.pid ?? Number.NaN), 'SIGKILL');
  } catch {
    // There are no groups on Windows, or nothing is left of it.
    child.kill('SIGKILL');
  }
}
