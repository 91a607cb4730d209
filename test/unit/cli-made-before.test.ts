/** The same payment again under another name: what counts as one, how it is told, and that live money needs its name. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { heedMadeBefore } from '../../cli/look-alikes.ts';
import { Output } from '../../cli/terminal/output.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import type { Mode, Withdrawal } from '../../domain/service/records.ts';
import { bareName, madeByTag, Repeats } from '../../domain/run/made-before.ts';
import type { SeenMadeBefore } from '../../operations/batches/look-alikes.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { toldBySchedule } from '../../operations/start/made-before.ts';
import { acmeKey, stage } from '../support/sandbox-stage.ts';
import { typeCommand } from '../support/typed-command.ts';

const RUN = { policy: 'pay', id: '2026-11-21-b' };
const PAYMENT: BatchPayment = ['inv-42', 'wac_1', 'EUR', '10.5'];

function recordOf(tag: string | null, more: Partial<Withdrawal> = {}): Withdrawal {
  return {
    id: `wtd_${tag ?? ''}`,
    currency: 'EUR',
    withdrawalAmount: '10.50',
    status: 'COMPLETED',
    withdrawalAccountId: 'wac_1',
    createdAt: '2026-11-14T09:00:00.000Z',
    tag,
    ...more,
  };
}

const SAME: readonly (readonly [what: string, record: Withdrawal, isAgain: boolean])[] = [
  ['another name in another run of the policy', recordOf('pay.2026-11-14.rent'), true],
  ['another policy', recordOf('salaries.2026-11-14.x'), true],
  ['the same name in another policy', recordOf('salaries.2026-11-14.inv-42'), true],
  ['a later generation', recordOf('pay.2026-11-14.rent~3'), true],
  [
    'the same name in another run of the policy, which `dedupe` refuses',
    recordOf('pay.2026-11-14.INV-42'),
    false,
  ],
  ['the run itself', recordOf('pay.2026-11-21-b.rent'), false],
  ['another account', recordOf('pay.2026-11-14.rent', { withdrawalAccountId: 'wac_2' }), false],
  ['no account is shown', recordOf('pay.2026-11-14.rent', { withdrawalAccountId: null }), false],
  ['another amount', recordOf('pay.2026-11-14.rent', { withdrawalAmount: '10.51' }), false],
  ['another currency', recordOf('pay.2026-11-14.rent', { currency: 'USD' }), false],
  ['a tag that is not ours', recordOf('invoice 42'), false],
];

for (const [what, record, isAgain] of SAME) {
  test(`a withdrawal is ${isAgain ? '' : 'not '}the same payment under another name: ${what}`, () => {
    const made = madeByTag(record);
    const repeats = new Repeats(RUN, made === null ? [] : [made]);
    assert.equal(repeats.of(PAYMENT)?.made.record.id ?? null, isAgain ? record.id : null);
  });
}

test('a policy that pays one account twice each week means both; a third name is asked about', () => {
  const payments = ['inv-41', 'inv-42'].map((id): BatchPayment => [id, 'wac_1', 'EUR', '10.5']);
  const week = ['inv-41', 'inv-42'].flatMap((id) => madeByTag(recordOf(`pay.2026-11-14.${id}`)) ?? []);
  const again = (made: typeof week) =>
    payments.map((one) => new Repeats(RUN, made).of(one)?.made.item ?? null);
  assert.deepEqual(again(week), [null, null]);
  assert.deepEqual(again(week.slice(1)), ['inv-42', null]);
  const byHand = madeByTag(recordOf('other.2026-11-20.rent'));
  assert.ok(byHand !== null);
  assert.deepEqual(again([...week, byHand]), ['rent', 'rent']);
});

test('names are almost the same where capitals, zeros in front, or signs alone differ', () => {
  for (const name of ['INV-42', 'inv_0042', 'Inv42', 'inv--042']) assert.equal(bareName(name), 'inv42', name);
  for (const name of ['inv-420', 'inv-4-2-1', 'in-42', 'inv-402'])
    assert.notEqual(bareName(name), 'inv42', name);
  assert.equal(bareName('0'), '0');
  const made = ['pay.2026-11-13.rent', 'pay.2026-11-14.INV0042'].flatMap(
    (tag) => madeByTag(recordOf(tag)) ?? [],
  );
  const found = new Repeats(RUN, made).of(PAYMENT);
  assert.deepEqual([found?.made.item, found?.isNear, found?.others], ['INV0042', true, 1]);
});

const ACCOUNT = 'wac_7Hk2mQ9vT4xR';

/** A sandbox in which other runs have paid, and the command in it. */
async function openPlace(t: TestContext, tags: readonly (readonly [tag: string, amount: string])[]) {
  const { sandbox, client } = await stage(t);
  for (const [tag, amount] of tags) {
    const body = { currency: 'MXN', withdrawalAmount: amount, withdrawalAccountId: ACCOUNT };
    assert.equal((await client.post('/fx/withdrawals', { ...body, metadata: { cambist: tag } })).status, 200);
  }
  const cwd = mkdtempSync(join(tmpdir(), 'cambist-before-'));
  t.after(() => rmSync(cwd, { recursive: true, force: true }));
  const key = { name: acmeKey.name, privateKey: acmeKey.privateKeyPem };
  writeFileSync(join(cwd, 'key.json'), JSON.stringify(key), { mode: 0o600 });
  const env = {
    CAMBIST_BASE_URL: sandbox.baseUrl,
    CAMBIST_KEY_FILE: join(cwd, 'key.json'),
    CAMBIST_APP_MODE: 'SANDBOX',
  };
  return {
    write: (name: string, text: string): void => writeFileSync(join(cwd, name), text),
    type: (...argv: readonly string[]) =>
      typeCommand(argv, { cwd, env, columns: 200, now: () => Date.now() }),
  };
}

