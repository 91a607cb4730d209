// One process of tests: the files of a part, so many at a time, each as a suite of its own so that what it sets up and
// takes down is its own. `run-tests.mjs` starts it by an entry that calls `runPart`.

import { after, describe } from 'node:test';
import pLimit from 'p-limit';

/**
 * @param {{ name: string, filesAtOnce: number, files: { name: string, url: string }[] }} part
 */
export function runPart({ name, filesAtOnce, files }) {
  const limit = pLimit(filesAtOnce);
  // Each file listens for the end of the process, and some for more.
  process.setMaxListeners(0);
  describe(name, { concurrency: files.length }, () => {
    for (const file of files)
      describe(file.name, { concurrency: 1 }, async () => {
        // A file is loaded when its turn comes: many open a stage as they load.
        const endTurn = await turn(limit);
        // The first of its hooks: one that fails keeps those behind it from running.
        after(endTurn);
        await import(file.url);
      });
  });
}

/**
 * Resolves when there is room, with what gives the room back.
 *
 * @param {import('p-limit').LimitFunction} limit
 * @returns {Promise<() => void>}
 */
function turn(limit) {
  return new Promise((begin) => {
    void limit(() => new Promise((/** @type {(nothing: void) => void} */ end) => begin(end)));
  });
}
