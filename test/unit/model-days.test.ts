/** Single days of the model (`test/machines/model/`), told in full: what chance seldom brings, or never so cleanly. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Coverage } from '../machines/model/coverage.ts';
import { paymentsOf } from '../machines/model/ours.ts';
import { PLAIN_DAY, type Schedule } from '../machines/model/schedule.ts';
import { World } from '../machines/model/world.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Plays a day to its end; nothing of it may break a promise. */
async function played(day: Schedule): Promise<{ readonly world: World; readonly story: readonly string[] }> {
  const story: string[] = [];
  const world = new World(day, new Coverage(), story);
  assert.deepEqual(await world.run(), []);
  return { world, story };
}

test('a plain day trades once, pays once and asks for nothing twice', async () => {
  const { story } = await played(PLAIN_DAY);
  const asked = story
    .filter((line) => / asks for .*: (send|scan)/.test(line))
    .map((line) => line.replace(/.*asks for [^:]*: /, ''));
  assert.deepEqual(asked, ['send quote', 'send trade', 'send withdrawal']);
});

for (const [code, ms] of [
  ['WITHDRAWAL_DISABLED_FOR_ACCOUNT', 2 * DAY_MS],
  ['WITHDRAWAL_PENDING_DEPOSIT_REQUIRED', 3 * DAY_MS],
  ['WITHDRAWAL_INSUFFICIENT_BALANCE', 4 * DAY_MS],
] as const)
  test(`${code} for ${ms / DAY_MS} days leaves a key for the day after, and the payment is paid by it, once`, async () => {
    const { world } = await played({
      ...PLAIN_DAY,
      policy: { ...PLAIN_DAY.policy, shortfall: 'hold' },
      events: [
        {
          when: { at: 'start', nth: 1, plusMs: 0 },
          what: { kind: 'refuses', step: 'withdrawal', code, ms },
          of: 0,
        },
      ],
    });
    const [trade, payment, ...more] = world.service.ledger;
    const dayStartsMs = trade?.atMs ?? 0;
    assert.deepEqual(
      [trade?.kind, payment?.kind, payment?.status, more],
      ['trade', 'withdrawal', 'COMPLETED', []],
    );
    assert.ok(payment !== undefined && payment.atMs < dayStartsMs + ms + 4 * HOUR_MS);
  });

for (const [times, everyMs, every] of [
  [10, 6 * HOUR_MS, 'six hours'],
  [60, MINUTE_MS, 'minute'],
] as const)
  test(`sixty payments that wait for money share ${times} deposits of one payment each, one every ${every}, in plan order, and all are paid once`, async () => {
    const policy = { ...PLAIN_DAY.policy, pays: 'batch', shortfall: 'hold', settle: 'status' } as const;
    const emptied = { at: 'before send withdrawal', nth: 1, plusMs: 0 } as const;
    const { world, story } = await played({
      ...PLAIN_DAY,
      policy,
      events: [
        { when: emptied, what: { kind: 'money', currency: 'MXN', change: 'goes' }, of: 0 },
        // Each is for one payment, and a little is left.
        { when: emptied, what: { kind: 'deposits', each: '260', everyMs, times }, of: 0 },
      ],
    });
    const planned = paymentsOf(policy).map(({ id }) => id);
    assert.equal(planned.length, 60);
    const [trade, ...paid] = world.service.ledger;
    assert.deepEqual(
      paid.map(({ kind, status, send: { write } }) => [kind, status, write.item]),
      planned.map((id) => ['withdrawal', 'COMPLETED', id]),
    );
    // Every deposit pays at once what it is enough for, and what the earlier ones left.
    for (let deposits = 1; deposits <= times; deposits += 1) {
      const soonMs = (trade?.atMs ?? 0) + deposits * everyMs + MINUTE_MS;
      const count = paid.filter(({ atMs }) => atMs < soonMs).length;
      assert.ok(count >= deposits, `${count} are paid after ${deposits} deposits`);
    }
    // No key is used up by a deposit that is for another payment: refused, asked again when there was money, and the next.
    for (const id of planned)
      assert.equal(story.filter((line) => line.endsWith(` asks for ${id}: send withdrawal`)).length, 3, id);
  });

const REBALANCE = {
  startsWith: { USD: '1200', EUR: '2100', GBP: '400', MXN: '60000' },
  perTrade: null,
  perRun: null,
  perDay: null,
  maxTrades: null,
  other: 'policy',
} as const;

test('a purchase on the proceeds of a sale waits for it also when a reset takes both up once more, in doubt', async () => {
  const refused = { kind: 'refusal', code: 'TRADE_CREDIT_LIMIT_EXCEEDED' } as const;
  const { world } = await played({
    ...PLAIN_DAY,
    rebalance: REBALANCE,
    service: { ...PLAIN_DAY.service, stores: 'nothing else' },
    faults: { ...PLAIN_DAY.faults, trade: [refused] },
    remedy: { kind: 'reset', back: 1, run: 0 },
  });
  assert.deepEqual(
    world.service.ledger.map(({ send }) => send.write.item),
    ['mxn-usd-1', 'usd-eur-1'],
  );
});

test('two rebalancings that wait for each other’s trades to be listed both end', async () => {
  await played({
    ...PLAIN_DAY,
    rebalance: {
      ...REBALANCE,
      startsWith: { USD: '100000', EUR: '2500', GBP: '250', MXN: '900000' },
      other: 'run',
    },
    service: { ...PLAIN_DAY.service, readMs: 2_000 },
    policy: { ...PLAIN_DAY.policy, startsAt: 'before the date' },
    secondAfterMs: 30,
    longHistory: 6,
    remedy: { kind: 'reset', back: 5, run: 0 },
  });
});
