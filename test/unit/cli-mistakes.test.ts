/** Every mistake looks the same on the terminal, wherever it stands: code, place, what is wrong, the line, and what to do. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Io } from '../../cli/terminal/io.ts';
import { main } from '../../cli/main.ts';
import { sells1000 } from '../support/policies.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'cambist-mistakes-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

const POLICY = `policy: 1
kind: convert
name: a
environment: sandbox
convert:
  sell: USD
  buy: MXN
  amount: { sell: "1.00" }
guard:
  reference: { file: rates.yaml, max_age: 30h }
  worst_cost: 25bps
`;

const MISTAKES: readonly {
  readonly where: string;
  readonly files: Readonly<Record<string, string>>;
  readonly argv: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly printed: string;
}[] = [
  {
    where: 'a policy',
    files: { 'p.yaml': POLICY.replace('convert\n', 'covert\n') },
    argv: ['plan', 'p.yaml'],
    env: {},
    printed: `POLICY_KIND p.yaml:2:7: "covert" is not a kind of policy; the kinds are: convert, rebalance, payout.
    kind: covert
          ^^^^^^
  fix: did you mean \`convert\`?
`,
  },
  {
    where: 'reference rates',
    files: { 'p.yaml': POLICY, 'rates.yaml': 'as_of: yesterday\nrates: ["1.08 MXN per USD"]\n' },
    argv: ['plan', 'p.yaml'],
    env: {},
    printed: `RATES_INSTANT rates.yaml:1:8: "yesterday" is not a moment with its offset from UTC.
    as_of: yesterday
           ^^^^^^^^^
  fix: write date, T, time and offset: 2026-11-20T16:00:00+01:00
`,
  },
  {
    where: 'the service file',
    files: { 'p.yaml': POLICY, 's.yaml': 'list_lag: soon\n' },
    argv: ['balances'],
    env: {
      CAMBIST_APP_MODE: 'SANDBOX',
      CAMBIST_BASE_URL: 'http://127.0.0.1:1/v3',
      CAMBIST_KEY_FILE: 'none.json',
      CAMBIST_SERVICE_FILE: join(FOLDER, 's.yaml'),
    },
    printed: `KEY_FILE_NOT_FOUND: CAMBIST_KEY_FILE "none.json": there is no such file. Check the path; it is relative to the working directory.

SERVICE_FILE_DURATION s.yaml:1:11: "soon" is not a duration between 1s and 366d.
    list_lag: soon
              ^^^^
  fix: write a whole number and s, m, h or d: 45s, 30m, 6h, 2d
`,
  },
  {
    where: 'an option',
    files: { 'p.yaml': POLICY },
    argv: ['run', 'p.yaml', '--wiat'],
    env: {},
    printed: `BAD_COMMAND_LINE --wiat: unknown option '--wiat'.
    cambist run p.yaml --wiat
                       ^^^^^^
  fix: Did you mean --wait? See \`npx cambist --help\`, or \`--help\` after a command.
`,
  },
  {
    where: 'the value of an option',
    files: {},
    argv: ['sandbox', '--port', 'x'],
    env: {},
    printed: `BAD_COMMAND_LINE --port: option '--port <port>' argument 'x' is invalid. A port is a number from 0 (any free one) to 65535.
    cambist sandbox --port x
                    ^^^^^^^^
  fix: See \`npx cambist --help\`, or \`--help\` after a command.
`,
  },
  {
    where: 'a flag for batches',
    files: { 'p.yaml': POLICY.replace(/guard:[^]*$/, '') },
    argv: ['plan', 'p.yaml', '--batch', 'my payments.csv'],
    env: {},
    printed: `BATCH_OF_OTHER_KIND --batch: only a policy of kind payout takes a batch, and this policy is of kind convert.
    cambist plan p.yaml --batch "my payments.csv"
                        ^^^^^^^^^^^^^^^^^^^^^^^^^
  fix: Leave --batch out; a convert policy lists its payments under \`withdraw\`.
`,
  },
];

for (const { where, files, argv, env, printed } of MISTAKES) {
  test(`a mistake in ${where} is printed with its place and the line`, async () => {
    for (const [name, text] of Object.entries(files)) writeFileSync(join(FOLDER, name), text);
    assert.equal(await errorsOf(argv, env), printed);
  });
}

test('`run --sign` without a terminal is refused before anything is read of the service or started', async () => {
  writeFileSync(join(FOLDER, 'signed.yaml'), sells1000());
  const printed = await errorsOf(['run', 'signed.yaml', '--id', '2026-11-21', '--sign', 'key'], {});
  assert.match(printed, /NOT_CONFIRMED/);
  assert.doesNotMatch(printed, /CAMBIST_/);
});

async function errorsOf(argv: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  let stderr = '';
  const io: Io = {
    stdout: { write: (text) => (stderr += text) },
    stderr: { write: (text) => (stderr += text), columns: 200 },
    env,
    cwd: FOLDER,
    now: () => Date.parse('2026-11-21T12:00:00Z'),
    ask: null,
    onInterrupt: () => () => {},
  };
  await main(argv, io);
  return stderr.replaceAll(`${FOLDER}/`, '');
}
