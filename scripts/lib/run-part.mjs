// One process of tests: the files of a part, so many at a time, each as a suite of its own so that what it sets up and
// takes down is its own. `run-tests.mjs` starts it by an entry that calls `runPart`.

import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks';
import { createRequire, syncBuiltinESMExports } from 'node:module';
import pLimit from 'p-limit';

const nodeTest = createRequire(import.meta.url)('node:test');
const { after, describe } = nodeTest;

/** The suite of the file that is loading. @type {AsyncLocalStorage<AsyncResource>} */
const loading = new AsyncLocalStorage();

/**
 * @param {{ name: string, filesAtOnce: number, files: { name: string, url: string }[] }} part
 */
export function runPart({ name, filesAtOnce, files }) {
  const turns = pLimit(filesAtOnce);
  const loads = pLimit(1);
  keepTestsInTheirSuites();
  // Each file listens for the end of the process, and some for more.
  process.setMaxListeners(0);
  describe(name, { concurrency: files.length }, () => {
    for (const file of files)
      describe(file.name, { concurrency: 1 }, async () => {
        const suite = new AsyncResource('suite of a file');
        // A file is loaded when its turn comes: many open a stage as they load.
        const endTurn = await turn(turns);
        // The first of its hooks: one that fails keeps those behind it from running.
        suite.runInAsyncScope(() => after(endTurn));
        // One after the other: what two of them import, and what waits as it loads, goes on for only one of them.
        await loads(() => loading.run(suite, () => import(file.url)));
      });
  });
}

/**
 * Node knows the suite of a test by the chain of promises that led to it. A file that waits, as it loads, for something that
 * another file has begun (a connection that both share) goes on in the chain of that one, and its tests would be added to a
 * suite that may have ended. So whatever a file says at its top is said in its own suite.
 */
function keepTestsInTheirSuites() {
  for (const name of ['test', 'it', 'describe', 'suite', 'before', 'after', 'beforeEach', 'afterEach']) {
    const original = nodeTest[name];
    /** @param {unknown[]} said */
    const inItsSuite = (...said) => {
      const suite = loading.getStore();
      return suite === undefined ? original(...said) : suite.runInAsyncScope(() => original(...said));
    };
    nodeTest[name] = Object.assign(inItsSuite, original);
  }
  syncBuiltinESMExports();
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
