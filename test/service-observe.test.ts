/** What is read of the service's lists before anything is planned or sent: all of it, or it counts for nothing (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, Withdrawal } from '../domain/records.ts';
import type { Reply } from '../domain/reply.ts';
import { observeService, sweep } from '../service/observe.ts';
import type { PageRequest } from '../service/pages.ts';
import { client, page } from './support/activities.ts';
import { NOW, NO_ANSWER, RUN, TRADE, WITHDRAWAL, done } from './support/scripts.ts';

const DAY_MS = 86_400_000;
const recordAt = (index: number, ageMs = 0): Withdrawal => ({
  ...WITHDRAWAL,
  id: `wtd_${index}`,
  createdAt: new Date(NOW - ageMs).toISOString(),
});

/** A list of these pages; a page that is null cannot be read. */
function listOf(pages: readonly (readonly Withdrawal[] | null)[]) {
  const asked: PageRequest[] = [];
  const list = async (request: PageRequest): Promise<Reply<Page<Withdrawal>>> => {
    asked.push(request);
    const index = Number(request.startingAfter ?? '0');
    const items = pages[index];
    if (items === null || items === undefined) return NO_ANSWER;
    const nextCursor = index + 1 < pages.length ? String(index + 1) : null;
    return done({ items, nextCursor, prevCursor: null });
  };
  return { list, asked };
}
const EVERYTHING = { sinceMs: NOW - DAY_MS, wanted: () => true };

test('a look reads every page, however many there are', async () => {
  const { list, asked } = listOf(Array.from({ length: 130 }, (_, index) => [recordAt(index)]));
  const { records, stopped } = await sweep(list, EVERYTHING);
  assert.equal(records.length, 130);
  assert.equal(stopped, null);
  assert.equal(asked.length, 130);
});

test('a look ends with the first page on which every record is too old, and not with one old record', async () => {
  const old = 2 * DAY_MS;
  const mixed = listOf([
    [recordAt(1), recordAt(2, old)],
    [recordAt(3)],
    [recordAt(4, old), recordAt(5, old)],
    [recordAt(6)],
  ]);
  const { records, stopped } = await sweep(mixed.list, EVERYTHING);
  assert.deepEqual(
    records.map(({ id }) => id),
    ['wtd_1', 'wtd_2', 'wtd_3', 'wtd_4', 'wtd_5'],
  );
  assert.equal(stopped, null);
  // An empty page says nothing about what comes after it.
  assert.equal((await sweep(listOf([[], [recordAt(1)]]).list, EVERYTHING)).records.length, 1);
});

test('a page that cannot be read stops a look, and what it had read before does not make it whole', async () => {
  const { records, stopped } = await sweep(listOf([[recordAt(1)], null, [recordAt(2)]]).list, EVERYTHING);
  assert.equal(records.length, 1);
  assert.equal(stopped, NO_ANSWER);
});

test('a record that shifts to the next page while it is read counts once', async () => {
  const { records } = await sweep(listOf([[recordAt(1)], [recordAt(1), recordAt(2)]]).list, EVERYTHING);
  assert.deepEqual(
    records.map(({ id }) => id),
    ['wtd_1', 'wtd_2'],
  );
});

const OPTIONS = { run: RUN, accounts: ['wac_1'], sinceMs: NOW - DAY_MS, nowMs: NOW };

test('what is there under the run’s name is found, and nothing of a run with a longer name', async () => {
  const trades = [TRADE, { ...TRADE, id: 'tde_2', clientReferenceId: 'p.2026-11-21-b.usd-mxn-1' }];
  const withdrawals = [WITHDRAWAL, { ...WITHDRAWAL, id: 'wtd_2', tag: null }];
  const service = client([], {
    listTrades: async () => page(...trades),
    listWithdrawals: async () => page(...withdrawals),
  });
  const observed = await observeService(service, OPTIONS);
  assert.ok(observed.ok);
  assert.deepEqual(observed.observation.trades, [TRADE]);
  assert.deepEqual(observed.observation.withdrawals, [WITHDRAWAL]);
});

test('no plan is made from lists that could not be read whole; accounts that could not are told as such', async () => {
  for (const operation of ['balances', 'listTrades', 'listWithdrawals'])
    assert.equal(
      (await observeService(client([], { [operation]: async () => NO_ANSWER }), OPTIONS)).ok,
      false,
      operation,
    );
  const observed = await observeService(
    client([], { listWithdrawalAccounts: async () => NO_ANSWER }),
    OPTIONS,
  );
  assert.ok(observed.ok);
  assert.equal(observed.observation.accountsComplete, false);
});
