// Runs test files whose tests fall into slices by their names (test/support/sliced.ts), and counts what came of them.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { textOfSlice } from './slice.mjs';
import { listTestFiles, testEnvironment } from './test-files.mjs';

const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** One for each core of a small machine. */
const FILES_AT_ONCE = 2;

/** The files of test/machines that take their tests from test/support/sliced.ts. */
export function slicedFiles() {
  return listTestFiles().filter(
    (file) =>
      file.startsWith('machines/') &&
      readFileSync(join(ROOT, 'test', file), 'utf8').includes("from '../support/sliced.ts'"),
  );
}

/**
 * @typedef {{ passed: number, failures: string[] }} Count
 * @param {readonly string[]} files as `machines/month.test.ts`
 * @param {{ seed: number, slice: import('./slice.mjs').Slice }} part
 * @returns {Promise<Count>}
 */
export async function runSliced(files, part) {
  const waiting = [...files];
  /** @type {Count} */
  const count = { passed: 0, failures: [] };
  const takeTurns = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      // As many at a time as there are turns.
      const { passed, failures } = await runFile(file, part);
      count.passed += passed;
      count.failures.push(...failures.map((failure) => `${file}: ${failure}`));
    }
  };
  await Promise.all(Array.from({ length: FILES_AT_ONCE }, takeTurns));
  return count;
}

/**
 * @param {string} file
 * @param {{ seed: number, slice: import('./slice.mjs').Slice }} part
 * @returns {Promise<Count>}
 */
async function runFile(file, { seed, slice }) {
  const options = ['--import', 'tsx', '--import', './scripts/lib/end-tests.mjs', '--test-reporter=tap'];
  const child = spawn(process.execPath, [...options, join('test', file)], {
    cwd: ROOT,
    env: {
      ...testEnvironment(process.env),
      CAMBIST_TEST_TEMPORAL: process.env['CAMBIST_TEST_TEMPORAL'],
      CAMBIST_TEST_SLICE: textOfSlice(slice),
      CAMBIST_TEST_SEED: String(seed),
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'close');
  /** @type {string[]} */
  const lines = [];
  for await (const line of createInterface(child.stdout)) lines.push(line);
  const [exitCode] = await exited;
  const count = countOf(lines);
  if (exitCode !== 0 && count.failures.length === 0) count.failures.push(`It ended with ${exitCode}.`);
  return count;
}

/**
 * What a report in TAP says of its tests, without the suites around them and what was skipped.
 *
 * @param {readonly string[]} lines
 * @returns {Count}
 */
export function countOf(lines) {
  /** @type {Count} */
  const count = { passed: 0, failures: [] };
  for (const [index, line] of lines.entries()) {
    const [, indent, verdict, title = ''] = /^(\s*)(ok|not ok) \d+ - (.*)$/.exec(line) ?? [];
    if (verdict === undefined || / # SKIP/.test(title)) continue;
    const end = lines.findIndex((other, at) => at > index && other === `${indent}  ...`);
    const details = lines.slice(index + 1, end);
    if (details.some((detail) => detail.trim() === "type: 'suite'")) continue;
    if (verdict === 'ok') count.passed += 1;
    else count.failures.push([title, ...details].join('\n'));
  }
  return count;
}
