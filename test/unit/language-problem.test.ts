/** How a mistake looks on a terminal: carets under the place whatever the line holds, and no control of the terminal. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nearest } from '../../language/text/nearest.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import {
  excerptOf,
  formatTrouble,
  troubleOfPolicy,
  type PolicyProblem,
} from '../../language/text/problem.ts';

/** As every command prints it. */
function printed(problem: PolicyProblem): string {
  return formatTrouble(troubleOfPolicy(problem), (line) => line);
}

function problemsOf(text: string): readonly PolicyProblem[] {
  const result = loadPolicy(text, 'p.yaml');
  assert.equal(result.ok, false);
  return result.ok ? [] : result.problems;
}

test('a tab counts as one blank in the excerpt', () => {
  assert.equal(excerptOf('kind:\tcovert', { start: 6, end: 12 }), 'kind: covert\n      ^^^^^^');
});

test('wide characters take two columns and combining marks none', () => {
  assert.equal(excerptOf('名前: 値 # x', { start: 4, end: 5 }), '名前: 値 # x\n      ^^');
  assert.equal(excerptOf('e\u0301: 1', { start: 4, end: 5 }), 'e\u0301: 1\n   ^');
  assert.equal(excerptOf('🏦: 1', { start: 4, end: 5 }), '🏦: 1\n    ^');
});

test('an empty place at the end of a line gets one caret', () => {
  assert.equal(excerptOf('quote:', { start: 6, end: 6 }), 'quote:\n      ^');
});

test('a long line is cut around the place', () => {
  const line = `${'a'.repeat(500)} HERE ${'b'.repeat(500)}`;
  assert.equal(
    excerptOf(line, { start: 501, end: 505 }),
    `…${'a'.repeat(17)} HERE ${'b'.repeat(51)}…\n${' '.repeat(19)}^^^^`,
  );
});

test('a line as large as the file is cut without reading all of it', () => {
  const problems = problemsOf(`policy: 1\nkind: ${'x'.repeat(200_000)}\n`);
  for (const problem of problems)
    assert.ok(formatTrouble(troubleOfPolicy(problem), (line) => line).length < 600);
});

test('what a terminal would obey never reaches it, neither in the excerpt nor in the message', () => {
  const problems = problemsOf('policy: 1\nkind: "con\u001B[31mvert\u202E\u0000"\nname: "a\u007F"\n');
  assert.ok(problems.some(({ code }) => code === 'POLICY_CONTROL_CHARACTER'));
  for (const problem of problems)
    assert.doesNotMatch(
      formatTrouble(troubleOfPolicy(problem), (line) => line),
      /[\0-\x09\x0B-\x1F\x7F-\x9F\u202E]/,
    );
});

test('a control character is shown where it stands, with its number', () => {
  assert.equal(
    problemsOf('policy: 1\nkind: convert\nname: a\u0007b\n').map(printed).at(-1),
    `POLICY_CONTROL_CHARACTER p.yaml:3:8: the text holds the invisible character U+0007.
    name: a\uFFFDb
           ^
  fix: delete it; save the file as plain UTF-8 text`,
  );
});

test('a file above the size limit is not read', () => {
  assert.deepEqual(
    problemsOf(`# ${'x'.repeat(64 * 1024)}\n`).map(({ code, line, column }) => ({ code, line, column })),
    [{ code: 'POLICY_TOO_LARGE', line: 1, column: 1 }],
  );
});

/** Just below the size limit, so that they are read. */
const HOSTILE: readonly (readonly [title: string, text: string])[] = [
  ['brackets', '['.repeat(65_000)],
  ['closing brackets', ']'.repeat(65_000)],
  ['dashes', '- '.repeat(32_000)],
  ['commas in a brace', `{${','.repeat(65_000)}`],
  ['a deep chain of maps', '{a: '.repeat(16_000)],
  ['a deep chain of keys', '? '.repeat(32_000)],
  ['unknown fields', Array.from({ length: 6_000 }, (_, index) => `k${index}: 1`).join('\n')],
  ['NUL', '\0'.repeat(65_000)],
  ['quotes', '"'.repeat(65_000)],
  ['line breaks', '\n'.repeat(65_000)],
  [
    'a doubling of aliases',
    `a0: &a0 [x, x]\n${Array.from({ length: 60 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}, *a${index}]`).join('\n')}`,
  ],
  ['a name of dashes', `policy: 1\nkind: convert\nname: a${'-'.repeat(65_000)}b\n`],
  ['an amount of digits', `kind: convert\nconvert: { amount: { sell: "${'1,'.repeat(32_000)}" } }\n`],
  ['a rate of blanks', `kind: convert\nguard: { worst_rate: "1 ${' '.repeat(65_000)}!" }\n`],
  [
    'a path of dots',
    `kind: convert\nguard: { reference: { file: "${'a.'.repeat(32_000)}", max_age: 3h } }\n`,
  ],
];

/** Of the processor, not of the clock on the wall: other tests run at the same time. */
const PATIENCE_MS = 4_000;

for (const [title, text] of HOSTILE) {
  test(`a file full of ${title} is refused within seconds and with a bounded list of problems`, () => {
    assert.ok(Buffer.byteLength(text) < 64 * 1024);
    const before = process.cpuUsage();
    const problems = problemsOf(text);
    const { user } = process.cpuUsage(before);
    assert.ok(problems.length >= 1 && problems.length <= 101);
    assert.ok(user / 1000 < PATIENCE_MS, `${user / 1000} ms`);
  });
}

test('advice about a long value costs no more than advice about a short one', () => {
  const adviceMs = (text: string): number => {
    const before = process.cpuUsage();
    problemsOf(text);
    return process.cpuUsage(before).user / 1000;
  };
  const named = (fill: string) => `policy: 1\nkind: convert\nname: a${fill.repeat(60_000)}!\n`;
  const plainMs = Math.min(...[1, 2, 3].map(() => adviceMs(named('A'))));
  const dashesMs = Math.min(...[1, 2, 3].map(() => adviceMs(named('-'))));
  assert.ok(dashesMs < 10 * plainMs + 100, `${dashesMs} ms for dashes, ${plainMs} ms for letters`);
});

test('beyond a hundred problems the rest is counted', () => {
  const problems = problemsOf(Array.from({ length: 150 }, (_, index) => `k${index}: 1`).join('\n'));
  assert.equal(problems.length, 101);
  assert.equal(problems.at(-1)?.message, '55 more problems from here on are not shown');
});

test('a suggestion is the nearest word within a third of its letters, or none', () => {
  const words = ['valid_for', 'settlement', 'max_quotes'];
  const cases: readonly (readonly [string, string | null])[] = [
    ['valid_fro', 'valid_for'],
    ['validfor', 'valid_for'],
    ['VALID_FOR', 'valid_for'],
    ['setlement', 'settlement'],
    ['max_quote', 'max_quotes'],
    ['maximum', null],
    ['', null],
    ['v'.repeat(100_000), null],
  ];
  for (const [word, expected] of cases) assert.equal(nearest(word, words), expected, word.slice(0, 20));
});
