// Every sentence for people that stands in the sources: the closer words of a code, and what is said without one. What a
// sentence is told with (an amount, a name) is shown as `…`.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { SOURCE_FOLDERS } from './declarations.mjs';

/**
 * @typedef {object} Sentence
 * @property {string} folder such as `cli/views`
 * @property {string | null} code of the problem that says so; null: it is said without a code
 * @property {string} message empty where only the advice is closer
 * @property {string} fix empty where the advice is that of the code
 */
/** @typedef {{ type: string, start: number, end: number, [field: string]: any }} Node */

/** Where sentences for people stand: the sandbox speaks as the service does. The help of a command is on the page of commands. */
const SPEAKING = SOURCE_FOLDERS.filter((folder) => folder !== 'sandbox');

/** Files of which no text is said: the tables that the page shows as tables, and descriptions for editors. */
const LEFT_OUT = [
  'cli/commands.ts',
  'cli/commands/completion.ts',
  'cli/views/report-schema.ts',
  'domain/command-problems.ts',
  'domain/file-mistakes.ts',
  'domain/problems.ts',
  'domain/service/reply-rules.ts',
  'language/load-service-facts.ts',
  'language/policy/policy-schema.ts',
];

/** Calls whose texts no person is told: faults of the program, help, and descriptions for editors. */
const UNTOLD_CALLS =
  /^(Error|TypeError|RangeError|ServiceInputError|Option|teach|description|option|addOption|argument|describe|hinted|regex|RegExp|helpOption|addHelpText)$/;
/** Fields of records whose texts no person is told. */
const UNTOLD_FIELDS = /^(description|example|examples|departs|query)$/;

/**
 * @param {string} root of the checkout
 * @returns {Sentence[]} in the order of the files, each once
 */
export function sentencesOf(root) {
  const found = SPEAKING.flatMap((folder) =>
    filesIn(root, folder)
      .filter((file) => !LEFT_OUT.includes(file))
      .flatMap((file) => sentencesIn(readFileSync(join(root, file), 'utf8'), file.replace(/\/[^/]*$/, ''))),
  );
  const keys = found.map((sentence) => JSON.stringify(sentence));
  return found.filter((_, index) => keys.indexOf(keys[index] ?? '') === index);
}

function filesIn(/** @type {string} */ root, /** @type {string} */ folder) {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => `${folder}/${file}`)
    .toSorted();
}

/**
 * @param {string} source
 * @param {string} folder
 * @returns {Sentence[]}
 */
export function sentencesIn(source, folder) {
  const { program } = parseSync('source.ts', source);
  /** @type {Sentence[]} */
  const found = [];
  visit(program, null);
  return found;

  function visit(/** @type {Node} */ node, /** @type {string | null} */ code) {
    if (node.type === 'ImportDeclaration' || node.type.startsWith('TS')) {
      // A cast holds an expression; a type holds nothing that is said.
      if (node['expression'] !== undefined && node.type !== 'TSTypeReference')
        visit(node['expression'], code);
      return;
    }
    if (node.type === 'CallExpression' || node.type === 'NewExpression') {
      // A text that is taken apart is a list of names.
      if (UNTOLD_CALLS.test(nameOf(node['callee'])) || nameOf(node['callee']) === 'split') return;
      const [first] = node['arguments'];
      if (nameOf(node['callee']) === 'makeProblem' && first !== undefined && codeIn(first) !== null) {
        visitChildren(node, codeIn(first));
        return;
      }
    }
    if (node.type === 'ObjectExpression') {
      const fields = fieldsOf(node);
      const own = codeIn(fields.get('code')) ?? codeIn(fields.get('mistake')) ?? code;
      const [message, fix] = [fields.get('message'), fields.get('fix')].map((value) => textsIn(value));
      if (message !== undefined && fix !== undefined) {
        for (let index = 0; index < Math.max(message.length, fix.length); index += 1)
          found.push({ folder, code: own, message: message[index] ?? '', fix: fix[index] ?? '' });
      }
      for (const property of node['properties']) {
        const name = property.type === 'Property' ? nameOf(property['key']) : '';
        if (UNTOLD_FIELDS.test(name)) continue;
        if (name === 'message' || name === 'fix') visitBelow(property['value'], own);
        else visit(property.type === 'Property' ? property['value'] : property['argument'], own);
      }
      return;
    }
    if (node.type === 'Property' && UNTOLD_FIELDS.test(nameOf(node['key']))) return;
    const text = textOf(node);
    if (text !== null && isSentence(text)) found.push({ folder, code: null, message: text, fix: '' });
    visitChildren(node, code);
  }

  /** What stands inside a text that was told already: another text may stand in its place. */
  function visitBelow(/** @type {Node} */ node, /** @type {string | null} */ code) {
    if (textOf(node) !== null || node.type === 'ConditionalExpression') {
      for (const child of childrenOf(node)) if (textOf(child) === null) visit(child, code);
      return;
    }
    visit(node, code);
  }

  function visitChildren(/** @type {Node} */ node, /** @type {string | null} */ code) {
    for (const child of childrenOf(node)) visit(child, code);
  }
}

