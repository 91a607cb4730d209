/**
 * Tests that `npm run proof` plays, whole or in slices: each belongs to one slice, by its name. Whoever plays a slice, or another
 * seed, says so in the environment; by themselves all tests of a file run. `npm test` plays the cells alone: of each table
 * the few tests that show that it is set up rightly. What is not played is reported as not asked for, so that a file of
 * which nothing falls into a slice differs from a file that has no tests.
 */
import { test as play, type TestContext } from 'node:test';
import { isInSlice, NOT_ASKED, readSlice } from '../../scripts/lib/slice.mjs';

type Work = (context: TestContext) => void | Promise<void>;
type Options = { readonly skip?: string | false };

const SLICE = readSlice(process.env['CAMBIST_TEST_SLICE']);
const SEED = process.env['CAMBIST_TEST_SEED'];
/** Whether only the cells are played. */
export const ONLY_CELLS = process.env['CAMBIST_TEST_CELLS'] !== undefined;

/** Whether the test that is called so is played: a table that must be whole has these. */
export function isPlayed(name: string): boolean {
  return isInSlice(name, SLICE);
}

/** `test` of Node, where the test is one of the slice. Of a file that plays a table, no two may have the same name. */
export function test(name: string, work: Work, options: Options = {}): void {
  void play(name, ONLY_CELLS || !isPlayed(name) ? { skip: NOT_ASKED } : options, work);
}

/** A test that `npm test` plays as well. */
export function cell(name: string, work: Work, options: Options = {}): void {
  void play(name, isPlayed(name) ? options : { skip: NOT_ASKED }, work);
}

/** What everything random derives from. */
export function seedOr(usual: number): number {
  return SEED === undefined ? usual : Number(SEED);
}