test('plan says which payments of a batch other runs have made, the almost equal names first', async (t) => {
  const place = await openPlace(t, [
    ['other.2026-11-14.rent', '10.00'],
    ['pay.2026-11-14.INV-0002', '20.00'],
    ['pay.2026-11-14.inv-3', '30.00'],
  ]);
  place.write(
    'pay.yaml',
    'policy: 1\nkind: payout\nname: pay\nenvironment: sandbox\npayout: { fund: { mode: none } }\n',
  );
  const rows = ['inv-1', 'inv-2', 'inv-3', 'inv-4'].map((id, at) => `${id},${ACCOUNT},MXN,${at + 1}0.00`);
  place.write('b.csv', `id,account,currency,amount\n${rows.join('\n')}\n`);
  const { stdout } = await place.type('plan', 'pay.yaml', '--batch', 'b.csv');
  assert.match(
    stdout,
    /^2 payments of this run were made before by other runs, under other names: 30\.00 MXN\. 1 of them under almost the same name\.\n {2}inv-2: 20\.00 MXN to wac_7Hk2mQ9vT4xR; INV-0002 of pay\.2026-11-14 on \d{4}-\d\d-\d\d \(wtd_\w+\)\n {2}inv-1: 10\.00 MXN to wac_7Hk2mQ9vT4xR; rent of other\.2026-11-14 on/m,
  );
  const { madeBefore }: { madeBefore: { payments: number; near: number; first: { item: string }[] } } =
    JSON.parse((await place.type('plan', 'pay.yaml', '--batch', 'b.csv', '--json')).stdout);
  assert.deepEqual([madeBefore.payments, madeBefore.near], [2, 1]);
  assert.deepEqual(
    madeBefore.first.map(({ item }) => item),
    ['inv-2', 'inv-1'],
  );
});

test('plan says it of the fixed payments of a conversion too', async (t) => {
  const place = await openPlace(t, [
    ['other.2026-11-14.rent', '10.00'],
    ['c.2026-11-14.b', '20.00'],
  ]);
  place.write(
    'c.yaml',
    `policy: 1
kind: convert
name: c
environment: sandbox
convert: { sell: USD, buy: MXN, amount: { buy: "100.00" } }
guard: { worst_rate: "10.00 MXN per USD" }
withdraw:
  - { id: a, account: ${ACCOUNT}, amount: { fixed: "10.00" } }
  - { id: b, account: ${ACCOUNT}, amount: { fixed: "20.00" } }
`,
  );
  const { stdout } = await place.type('plan', 'c.yaml');
  assert.match(
    stdout,
    /^1 payment of this run was made before [^]*\n {2}a: 10\.00 MXN to \w+; rent of other/m,
  );
});

