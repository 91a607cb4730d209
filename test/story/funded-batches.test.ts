/** Batches that buy what they lack: one trade from US dollars, then the payments, whatever happens in between. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mainWait } from '../../domain/run/progress.ts';
import {
  END,
  LOST_REPLY,
  START,
  after,
  assertDoneOnce,
  assertNothingMoved,
  before,
  heldBy,
  late,
  refused,
  reset,
  story,
  type Given,
  type Glimpse,
} from '../machines/model/story.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Three payments: two of 200 MXN, and one of 202. */
const FUNDED: Given = { batch: { chunks: [2, 1], isFunded: true }, policy: { shortfall: 'hold' } };

/** What a held batch says first. */
function leading({ progress }: Glimpse): string | undefined {
  return mainWait(progress)?.problem.message;
}

describe('a batch that buys what it lacks', () => {
  test('converts once and pays everybody', async () => {
    const end = await story().given(FUNDED).play();
    assertDoneOnce(end);
    assert.deepEqual(
      end.trades.map(({ sellCurrency, buyCurrency, buyAmount }) => [sellCurrency, buyCurrency, buyAmount]),
      [['USD', 'MXN', '602']],
    );
  });

  test('buys only what is not there', async () => {
    const end = await story()
      .given({ ...FUNDED, service: { alsoMxn: '500' } })
      .play();
    assertDoneOnce(end);
    assert.deepEqual(
      end.trades.map(({ buyAmount }) => buyAmount),
      ['102'],
    );
  });

  test('pays nothing before its trade has settled', async () => {
    const settlesAfterMs = 40 * MINUTE_MS;
    const end = await story()
      .given({ ...FUNDED, service: { settlesAfterMs } })
      .play();
    assertDoneOnce(end);
    const [trade, ...payments] = end.writes;
    assert.equal(trade?.write.step, 'trade');
    assert.equal(payments.length, 3);
    for (const { sentAtMs } of payments) assert.ok(sentAtMs >= (trade?.sentAtMs ?? 0) + settlesAfterMs);
  });

  test('given a lost reply to the trade, then it converts once', async () => {
    const end = await story()
      .given({ ...FUNDED, trade: [LOST_REPLY] })
      .play();
    assertDoneOnce(end);
  });

  for (const moment of ['send quote', 'send trade', 'send withdrawal'] as const)
    for (const back of [0, 1, 99] as const)
      test(`when the run is reset by ${back} events during its first "${moment}", then it converts once`, async () => {
        const end = await story()
          .given(FUNDED)
          .when(before(moment, { plusMs: 30 }), reset(back))
          .play();
        assertDoneOnce(end);
      });

  test('when a chunk is reset while the trade is under way, then it converts once', async () => {
    const end = await story()
      .given({ ...FUNDED, service: { settlesAfterMs: MINUTE_MS } })
      .when(before('send trade', { plusMs: 30 }), reset(), 1)
      .when(after('send trade', { plusMs: 20 * SECOND_MS }), reset(99), 2)
      .play();
    assertDoneOnce(end);
  });

  test('when everything in Temporal is lost after the trade and the batch is submitted again, then the trade is adopted', async () => {
    const end = await story()
      .given(FUNDED)
      .when(after('send trade'), { kind: 'terminate', againAfterMs: 5 * MINUTE_MS, plan: 'lost' })
      .play();
    assertDoneOnce(end);
  });

  test('given a trade that is booked late, when its worker dies, then it converts once', async () => {
    const end = await story()
      .given({ ...FUNDED, trade: [late(50 * SECOND_MS)] })
      .when(before('send trade', { plusMs: 90 }), { kind: 'crash' })
      .play();
    assertDoneOnce(end);
  });

  test('given a price outside its guard, then it converts nothing, and those are paid for whom money is there', async () => {
    const end = await story()
      .given({
        ...FUNDED,
        policy: { shortfall: 'skip' },
        service: { alsoMxn: '450', prices: ['16'] },
      })
      .play();
    assert.deepEqual(end.trades, []);
    assert.deepEqual(
      end.report.legs.map(({ outcome }) => outcome),
      ['NOT_TRADED'],
    );
    assert.deepEqual(end.report.payments.map(({ outcome }) => outcome).toSorted(), [
      'NOT_PAID',
      'PAID',
      'PAID',
    ]);
  });

  test('given too little of the currency that it sells, then it waits, and converts once when that comes', async () => {
    const end = await story()
      .given({ ...FUNDED, service: { startsWith: '10' } })
      .when(heldBy('SHORTFALL', { plusMs: MINUTE_MS }), { kind: 'money', currency: 'USD', change: 'comes' })
      .play();
    assert.equal(
      leading(end.heldBy('SHORTFALL')),
      'Short of 25.62 USD (35.62 USD are needed, 10.00 USD are there).',
    );
    assertDoneOnce(end);
  });

  for (const [what, more] of [
    ['', []],
    [', and what it was to sell', ['USD']],
  ] as const)
    test(`when what it was to buy comes by itself meanwhile${what}, then it converts nothing and pays everybody`, async () => {
      const comes = ['MXN', ...more] as const;
      const end = await story()
        .given({ ...FUNDED, service: { startsWith: '10' } })
        .when(
          heldBy('SHORTFALL', { plusMs: MINUTE_MS }),
          comes.map((currency) => ({ kind: 'money', currency, change: 'comes' })),
        )
        .play();
      assert.deepEqual(end.trades, []);
      assert.equal(end.withdrawals.length, 3);
    });

  test('when others are paid and the rest of its money comes by itself, then a reset converts nothing and pays the rest', async () => {
    const end = await story()
      .given({
        ...FUNDED,
        policy: { shortfall: 'skip' },
        service: { alsoMxn: '450', prices: ['16', '17.25'] },
      })
      .when({ ...END, plusMs: MINUTE_MS }, { kind: 'deposits', each: '250', everyMs: SECOND_MS, times: 1 })
      .when({ ...END, plusMs: 2 * MINUTE_MS }, reset(99))
      .play();
    assert.deepEqual(end.trades, []);
    assert.equal(end.withdrawals.length, 3);
  });

  test('given a trade that fails, then nobody is paid by money that did not come', async () => {
    const end = await story()
      .given({ ...FUNDED, policy: { shortfall: 'skip' }, service: { tradeWord: 'FAILED' } })
      .play();
    assert.deepEqual(end.withdrawals, []);
    assert.equal(end.trades.length, 1);
  });

  test('when it is cancelled before its trade, then nothing moves', async () => {
    const end = await story()
      .given(FUNDED)
      .when(before('send quote'), { kind: 'cancel', how: 'both' })
      .play();
    assert.deepEqual([end.trades, end.withdrawals], [[], []]);
  });

  test('given a refusal that is mended, when it is reset at its end, then it does not convert again', async () => {
    const end = await story()
      .given({ ...FUNDED, withdrawal: [refused('WITHDRAWAL_ADDRESS_NOT_VERIFIED')] })
      .when({ ...END, plusMs: MINUTE_MS }, reset())
      .play();
    assertDoneOnce(end);
  });
});

