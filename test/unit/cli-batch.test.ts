/** `check --batch` on a terminal: what the guide shows is what is printed, and what options are refused. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { typeCommand } from '../support/typed-command.ts';
import { readPage } from '../support/docs-tables.ts';
import { ROOT } from '../support/root.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'cambist-batch-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

const page = readPage('docs/payouts.md');
const POLICY = 'policies/contractors.yaml';
const SAMPLE = 'policies/batches/contractors.csv';

const cambist = (...argv: readonly string[]) => typeCommand(argv, { cwd: ROOT, columns: 80 });

/** What the page prints for a command. */
function shown(heading: string): string {
  return page.block(heading, 'console').replace(/^\$.*\n/, '');
}

function fileOf(name: string, text: string): string {
  const file = join(FOLDER, name);
  writeFileSync(file, text);
  return file;
}

test('the sample batch prints what the guide shows', async () => {
  const { exitCode, stdout, stderr } = await cambist('check', POLICY, '--batch', SAMPLE);
  assert.deepEqual({ exitCode, stderr }, { exitCode: 0, stderr: '' });
  assert.equal(stdout, shown('Payouts'));
});

test('a batch with mistakes prints what the guide shows', async () => {
  const text = `ref;account;ccy;amount
inv-1042;wac_7Hk2mQ9vT4xR;MXN;16.500,00
inv-1043;wac_EuR5epaLive1;USD;1250.00
`;
  const file = fileOf('november.csv', text);
  const { exitCode, stdout } = await cambist('check', POLICY, '--batch', file);
  assert.equal(exitCode, 2);
  // The guide's file lies in the working folder, so that its lines break elsewhere.
  const words = (all: string): string => all.replaceAll(`${FOLDER}/`, '').replaceAll(/\s+/g, ' ');
  assert.equal(words(stdout), words(shown('What is refused')));
});

test('the files of the guide are read as it says', async () => {
  const csv = fileOf('guide.csv', page.block('The file', 'csv'));
  const json = fileOf('guide.jsonl', page.block('The file', 'json'));
  for (const file of [csv, json]) {
    const { exitCode, stdout } = await cambist('check', POLICY, '--batch', file, '--json');
    assert.equal(exitCode, 0, stdout);
    const { batch }: { batch: unknown } = JSON.parse(stdout);
    assert.deepEqual(batch, {
      file,
      ok: true,
      payments: 2,
      currencies: [
        { currency: 'MXN', payments: 1, sum: '16500', largest: '16500.00' },
        { currency: 'USD', payments: 1, sum: '2400', largest: '2400.00' },
      ],
      mistakes: 0,
      warnings: 0,
      notListed: { mistakes: 0, warnings: 0 },
    });
  }
});

test('of many warnings of one kind the first three are shown, and one of another kind before them', async () => {
  const row = (id: number, currency: string): string => `${id},wac_7Hk2mQ9vT4xR,${currency},1.00`;
  const alike = Array.from({ length: 61 }, (_, id) => row(id, 'MXN'));
  const file = fileOf(
    'alike.csv',
    ['id,account,currency,amount', '99,wac_7Hk2mQ9vT4xR,JPY,1', ...alike, ''].join('\n'),
  );
  const policy = fileOf(
    'alike.yaml',
    'policy: 1\nkind: payout\nname: p\nenvironment: sandbox\npayout: { fund: { mode: none } }\n',
  );
  const { stdout } = await cambist('check', policy, '--batch', file);
  const codes = stdout.match(/BATCH_[A-Z_]+/g) ?? [];
  const few = Array.from({ length: 4 }, () => 'BATCH_LOOK_ALIKE');
  assert.deepEqual(codes, ['BATCH_CURRENCY_NOT_WITHDRAWABLE', ...few]);
  assert.match(stdout, /^… and 57 more BATCH_LOOK_ALIKE\.$/m);
  const { stdout: json } = await cambist('check', policy, '--batch', file, '--json');
  assert.equal((JSON.parse(json) as { warnings: unknown[] }).warnings.length, 61);
});

test('where there are more than --json lists, it says how many it leaves out', async () => {
  const rows = Array.from({ length: 10_003 }, (_, index) => `p${index},wac_7Hk2mQ9vT4xR,MXN,0`);
  const file = fileOf('wrong.csv', `ref,account,ccy,amount\n${rows.join('\n')}\n`);
  const { stdout } = await cambist('check', POLICY, '--batch', file, '--json');
  const document = JSON.parse(stdout) as {
    readonly problems: readonly unknown[];
    readonly batch: Readonly<Record<string, unknown>>;
  };
  assert.equal(document.problems.length, 10_000);
  const { mistakes, warnings, notListed } = document.batch;
  assert.deepEqual(
    { mistakes, warnings, notListed },
    {
      mistakes: 10_003,
      warnings: 0,
      notListed: { mistakes: 3, warnings: 0 },
    },
  );
});

