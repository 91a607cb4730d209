/** What a held run or batch says first where it waits for money: the sums that a person must bring. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergedHeld, type Held } from '../../domain/run/chunk-state.ts';
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
        'Short of 5.00 EUR (1 payment waits; 5.00 EUR are needed, 0.00 EUR are there), and of 69322.71 GBP (54 payments wait; 69334.71 GBP are needed, 12.00 GBP are there).',
      fix: 'Bring EUR and GBP in; the run goes on by itself.',
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
    'Short of 2400.00 USD (2 payments wait; 2500.00 USD are needed, 100.00 USD are there).',
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
