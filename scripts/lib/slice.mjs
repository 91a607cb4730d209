// Slices of a long list: `K/N` is one of N parts that together are the whole. The hash of a name says into which slice it
// falls, so that a new name changes no other's slice. Numbers are dealt out in turn.

import { createHash } from 'node:crypto';
import { ScriptFailed } from './main.mjs';

/** @typedef {{ readonly number: number, readonly of: number }} Slice `number` counts from 1 */

/** @type {Slice} */
export const WHOLE = { number: 1, of: 1 };

/** Why a test is skipped that another slice plays, or the proof instead of `npm test`. Such a skip is not counted. */
export const NOT_ASKED = 'not asked for';

/**
 * The slice that an option names; everything, where it was not given.
 *
 * @param {string | undefined} text
 * @returns {Slice}
 */
export function readSlice(text) {
  if (text === undefined) return WHOLE;
  const [, number = 0, of = 0] = (/^(\d{1,4})\/(\d{1,4})$/.exec(text) ?? []).map(Number);
  if (number >= 1 && number <= of) return { number, of };
  throw new ScriptFailed(`'${text}' is no slice. '2/7' is the second of seven.`);
}

/** @param {Slice} slice */
export function textOfSlice({ number, of }) {
  return `${number}/${of}`;
}

/**
 * Whether what is called so belongs to the slice.
 *
 * @param {string} name
 * @param {Slice} slice
 */
export function isInSlice(name, { number, of }) {
  return (createHash('sha256').update(name).digest().readUInt32BE() % of) + 1 === number;
}

/**
 * The numbers from 1 to `count` that fall into the slice.
 *
 * @param {number} count
 * @param {Slice} slice
 */
export function numbersIn(count, { number, of }) {
  return Array.from({ length: count }, (_, index) => index + 1).filter(
    (one) => (one - 1) % of === number - 1,
  );
}
