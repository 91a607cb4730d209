// The planted defects as data: reads test/bugs/*.yaml, and applies one to a tree of sources. A change that does not fit
// the source any more, or fits it twice, is refused with the defect's name.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ScriptFailed } from './main.mjs';

/**
 * @typedef {object} Defect
 * @property {string} name
 * @property {string} what what a careless engineer would have done, in one sentence
 * @property {string} breaks the promise that it breaks, `M1` to `M8`
 * @property {string[]} caught_by `fuzz`, or names of test files without `.test.ts`; every one must catch it
 * @property {string} change hunks as in a diff: `--- file`, then lines with ` `, `-` or `+`; indentation does not count
 */

/** @typedef {Pick<Defect, 'name' | 'change'>} Change what planting needs of a defect, or of any other edit */
/** @typedef {{ file: string, before: string[], after: string[] }} Hunk */

/** Catches what is a matter of sequence: the model-based test. */
export const FUZZ = 'fuzz';

/**
 * Every planted defect under `root`, checked.
 *
 * @param {string} root
 * @returns {Promise<Defect[]>}
 */
export async function readDefects(root) {
  const { parse } = await import('yaml');
  const folder = join(root, 'test', 'bugs');
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
  const tests = readdirSync(join(root, 'test'));
  const mistakes = [];
  if (!/^[a-z0-9-]+$/.test(name)) mistakes.push('the name is not in small letters, digits and hyphens');
  if (all.some((other) => other !== defect && other.name === name)) mistakes.push('the name is used twice');
  if (!/^[A-Z].*\.$/s.test(what)) mistakes.push('`what` is no sentence');
  if (!/^M[1-8]$/.test(breaks)) mistakes.push('`breaks` names no promise, M1 to M8');
  if (catchers.length === 0) mistakes.push('nothing catches it');
  for (const catcher of catchers)
    if (catcher !== FUZZ && !tests.includes(`${catcher}.test.ts`))
      mistakes.push(`there is no test/${catcher}.test.ts`);
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
  const files = planted(defect, root);
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
  for (const hunk of hunksOf(defect)) {
    const path = join(root, hunk.file);
    const { before, after } = files.get(path) ?? unchanged(path);
    files.set(path, { path, before, after: changed(after, hunk, defect.name) });
  }
  return [...files.values()];
}

/** @param {string} path */
function unchanged(path) {
  const text = readFileSync(path, 'utf8');
  return { before: text, after: text };
}

/**
 * @param {Change} defect
 * @returns {Hunk[]}
 */
function hunksOf({ name, change }) {
  /** @type {Hunk[]} */
  const hunks = [];
  for (const line of change.trimEnd().split('\n')) {
    const hunk = hunks.at(-1);
    const [mark, text] = [line.slice(0, 1), line.slice(1).trim()];
    if (line.startsWith('--- ')) hunks.push({ file: line.slice(4).trim(), before: [], after: [] });
    else if (hunk === undefined || !' -+'.includes(mark))
      throw new ScriptFailed(`Defect '${name}': '${line}' is no line of a change.`);
    else {
      if (mark !== '+') hunk.before.push(text);
      if (mark !== '-') hunk.after.push(text);
    }
  }
  return hunks;
}

/**
 * The source with one hunk applied.
 *
 * @param {string} source
 * @param {Hunk} hunk
 * @param {string} name
 */
function changed(source, { file, before, after }, name) {
  const lines = source.split('\n');
  const places = lines.flatMap((_, start) =>
    before.every((text, index) => lines[start + index]?.trim() === text) ? [start] : [],
  );
  const [place] = places;
  if (before.length === 0 || place === undefined || places.length > 1)
    throw new ScriptFailed(
      `Defect '${name}' does not fit ${file} any more: its lines stand there ${places.length} times. Write it anew for what is there now.`,
    );
  return [...lines.slice(0, place), ...after, ...lines.slice(place + before.length)].join('\n');
}
