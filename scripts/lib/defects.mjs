// The planted defects as data: reads test/machines/bugs/*.yaml, and applies one to a tree of sources. A change names a
// declaration and what it replaces there, and no line; one that does not fit any more, or fits twice, is refused.

import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { outlineIn, placesOf, sourcesUnder, spansOf } from './declarations.mjs';
import { ScriptFailed } from './main.mjs';
import { testFileOf } from './test-files.mjs';

/**
 * @typedef {object} Defect
 * @property {string} name
 * @property {string} what what the program does wrong, as a careless engineer would have written it, in plain sentences
 * @property {string} breaks the promise that it breaks, `M1` to `M8`
 * @property {string[]} caught_by names of SHARES, or of test files without `.test.ts`; every one must catch it
 * @property {Edit[]} change
 */

/**
 * One replacement. The declaration is found in the file, or by its name alone where it has moved and the name is unique.
 *
 * @typedef {object} Edit
 * @property {string} file
 * @property {string} inside the name of a declaration: function, method, constant, type, row of a table
 * @property {string} replace what stands there once and only once, whatever its layout
 * @property {string} by
 */
/** @typedef {Pick<Defect, 'name' | 'change'>} Change what planting needs of a defect, or of any other edit */

/**
 * How many schedules the model plays at most, by the name of a catcher. Stories catch what the model once found. A few defects
 * name the model all the same: they show that it still finds something by chance.
 *
 * @typedef {{ of: import('../../test/machines/model/fuzz.ts').Share['of'], schedules: number }} Share
 * @type {Record<string, Share>}
 */
export const SHARES = {
  fuzz: { of: 'runs', schedules: 10_000 },
  'fuzz-batches': { of: 'batches', schedules: 250 },
  'fuzz-rebalances': { of: 'rebalances', schedules: 2_000 },
};

/**
 * Every planted defect under `root`, checked.
 *
 * @param {string} root
 * @returns {Promise<Defect[]>}
 */
export async function readDefects(root) {
  const { parse } = await import('yaml');
  const folder = join(root, 'test', 'machines', 'bugs');
  const files = readdirSync(folder).filter((file) => file.endsWith('.yaml'));
  /** @type {Defect[]} */
  const defects = files.toSorted().flatMap((file) => parse(readFileSync(join(folder, file), 'utf8')));
  const wrong = defects.flatMap((defect) => mistakesOf(defect, defects, root));
  if (wrong.length > 0) throw new ScriptFailed(wrong.join('\n'));
  return defects;
}

/**
 * @param {Defect} defect
 * @param {Defect[]} all
 * @param {string} root
 */
function mistakesOf(defect, all, root) {
  const { name, what, breaks, caught_by: catchers } = defect;
  const mistakes = [];
  if (!/^[a-z0-9-]+$/.test(name)) mistakes.push('the name is not in small letters, digits and hyphens');
  if (all.some((other) => other !== defect && other.name === name)) mistakes.push('the name is used twice');
  if (!/^[A-Z].*\.$/s.test(what)) mistakes.push('`what` is no sentence');
  if (!/^M[1-8]$/.test(breaks)) mistakes.push('`breaks` names no promise, M1 to M8');
  if (catchers.length === 0) mistakes.push('nothing catches it');
  if (defect.change.length === 0) mistakes.push('it changes nothing');
  for (const catcher of catchers)
    if (!Object.hasOwn(SHARES, catcher) && testFileOf(catcher, root) === undefined)
      mistakes.push(`there is no test ${catcher}.test.ts`);
  return mistakes.map((mistake) => `Defect '${name}': ${mistake}.`);
}

/**
 * Plants a defect in the sources under `root`.
 *
 * @param {Change} defect
 * @param {string} root
 * @returns {() => void} takes it out again
 */
export function plant(defect, root) {
  return putIn(planted(defect, root));
}

/**
 * @param {readonly { path: string, before: string, after: string }[]} files
 * @returns {() => void} takes it out again
 */
export function putIn(files) {
  for (const { path, after } of files) writeFileSync(path, after);
  return () => {
    for (const { path, before } of files) writeFileSync(path, before);
  };
}

/**
 * The files that a defect changes, with their texts before and after.
 *
 * @param {Change} defect
 * @param {string} root
 */
export function planted(defect, root) {
  /** @type {Map<string, { path: string, before: string, after: string }>} */
  const files = new Map();
  for (const edit of defect.change) {
    const fail = (/** @type {string} */ why) =>
      new ScriptFailed(
        `Defect '${defect.name}' does not fit ${edit.file} any more: ${why}. Write it anew for what is there now.`,
      );
    const path = join(root, fileOf(edit, root, fail));
    const { before, after } = files.get(path) ?? unchanged(path);
    files.set(path, { path, before, after: changed(path, after, edit, fail) });
  }
  return [...files.values()];
}

/** @param {string} path */
function unchanged(path) {
  const text = readFileSync(path, 'utf8');
  return { before: text, after: text };
}

/**
 * The file in which the declaration stands now.
 *
 * @param {Edit} edit
 * @param {string} root
 * @param {(why: string) => Error} fail
 */
function fileOf({ file, inside }, root, fail) {
  const declares = (/** @type {string} */ other) =>
    existsSync(join(root, other)) && placesOf(outlineIn(join(root, other)).outline, inside).length > 0;
  if (declares(file)) return file;
  const others = sourcesUnder(root).filter(declares);
  const [only] = others;
  if (only === undefined || others.length > 1)
    throw fail(`'${inside}' is declared there 0 times, and in ${others.length} other files`);
  return only;
}

/**
 * The source with one edit made.
 *
 * @param {string} path
 * @param {string} text
 * @param {Edit} edit
 * @param {(why: string) => Error} fail
 */
function changed(path, text, { inside, replace, by }, fail) {
  const { source, outline } = outlineIn(path, text);
  const declarations = placesOf(outline, inside);
  const [within] = declarations;
  if (within === undefined || declarations.length > 1)
    throw fail(`'${inside}' is declared there ${declarations.length} times`);
  const spans = spansOf(replace, { source, outline, within });
  const [span] = spans;
  if (span === undefined || spans.length > 1)
    throw fail(`what it replaces stands in '${inside}' ${spans.length} times`);
  return source.slice(0, span.start) + by.trim() + source.slice(span.end);
}
