/** `schedule next` offline: the coming runs of policies, what is left out, and what is refused. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { urlOf } from '../support/root.ts';
import { typeCommand } from '../support/typed-command.ts';
import { readPage } from '../support/docs-tables.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'cambist-schedule-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));
mkdirSync(join(FOLDER, 'rates'));
writeFileSync(join(FOLDER, 'rates/daily.yaml'), readFileSync(urlOf('policies/rates/daily.yaml'), 'utf8'));

const page = readPage('docs/policies.md');
writeFileSync(join(FOLDER, 'paris-treasury.yaml'), page.block('Schedules', 'yaml'));
const HEAD = `policy: 1
kind: convert
name: p
environment: sandbox
zone: Asia/Tokyo
convert: { sell: USD, buy: MXN, amount: { sell: "1.00" } }
`;
writeFileSync(join(FOLDER, 'plain.yaml'), HEAD);
writeFileSync(
  join(FOLDER, 'early.yaml'),
  `${HEAD}schedule: { at: "08:00", days: [mon], holidays: [2026-11-30], end: 2026-12-10 }\n`,
);
writeFileSync(
  join(FOLDER, 'unsafe.yaml'),
  `${HEAD.replace('Asia/Tokyo', 'Europe/Paris')}schedule: { at: "02:30", days: daily }\n`,
);

const cambist = (...argv: readonly string[]) => typeCommand(argv, { cwd: FOLDER, columns: 80 });

test('the sample of the documentation prints what the documentation shows, within 80 columns', async () => {
  const { exitCode, stdout } = await cambist('schedule', 'next', 'paris-treasury.yaml', '--count', '5');
  assert.equal(exitCode, 0);
  const [, ...shown] = page.block('Schedules', 'console').trimEnd().split('\n');
  assert.deepEqual(stdout.trimEnd().split('\n'), shown);
  for (const line of shown) assert.ok(line.length <= 80, line);
});

test('ten runs are shown where no count is given', async () => {
  const { stdout } = await cambist('schedule', 'next', 'paris-treasury.yaml');
  assert.equal(stdout.match(/ run$/gm)?.length, 10);
});

test('a schedule that ends shows what is left of it, and a policy without one says so', async () => {
  const { exitCode, stdout } = await cambist('schedule', 'next', 'early.yaml', 'plain.yaml');
  assert.equal(exitCode, 0);
  assert.equal(
    stdout,
    `p runs at 08:00 Asia/Tokyo on Mon, until 2026-12-10.

DATE        DAY  TIME          UTC
2026-11-23  Mon  08:00 +09:00  11-22 23:00  run
2026-11-30  Mon                             no run: a holiday of the policy
2026-12-07  Mon  08:00 +09:00  12-06 23:00  run

p has no schedule: it runs when it is started.
`,
  );
});

test('the document has each day with its moment and the reason of what is left out', async () => {
  const { stdout } = await cambist('schedule', 'next', 'early.yaml', 'plain.yaml', '--json');
  const document: { policies: { days: unknown[]; schedule: unknown }[]; exitCode: number } =
    JSON.parse(stdout);
  assert.deepEqual(document.policies[0]?.days, [
    { date: '2026-11-23', runs: true, at: '2026-11-23T08:00:00+09:00', reason: null, holiday: null },
    { date: '2026-11-30', runs: false, at: '2026-11-30T08:00:00+09:00', reason: 'holiday', holiday: null },
    { date: '2026-12-07', runs: true, at: '2026-12-07T08:00:00+09:00', reason: null, holiday: null },
  ]);
  assert.deepEqual(document.policies[1]?.schedule, null);
  assert.equal(document.exitCode, 0);
});

test('a time that clocks skip or pass twice is refused by every command that reads the policy', async () => {
  for (const argv of [['check'], ['plan'], ['run'], ['schedule', 'next']]) {
    const { exitCode, stdout, stderr } = await cambist(...argv, 'unsafe.yaml');
    assert.equal(exitCode, 2, argv.join(' '));
    assert.match(stdout + stderr, /^POLICY_CLOCK_CHANGE unsafe\.yaml:7:17: in Europe\/Paris 02:30 does not/m);
    assert.match(stdout + stderr, /^ {2}fix: write "03:00"/m);
  }
});

test('one policy that is refused leaves the others shown', async () => {
  const { exitCode, stdout } = await cambist('schedule', 'next', 'unsafe.yaml', 'early.yaml', '--json');
  const document: { policies: { file: string }[]; problems: { code: string }[] } = JSON.parse(stdout);
  assert.equal(exitCode, 2);
  assert.deepEqual(
    document.policies.map(({ file }) => file),
    ['early.yaml'],
  );
  assert.deepEqual(
    document.problems.map(({ code }) => code),
    ['POLICY_CLOCK_CHANGE'],
  );
});
