// Lists and their cursors: every edge the interface states, and what settings make of the rest.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';

import type { SettingsPatch } from '../../sandbox/server.ts';
import type { Answer } from '../support/sandbox-signer.ts';
import type { Stage } from '../support/sandbox-stage.ts';
import { assertDone, assertRefused, stage } from '../support/sandbox-stage.ts';

const amounts = (answer: Answer): unknown[] =>
  (answer.at('data') as { withdrawalAmount: string }[]).map((row) => row.withdrawalAmount);

/** A stage with withdrawals of 1, 2, …, `count`; several in the same millisecond. */
async function listed(t: TestContext, count: number, settings: SettingsPatch = {}): Promise<Stage> {
  const on = await stage(t, { settings });
  on.sandbox.clock.freeze();
  for (let item = 1; item <= count; item += 1) {
    if (item % 3 === 0) on.sandbox.clock.advance(1);
    assertDone(await on.withdraw({ withdrawalAmount: `${item}` }));
  }
  return on;
}

function list({ client }: Stage, query: Readonly<Record<string, string | number>> = {}): Promise<Answer> {
  const text = Object.entries(query)

    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
    .join('&');
  return client.get(`/fx/withdrawals${text === '' ? '' : `?${text}`}`);
}

test('an empty list has no cursors', async (t) => {
  const on = await stage(t);
  const answer = await list(on);
  assert.deepEqual(answer.at('data'), []);
  assert.deepEqual(answer.at('pagination'), {
    limit: 25,
    hasNext: false,
    nextCursor: null,
    hasPrev: false,
    prevCursor: null,
  });
});

for (const cursorStyle of ['plain', 'awkward'] as const) {
  test(`walking ${cursorStyle} cursors either way gives every record once, newest first`, async (t) => {
    const on = await listed(t, 10, { cursorStyle });
    const down: unknown[] = [];
    let page = await list(on, { limit: 3 });
    assert.equal(page.at('pagination.hasPrev'), false);
    for (;;) {
      down.push(...amounts(page));
      assertCursorsMatch(page);
      if (page.at('pagination.hasNext') !== true) break;
      page = await list(on, { limit: 3, startingAfter: page.textAt('pagination.nextCursor') });
    }
    assert.deepEqual(down, ['10', '9', '8', '7', '6', '5', '4', '3', '2', '1']);

    const up = amounts(page);
    while (page.at('pagination.hasPrev') === true) {
      page = await list(on, { limit: 3, endingBefore: page.textAt('pagination.prevCursor') });
      assertCursorsMatch(page);
      up.unshift(...amounts(page));
    }
    assert.deepEqual(up, down);
  });
}

test('past either end a page is empty and not an error, and leads back', async (t) => {
  const on = await listed(t, 4);
  const newest = await list(on, { limit: 2 });
  const oldest = await list(on, { limit: 2, startingAfter: newest.textAt('pagination.nextCursor') });
  const all = await list(on, { limit: 1, endingBefore: oldest.textAt('pagination.prevCursor') });
  assert.deepEqual(amounts(all), ['3'], 'the record next to the cursor');

  const newestCursor = (await list(on, { limit: 1 })).textAt('pagination.nextCursor');
  const above = await list(on, { endingBefore: newestCursor });
  assert.deepEqual(amounts(above), []);
  assert.equal(above.at('pagination.hasPrev'), false);
  assert.equal(above.at('pagination.prevCursor'), null);
  const back = await list(on, { startingAfter: above.textAt('pagination.nextCursor') });
  assert.deepEqual(amounts(back), ['4', '3', '2', '1']);

  const third = await list(on, { limit: 3 });
  const last = await list(on, { limit: 1, startingAfter: third.textAt('pagination.nextCursor') });
  assert.deepEqual(amounts(last), ['1']);
  const upFromLast = await list(on, { limit: 1, endingBefore: last.textAt('pagination.prevCursor') });
  const lastCursor = upFromLast.textAt('pagination.nextCursor');
  assert.deepEqual(amounts(await list(on, { startingAfter: lastCursor })), ['1']);
});

test('below the oldest record a page is empty and has newer ones before it', async (t) => {
  const on = await listed(t, 3, { listLagMs: 1_000 });
  on.sandbox.clock.advance(1_000);
  const page = await list(on, { limit: 2 });
  const cursor = page.textAt('pagination.nextCursor');
  on.sandbox.setSettings({ maxRowsPerPage: 1 });
  const oldest = await list(on, { startingAfter: cursor });
  assert.deepEqual(amounts(oldest), ['1']);
  assert.equal(oldest.at('pagination.hasNext'), false);
  const synthetic = Buffer.from(JSON.stringify(['withdrawals', 0, 0])).toString('base64url');
  const below = await list(on, { startingAfter: synthetic });
  assert.deepEqual(amounts(below), []);
  assert.equal(below.at('pagination.hasNext'), false);
  assert.equal(below.at('pagination.nextCursor'), null);
  assert.equal(below.at('pagination.hasPrev'), true);
  const up = await list(on, { endingBefore: below.textAt('pagination.prevCursor') });
  assert.deepEqual(amounts(up), ['1']);
});

