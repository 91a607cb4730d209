/** A payout batch from its file to the last payment: submitted, funded, paid and reported, each payment once. */
import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { decodeOptionalSinglePayload } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { assertExit, command, flat, reportOf } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { openStage, type Stage } from '../support/stage.ts';

let stage: Stage;
before(async () => {
  stage = await openStage({ balances: { USD: '1000000', EUR: '1000000', MXN: '1000000' } });
  await stage.startWorker();
});
after(() => stage.close());

const ACCOUNTS = {
  EUR: 'wac_EuR5epaLive1',
  USD: 'wac_U5DFedw1re9',
  MXN: 'wac_7Hk2mQ9vT4xR',
} as const;

type Row = readonly [id: string, account: string, currency: string, amount: string];

async function putBatch(
  rows: readonly Row[],
  more = 'fund: { mode: none }',
  { folder }: Pick<Stage, 'folder'> = stage,
): Promise<readonly string[]> {
  const name = uniqueName('p');
  const policy = `policy: 1
kind: payout
name: ${name}
environment: sandbox
zone: UTC
payout:
  ${more}
`;
  await writeFile(join(folder, `${name}.yaml`), policy);
  const lines = ['id,account,currency,amount', ...rows.map((row) => row.join(','))];
  await writeFile(join(folder, `${name}.csv`), `${lines.join('\n')}\n`);
  return [`${name}.yaml`, '--batch', `${name}.csv`];
}

const DATE = new Date().toISOString().slice(0, 10);

test('a batch is paid from what is there, each payment once, and shown when it is submitted again', async () => {
  const rows = Array.from({ length: 30 }, (_, index): Row => {
    const currency = (['EUR', 'USD', 'MXN'] as const)[index % 3] ?? 'EUR';
    return [`inv-${index}`, ACCOUNTS[currency], currency, `${10 + index}.50`];
  });
  const args = await putBatch(rows);
  const ran = await command(stage, ['run', ...args, '--id', `${DATE}-weekly`, '--json']);
  assertExit(ran, 0);
  const report = reportOf(ran);
  assert.equal(report.status, 'COMPLETED');
  assert.deepEqual(
    report.payments.map(({ id, account, currency, amount, outcome }) => [
      id,
      account,
      currency,
      amount,
      outcome,
    ]),
    rows.map(([id, account, currency, amount]) => [id, account, currency, amount.replace(/0$/, ''), 'PAID']),
  );
  const booked = stage.sandbox.ledger().withdrawals.length;
  assert.equal(booked, 30);
  const again = await command(stage, ['run', ...args, '--id', `${DATE}-weekly`, '--json']);
  assertExit(again, 0);
  assert.equal(stage.sandbox.ledger().withdrawals.length, 30);
});

const destinations = (accounts: readonly (keyof typeof ACCOUNTS)[]): string =>
  ['accounts:', ...accounts.map((currency) => `  ${ACCOUNTS[currency]}: { currency: ${currency}, label: x }`)]
    .join('\n')
    .concat('\n');

test('a worker with a folder of its own refuses accounts that its destinations lack; changed destinations are another policy', async () => {
  const taskQueue = uniqueName('destinations');
  const own = join(stage.folder, uniqueName('own'));
  await mkdir(own);
  await writeFile(join(own, 'list.yaml'), destinations(['EUR']));
  await stage.startWorker({ env: { CAMBIST_TASK_QUEUE: taskQueue, CAMBIST_FILES: own } });
  const options = { env: { CAMBIST_TASK_QUEUE: taskQueue } };
  await writeFile(join(stage.folder, 'list.yaml'), destinations(['EUR', 'MXN']));
  const args = await putBatch(
    [
      ['a', ACCOUNTS.EUR, 'EUR', '5.00'],
      ['b', ACCOUNTS.MXN, 'MXN', '5.00'],
    ],
    'fund: { mode: none }\n  destinations: list.yaml',
  );
  const booked = stage.sandbox.ledger().withdrawals.length;
  const refused = await command(stage, ['run', ...args, '--id', `${DATE}-no`, '--json'], options);
  assertExit(refused, 4);
  assert.deepEqual(
    reportOf(refused).problems.map(({ code, item }) => [code, item]),
    [['PLAN_DESTINATION_UNKNOWN', 'b']],
  );
  assert.equal(stage.sandbox.ledger().withdrawals.length, booked);

  await writeFile(join(own, 'list.yaml'), destinations(['EUR', 'MXN', 'USD']));
  assertExit(await command(stage, ['run', ...args, '--id', `${DATE}-yes`, '--json'], options), 0);
  assert.equal(stage.sandbox.ledger().withdrawals.length, booked + 2);
  await writeFile(join(stage.folder, 'list.yaml'), destinations(['EUR', 'MXN', 'USD']));
  const changed = await command(stage, ['run', ...args, '--id', `${DATE}-yes`], options);
  assertExit(changed, 4);
  assert.match(flat(changed.stderr), /POLICY_CHANGED .* was planned with other destinations than/);
  assert.match(changed.stdout + changed.stderr, new RegExp(`\\+ *${ACCOUNTS.USD}: USD`));
});

