// The test files whose tests fall into slices by their names (test/support/sliced.ts), and what came of playing a slice of some.

import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { textOfSlice } from './slice.mjs';
import { startTests } from './start-tests.mjs';
import { listTestFiles } from './test-files.mjs';

const TESTS = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'test');
const REASON_LINES = 30;

/** The files of test/machines that take their tests from test/support/sliced.ts. */
export function slicedFiles() {
  return listTestFiles().filter(
    (file) =>
      file.startsWith('machines/') &&
      readFileSync(join(TESTS, file), 'utf8').includes("from '../support/sliced.ts'"),
  );
}

/**
 * @typedef {{ passed: number, failures: string[], skipped: string[] }} Count
 * @param {readonly string[]} files as `machines/month.test.ts`
 * @param {{ seed: number, slice: import('./slice.mjs').Slice }} part
 * @returns {Promise<Count>}
 */
export async function runSliced(files, { seed, slice }) {
  const end = await startTests({
    parts: files.map((file) => ({ name: file, filesAtOnce: 1, files: [file] })),
    folder: TESTS,
    environment: {
      CAMBIST_TEST_TEMPORAL: process.env['CAMBIST_TEST_TEMPORAL'],
      CAMBIST_TEST_REAL_SERVER: process.env['CAMBIST_TEST_REAL_SERVER'],
      CAMBIST_TEST_SLICE: textOfSlice(slice),
      CAMBIST_TEST_SEED: String(seed),
    },
    // What comes of the proof is on its own stdout.
    output: 2,
  });
  return countOf(end);
}

/**
 * @param {Awaited<ReturnType<typeof startTests>>} end
 * @returns {Count}
 */
export function countOf({ exitCode, found }) {
  if (found === null)
    return { passed: 0, failures: [`The tests ended with ${exitCode}, and told nothing.`], skipped: [] };
  const failures = found.failed.map(({ where, title, reason }) =>
    [`${where}: ${title}`, ...reason.slice(0, REASON_LINES)].join('\n'),
  );
  if (exitCode !== 0 && failures.length === 0)
    failures.push(`The tests ended with ${exitCode}: none has passed.`);
  const skipped = found.skipped.map(({ where, title, why }) => `${where}: ${title} (${why})`);
  return { passed: found.passed, failures, skipped };
}
