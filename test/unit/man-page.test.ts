/** The man page has what the help has, and `man` reads it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildProgram } from '../../cli/main.ts';
import { EXIT_MEANINGS } from '../../operations/exit-codes.ts';
import { manPage } from '../../scripts/lib/man-page.mjs';
import { commandsOf, silentProgram } from '../support/program.ts';
import { urlOf } from '../support/root.ts';

const page = await manPage(buildProgram);
const shown = page.replaceAll('\\-', '-').replaceAll('\\e', '\\').replaceAll('\\(dq', '"');
const flat = shown.replaceAll(/\s+/g, ' ');

test('the man page has every command with its description, options and exit codes, and the version of the package', async () => {
  const { version } = JSON.parse(readFileSync(urlOf('package.json'), 'utf8'));
  assert.ok(shown.includes(`"Cambist ${version}"`));
  const known = commandsOf(await silentProgram());
  const sections = new Map(
    shown.split(/^\.SS /m).map((text) => [/^"cambist ([^"<[]*)/.exec(text)?.[1]?.trim() ?? '', text]),
  );
  assert.deepEqual([...sections.keys()], ['', ...known.map(({ name }) => name)]);
  for (const { name, command } of known) {
    const section = sections.get(name) ?? '';
    for (const { flags, hidden } of command.options)
      assert.equal(section.includes(`.B "${flags}"\n`), !hidden, `${name} ${flags}`);
    assert.match(section, /\nExamples:\n {2}\S[^]*\nExit codes:\n {4}0 {2}done/, name);
  }
  for (const meaning of Object.values(EXIT_MEANINGS)) assert.ok(flat.includes(meaning), meaning);
  assert.ok(flat.includes('CAMBIST_KEY_FILE'));
});

test('no line of the man page is taken for an order that is none', () => {
  const orders = page.split('\n').filter((line) => /^[.']/.test(line));
  assert.deepEqual(
    orders.filter((line) => !/^\.(?:TH|SH|SS|TP|PP|B|I|nf|fi|sp)\b/.test(line)),
    [],
  );
});

const hasMandoc = spawnSync('mandoc', ['-T', 'ascii'], { input: '' }).error === undefined;
test(
  'a program that shows man pages finds nothing wrong with it',
  { skip: hasMandoc ? false : 'mandoc is not installed here' },
  () => {
    const { status, stdout } = spawnSync('mandoc', ['-T', 'lint', '-W', 'error'], {
      input: page,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stdout);
  },
);