const FUNDED = `fund: { from: USD, mode: net }
quote: { settlement: T0 }
guard: { worst_rate: ["0.80 EUR per USD", "15.00 MXN per USD"] }
settle: { until: funds }
shortfall: hold`;

const RATES = { 'USD/EUR': '0.92', 'USD/MXN': '17.25' } as const;

/** On a stage that must buy what it pays. */
/** What stands beside the timers of a workflow, in order. */
async function timersOf({ temporal: { client } }: Stage, workflowId: string): Promise<readonly string[]> {
  const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
  const started = (events ?? []).filter(({ timerStartedEventAttributes }) => timerStartedEventAttributes);
  const { loadedDataConverter } = client.options;
  const summaries = started.map(({ userMetadata }) =>
    decodeOptionalSinglePayload<string>(loadedDataConverter, userMetadata?.summary),
  );
  return (await Promise.all(summaries)).map((summary) => summary ?? '');
}

async function withPoor(
  options: NonNullable<Parameters<typeof openStage>[0]>,
  work: (poor: Stage) => Promise<void>,
): Promise<void> {
  const poor = await openStage({ rates: RATES, ...options });
  try {
    await poor.startWorker();
    await work(poor);
  } finally {
    await poor.close();
  }
}

describe('a batch that must buy what it pays', { concurrency: 3 }, () => {
  test('what is missing of a currency is bought in one trade, although its quote expires twice; what needs no trade is paid meanwhile', () =>
    withPoor({ balances: { USD: '100000', EUR: '100', MXN: '0' } }, async (poor) => {
      const rows: readonly Row[] = [
        ['a-1', ACCOUNTS.EUR, 'EUR', '300.00'],
        ['a-2', ACCOUNTS.EUR, 'EUR', '200.25'],
        ['b-1', ACCOUNTS.MXN, 'MXN', '5000.00'],
        ['c-1', ACCOUNTS.USD, 'USD', '75.00'],
      ];
      const args = await putBatch(rows, FUNDED, poor);
      poor.sandbox.addFault({
        operation: 'createTrade',
        times: 2,
        effect: { kind: 'error', code: 'QUOTE_EXPIRED' },
      });
      const ran = await command(poor, ['run', ...args, '--id', `${DATE}-funded`, '--json', '--wait']);
      assertExit(ran, 0);
      const report = reportOf(ran);
      assert.deepEqual(
        report.legs.map(({ sell, buy, buyAmount, outcome }) => [sell, buy, buyAmount, outcome]),
        [
          ['USD', 'EUR', '400.25', 'TRADED'],
          ['USD', 'MXN', '5000', 'TRADED'],
        ],
      );
      assert.deepEqual(
        report.payments.map(({ outcome }) => outcome),
        ['PAID', 'PAID', 'PAID', 'PAID'],
      );
      const { trades, withdrawals } = poor.sandbox.ledger();
      assert.deepEqual([trades.length, withdrawals.length], [2, 4]);
      const asked = (operation: string): number =>
        poor.sandbox.requests().filter((request) => request.operation === operation).length;
      assert.deepEqual([asked('createTrade'), asked('createQuote')], [4, 4]);
    }));

  test('a batch whose funding currency does not suffice says so in its plan, and before it is submitted', () =>
    withPoor({ balances: { USD: '100', EUR: '0', MXN: '0' } }, async (poor) => {
      const args = await putBatch([['b-1', ACCOUNTS.MXN, 'MXN', '2000.00']], FUNDED, poor);
      const short =
        /SHORTFALL.*short of 33\.34 USD \(it buys for 133\.34 USD at most, and 100\.00 USD are there\)/;
      const planned = await command(poor, ['plan', ...args]);
      assertExit(planned, 8);
      assert.match(flat(planned.stdout), short);
      const ran = await command(poor, ['run', ...args, '--id', `${DATE}-short`, '--json']);
      assertExit(ran, 8);
      assert.match(flat(ran.stderr), short);
      assert.deepEqual(
        reportOf(ran).payments.map(({ outcome }) => outcome),
        ['PENDING'],
      );
      const status = await command(poor, ['status', reportOf(ran).run, '--json']);
      const told = JSON.parse(status.stdout) as { readonly sentence: string; readonly missing: unknown };
      assert.match(
        told.sentence,
        /by SHORTFALL since .*: Short of 33\.34 USD \(133\.34 USD are needed, 100\.00 USD are there\); .*\. Bring USD in;/,
      );
      assert.deepEqual(told.missing, [{ currency: 'USD', needed: '133.34', there: '100', missing: '33.34' }]);
    }));

  test('a batch that waits for money says so beside the newest timers of its run and its chunk', () =>
    withPoor({ balances: { USD: '100', EUR: '0', MXN: '0' } }, async (poor) => {
      const rows = ['2000.00', '3000.50'].map((amount, index): Row => [
        `b-${index}`,
        ACCOUNTS.MXN,
        'MXN',
        amount,
      ]);
      const args = await putBatch(rows, 'fund: { mode: none }\nshortfall: hold', poor);
      const ran = await command(poor, ['run', ...args, '--id', `${DATE}-held`, '--json']);
      assertExit(ran, 8);
      const runId = `sandbox/${reportOf(ran).run}`;
      const held = 'HELD: 2 payments wait for 5,000.50 MXN.';
      for (const [id, why] of [
        [runId, 'Then it reads all open chunks'],
        [`${runId}/chunk-0001`, 'Looks again: 2 payments wait'],
      ] as const)
        await eventually(why, async () => (await timersOf(poor, id)).includes(`${held} ${why}`));
    }));

  test('a currency that never settles holds up its own payments alone, and says so', () =>
    withPoor(
      {
        balances: { USD: '100000', EUR: '1000', MXN: '0' },
        settings: { settlementMs: { IMMEDIATE: 0, T0: 86_400_000, T1: 86_400_000, T2: 86_400_000 } },
      },
      async (poor) => {
        const rows: readonly Row[] = [
          ['a-1', ACCOUNTS.EUR, 'EUR', '300.00'],
          ['b-1', ACCOUNTS.MXN, 'MXN', '5000.00'],
          ['b-2', ACCOUNTS.MXN, 'MXN', '1500.50'],
        ];
        const args = await putBatch(rows, FUNDED, poor);
        const ran = await command(poor, ['run', ...args, '--id', `${DATE}-unsettled`, '--json']);
        assertExit(ran, 8);
        const report = reportOf(ran);
        assert.deepEqual(
          report.payments.map(({ id, outcome }) => [id, outcome]),
          [
            ['a-1', 'PAID'],
            ['b-1', 'PENDING'],
            ['b-2', 'PENDING'],
          ],
        );
        assert.deepEqual(
          report.totals.map(({ currency, planned, paid }) => [currency, planned, paid]),
          [
            ['EUR', '300', '300'],
            ['MXN', '6500.5', '0'],
          ],
        );
        assert.ok(report.problems.some(({ code }) => code === 'AWAITING_SETTLEMENT'));
        assert.equal(poor.sandbox.ledger().withdrawals.length, 1);
      },
    ));
});