test('the cursor of a page of one is a watermark for what comes later', async (t) => {
  const on = await listed(t, 1);
  const single = await list(on, { limit: 1 });
  assert.equal(single.at('pagination.nextCursor'), null, 'null when the list has one record');
  assertDone(await on.withdraw({ withdrawalAmount: '2' }));
  const watermark = (await list(on, { limit: 1 })).textAt('pagination.nextCursor');
  assert.deepEqual(amounts(await list(on, { endingBefore: watermark })), []);
  assertDone(await on.withdraw({ withdrawalAmount: '3' }));
  assert.deepEqual(amounts(await list(on, { endingBefore: watermark })), ['3']);
});

test('which newer records come first is a setting', async (t) => {
  const on = await listed(t, 6);
  const oldest = await list(on, { limit: 5 });
  const cursor = (await list(on, { limit: 1, startingAfter: oldest.textAt('pagination.nextCursor') })).textAt(
    'pagination.prevCursor',
  );
  assert.deepEqual(amounts(await list(on, { limit: 2, endingBefore: cursor })), ['3', '2']);
  on.sandbox.setSettings({ endingBeforePage: 'newest' });
  const newest = await list(on, { limit: 2, endingBefore: cursor });
  assert.deepEqual(amounts(newest), ['6', '5']);
  assert.equal(newest.at('pagination.hasPrev'), false);
  assert.equal(newest.at('pagination.hasNext'), true);
});

test('wrong parameters are refused', async (t) => {
  const on = await listed(t, 3);
  const cursor = (await list(on, { limit: 1 })).textAt('pagination.nextCursor');
  const cases: readonly string[] = [
    'limit=0',
    'limit=101',
    'limit=1.5',
    'limit=-1',
    'limit=x',
    'limit=',
    `startingAfter=${cursor}&endingBefore=${cursor}`,
    'startingAfter=abc',
    'startingAfter=',
    'limit=1&limit=2',
    'page=2',
  ];
  for (const query of cases) {
    const signedQuery = query.split('&').toSorted().join('&');
    const answer = await on.client.get(`/fx/withdrawals?${query}`, { signedQuery });
    assertRefused(answer, 400, 'VALIDATION_QUERY_FAILED');
    assert.equal(typeof answer.at('error.details.firstIssuePath'), 'string');
  }
  const elsewhere = await on.client.get(`/fx/trades?startingAfter=${cursor}`);
  assertRefused(elsewhere, 400, 'VALIDATION_QUERY_FAILED');
  assertRefused(await on.client.get('/fx/pairs?limit=1'), 400, 'VALIDATION_QUERY_FAILED');
  assert.equal((await list(on, { limit: 100 })).at('pagination.limit'), 100);
});

test('a record may show late in lists, and by its id', async (t) => {
  const on = await stage(t, { settings: { listLagMs: 5_000, readLagMs: 2_000 } });
  on.sandbox.clock.freeze();
  const id = (await on.withdraw()).textAt('data.id');
  assert.deepEqual(amounts(await list(on)), []);
  assertRefused(await on.client.get(`/fx/withdrawals/${id}`), 404, 'WITHDRAWAL_NOT_FOUND');
  on.sandbox.clock.advance(2_000);
  assertDone(await on.client.get(`/fx/withdrawals/${id}`));
  on.sandbox.clock.advance(2_999);
  assert.deepEqual(amounts(await list(on)), []);
  on.sandbox.clock.advance(1);
  assert.deepEqual(amounts(await list(on)), ['1000']);
});

test('pages may be shorter than the limit', async (t) => {
  const on = await listed(t, 5, { maxRowsPerPage: 2 });
  const page = await list(on, { limit: 4 });
  assert.deepEqual(amounts(page), ['5', '4']);
  assert.equal(page.at('pagination.limit'), 4);
  assert.equal(page.at('pagination.hasNext'), true);
});

test('the other lists are served, and accounts can be filtered', async (t) => {
  const { client, sandbox } = await stage(t);
  const depositId = sandbox.deposit({ currency: 'EUR', amount: '12.50' });
  const deposits = await client.get('/fx/deposits');
  assert.equal(deposits.at('data.0.id'), depositId);
  assert.equal(sandbox.ledger().balances['EUR']?.withdrawable, '5012.5');
  for (const path of ['/common/accounts', '/payments/payout-addresses', '/payments/payouts']) {
    const answer = await client.get(`${path}?limit=1`);
    assertDone(answer);
    assert.equal(answer.at('pagination.limit'), 1);
  }
  const accounts = await client.get('/fx/withdrawal-accounts?assetType=CRYPTO');
  assert.deepEqual(
    (accounts.at('data') as { id: string }[]).map(({ id }) => id),
    ['wac_UsdcWa99et4'],
  );
  const fiat = await client.get('/fx/withdrawal-accounts?assetType=FIAT&network=ETHEREUM');
  assertRefused(fiat, 400, 'WITHDRAWAL_ACCOUNT_FIAT_INVALID_NETWORK');
  assert.deepEqual(fiat.at('error.details'), { network: 'ETHEREUM' });
  const crypto = await client.get('/fx/withdrawal-accounts?assetType=CRYPTO&rail=SEPA');
  assertRefused(crypto, 400, 'WITHDRAWAL_ACCOUNT_CRYPTO_INVALID_RAIL');
});

/** "A cursor is null exactly when its boolean is false." */
function assertCursorsMatch(page: Answer): void {
  assert.equal(page.at('pagination.nextCursor') === null, page.at('pagination.hasNext') === false);
  assert.equal(page.at('pagination.prevCursor') === null, page.at('pagination.hasPrev') === false);
}
