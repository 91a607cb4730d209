/** What is read of the service's lists before anything is planned or sent: all of it, or it counts for nothing (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Policy } from '../../domain/policy.ts';
import type { Page, Withdrawal } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import { scanList } from '../../service/list-scan.ts';
import type { Money } from '../../domain/policy.ts';
import { observeService } from '../../service/observe.ts';
import type { PageRequest } from '../../service/pages.ts';
import { client, page, type Request } from '../support/activities.ts';
import { POLICY_HEAD } from '../support/plans.ts';
import { FACTS, NOW, NO_ANSWER, RUN, TRADE, WITHDRAWAL, done } from '../support/scripts.ts';

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
  const { records, stopped } = await scanList(list, EVERYTHING);
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
  const { records, stopped } = await scanList(mixed.list, EVERYTHING);
  assert.deepEqual(
    records.map(({ id }) => id),
    ['wtd_1', 'wtd_2', 'wtd_3', 'wtd_4', 'wtd_5'],
  );
  assert.equal(stopped, null);
  // An empty page says nothing about what comes after it.
  assert.equal((await scanList(listOf([[], [recordAt(1)]]).list, EVERYTHING)).records.length, 1);
});

test('a page that cannot be read stops a look, and what it had read before does not make it whole', async () => {
  const { records, stopped } = await scanList(listOf([[recordAt(1)], null, [recordAt(2)]]).list, EVERYTHING);
  assert.equal(records.length, 1);
  assert.equal(stopped, NO_ANSWER);
});

test('a record that shifts to the next page while it is read counts once', async () => {
  const { records } = await scanList(listOf([[recordAt(1)], [recordAt(1), recordAt(2)]]).list, EVERYTHING);
  assert.deepEqual(
    records.map(({ id }) => id),
    ['wtd_1', 'wtd_2'],
  );
});

const TOO_MUCH: Reply<never> = {
  kind: 'UNKNOWN',
  reason: 'the reply is larger than 1 MiB',
  error: null,
  facts: FACTS,
  isTooMuch: true,
};

/** A list of `count` records by any limit; it gives no page of more than `most` records, but one that is too much. */
function heavyListOf(count: number, most: number) {
  const limits: number[] = [];
  const list = async ({ limit = 25, startingAfter = '0' }: PageRequest): Promise<Reply<Page<Withdrawal>>> => {
    limits.push(limit);
    if (limit > most) return TOO_MUCH;
    const from = Number(startingAfter);
    const items = Array.from({ length: Math.min(limit, count - from) }, (_, index) => recordAt(from + index));
    const nextCursor = from + limit < count ? String(from + limit) : null;
    return done({ items, nextCursor, prevCursor: null });
  };
  return { list, limits };
}

test('a page that is too large or too slow is asked for again with half the records, until it comes', async () => {
  const heavy = heavyListOf(60, 25);
  const { records, stopped } = await scanList(heavy.list, EVERYTHING);
  assert.equal(records.length, 60);
  assert.equal(stopped, null);
  assert.deepEqual(heavy.limits, [100, 50, 25, 25, 25]);
  const hopeless = heavyListOf(60, 0);
  assert.deepEqual((await scanList(hopeless.list, EVERYTHING)).stopped, TOO_MUCH);
  assert.deepEqual(hopeless.limits, [100, 50, 25, 12, 6, 3, 1]);
});

test('a list that never ends is left after so many pages, or so long, and then proves nothing', async () => {
  let asked = 0;
  const endless = async (): Promise<Reply<Page<Withdrawal>>> => {
    asked += 1;
    return done({ items: [recordAt(asked)], nextCursor: String(asked), prevCursor: null });
  };
  const bounds = { maxPages: 40, withinMs: 1_000, nowMs: () => 0 };
  const many = await scanList(endless, { ...EVERYTHING, bounds });
  assert.equal(asked, 40);
  assert.equal(many.stopped?.kind, 'UNKNOWN');
  asked = 0;
  const slow = await scanList(endless, { ...EVERYTHING, bounds: { ...bounds, nowMs: () => asked * 100 } });
  assert.equal(asked, 10);
  assert.equal(slow.stopped?.kind, 'UNKNOWN');
  // Without bounds of a test it ends as well.
  asked = 0;
  assert.equal((await scanList(endless, EVERYTHING)).stopped?.kind, 'UNKNOWN');
});

test('a list scan ends with the activity that it is made for, and then proves nothing', async () => {
  const givenUp = new AbortController();
  const { list, asked } = listOf(Array.from({ length: 9 }, (_, index) => [recordAt(index)]));
  const { stopped } = await scanList(
    async (request) => {
      if (asked.length === 2) givenUp.abort();
      return list(request);
    },
    { ...EVERYTHING, signal: givenUp.signal },
  );
  assert.equal(asked.length, 3);
  assert.equal(stopped?.kind, 'UNKNOWN');
});