test('of many mistakes of one kind three are shown and the others counted; --json has them all', async () => {
  const rows = Array.from({ length: 60 }, (_, index) => `p${index},wac_7Hk2mQ9vT4xR,MXN,0,x`);
  const file = fileOf('many.csv', `ref,account,ccy,amount,note\n${rows.join('\n')}\n`);
  const { exitCode, stdout } = await cambist('check', POLICY, '--batch', file);
  assert.equal(exitCode, 2);
  assert.equal(stdout.match(/^BATCH_AMOUNT /gm)?.length, 3);
  assert.match(stdout, /^… and 57 more BATCH_AMOUNT\.$/m);
  assert.match(stdout, /many\.csv: 60 mistakes in 60 payments\n$/);
  const document: { problems: unknown[]; batch: { mistakes: number } } = JSON.parse(
    (await cambist('check', POLICY, '--batch', file, '--json')).stdout,
  );
  assert.deepEqual([document.problems.length, document.batch.mistakes], [60, 60]);
});

test('a batch is not checked by a policy that has mistakes, and one that is missing is told', async () => {
  const policy = fileOf('p.yaml', 'policy: 1\nkind: payout\nname: p\nenvironment: sandbox\n');
  const wrong = await cambist('check', policy, '--batch', SAMPLE);
  assert.equal(wrong.exitCode, 2);
  assert.match(wrong.stdout, /contractors\.csv is not checked: its policy has mistakes\.\n$/);
  const missing = await cambist('check', POLICY, '--batch', 'none.csv', '--json');
  assert.equal(missing.exitCode, 2);
  assert.match(missing.stdout, /"code": "FILE_NOT_FOUND",\s+"place": "none\.csv"/);
  const folder = await cambist('check', POLICY, '--batch', 'policies');
  assert.match(
    folder.stdout,
    /^FILE_UNREADABLE policies: it is a folder, not a file\.[^]*\npolicies: 1 mistake\n$/m,
  );
});

const REFUSED: readonly (readonly [argv: readonly string[], said: RegExp])[] = [
  [[POLICY, POLICY, '--batch', SAMPLE], /^BAD_COMMAND_LINE --batch: a batch is checked with one policy\./],
  [[POLICY, '--expect-count', '5'], /^BAD_COMMAND_LINE --expect-count: it says what a batch should have/],
  [[POLICY, '--expect-total', '5 EUR'], /^BAD_COMMAND_LINE --expect-total: it says what a batch should have/],
  [
    [POLICY, '--batch', SAMPLE, '--expect-count', '-1'],
    /^BAD_COMMAND_LINE --expect-count: .* whole number\./s,
  ],
  [[POLICY, '--batch', SAMPLE, '--expect-total', '5'], /^BAD_COMMAND_LINE --expect-total: .* in quotes/s],
  [
    [POLICY, '--batch', SAMPLE, '--expect-total', '5,00 EUR'],
    /^BAD_COMMAND_LINE --expect-total: .* in quotes/s,
  ],
  [
    [POLICY, '--batch', SAMPLE, '--expect-total', '5 EUR', '--expect-total', '6 EUR'],
    /^BAD_COMMAND_LINE --expect-total: .* in EUR is given already\./s,
  ],
];

for (const [argv, said] of REFUSED) {
  test(`check ${argv.join(' ')} is refused`, async () => {
    const { exitCode, stderr, stdout } = await cambist('check', ...argv);
    assert.deepEqual({ exitCode, stdout }, { exitCode: 2, stdout: '' });
    assert.match(stderr.replaceAll(/\s+/g, ' '), said);
  });
}

const TO_CORRECT = `ref;account;ccy;amount\r
inv-1042;wac_7Hk2mQ9vT4xR;mxn; 16500.00\r
inv-1043;wac_EuR5epaLive1;EUR;1.250,00\r
`;