test('an account that cannot be paid ends its own payment, unfunded, and stops nobody else', async () => {
  const rows: readonly Row[] = [
    ['a-1', ACCOUNTS.EUR, 'EUR', '300.00'],
    ['a-2', 'wac_Unver1fied22', 'EUR', '200.25'],
    ['a-3', 'wac_Nowhere1', 'EUR', '7.00'],
    ['a-4', ACCOUNTS.USD, 'EUR', '8.00'],
    ['c-1', ACCOUNTS.USD, 'USD', '75.00'],
  ];
  const args = await putBatch(rows);
  const ran = await command(stage, ['run', ...args, '--id', `${DATE}-some`, '--json', '--wait']);
  assertExit(ran, 5);
  const report = reportOf(ran);
  assert.equal(report.status, 'PARTIAL');
  assert.deepEqual(
    report.payments.map(({ outcome }) => outcome),
    ['PAID', 'NOT_PAID', 'NOT_PAID', 'NOT_PAID', 'PAID'],
  );
  assert.deepEqual(
    report.problems.map(({ code, item }) => [code, item]),
    [
      ['ACCOUNT_UNUSABLE', 'a-2'],
      ['ACCOUNT_MISSING', 'a-3'],
      ['ACCOUNT_CURRENCY', 'a-4'],
    ],
  );
});

