// How a script ends: its exit code, and what it says when it fails.

import { realpathSync } from 'node:fs';
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
 * Runs `main` when node was started with the file at `moduleUrl`, and does nothing when that file was imported.
 *
 * @param {string} moduleUrl
 * @param {() => Promise<number>} main resolves with the exit code
 */
export async function runIfMain(moduleUrl, main) {
  const started = process.argv[1];
  if (started === undefined || realpathSync(started) !== realpathSync(fileURLToPath(moduleUrl))) return;
  await runMain(main);
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
    else console.error(error);
    process.exitCode = failureCode;
  }
}
