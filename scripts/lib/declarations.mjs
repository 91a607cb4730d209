// Where a named declaration stands in the sources, and where a text stands in it, whatever its layout. Edits of the
// sources (`lib/defects.mjs`) are anchored by these names: what moves, or changes elsewhere, does not cut them.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';

/**
 * @typedef {object} Declaration
 * @property {string} name with the names around it: `Course.pay`, `TABLE.TRADE_DISABLED`, `pay.again`
 * @property {number} start
 * @property {number} end
 */
/** @typedef {{ start: number, end: number }} Span */
/** @typedef {{ declarations: Declaration[], comments: Span[] }} Outline */
/** What is read here of a node; which of these it has, its type says. */
/** @typedef {{ name?: string, value?: unknown, type: string, start: number, end: number }} Named */
/** @typedef {Named & { id?: Named | null, init?: unknown, source?: Named, computed?: boolean, key?: Named }} Node */

/** Where the sources of the program and of the sandbox stand. */
export const SOURCE_FOLDERS = [
  'activities',
  'calendar',
  'cli',
  'config',
  'domain',
  'durable',
  'language',
  'operations',
  'sandbox',
  'service',
  'worker',
  'workflows',
];

/**
 * What a source declares by name: functions, classes and what they hold, types, constants, the rows of constants that are
 * tables, and imports (`import node:fs`). Inside a function only functions count: what else is named there is a detail.
 *
 * @param {string} source
 * @returns {Outline}
 */
function outlineOf(source) {
  const { program, comments } = parseSync('source.ts', source);
  /** @type {Declaration[]} */
  const declarations = [];
  walk(program, { path: [], inFunction: false }, declarations);
  return { declarations, comments: comments.map(({ start, end }) => ({ start, end })) };
}

/**
 * @param {Node} node
 * @param {{ path: string[], inFunction: boolean }} around
 * @param {Declaration[]} found
 */
function walk(node, around, found) {
  const name = around.inFunction && !isFunction(node.init ?? node.value ?? node) ? null : nameOf(node);
  const path = name === null ? around.path : [...around.path, name];
  if (name !== null) found.push({ name: path.join('.'), start: node.start, end: node.end });
  const inFunction = around.inFunction || isFunction(node);
  for (const child of Object.values(node).flat()) if (isNode(child)) walk(child, { path, inFunction }, found);
}

function isFunction(/** @type {unknown} */ node) {
  return isNode(node) && /^(Arrow)?Function/.test(node.type);
}

/** The name that a node declares; null when it declares none. */
function nameOf(/** @type {Node} */ node) {
  switch (node.type) {
    case 'FunctionDeclaration':
    case 'ClassDeclaration':
    case 'TSTypeAliasDeclaration':
    case 'TSInterfaceDeclaration':
      return node.id?.name ?? null;
    case 'VariableDeclarator':
      return node.id?.name ?? null;
    case 'ImportDeclaration':
      return `import ${String(node.source?.value)}`;
    case 'MethodDefinition':
    case 'PropertyDefinition':
    case 'Property':
      return node.computed === true || node.key === undefined ? null : keyOf(node.key);
    default:
      return null;
  }
}

function keyOf(/** @type {Named} */ key) {
  if (key.type === 'Identifier') return key.name ?? null;
  if (key.type === 'PrivateIdentifier') return `#${key.name}`;
  return key.type === 'Literal' ? String(key.value) : null;
}

/** @returns {value is Node} */
function isNode(/** @type {unknown} */ value) {
  return typeof value === 'object' && value !== null && 'type' in value && 'start' in value;
}

/**
 * The places of `name` in a source: it, or the end of a longer name after a dot.
 *
 * @param {Outline} outline
 * @param {string} name
 */
export function placesOf({ declarations }, name) {
  const exact = declarations.filter((declaration) => declaration.name === name);
  if (exact.length > 0) return exact;
  return declarations.filter((declaration) => declaration.name.endsWith(`.${name}`));
}

/**
 * Every source file under `root`, as paths from there.
 *
 * @param {string} root
 */
export function sourcesUnder(root) {
  return readdirSync(root, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && SOURCE_FOLDERS.includes(entry.name))
    .flatMap(({ name }) =>
      readdirSync(join(root, name), { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${name}/${file.replaceAll('\\', '/')}`),
    )
    .toSorted();
}

/** @type {Map<string, { source: string, outline: Outline }>} */
const outlines = new Map();

/**
 * The outline of a file, read once for each state of it.
 *
 * @param {string} path
 * @param {string} [source] its text, where it is not what stands in the file
 */
export function outlineIn(path, source = readFileSync(path, 'utf8')) {
  const known = outlines.get(path);
  if (known?.source === source) return { source, outline: known.outline };
  const outline = outlineOf(source);
  outlines.set(path, { source, outline });
  return { source, outline };
}

/**
 * Where a text stands in a span of the source. White space, comments of the source and commas before a closing bracket
 * do not count, so that the layout may change; a word is not found inside a longer one.
 *
 * @param {string} text
 * @param {{ source: string, outline: Outline, within: Span }} where
 * @returns {Span[]}
 */
export function spansOf(text, { source, outline, within }) {
  const needle = essence(text, { start: 0, end: text.length }, []);
  const hay = essence(source, within, outline.comments);
  /** @type {Span[]} */
  const spans = [];
  if (needle.text === '') return spans;
  for (let at = hay.text.indexOf(needle.text); at >= 0; at = hay.text.indexOf(needle.text, at + 1)) {
    const start = hay.places[at] ?? 0;
    const end = (hay.places[at + needle.text.length - 1] ?? 0) + 1;
    const cutsWord = joined(source[start - 1], source[start]) || joined(source[end - 1], source[end]);
    if (!cutsWord) spans.push({ start, end });
  }
  return spans;
}

/** Whether two neighbours are of one word. */
function joined(/** @type {string | undefined} */ left, /** @type {string | undefined} */ right) {
  return left !== undefined && right !== undefined && /[\w$#]/.test(left) && /[\w$]/.test(right);
}

/**
 * The characters that count, and where each stands.
 *
 * @param {string} source
 * @param {Span} within
 * @param {readonly Span[]} comments
 */
function essence(source, within, comments) {
  let text = '';
  /** @type {number[]} */
  const places = [];
  for (let at = within.start; at < within.end; at += 1) {
    const comment = comments.find(({ start, end }) => start <= at && at < end);
    if (comment !== undefined) {
      at = comment.end - 1;
      continue;
    }
    const letter = source[at] ?? '';
    if (/\s/.test(letter)) continue;
    if (/[)\]}]/.test(letter) && text.endsWith(',')) {
      text = text.slice(0, -1);
      places.pop();
    }
    text += letter;
    places.push(at);
  }
  return { text, places };
}
