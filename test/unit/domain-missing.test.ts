/** What a held run or batch says first where it waits for money: the sums that a person must bring. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanBatch } from '../../domain/batch.ts';
import { leftOutIn, mergedHeld, newChunks, type Held } from '../../domain/run/chunk-state.ts';
import { leadingWait, missingIn } from '../../domain/run/missing.ts';
import type { Short, Waiting } from '../../domain/waits.ts';

const POOR = 'WITHDRAWAL_INSUFFICIENT_BALANCE';

function held(currency: string, payments: number, value: string, more: Partial<Held> = {}): Held {
  return { code: POOR, reason: 'money', currency, payments, value, there: '0', ...more };
}

/** A wait of one item, which tells only what that one lacks. */
function waitOf(short?: Short, reason: Waiting['reason'] = 'money'): Waiting {
  const problem = { code: 'SHORTFALL', item: 'inv-1', message: 'One item.', fix: 'f' } as const;
  return { reason, problem, wakeAtMs: 5, sinceMs: 1, ...(short !== undefined && { short }) };
}

const said = (waits: readonly Waiting[], rows: readonly Held[]): string | undefined =>
  leadingWait(waits, rows)?.problem.message;

test('a batch that waits for money leads with the sums, not with what one payment lacks', () => {
  const rows = [held('GBP', 54, '69334.71', { there: '12' }), held('EUR', 1, '5')];
  const wait = leadingWait([waitOf()], rows);
  assert.deepEqual(wait, {
    reason: 'money',
    wakeAtMs: 5,
    sinceMs: 1,
    problem: {
      code: 'SHORTFALL',
      item: null,
      message:
        'Short of 5.00 EUR (1 payment waits; 5.00 EUR are needed, 0.00 EUR are there), and of 69,322.71 GBP (54 payments wait; 69,334.71 GBP are needed, 12.00 GBP are there).',
      fix: 'Bring EUR and GBP in; the run then goes on by itself.',
    },
  });
});

test('the sums are those of all chunks and of all codes that wait for money, once for each currency', () => {
  const rows = mergedHeld([
    held('GBP', 2, '10', { there: '3' }),
    held('GBP', 3, '20', { there: null }),
    held('GBP', 1, '7', { code: 'WITHDRAWAL_PENDING_DEPOSIT_REQUIRED', there: null }),
    held('GBP', 9, '1000', { code: 'IN_DOUBT', reason: 'doubt' }),
  ]);
  assert.deepEqual(
    rows.map(({ code, payments, value }) => [code, payments, value]),
    [
      ['IN_DOUBT', 9, '1000'],
      [POOR, 5, '30'],
      ['WITHDRAWAL_PENDING_DEPOSIT_REQUIRED', 1, '7'],
    ],
  );
  assert.deepEqual(missingIn([], rows), [{ currency: 'GBP', needed: '37', there: '3', payments: 6 }]);
});

test('of legs that wait one behind the other the last one tells the sum of all, with what the batch pays in that currency', () => {
  const legs = [
    waitOf({ currency: 'USD', needed: '1075', there: '100' }),
    waitOf({ currency: 'USD', needed: '2500', there: '100' }),
  ];
  const rows = [held('USD', 2, '75', { there: '100' })];
  assert.equal(
    said(legs, rows),
    'Short of 2,400.00 USD (2 payments wait; 2,500.00 USD are needed, 100.00 USD are there).',
  );
});

test('where it is not known how much is there, it says what is waited for, and no sum that may be wrong', () => {
  const wait = leadingWait([waitOf()], [held('GBP', 2, '10', { there: null })]);
  assert.equal(wait?.problem.message, '2 payments wait for 10.00 GBP.');
  assert.equal(wait?.problem.fix, 'f', 'the advice of the code stays');
  // When they looked last, more was there than is waited for now.
  assert.equal(said([waitOf()], [held('GBP', 1, '10', { there: '40' })]), '1 payment waits for 10.00 GBP.');
  assert.equal(said([waitOf()], []), 'One item.');
});

test('a wait for something else comes first where it is more important', () => {
  const person = waitOf(undefined, 'person');
  assert.equal(leadingWait([waitOf(), person], [held('GBP', 2, '10')]), person);
  assert.equal(leadingWait([], []), null);
});

/** A batch of one chunk. Of its 100 EUR the plan funds 70, of its 50 GBP everything. */
function leftOutOf(notPaid: Readonly<Record<string, string>>, codes: readonly string[]) {
  const money = (eur: string) => [
    { currency: 'EUR', value: eur },
    { currency: 'GBP', value: '50' },
  ];
  const batch: PlanBatch = {
    payments: 9,
    totals: money('100'),
    payable: money('70'),
    heldBy: [],
    chunks: [{ payments: 9, hash: 'h', unpayable: 'u........' }],
    rules: { parallel: 1, stopAfter: null, canary: null, dedupeMs: 0 },
  };
  const counts = {
    planned: 9,
    accepted: 0,
    paid: 0,
    notPaid: 9,
    needsHuman: 0,
    open: 0,
    sent: 0,
    waiting: 0,
  };
  const totals = Object.entries(notPaid).map(([currency, sum]) => {
    return { currency, planned: '0', paid: '0', notPaid: sum, needsHuman: '0', accepted: '0' };
  });
  const unpaid = codes.map((code) => ({ code, payments: 1 }));
  const refusals = { refused: 0, sent: 0, inARow: null };
  const chunks = newChunks(batch);
  for (const chunk of chunks)
    chunk.state = { number: 1, heard: null, isSending: false, counts, totals, waits: [], refusals, unpaid };
  return leftOutIn(chunks, batch);
}

test('what the plan has left out is told with its sum, and no more than is not paid', () => {
  const left = (value: string) => [{ currency: 'EUR', value }];
  assert.deepEqual(leftOutOf({ EUR: '90', GBP: '50' }, ['ACCOUNT_UNUSABLE']), left('30'));
  assert.deepEqual(leftOutOf({ EUR: '12', GBP: '0' }, ['CANCELLED', 'ACCOUNT_MISSING']), left('12'));
  assert.deepEqual(leftOutOf({ EUR: '0', GBP: '0' }, ['ACCOUNT_MISSING']), []);
  assert.deepEqual(leftOutOf({ EUR: '30', GBP: '0' }, ['PAID_BY_ANOTHER_BATCH']), [], 'that needs no money');
  assert.deepEqual(leftOutIn([], null), []);
});