test('given too little money and no trade that buys it, a batch says what all that wait lack together', async () => {
  const end = await story()
    .given({ batch: { chunks: [2, 1] }, policy: { shortfall: 'hold' }, service: { alsoMxn: '150' } })
    .until(
      (_report, { batch }) =>
        batch?.counts.waiting === 3 && (batch?.held ?? []).every(({ there }) => there !== null),
    )
    .play();
  assert.equal(
    leading(end),
    'Short of 452.00 MXN (3 payments wait; 602.00 MXN are needed, 150.00 MXN are there).',
  );
});

test('given slow reads and rates that are too old, a batch whose plan is refused says so, and ends', async () => {
  const end = await story()
    .given({ ...FUNDED, policy: { startsAt: 'before trades stop' }, service: { readMs: 2 * SECOND_MS } })
    .when(START, { kind: 'away', ms: 10 * MINUTE_MS })
    .play();
  assertNothingMoved(end);
  assert.deepEqual(
    end.report.problems.map(({ code }) => code),
    ['PLAN_REFERENCE_TOO_OLD'],
  );
});

test('two batches of one policy at once buy what each lacks, and no more', async () => {
  const end = await story()
    .given({ ...FUNDED, batch: { chunks: [2], otherChunks: [2], isFunded: true }, secondAfterMs: 30 })
    .play();
  assertDoneOnce(end);
  assert.deepEqual(
    end.runs.map(({ trades }) => trades.map(({ buyAmount }) => buyAmount)),
    [['400'], ['501']],
  );
});
