// One process of tests. It runs the files of a part, `filesAtOnce` of them at a time. Each file is a suite, so that its hooks
// run for its own tests only. `run-tests.mjs` writes a small program that calls `runPart`, and starts it.

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
        // This must be the file's first `after` hook: when a hook fails, Node runs none of those behind it.
        suite.runInAsyncScope(() => after(endTurn));
        // Files load one after the other. Where two load at once, a module that both import, and that awaits something at
        // its top, goes on in the context of only one of them.
        await loads(() => loading.run(suite, () => import(file.url)));
      });
  });
}

/**
 * Node adds a test to the suite in whose asynchronous context `test` is called. A file that loads can come into the context of
 * another file: when it awaits something that the other one has begun, such as a connection that both use. Its tests
 * would then be added to the other file's suite, which may have ended. So what a file calls of node:test while it loads is
 * called in the context of its own suite.
 */
function keepTestsInTheirSuites() {
  for (const name of ['test', 'it', 'describe', 'suite', 'before', 'after', 'beforeEach', 'afterEach']) {
    const original = nodeTest[name];
    /** @param {unknown[]} args */
    const inItsSuite = (...args) => {
      const suite = loading.getStore();
      return suite === undefined ? original(...args) : suite.runInAsyncScope(() => original(...args));
    };
    nodeTest[name] = Object.assign(inItsSuite, original);
  }
  syncBuiltinESMExports();
}

/**
 * Waits until fewer than the limit are running. Resolves with a function that ends the turn which has begun.
 *
 * @param {import('p-limit').LimitFunction} limit
 * @returns {Promise<() => void>}
 */
function turn(limit) {
  return new Promise((begin) => {
    void limit(() => new Promise((/** @type {(nothing: void) => void} */ end) => begin(end)));
  });
}
