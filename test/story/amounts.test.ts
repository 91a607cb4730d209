/** Amounts that are counted from what was bought. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertDoneOnce, story } from '../machines/model/story.ts';

test('proceeds are rounded down', async () => {
  const end = await story()
    .given({ service: { prices: ['17.0000099'] } })
    .play();
  assertDoneOnce(end);
  assert.equal(end.withdrawals[0]?.withdrawalAmount, '17000');
});

test('the rest is what the fixed payments leave', async () => {
  const end = await story()
    .given({ policy: { pays: 'rest' }, service: { alsoMxn: '50000' } })
    .play();
  assertDoneOnce(end);
  assert.deepEqual(
    end.report.payments.map(({ amount }) => amount),
    ['350', '16900.00'],
  );
});