/** @returns {Node[]} */
function childrenOf(/** @type {Node} */ node) {
  return Object.values(node).flatMap((value) =>
    (Array.isArray(value) ? value : [value]).filter(
      (child) => typeof child === 'object' && child !== null && typeof child.type === 'string',
    ),
  );
}

function nameOf(/** @type {Node | undefined} */ node) {
  if (node === undefined) return '';
  if (node.type === 'MemberExpression') return nameOf(node['property']);
  return typeof node['name'] === 'string'
    ? node['name']
    : typeof node['value'] === 'string'
      ? node['value']
      : '';
}

function fieldsOf(/** @type {Node} */ node) {
  /** @type {Map<string, Node>} */
  const fields = new Map();
  for (const property of node['properties'])
    if (property.type === 'Property') fields.set(nameOf(property['key']), property['value']);
  return fields;
}

function codeIn(/** @type {Node | undefined} */ node) {
  const text = node === undefined ? null : textOf(node.type === 'TSAsExpression' ? node['expression'] : node);
  return text !== null && /^[A-Z][A-Z_]{2,}$/.test(text) ? text : null;
}

/**
 * The texts that a value may be: one for each arm of a condition.
 *
 * @returns {string[]}
 */
function textsIn(/** @type {Node | undefined} */ node) {
  if (node === undefined) return [];
  if (node.type === 'ConditionalExpression')
    return [...textsIn(node['consequent']), ...textsIn(node['alternate'])];
  const text = textOf(node);
  return text === null ? [] : [text];
}

/** @returns {string | null} a text, with `…` for each value in it; null: the node is none */
function textOf(/** @type {Node} */ node) {
  if (node.type === 'Literal' && typeof node['value'] === 'string') return node['value'];
  if (node.type === 'BinaryExpression' && node['operator'] === '+') {
    const [left, right] = [textOf(node['left']), textOf(node['right'])];
    return left === null || right === null ? null : left + right;
  }
  if (node.type !== 'TemplateLiteral') return null;
  /** @type {{ value: { cooked: string } }[]} */
  const quasis = node['quasis'];
  // Values side by side read as one.
  return quasis
    .map(({ value }) => value.cooked)
    .join('…')
    .replaceAll(/…{2,}/g, '…');
}

/** Four words, or two that end as a sentence does; not a command alone. */
function isSentence(/** @type {string} */ text) {
  if (/^(npx|temporal|cambist) /.test(text)) return false;
  const words = text.match(/[a-zA-Z’']{2,}/g)?.length ?? 0;
  const isWritten = /[a-z]{2,}[,;:)]? (\(|`|…|"|[a-z])/.test(text);
  return isWritten && (words >= 4 || (words >= 2 && /[.?!]\s*$/.test(text)));
}
