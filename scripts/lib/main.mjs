// How a script ends: its exit code, and what it says when it fails.

import { readFileSync, realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { say } from './steps.mjs';

/** Something that a person has to mend: `message` says what and how, and is shown without a stack. */
export class ScriptFailed extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'ScriptFailed';
  }
}

/**
 * The number, not below zero, that an option was given.
 *
 * @param {string} text
 * @param {string} option
 * @param {(number: number) => boolean} isFine default: whole numbers only
 */
export function numberOf(text, option, isFine = Number.isSafeInteger) {
  const number = Number(text);
  if (text !== '' && isFine(number) && number >= 0) return number;
  throw new ScriptFailed(`'${text}' is no number for '${option}'.`);
}

/**
 * The line that ends what tests and machines print.
 *
 * @param {{ passed: number, failed: number, skipped: number }} counts
 */
export function textOfCounts({ passed, failed, skipped }) {
  return `${passed} passed, ${failed} failed${skipped === 0 ? '' : `, ${skipped} skipped`}`;
}

/**
 * Runs `main` when node was started with the file at `moduleUrl`, and does nothing when that file was imported.
 *
 * @param {string} moduleUrl
 * @param {() => Promise<number>} main resolves with the exit code
 */
export async function runIfMain(moduleUrl, main) {
  const started = process.argv[1];
  if (started === undefined || realpathSync(started) !== realpathSync(fileURLToPath(moduleUrl))) return;
  if (process.argv.includes('--help')) say(headOf(started));
  else await runMain(main);
}

/**
 * What a script says of itself: the comment that it opens with.
 *
 * @param {string} file
 */
function headOf(file) {
  const lines = readFileSync(file, 'utf8').split('\n');
  const head = lines.slice(
    0,
    lines.findIndex((line) => !line.startsWith('//')),
  );
  return head.map((line) => line.replace(/^\/\/ ?/, '')).join('\n');
}

/**
 * @param {unknown} error
 * @returns {error is Error}
 */
function isAboutOptions(error) {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS_');
}

/**
 * @param {() => Promise<number>} main resolves with the exit code
 * @param {{ failureCode: number }} [options] the exit code when `main` throws
 */
export async function runMain(main, { failureCode } = { failureCode: 1 }) {
  try {
    process.exitCode = await main();
  } catch (error) {
    if (error instanceof ScriptFailed) say(error.message);
    else if (isAboutOptions(error)) say(`${error.message}\n\`--help\` tells what there is.`);
    else console.error(error);
    process.exitCode = failureCode;
  }
  // Nothing is left to do or to write. What is native of a Temporal worker, taken down with the rest of the process, can hold it
  // for ever; this ends it without.
  process.once('beforeExit', () => process.exit());
}