test('a payment that was mended is not funded: what money to bring is said before it is tried again', () =>
  withPoor({ balances: { USD: '100000', EUR: '0', MXN: '0' } }, async (poor) => {
    const put = (status: string): void =>
      poor.sandbox.putAccounts([{ id: 'wac_Mended1', currency: 'EUR', assetType: 'FIAT', status }]);
    put('UNVERIFIED');
    const rows: readonly Row[] = [
      ['a-1', ACCOUNTS.EUR, 'EUR', '300.00'],
      ['a-2', 'wac_Mended1', 'EUR', '200.25'],
    ];
    const args = await putBatch(rows, FUNDED, poor);
    const id = `${DATE}-mended`;
    const ran = await command(poor, ['run', ...args, '--id', id]);
    assertExit(ran, 5);
    assert.match(
      flat(ran.stderr),
      /Of 2 payments, 1 cannot be paid and would not be funded: 1 payment, ACCOUNT_UNUSABLE: /,
    );
    const run = `${(args[0] ?? '').replace('.yaml', '')}.${id}`;
    const said = async (): Promise<string> => flat((await command(poor, ['status', run])).stdout);
    assert.match(
      await said(),
      /ended PARTIAL \(2 of 3 items done\)\. 1 not paid: 1 account not verified or closed\. .* Bring in up to 200\.25 EUR for those that you mend, then reset the run\./,
    );
    put('LIVE');
    const explained = await command(poor, ['explain-reset', run]);
    const toBring = /First bring in up to 200\.25 EUR, as far as it is missing: the plan left out 1 payment,/;
    assert.match(flat(explained.stdout), toBring);
    const again = await command(poor, ['run', ...args, '--id', id, '--go-on', '--detach']);
    assertExit(again, 8);
    assert.match(flat(again.stderr), toBring);
  }));

/** So many payments of a dollar and more to one account. */
function dollars(count: number): readonly Row[] {
  return Array.from({ length: count }, (_, index): Row => [
    `d-${index}`,
    ACCOUNTS.USD,
    'USD',
    `${index + 1}.00`,
  ]);
}

const REFUSED = { kind: 'error', code: 'WITHDRAWAL_ADDRESS_NOT_VERIFIED', stored: false } as const;

test('a batch stops after so many refusals, says why, and is paid after a new start', async () => {
  const args = await putBatch(dollars(60), 'fund: { mode: none }\n  stop_after: { failed: 3 }');
  const [file = ''] = args;
  stage.sandbox.addFault({
    operation: 'createWithdrawal',
    times: 1_000,
    when: { reference: `${file.replace('.yaml', '')}.*` },
    effect: REFUSED,
  });
  const id = `${DATE}-stopped`;
  const ran = await command(stage, ['run', ...args, '--id', id, '--json', '--wait']);
  assertExit(ran, 5);
  const report = reportOf(ran);
  const codes = report.problems.map(({ code }) => code);
  assert.equal(report.status, 'FAILED');
  assert.ok(codes.filter((code) => code === REFUSED.code).length >= 3);
  // One slice is under way when the third is refused.
  assert.ok(codes.filter((code) => code === 'BATCH_STOPPED').length >= 60 - 25 - 3);
  const handle = stage.temporal.client.workflow.getHandle(`sandbox/${report.run}`);
  const failure = await handle.result().then(
    () => assert.fail('It was done.'),
    (error: { readonly cause?: Error }) => error.cause?.message ?? '',
  );
  const { currentDetails } = await handle.query<{ readonly currentDetails: string }>(
    '__temporal_workflow_metadata',
  );
  for (const told of [failure, currentDetails]) {
    assert.match(told, /`BATCH_STOPPED` \d+ payments: The batch was stopped: \d+ payments were refused\./);
    assert.match(
      told,
      /`WITHDRAWAL_ADDRESS_NOT_VERIFIED` \d+ payments: The service says: the account is not verified\. Mend the cause at the service/,
    );
    assert.match(told, /All of them, one by one: `npx cambist report \S+`\./);
  }
  stage.sandbox.clearFaults();
  // Temporal knows its payments: the file is not asked for again.
  const again = await command(stage, ['run', file, '--id', id, '--wait', '--go-on']);
  assertExit(again, 0);
  assert.match(again.stdout, /: COMPLETED$/m);
  const said = flat(again.stderr);
  assert.match(
    said,
    /Tries again, each under its own key first: 60 payments, 1,830\.00 USD\. d-0: 1\.00 USD to wac_/,
  );
  assert.match(said, / d-49: .* and 10 more; --json has them all/);
});
