/**
 * Bad input and faults as a user meets them, end to end: each is one paragraph with code, place, cause and what to do,
 * the right exit code, and no money moved. All share one stage, whose ledger stays empty.
 */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { generateKey } from '../../sandbox/keys.ts';
import {
  assertExit,
  command,
  documentOf,
  flat,
  putPolicy,
  reportOf,
  type Edit,
  type PolicyOnStage,
} from '../support/commands.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
let policy: PolicyOnStage;

before(async () => {
  stage = await openStage({ balances: { USD: '1500' } });
  await stage.startWorker();
  policy = await putPolicy(stage);
});
after(() => stage.close());

/** Nothing was booked, whatever the test did. */
function assertNothingMoved(): void {
  const { trades, withdrawals } = stage.sandbox.ledger();
  assert.deepEqual({ trades, withdrawals }, { trades: [], withdrawals: [] });
}
afterEach(assertNothingMoved);

type Failed = {
  readonly problems: readonly { code: string; place: string | null; fix: string }[];
  readonly exitCode: number;
};

/** A fault that a command tells by itself: `run` as one paragraph for a person, `plan` (or `json`) as a document. */
async function assertRefused(
  env: Readonly<Record<string, string | undefined>>,
  expected: { readonly exitCode: number; readonly code: string; readonly text: RegExp },
  json: 'plan' | 'run' = 'plan',
): Promise<void> {
  const [plain, document] = await Promise.all([
    command(stage, ['run', policy.file], { env }),
    command(stage, [json, policy.file, '--json'], { env }),
  ]);
  assertExit(plain, expected.exitCode);
  assert.equal(plain.stdout, '');
  const remark = /^Waiting up to .*\n/;
  const paragraphs = plain.stderr.replace(remark, '').trim().split('\n\n');
  const told = paragraphs.find((paragraph) => paragraph.startsWith(expected.code));
  assert.ok(told !== undefined, `${expected.code} is not told: ${plain.stderr}`);
  assert.equal(paragraphs.length, 1, plain.stderr);
  assert.match(flat(told), expected.text);
  assert.match(told.trim(), /[.`]$/, 'it ends with what to do');
  assert.doesNotMatch(plain.stderr, /^\s+at /m, 'no stack trace');
  const all = `${plain.stderr}${document.stdout}${document.stderr}`;
  assert.doesNotMatch(all, /CANARY|MIG[A-Za-z]|MIIE|Bearer|eyJ/, 'no key and no token');
  assertExit(document, expected.exitCode);
  const { problems, exitCode } = documentOf(document) as Failed;
  assert.deepEqual(
    { codes: problems.map(({ code }) => code), exitCode },
    { codes: [expected.code], exitCode: expected.exitCode },
  );
}

/** Writes a file of the stage's folder and names it. */
async function put(name: string, text: string): Promise<string> {
  const path = join(stage.folder, name);
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

describe('configuration', { concurrency: 8 }, () => {
  const base = (): string => stage.env['CAMBIST_BASE_URL'] ?? '';
  const wrongFiles: readonly {
    readonly name: string;
    readonly code: string;
    readonly text: RegExp;
    readonly content: () => string | null;
  }[] = [
    {
      name: 'a key file that is not there',
      code: 'KEY_FILE_NOT_FOUND',
      text: /CAMBIST_KEY_FILE/,
      content: () => null,
    },
    {
      name: 'a key file that is no JSON',
      code: 'KEY_NOT_JSON',
      text: /CAMBIST_KEY_FILE/,
      content: () => 'PRIVATE-CANARY',
    },
    {
      name: 'a key of another kind',
      code: 'KEY_RSA',
      text: /P-256/,
      content: () => {
        const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
        const pem = privateKey.export({ type: 'pkcs8', format: 'pem' });
        return JSON.stringify({ name: 'org/o/apiKey/k', privateKey: pem });
      },
    },
  ];
  for (const { name, code, text, content } of wrongFiles) {
    test(`${name}: 3`, async () => {
      const made = content();
      const path = made === null ? join(stage.folder, 'nowhere.json') : await put(`${code}.json`, made);
      await assertRefused({ CAMBIST_KEY_FILE: path }, { exitCode: 3, code, text });
    });
  }

  test('a key that the service does not know: 3, and the run is not even started', async () => {
    const key = generateKey();
    const path = await put(
      'stranger.json',
      JSON.stringify({ name: key.name, privateKey: key.privateKeyPem }),
    );
    await assertRefused(
      { CAMBIST_KEY_FILE: path },
      {
        exitCode: 3,
        code: 'AUTH_API_KEY_INVALID',
        text: /AUTH_API_KEY_INVALID http:.*\/v3: .* Mend the configuration/,
      },
    );
    assertExit(await command(stage, ['status', policy.runText]), 2);
  });

  for (const [mode, text] of [
    [undefined, /CAMBIST_APP_MODE is not set.* SANDBOX or LIVE/],
    ['PRODUCTION', /CAMBIST_APP_MODE is "PRODUCTION".* SANDBOX or LIVE/],
  ] as const) {
    test(`mode ${mode ?? 'not set'}: 3`, () =>
      assertRefused({ CAMBIST_APP_MODE: mode }, { exitCode: 3, code: 'MODE_MISSING', text }));
  }

  test('a policy of another environment than the mode: 3', () =>
    assertRefused(
      { CAMBIST_APP_MODE: 'LIVE' },
      {
        exitCode: 3,
        code: 'PLAN_ENVIRONMENT',
        text: /the policy says "sandbox", CAMBIST_APP_MODE is LIVE; nothing was sent/,
      },
    ));

  for (const [name, code, change] of [
    ['ending in /v1', 'ADDRESS_SUNSET', (url: string) => url.replace(/v3$/, 'v1')],
    ['without /v3', 'ADDRESS_VERSION', (url: string) => url.replace(/\/v3$/, '')],
    ['with a slash at its end', 'ADDRESS_TRAILING_SLASH', (url: string) => `${url}/`],
    ['that is not one', 'ADDRESS_NOT_URL', () => 'service.example'],
  ] as const) {
    test(`a base URL ${name}: 3`, () =>
      assertRefused(
        { CAMBIST_BASE_URL: change(base()) },
        {
          exitCode: 3,
          code,
          text: /CAMBIST_BASE_URL/,
        },
      ));
  }

  test('a service that does not answer: 7, for run and for plan', async () => {
    await assertRefused(
      { CAMBIST_BASE_URL: 'http://127.0.0.1:1/v3' },
      {
        exitCode: 7,
        code: 'SERVICE_UNREACHABLE',
        text: /http:\/\/127\.0\.0\.1:1\/v3: .* nothing was sent/,
      },
    );
  });

  test('a Temporal server that does not answer: 7', () =>
    assertRefused(
      { TEMPORAL_ADDRESS: '127.0.0.1:1' },
      {
        exitCode: 7,
        code: 'TEMPORAL_UNREACHABLE',
        text: /Temporal does not answer at 127\.0\.0\.1:1\. .*npx cambist up/,
      },
      'run',
    ));

  test('a Temporal server that is away is waited for, and told in one paragraph: 7', async () => {
    const env = { CAMBIST_APP_MODE: 'SANDBOX', TEMPORAL_ADDRESS: '127.0.0.1:1' };
    const listed = await command({ ...stage, env: {} }, ['list'], { env });
    assertExit(listed, 7);
    assert.match(
      listed.stderr,
      /^Waiting up to 15 s .*\nTEMPORAL_UNREACHABLE: Temporal does not answer at 127\.0\.0\.1:1\. /,
    );
  });

  test('no worker on the queue: 7 after 10 s; the run stays started, and the next worker takes it', async () => {
    const waiting = await putPolicy(stage, ['sell: "1000.00"', 'sell: "9000.00"']);
    const env = { CAMBIST_TASK_QUEUE: `${stage.env['CAMBIST_TASK_QUEUE'] ?? ''}-nobody` };
    const ran = await command(stage, ['run', waiting.file, '--json'], { env });
    assertExit(ran, 7);
    assert.equal(reportOf(ran).problems[0]?.code, 'NO_WORKER');
    const attention = await command(stage, ['list', '--attention', '--json']);
    assertExit(attention, 6);
    const { runs } = documentOf(attention) as { runs: { run: string; state: string; stuckBy: string }[] };
    const listed = runs.find((each) => each.run === waiting.runText);
    assert.equal(listed?.state, 'STUCK');
    assert.match(listed.stuckBy, /No worker has taken it/);
    await stage.temporal.client.workflow.getHandle(waiting.workflowId).terminate('the test is over');
  });
});

describe('runs that end before anything is sent', { concurrency: 4 }, () => {
  const rows: readonly {
    readonly name: string;
    /** What is sold: tells the quotes of the row. */
    readonly amount: string;
    readonly edits: readonly Edit[];
    readonly exitCode: number;
    readonly code: string;
    readonly text: RegExp;
    readonly quotes: number;
    /** What `plan` ends with, which asks for a price of its own. */
    readonly planExitCode: number;
  }[] = [
    {
      name: 'an account that is not registered',
      amount: '1001.00',
      edits: [['wac_7Hk2mQ9vT4xR', 'wac_Nowhere1']],
      exitCode: 2,
      code: 'PLAN_ACCOUNT_MISSING',
      text: /does not know withdrawal account "wac_Nowhere1" of payment "supplier"\. Register the account/,
      quotes: 0,
      planExitCode: 2,
    },
    {
      name: 'an account of another currency',
      amount: '1002.00',
      edits: [['wac_7Hk2mQ9vT4xR', 'wac_EuR5epaLive1']],
      exitCode: 2,
      code: 'PLAN_ACCOUNT_CURRENCY',
      text: /takes EUR, payment "supplier" is in MXN/,
      quotes: 0,
      planExitCode: 2,
    },
    {
      name: 'too little money',
      amount: '1500.01',
      edits: [],
      exitCode: 4,
      code: 'SHORTFALL',
      text: /Short of 0\.01 USD: the leg sells 1,500\.01 USD; 1,500\.00 USD are there/,
      quotes: 0,
      planExitCode: 4,
    },
    {
      name: 'a price outside the guard',
      amount: '1003.00',
      edits: [['"16.90 MXN per USD"', '"19.00 MXN per USD"']],
      exitCode: 4,
      code: 'OUTSIDE_GUARD',
      text: /gives 18,555\.50 MXN for 1,003\.00 USD: 18\.5 MXN per USD, allowed are 19 or more \(a price not worse than 19\.00 MXN per USD\)/,
      quotes: 1,
      planExitCode: 0,
    },
  ];
  for (const { name, amount, edits, exitCode, code, text, quotes, planExitCode } of rows) {
    test(`${name}: ${exitCode}`, async () => {
      const own = await putPolicy(stage, ['sell: "1000.00"', `sell: "${amount}"`], ...edits);
      assertExit(await command(stage, ['plan', own.file]), planExitCode);
      const asked = (): number =>
        stage.sandbox.ledger().quotes.filter((quote) => quote['sellAmount'] === amount).length;
      const askedByPlan = asked();
      const ran = await command(stage, ['run', own.file, '--json']);
      assertExit(ran, exitCode);
      const report = reportOf(ran);
      assert.equal(report.status, 'FAILED');
      assert.equal(report.problems[0]?.code, code);
      const shown = await command(stage, ['run', own.file]);
      assertExit(shown, exitCode);
      assert.match(flat(shown.stdout), text);
      assert.equal(asked() - askedByPlan, quotes);
    });
  }
});

describe('clocks that differ', () => {
  const HOUR_MS = 3_600_000;
  for (const [tokenClock, offsetMs] of [
    ['system', 12_000],
    ['system', -12_000],
    ['sandbox', -HOUR_MS],
  ] as const) {
    const side = offsetMs > 0 ? 'behind' : 'ahead of';
    test(`this machine ${Math.abs(offsetMs) / 1_000} s ${side} the service, whose tokens go by ${tokenClock} time: 3`, async () => {
      stage.sandbox.setSettings({ tokenClock });
      stage.sandbox.clock.setOffset(offsetMs);
      try {
        await assertRefused(
          {},
          {
            exitCode: 3,
            code: 'CLOCK_SKEW',
            text: new RegExp(
              `clock of this machine is [0-9]+ s ${side} the clock of the service\\. Set the clock .* nothing was sent\\.$`,
            ),
          },
        );
        assertExit(await command(stage, ['status', policy.runText]), 2);
      } finally {
        stage.sandbox.clock.setOffset(0);
        stage.sandbox.setSettings({ tokenClock: 'system' });
      }
    });
  }

  test('nothing is said about a run from a machine whose clock is wrong: 3', async () => {
    const held = await putPolicy(
      stage,
      ['sell: "1000.00"', 'sell: "9000.00"'],
      ['shortfall: skip', 'shortfall: hold'],
    );
    const refused = await putPolicy(stage, ['"16.90 MXN per USD"', '"19.00 MXN per USD"']);
    assertExit(await command(stage, ['run', refused.file]), 4);
    assertExit(await command(stage, ['run', held.file]), 8);
    const by = ['--by', 'ana'];
    stage.sandbox.clock.setOffset(-12_000);
    try {
      for (const argv of [
        ['cancel', held.runText, ...by],
        ['resolve', held.runText, 'usd-mxn-1', '--not-executed', '--evidence', 'e', ...by],
        ['run', refused.file, '--pay-again', 'supplier', '--reason', 'r', ...by],
      ]) {
        // One after the other.
        const said = await command(stage, argv);
        assertExit(said, 3);
        assert.match(said.stderr, /^CLOCK_SKEW/);
      }
    } finally {
      stage.sandbox.clock.setOffset(0);
    }
    for (const { runText } of [held, refused]) {
      // One after the other.
      const { stdout } = await command(stage, ['report', runText]);
      assert.doesNotMatch(stdout, /Said by people/);
    }
    // A cancel is possible without a key, and while the service is away.
    for (const env of [{ CAMBIST_KEY_FILE: undefined }, { CAMBIST_BASE_URL: 'http://127.0.0.1:1/v3' }]) {
      // One after the other.
      const cancelled = await command(stage, ['cancel', held.runText, ...by], { env });
      assertExit(cancelled, 0);
      assert.match(cancelled.stderr, /^The clock was not compared with|^$/);
    }
  });

  test('8 s are no reason to stop', async () => {
    stage.sandbox.clock.setOffset(8_000);
    assertExit(await command(stage, ['plan', policy.file]), 0);
    stage.sandbox.clock.setOffset(0);
  });
});