test('--fix lists what is certain, writes it into a new file as the guide shows, and checks that one', async () => {
  const file = fileOf('november.csv', TO_CORRECT);
  const out = join(FOLDER, 'fixed.csv');
  const { exitCode, stdout } = await cambist('check', POLICY, '--batch', file, '--fix', out);
  assert.equal(exitCode, 2);
  const words = (all: string): string => all.replaceAll(`${FOLDER}/`, '').replaceAll(/\s+/g, ' ');
  assert.equal(words(stdout), words(shown('Corrections')));
  assert.equal(readFileSync(file, 'utf8'), TO_CORRECT);
  const written = readFileSync(out, 'utf8');
  assert.equal(written, TO_CORRECT.replace('mxn; 16500', 'MXN;16500'));
  const copy = join(FOLDER, 'copy.csv');
  const again = await cambist('check', POLICY, '--batch', out, '--fix', copy);
  assert.match(again.stdout, /copy\.csv:\s+\S+fixed\.csv\s+with\s+no\s+correction\.\n/);
  assert.equal(readFileSync(copy, 'utf8'), written);
});

test('--fix writes no file that is there already, whatever it is and by whatever name', async () => {
  const file = fileOf('itself.csv', TO_CORRECT.replace('1.250,00', '1250.00'));
  const good = join(FOLDER, 'good.csv');
  const listed = await cambist('check', POLICY, '--batch', file, '--fix', good, '--json');
  assert.equal(listed.exitCode, 0);
  const { batch }: { batch: { file: string; corrections: unknown } } = JSON.parse(listed.stdout);
  assert.equal(batch.file, good);
  assert.deepEqual(batch.corrections, [
    { line: 2, row: 2, payment: 'inv-1042', column: 'ccy', now: 'MXN', was: 'mxn' },
    { line: 2, row: 2, payment: 'inv-1042', column: 'amount', now: '16500.00', was: ' 16500.00' },
  ]);
  const [link, dangling] = [join(FOLDER, 'link.csv'), join(FOLDER, 'dangling.csv')];
  symlinkSync(file, link);
  symlinkSync(join(FOLDER, 'nowhere.csv'), dangling);
  const policy = fileOf('good.yaml', readFileSync(join(ROOT, POLICY), 'utf8'));
  const before = [file, good, policy].map((one) => readFileSync(one, 'utf8'));
  for (const there of [file, link, dangling, good, policy, FOLDER]) {
    const { exitCode, stderr } = await cambist('check', POLICY, '--batch', file, '--fix', there);
    assert.equal(exitCode, 2);
    assert.match(stderr, /RESULTS_UNWRITABLE[^]*it\s+is\s+there\s+already,\s+and\s+is\s+never\s+overwritten/);
  }
  assert.deepEqual(
    [file, good, policy].map((one) => readFileSync(one, 'utf8')),
    before,
  );
});

test('where the policy has mistakes, --fix writes nothing and says so', async () => {
  const policy = fileOf('wrong.yaml', 'policy: 1\nkind: payout\nname: p\nenvironment: sandbox\n');
  const out = join(FOLDER, 'unwritten.csv');
  const { exitCode, stdout } = await cambist('check', policy, '--batch', SAMPLE, '--fix', out);
  assert.equal(exitCode, 2);
  assert.match(
    stdout.replaceAll(/\s+/g, ' '),
    /its policy has mistakes\. \S+unwritten\.csv is not written\./,
  );
  assert.equal(existsSync(out), false);
});

test('--fix without a batch, and --fix without a new file, are refused', async () => {
  const alone = await cambist('check', POLICY, '--fix', join(FOLDER, 'x.csv'));
  assert.match(alone.stderr, /^BAD_COMMAND_LINE --fix: it corrects a batch, and none is named\./);
  const unnamed = await cambist('check', POLICY, '--batch', SAMPLE, '--fix');
  assert.match(unnamed.stderr, /^BAD_COMMAND_LINE[^]*--fix/);
  assert.deepEqual([alone.exitCode, unnamed.exitCode], [2, 2]);
});

test('run writes its results over no file that it reads: batch, policy, reference rates, destinations', async () => {
  for (const read of [
    SAMPLE,
    POLICY,
    'policies/rates/daily.yaml',
    'policies/destinations/contractors.yaml',
  ]) {
    const argv = ['run', POLICY, '--batch', SAMPLE, '--id', '2026-11-21-weekly', '--out', read];
    const { exitCode, stderr } = await cambist(...argv);
    assert.equal(exitCode, 2);
    assert.match(
      stderr.replaceAll(/\s+/g, ' '),
      new RegExp(`RESULTS_UNWRITABLE ${read}.* it is ${read}, which the command reads`),
    );
  }
});
