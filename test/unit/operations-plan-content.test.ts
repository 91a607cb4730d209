/** What a plan will do, as people agree to it beforehand and hold the plan of a run against it (M4). */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { BatchPayment } from '../../domain/batch.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import {
  againText,
  contentOf,
  differenceOf,
  readContent,
  writeContent,
} from '../../operations/approve/plan-content.ts';
import { LEG, PAYMENT, WHOLE_PLAN } from '../support/scripts.ts';

const PLAN: Plan = { ...WHOLE_PLAN, payments: [{ ...PAYMENT, dependsOn: LEG.id }] };
const ROWS: readonly BatchPayment[] = Array.from({ length: 30 }, (_, index) => [
  `inv-${index}`,
  PAYMENT.account,
  'EUR',
  `${index + 1}.50`,
]);
const BATCH: Plan = {
  ...PLAN,
  legs: [],
  payments: [],
  batch: {
    payments: ROWS.length,
    totals: [],
    payable: [],
    heldBy: [],
    chunks: [],
    rules: { parallel: 1, stopAfter: null, canary: null, dedupeMs: 0 },
  },
};

test('whoever signs that payments are paid again sees each, which record it follows, and the sum', () => {
  const listed = [
    ['inv-1', 9, null],
    ['inv-0', 1, 'wtd_1'],
  ] as const;
  assert.deepEqual(againText(ROWS, listed), [
    `inv-0: pay 1.50 EUR to ${PAYMENT.account}, again after generation 1, whose record wtd_1 has failed`,
    `inv-1: pay 2.50 EUR to ${PAYMENT.account}, again after generation 9, which has no record`,
    'The batch: 2 payments, in total 4.00 EUR.',
  ]);
  // One that is no row, and one that comes twice, nobody can be shown.
  assert.equal(againText(ROWS, [...listed, ['inv-99', 1, null]]), null);
  assert.equal(againText(ROWS, [...listed, ['inv-0', 9, null]]), null);
});

test('the content has each leg, each payment and each row, and differs where anything of them does', () => {
  const content = contentOf(BATCH, ROWS);
  assert.equal(content.filter((line) => line.startsWith('inv-')).length, 30);
  assert.match(content.at(-1) ?? '', /^The batch: 30 payments, in total 480\.00 EUR\.$/);
  const whole = contentOf(PLAN, []);
  assert.equal(differenceOf(whole, contentOf({ ...PLAN, run: { policy: 'p', id: 'another' } }, [])), null);
  for (const other of [
    { ...PLAN, policy: { name: 'p', hash: 'another' } },
    { ...PLAN, credentials: { ...PLAN.credentials, organisation: 'another' } },
    { ...PLAN, insteadOf: '2026-11-20' },
    { ...PLAN, legs: [] },
    { ...PLAN, payments: [{ ...PAYMENT, dependsOn: LEG.id, account: 'wac_Another' }] },
  ])
    assert.notEqual(differenceOf(whole, contentOf(other, [])), null);
  const [first = assert.fail(), ...rest] = ROWS;
  const changed: readonly BatchPayment[] = [[first[0], first[1], first[2], '1.51'], ...rest];
  assert.match(
    differenceOf(content, contentOf(BATCH, changed)) ?? '',
    /^in line 2 the file has "inv-0: pay 1\.50 EUR .*", and the plan of the run "inv-0: pay 1\.51 EUR/,
  );
  assert.match(differenceOf([...content, 'more'], content) ?? '', /the file has "more".* nothing more$/);
});

test('the price of a leg is the one that binds, whatever the plan says of it in words', () => {
  const priced = (sellFactor: string, text: string) => {
    const guard = { bound: { buyFactor: '1', sellFactor }, text, staleAtMs: null, referenceRate: null };
    return contentOf({ ...PLAN, legs: [{ ...LEG, guard }] }, []);
  };
  const honest = priced('17.20', 'not worse than 17.20 MXN per USD');
  assert.match(honest.join('\n'), /^usd-mxn-1: sell 1,000\.00 USD for MXN, not below 17\.2 MXN per USD$/m);
  const forged = priced('1.72', 'not worse than 17.20 MXN per USD');
  assert.match(differenceOf(honest, forged) ?? '', /not below 1\.72 MXN per USD/);
  assert.doesNotMatch(forged.join('\n'), /17\.20/);
});

test('a file of it is read as it was written', async (t) => {
  const cwd = await mkdtemp(join(tmpdir(), 'content-'));
  t.after(() => rm(cwd, { recursive: true }));
  const content = contentOf(BATCH, ROWS);
  await writeContent({ cwd }, 'agreed.txt', content);
  assert.deepEqual(await readContent({ cwd, file: 'agreed.txt' }), content);
});