const [MADE] = [madeByTag(recordOf('pay.2026-11-14.INV42'))];
assert.ok(MADE !== null && MADE !== undefined);
const SEEN: SeenMadeBefore = {
  name: 'made-before-AAAABBBBCCCC',
  payments: 2,
  sums: [{ currency: 'EUR', value: '21' }],
  near: 1,
  first: [{ payment: PAYMENT, made: MADE, isNear: true, others: 0 }],
};

/** What a person sees, and the codes of the refusal; null: it goes on. */
async function heed(mode: Mode, how: { readonly again?: string; readonly answer?: string } = {}) {
  const said: string[] = [];
  const asked: string[] = [];
  const output = new Output(
    {
      stdout: { write: () => true },
      stderr: { write: (text) => said.push(text), columns: 200 },
      env: {},
      cwd: '.',
      now: () => 0,
      ask:
        how.answer === undefined
          ? null
          : (question) => {
              asked.push(question);
              return Promise.resolve(how.answer ?? '');
            },
      onInterrupt: () => () => {},
    },
    false,
  );
  try {
    await heedMadeBefore(output, { place: { mode }, run: RUN }, SEEN, how.again ?? null);
    return { said: said.join(''), asked, refused: null };
  } catch (error) {
    assert.ok(error instanceof CommandFailure);
    assert.equal(error.ending, 'refused by us');
    return { said: said.join(''), asked, refused: error.problems };
  }
}

test('in the sandbox the person is told, and it goes on', async () => {
  const { said, asked, refused } = await heed('SANDBOX', { answer: 'no' });
  assert.deepEqual([asked, refused], [[], null]);
  assert.match(said, /inv-42: 10\.50 EUR to wac_1; INV42 of pay\.2026-11-14 on 2026-11-14[^]*… and 1 more/);
});

test('in live nothing starts without the name of exactly this list, typed or answered', async () => {
  for (const again of [undefined, 'made-before-DDDDEEEEFFFF', 'yes']) {
    const { refused } = await heed('LIVE', { ...(again !== undefined && { again }) });
    assert.deepEqual(
      refused?.map(({ code }) => code),
      ['MADE_BEFORE', 'PAID_ALREADY'],
    );
    assert.match(refused?.[0]?.fix ?? '', /--again made-before-AAAABBBBCCCC \(--yes is not enough\)/);
  }
  for (const answer of ['yes', '', 'made-before-DDDDEEEEFFFF'])
    assert.notEqual((await heed('LIVE', { answer })).refused, null, answer);
  const answered = await heed('LIVE', { answer: ' made-before-AAAABBBBCCCC\n' });
  assert.equal(answered.refused, null);
  assert.match(answered.said, /2 payments of this run were made before/);
  assert.equal((await heed('LIVE', { again: 'made-before-AAAABBBBCCCC' })).refused, null);
});

test('a start by a schedule asks nobody: it tells in the sandbox, and is refused in live', () => {
  const [head = '', line = ''] = toldBySchedule(SEEN, { run: RUN, mode: 'SANDBOX' });
  assert.match(
    head,
    /^2 payments of this run were made before by other runs, under other names: 21\.00 EUR\./,
  );
  assert.match(line, /^inv-42: 10\.50 EUR to wac_1; INV42 of pay\.2026-11-14/);
  assert.throws(
    () => toldBySchedule(SEEN, { run: RUN, mode: 'LIVE' }),
    (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.deepEqual(
        error.problems.map(({ code }) => code),
        ['MADE_BEFORE', 'PAID_ALREADY'],
      );
      assert.match(
        error.problems[0]?.fix ?? '',
        /by hand on its date: `npx cambist run POLICY --again made-before-AAAABBBBCCCC`/,
      );
      return true;
    },
  );
});