const POLICY: Policy = {
  ...POLICY_HEAD,
  kind: 'convert',
  convert: { sell: 'USD', buy: 'MXN', amount: { kind: 'sell', value: '1000.00' } },
  withdraw: [{ id: 'supplier', account: 'wac_1', amount: { kind: 'fixed', value: '1.00' } }],
};
const OPTIONS = {
  date: '2026-11-21',
  run: RUN,
  policy: POLICY,
  facts: DEFAULT_SERVICE_FACTS,
  sinceMs: NOW - DAY_MS,
  nowMs: NOW,
  settledBy: () => NOW,
};

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

test('an observation is given up with its activity, accounts included', async () => {
  const endless = async () => done({ items: [], nextCursor: `${requests.length}`, prevCursor: null });
  const requests: Request[] = [];
  const service = client(requests, {
    listTrades: endless,
    listWithdrawals: endless,
    listWithdrawalAccounts: endless,
  });
  const observed = await observeService(service, { ...OPTIONS, signal: AbortSignal.abort() });
  assert.equal(observed.ok, false);
  assert.deepEqual(
    requests.map(({ operation }) => operation),
    ['balances', 'pairs'],
  );
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

test('of balances, pairs and accounts only what the plan needs is kept', async () => {
  const row = (currency: string) => ({ currency, withdrawable: '1', total: '1' });
  const pair = (sellCurrency: string, buyCurrency: string) => ({
    sellCurrency,
    buyCurrency,
    minTradeAmount: '1',
    maxTradeAmount: '9',
  });
  const account = (id: string, status: string | null) => ({ id, status, currency: 'MXN' });
  const service = client([], {
    balances: async () => done({ aggregateUsd: '9', balances: [row('EUR'), row('USD'), row('MXN')] }),
    pairs: async () => done([pair('USD', 'EUR'), pair('USD', 'MXN'), pair('MXN', 'USD')]),
    listWithdrawalAccounts: async () => page(account('wac_0', 'LIVE'), account('wac_1', 'LIVE')),
  });
  const observed = await observeService(service, OPTIONS);
  assert.ok(observed.ok);
  const { balances, pairs, accounts, accountIdForms } = observed.observation;
  assert.deepEqual(balances, { balances: [row('USD'), row('MXN')] });
  assert.deepEqual(pairs, [pair('USD', 'MXN'), pair('MXN', 'USD')]);
  assert.deepEqual(accounts, [{ ...account('wac_1', 'LIVE'), isUnusable: false }]);
  assert.deepEqual(accountIdForms, ['wac']);
});

test('an account is unusable by a status that the service facts name, in any capitals, and by no other', async () => {
  for (const [status, isUnusable] of [
    ['UNVERIFIED', true],
    ['disabled', true],
    ['SUSPENDED', false],
    ['LIVE', false],
    [null, false],
  ] as const) {
    const service = client([], {
      listWithdrawalAccounts: async () => page({ id: 'wac_1', status, currency: 'MXN' }),
    });
    const observed = await observeService(service, OPTIONS);
    assert.ok(observed.ok);
    assert.equal(observed.observation.accounts[0]?.isUnusable, isUnusable, String(status));
  }
});

test('pairs that cannot be read are told as such, and stop no plan', async () => {
  const observed = await observeService(client([], { pairs: async () => NO_ANSWER }), OPTIONS);
  assert.ok(observed.ok);
  assert.equal(observed.observation.pairs, null);
});

test('the limit of a day counts what any other run of the policy traded on its date, failed trades aside', async () => {
  const trade = (id: string, clientReferenceId: string | null, status = 'SETTLED') => ({
    ...TRADE,
    id,
    clientReferenceId,
    status,
  });
  const service = client([], {
    listTrades: async () =>
      page(
        trade('tde_1', 'p.2026-11-21.usd-mxn-1'),
        trade('tde_2', 'p.2026-11-21-b.usd-mxn-1'),
        trade('tde_3', 'p.2026-11-21-c.usd-mxn-1~2', 'PENDING'),
        trade('tde_4', 'p.2026-11-21-d.usd-mxn-1', 'FAILED'),
        trade('tde_5', 'p.2026-11-20.usd-mxn-1'),
        trade('tde_6', 'other.2026-11-21.usd-mxn-1'),
        trade('tde_7', null),
      ),
  });
  const limits = { perTrade: null, perRun: null, perPayment: [], paidPerRun: [] };
  const asked = async (perDay: Money | null) => {
    const policy = { ...OPTIONS.policy, rules: { ...OPTIONS.policy.rules, limits: { ...limits, perDay } } };
    const observed = await observeService(service, { ...OPTIONS, policy });
    assert.ok(observed.ok);
    return observed.observation.tradedOnDate;
  };
  assert.deepEqual(await asked({ value: '1', currency: 'USD' }), [
    { currency: 'USD', value: '2000' },
    { currency: 'MXN', value: '34500' },
  ]);
  assert.deepEqual(await asked(null), []);
});
