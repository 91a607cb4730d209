/** One poll of a settlement and of payments' final statuses: what counts as money that is there, paid or failed (M3, M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { awaitSettlement } from '../../activities/await-settlement.ts';
import { awaitWithdrawals } from '../../activities/await-withdrawals.ts';
import type { Deps } from '../../activities/deps.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Settlement, SettlementCall, WithdrawalsCall } from '../../domain/run/calls.ts';
import {
  GO,
  chunksWith,
  client,
  inActivity,
  page,
  worker,
  instructionsOf,
  type AttemptInfo,
} from '../support/activities.ts';
import { tradeWith, withdrawalWith } from '../support/told-records.ts';
import { NO_ANSWER, PAYMENT, TRADE, WITHDRAWAL, context, done, failed } from '../support/scripts.ts';

const { plan } = context();
const UNPAID = { id: PAYMENT.id, account: PAYMENT.account, amount: '17250.00' };
const SETTLEMENT: SettlementCall = {
  plan,
  leg: 'usd-mxn-1',
  tradeId: 'tde_1',
  until: 'funds',
  currency: 'MXN',
  unknownStatus: null,
  unpaid: [UNPAID],
  owedByBatch: '0',
  undoneIn: [],
};
const traded = (status: string) => ({
  trade: async () => done({ kind: 'WHOLE' as const, record: { ...TRADE, status } }),
});
const there = (withdrawable: string) => ({
  balances: async () =>
    done({ aggregateUsd: '1', balances: [{ currency: 'MXN', withdrawable, total: withdrawable }] }),
});

type Row = readonly [
  what: string,
  scripted: Parameters<typeof worker>[0],
  call: Partial<SettlementCall>,
  attempt: AttemptInfo,
  settlement: Settlement['kind'] | 'not yet',
];
const SETTLEMENTS: readonly Row[] = [
  ['enough money is there', { ...traded('LOCKED'), ...there('17250.00') }, {}, {}, 'settled'],
  ['a cent is lacking', { ...traded('LOCKED'), ...there('17249.99') }, {}, {}, 'not yet'],
  [
    'nothing is there at all',
    { ...traded('LOCKED'), balances: async () => done({ aggregateUsd: '1', balances: [] }) },
    {},
    {},
    'not yet',
  ],
  [
    'the trade has failed, whatever is there from elsewhere',
    { ...traded('FAILED'), ...there('99999999') },
    {},
    {},
    'failed',
  ],
  [
    'the money is there, but the policy waits for the word',
    { ...traded('LOCKED'), ...there('99999999') },
    { until: 'status' },
    {},
    'not yet',
  ],
  [
    'the word has come that the policy waits for',
    { ...traded('SETTLED'), ...there('0') },
    { until: 'status' },
    {},
    'settled',
  ],
  [
    'only the word has come, in the run that made the plan',
    { ...traded('SETTLED'), ...there('0') },
    {},
    {},
    'not yet',
  ],
  [
    'a reset has forgotten that the money went out',
    { ...traded('LOCKED'), ...there('0'), listWithdrawals: async () => page(WITHDRAWAL) },
    {},
    { runId: 'run-2' },
    'settled',
  ],
  [
    'only the word has come, and the plan was made anew over what an earlier one had done',
    { ...traded('SETTLED'), ...there('0') },
    { plan: { ...plan, foundRecords: true } },
    {},
    'settled',
  ],
  [
    'the plan was made anew, and the money has gone out under an earlier one',
    { ...traded('LOCKED'), ...there('0'), listWithdrawals: async () => page(WITHDRAWAL) },
    { plan: { ...plan, foundRecords: true } },
    {},
    'settled',
  ],
  [
    'after a reset another payment’s record is in the list',
    {
      ...traded('LOCKED'),
      ...there('0'),
      listWithdrawals: async () => page({ ...WITHDRAWAL, tag: 'p.2026-11-21.other' }),
    },
    {},
    { runId: 'run-2' },
    'not yet',
  ],
];
for (const [what, scripted, call, attempt, settlement] of SETTLEMENTS)
  test(`${what}: ${settlement}`, async () => {
    const { deps } = worker(scripted);
    const poll = inActivity(attempt, () => awaitSettlement(deps)({ ...SETTLEMENT, ...call }));
    if (settlement === 'not yet') await assert.rejects(poll, { type: 'NOT_YET' });
    else assert.equal((await poll).kind, settlement);
  });

test('a settlement that nobody waits for any more is not waited for', async () => {
  const { deps } = worker(
    { ...traded('LOCKED'), ...there('0') },
    { instructions: instructionsOf({ kind: 'cancel' }) },
  );
  const { kind } = await inActivity({}, () => awaitSettlement(deps)(SETTLEMENT));
  assert.equal(kind, 'cancelled');
});

const WITHDRAWALS: WithdrawalsCall = {
  plan,
  undoneIn: [],
  isLast: false,
  items: [{ id: 'supplier', withdrawalId: 'wtd_1', paid: false, status: 'PENDING', isUnknown: false }],
};
const pollOf = (deps: Deps, call: Partial<WithdrawalsCall> = {}) =>
  inActivity({}, () => awaitWithdrawals(deps)({ ...WITHDRAWALS, ...call }));
const listed = (status: string) => ({ listWithdrawals: async () => page({ ...WITHDRAWAL, status }) });

test('a Temporal run that did not end what is undone tells that it is another one, before it asks anything', async () => {
  const { deps, requests } = worker({ ...traded('SETTLED'), ...there('17250.00') });
  const settlement = (undoneIn: readonly string[]) =>
    inActivity({ runId: 'run-2' }, () => awaitSettlement(deps)({ ...SETTLEMENT, undoneIn }));
  assert.deepEqual(await settlement(['run-2', 'run-1']), { kind: 'other run', runId: 'run-2' });
  const payments = (undoneIn: readonly string[]) =>
    inActivity({ runId: 'run-2' }, () =>
      awaitWithdrawals({ ...deps, scans: worker(listed('COMPLETED')).deps.scans })({
        ...WITHDRAWALS,
        undoneIn,
      }),
    );
  const other = await payments(['run-1']);
  assert.deepEqual([other.runId, other.ended], ['run-2', []]);
  assert.deepEqual(requests, []);
  assert.equal((await settlement(['run-2'])).kind, 'settled');
  assert.equal((await payments(['run-2'])).ended.length, 1);
});

test('of a chunk the run is named whose go it has; without one nobody is, and its payments are looked at all the same', async () => {
  const { scans } = worker(listed('COMPLETED')).deps;
  const answerTo = (go: Awaited<ReturnType<Deps['chunks']['readGo']>>, undoneIn: readonly string[]) => {
    const { deps } = worker({}, { scans, chunks: chunksWith({ readGo: async () => go }) });
    return inActivity({ runId: 'chunk-2' }, () =>
      awaitWithdrawals(deps)({ ...WITHDRAWALS, chunk: 1, undoneIn }),
    );
  };
  const undoneIn = ['run/chunk-1'];
  for (const go of [null, 'over', { ...GO, mayGo: false }] as const) {
    const { runId, ended } = await answerTo(go, undoneIn);
    assert.deepEqual([runId, ended.length], [null, 1]);
  }
  const named = `${GO.runId}/chunk-2`;
  const other = await answerTo(GO, undoneIn);
  assert.deepEqual([other.runId, other.ended.length], [named, 0]);
  const own = await answerTo(GO, [named]);
  assert.deepEqual([own.runId, own.ended.length], [named, 1]);
});

test('a payment is paid by a status for "paid" alone, has failed by one for that, and one in no list is told', async () => {
  for (const [status, paid, isUnknown] of [
    ...DEFAULT_SERVICE_FACTS.withdrawalStatuses.paid.map((name) => [name, true, false] as const),
    ...DEFAULT_SERVICE_FACTS.withdrawalStatuses.failed.map((name) => [name, false, false] as const),
    ['PROCESSING', null, false],
    ['ON_HOLD', null, true],
    ['completed', null, true],
  ] as const) {
    const { ended } = await pollOf(worker(listed(status)).deps);
    assert.deepEqual(ended, [{ id: 'supplier', record: withdrawalWith(status), paid, isUnknown }]);
  }
});

test('a status that is no news, a record that the list lacks and a list that cannot be read end nothing', async () => {
  await assert.rejects(pollOf(worker(listed('PENDING')).deps), { type: 'NOT_YET' });
  await assert.rejects(pollOf(worker({ listWithdrawals: async () => page() }).deps), { type: 'NOT_YET' });
  const other = { ...WITHDRAWAL, id: 'wtd_9', status: 'FAILED' };
  await assert.rejects(pollOf(worker({ listWithdrawals: async () => page(other) }).deps), {
    type: 'NOT_YET',
  });
  const unread = await pollOf(worker({ listWithdrawals: async () => NO_ANSWER }).deps);
  assert.deepEqual([unread.ended, unread.wait?.problem.code], [[], 'NO_ANSWER']);
});

test('a record that neither its id nor the whole list shows is missing, once new records must be in the lists', async () => {
  const lacking = {
    listTrades: async () => page<typeof TRADE>(),
    listWithdrawals: async () => page<typeof WITHDRAWAL>(),
  };
  const unknown = {
    ...lacking,
    trade: async () => failed('TRADE_NOT_FOUND'),
    withdrawal: async () => failed('WITHDRAWAL_NOT_FOUND'),
  };
  const patienceMs = 2 * DEFAULT_SERVICE_FACTS.listLagMs;
  const trade = await toldAtMs(
    () => unknown,
    (deps) => awaitSettlement(deps)(SETTLEMENT),
  );
  assert.deepEqual(trade.told, { kind: 'missing' });
  const payment = await toldAtMs(
    () => unknown,
    (deps) => awaitWithdrawals(deps)(WITHDRAWALS),
  );
  assert.deepEqual(payment.told.ended, [{ id: 'supplier', record: null, paid: null, isUnknown: false }]);
  for (const { atMs } of [trade, payment]) assert.ok(atMs > patienceMs && atMs < 2 * patienceMs, `${atMs}`);
  // Its id alone shows it: an older record than the lists are read for.
  const older = {
    ...unknown,
    withdrawal: async () => done({ kind: 'WHOLE' as const, record: { ...WITHDRAWAL, status: 'COMPLETED' } }),
  };
  const shown = await toldAtMs(
    () => older,
    (deps) => awaitWithdrawals(deps)(WITHDRAWALS),
  );
  assert.deepEqual(shown.told.ended, [
    { id: 'supplier', record: withdrawalWith('COMPLETED'), paid: true, isUnknown: false },
  ]);
});

test('a record that cannot be read is not missing', async () => {
  const away = { trade: async () => failed('TRADE_NOT_FOUND'), listTrades: async () => NO_ANSWER };
  const { told } = await toldAtMs(
    () => away,
    (deps) => awaitSettlement(deps)(SETTLEMENT),
  );
  assert.equal(told.kind, 'wait');
});

test('an answer by its id that is not whole, or is another trade’s, is read in the list', async () => {
  const inList = { listTrades: async () => page({ ...TRADE, status: 'FAILED' }) };
  for (const byId of [
    { kind: 'PARTIAL' as const, record: { id: TRADE.id, status: 'SETTLED', currency: null } },
    { kind: 'WHOLE' as const, record: { ...TRADE, id: 'tde_9', status: 'SETTLED' } },
  ]) {
    // One after the other.
    const { deps } = worker({ ...inList, trade: async () => done(byId) });
    const told = await inActivity({}, () => awaitSettlement(deps)(SETTLEMENT));
    assert.deepEqual(told, { kind: 'failed', record: tradeWith('FAILED') });
  }
});

test('an answer tells as many payments as fit one payload, and the next poll the rest', async () => {
  const records = Array.from({ length: 500 }, (_, index) => ({
    ...WITHDRAWAL,
    id: `wtd_${index}`,
    status: 'COMPLETED',
    tag: `p.2026-11-21.${'n'.repeat(60)}${index}`,
  }));
  const items = records.map(({ id }) => ({
    id,
    withdrawalId: id,
    paid: false,
    status: 'PENDING',
    isUnknown: false,
  }));
  const { deps } = worker({ listWithdrawals: async () => page(...records) });
  const first = await pollOf(deps, { items });
  assert.ok(first.ended.length > 200 && Buffer.byteLength(JSON.stringify(first)) < 128 * 1_024);
  const paid = new Set(first.ended.map(({ id }) => id));
  const rest = await pollOf(deps, { items: items.map((item) => ({ ...item, paid: paid.has(item.id) })) });
  assert.equal(first.ended.length + rest.ended.length, 500);
});

test('the poll that ends the last open payment of a run tells the end, and no other poll does', async () => {
  let times = 0;
  const end = async () => void (times += 1);
  const instructions = { ...instructionsOf(), end };
  const of = (status: string) => worker(listed(status), { instructions }).deps;
  assert.equal((await pollOf(of('COMPLETED'))).hasToldEnd, false);
  assert.equal((await pollOf(of('ON_HOLD'), { isLast: true })).hasToldEnd, false);
  const more = [{ id: 'other', withdrawalId: 'wtd_2', paid: false, status: 'PENDING', isUnknown: false }];
  const items = [...WITHDRAWALS.items, ...more];
  assert.equal((await pollOf(of('COMPLETED'), { isLast: true, items })).hasToldEnd, false);
  assert.equal(times, 0);
  assert.equal((await pollOf(of('COMPLETED'), { isLast: true })).hasToldEnd, true);
  assert.equal(times, 1);
  // Temporal is away: the run tells by itself.
  const away = worker(listed('COMPLETED')).deps;
  assert.equal((await pollOf(away, { isLast: true })).hasToldEnd, false);
});

test('a paid one that is returned is news, one that is paid still is not', async () => {
  const items = [
    { id: 'supplier', withdrawalId: 'wtd_1', paid: true, status: 'COMPLETED', isUnknown: false },
  ];
  const { ended } = await pollOf(worker(listed('RETURNED')).deps, { items });
  assert.deepEqual(ended, [
    { id: 'supplier', record: withdrawalWith('RETURNED'), paid: false, isUnknown: false },
  ]);
  await assert.rejects(pollOf(worker(listed('COMPLETED')).deps, { items }), { type: 'NOT_YET' });
});

test('the first look at payments that were accepted a moment ago does not end with a list that was read before', async () => {
  const { deps } = worker(listed('COMPLETED'));
  const joins: string[] = [];
  const scans: Deps['scans'] = {
    ...deps.scans,
    poll: async (_question, _signal, how) => {
      joins.push(how.joins);
      return { records: [], stopped: null };
    },
  };
  await assert.rejects(pollOf({ ...deps, scans }), { type: 'NOT_YET' });
  assert.deepEqual(joins.slice(0, 3), ['goes on after it', 'ends with it', 'ends with it']);
});

test('what was paid and may have come back is read anew, also where somebody else reads the list already', async () => {
  for (const isAnew of [false, true]) {
    const { deps, sent } = worker(listed('COMPLETED'));
    const items = WITHDRAWALS.items.map((item) => ({ ...item, ...(isAnew && ({ isAnew } as const)) }));
    await Promise.all([pollOf(deps), pollOf(deps, { items }).then(() => pollOf(deps, { items }))]);
    assert.equal(sent('listWithdrawals').length, isAnew ? 2 : 1);
  }
});

test('a read key of another organisation sees nothing, which proves nothing: the polls wait', async () => {
  const { deps, requests } = worker();
  const foreign = { ...deps, reader: client(requests, { organisation: 'org-2' }) };
  const settlement = await inActivity({}, () => awaitSettlement(foreign)(SETTLEMENT));
  assert.equal(
    settlement.kind === 'wait' ? settlement.wait.problem.code : settlement.kind,
    'CREDENTIALS_DIFFER',
  );
  const answer = await pollOf(foreign);
  assert.equal(answer.wait?.problem.code, 'CREDENTIALS_DIFFER');
  assert.deepEqual(requests, []);
});

test('a trade with a status in no list is told once, and once more when somebody has said what it means', async () => {
  const settlementOf = async (status: string, unknownStatus: string | null) =>
    inActivity({}, () =>
      awaitSettlement(worker({ ...traded(status), ...there('0') }).deps)({ ...SETTLEMENT, unknownStatus }),
    );
  assert.deepEqual(await settlementOf('ODD', null), {
    kind: 'news',
    record: tradeWith('ODD'),
    isUnknown: true,
  });
  await assert.rejects(settlementOf('ODD', 'ODD'), { type: 'NOT_YET' });
  assert.deepEqual(await settlementOf('ODDER', 'ODD'), {
    kind: 'news',
    record: tradeWith('ODDER'),
    isUnknown: true,
  });
  assert.deepEqual(await settlementOf('LOCKED', 'ODD'), {
    kind: 'news',
    record: tradeWith('LOCKED'),
    isUnknown: false,
  });
  // The money decides, whatever the status is.
  const { deps } = worker({ ...traded('ODD'), ...there('17250.00') });
  assert.equal((await inActivity({}, () => awaitSettlement(deps)(SETTLEMENT))).kind, 'settled');
});

test('a payment with a status in no list is told once, and once more when somebody has said what it means', async () => {
  const items = [{ id: 'supplier', withdrawalId: 'wtd_1', paid: false, status: 'ODD', isUnknown: true }];
  await assert.rejects(pollOf(worker(listed('ODD')).deps, { items }), { type: 'NOT_YET' });
  const pending = [...DEFAULT_SERVICE_FACTS.withdrawalStatuses.pending, 'ODD'];
  const withdrawalStatuses = { ...DEFAULT_SERVICE_FACTS.withdrawalStatuses, pending };
  const { deps } = worker(listed('ODD'), { facts: { ...DEFAULT_SERVICE_FACTS, withdrawalStatuses } });
  const { ended } = await pollOf(deps, { items });
  assert.deepEqual(ended, [{ id: 'supplier', record: withdrawalWith('ODD'), paid: null, isUnknown: false }]);
  // What the service said when it accepted the payment is not yet known to be in no list.
  const accepted = [{ id: 'supplier', withdrawalId: 'wtd_1', paid: false, status: 'ODD', isUnknown: false }];
  const first = await pollOf(worker(listed('ODD')).deps, { items: accepted });
  assert.deepEqual(first.ended, [
    { id: 'supplier', record: withdrawalWith('ODD'), paid: null, isUnknown: true },
  ]);
});

/** How an attempt that has nothing to tell went: its requests, what it slept and told, and what it left. */
async function attemptOf(attempt: AttemptInfo, isStopping = () => false) {
  const slept: number[] = [];
  const heartbeats: { readonly waits: string; readonly waitedMs: number }[] = [];
  let atMs = 0;
  const clock = { wallMs: () => atMs, monotonicMs: () => atMs };
  const { deps, sent } = worker(listed('PENDING'), { isStopping, clock });
  const sleeping = { push: (ms: number) => slept.push(ms) && (atMs += ms) };
  const failure: unknown = await inActivity({ ...attempt, slept: sleeping, heartbeats }, () =>
    awaitWithdrawals(deps)(WITHDRAWALS),
  ).catch((error: unknown) => error);
  assert.ok(failure instanceof ApplicationFailure);
  return {
    polls: sent('listWithdrawals').length,
    sleptMs: slept.reduce((total, ms) => total + ms, 0),
    last: heartbeats.at(-1),
    type: failure.type,
    nextRetryMs: failure.nextRetryDelay,
  };
}

test('a poll waits a minute inside one attempt and tells for what, and after that one poll is an attempt', async () => {
  const first = await attemptOf({});
  assert.ok(first.polls > 10 && first.polls < 30, `${first.polls} polls`);
  assert.ok(first.sleptMs > 50_000 && first.sleptMs <= 60_000, `${first.sleptMs} ms`);
  assert.match(
    first.last?.waits ?? '',
    /1 payment\(s\) wait for a terminal status; the service says: PENDING/,
  );
  assert.equal(first.type, 'NOT_YET');
  const second = await attemptOf({ attempt: 2, heartbeatDetails: first.last });
  assert.deepEqual([second.polls, second.sleptMs, second.nextRetryMs], [1, 0, 30_000]);
  // A worker that was killed leaves what it had told: the next one goes on from there.
  const resumed = await attemptOf({ attempt: 2, heartbeatDetails: { waits: 'it', waitedMs: 40_000 } });
  assert.ok(resumed.polls > 1 && resumed.sleptMs <= 20_000);
});

type Scripted = Parameters<typeof worker>[0];

/** When a poll tells, by a clock that its waits move, attempt after attempt. */
async function toldAtMs<T>(
  scriptedAt: (nowMs: () => number) => Scripted,
  ask: (deps: Deps) => Promise<T>,
): Promise<{ readonly told: T; readonly atMs: number }> {
  let atMs = 0;
  const clock = { wallMs: () => atMs, monotonicMs: () => atMs };
  const { deps } = worker(
    scriptedAt(() => atMs),
    { clock },
  );
  const heartbeats: unknown[] = [];
  const slept = { push: (ms: number) => (atMs += ms) };
  for (let attempt = 1; attempt < 3_000; attempt += 1) {
    const given = { attempt, heartbeats, slept, heartbeatDetails: heartbeats.at(-1) };
    try {
      // One attempt after the other.
      return { told: await inActivity(given, () => ask(deps)), atMs };
    } catch (error) {
      if (!(error instanceof ApplicationFailure) || error.type !== 'NOT_YET') throw error;
      atMs += Number(error.nextRetryDelay);
    }
  }
  return assert.fail('It tells nothing for a day.');
}

test('a status in no list is told within a minute, however long the poll has waited before', async () => {
  for (const oddFromMs of [0, 10_000, 59_000, 61_000, 600_000, 12 * 3_600_000]) {
    const odd = (before: string, nowMs: () => number) => (nowMs() >= oddFromMs ? 'ODD' : before);
    // Each has a clock of its own.
    const trade = await toldAtMs(
      (nowMs) => ({
        ...there('0'),
        trade: async () => done({ kind: 'WHOLE', record: { ...TRADE, status: odd('LOCKED', nowMs) } }),
      }),
      (deps) => awaitSettlement(deps)(SETTLEMENT),
    );
    assert.deepEqual(trade.told, { kind: 'news', record: tradeWith('ODD'), isUnknown: true });
    // See above.
    const payment = await toldAtMs(
      (nowMs) => ({
        listWithdrawals: async () => page({ ...WITHDRAWAL, status: odd('PENDING', nowMs) }),
      }),
      (deps) => awaitWithdrawals(deps)(WITHDRAWALS),
    );
    assert.deepEqual(payment.told.ended, [
      { id: 'supplier', record: withdrawalWith('ODD'), paid: null, isUnknown: true },
    ]);
    for (const { atMs } of [trade, payment])
      assert.ok(
        atMs >= oddFromMs && atMs <= oddFromMs + 60_000,
        `odd from ${oddFromMs} ms on, told at ${atMs}`,
      );
  }
});

test('a poll leaves its place at once when its worker is to end', async () => {
  let looks = 0;
  const { type, sleptMs, nextRetryMs } = await attemptOf({}, () => (looks += 1) > 3);
  assert.deepEqual([type, sleptMs, nextRetryMs], ['NOT_YET', 1_500, 1_000]);
});

test('a service that cannot be asked is told after a few polls, and one that asks for long at once', async () => {
  for (const [reply, polls, afterMs, hold] of [
    [NO_ANSWER, 6, 60_000, 'outage'],
    [failed('RATE_LIMIT_EXCEEDED', { facts: { retryAfterMs: 300_000 } }), 1, 300_000, 'outage'],
    [failed('AUTH_FORBIDDEN_IP'), 1, 32_000, 'configuration'],
  ] as const) {
    const { deps, sent } = worker({ listWithdrawals: async () => reply });
    const { wait } = await pollOf(deps);
    assert.deepEqual([sent('listWithdrawals').length, wait?.afterMs, wait?.reason], [polls, afterMs, hold]);
  }
});

test('what a poll throws is told after a few polls, without what the error quotes', async () => {
  const answer = async () => {
    throw new TypeError('Cannot read "Jane Doe, IBAN DE00" of undefined');
  };
  const { wait } = await pollOf(worker({ listWithdrawals: answer }).deps);
  assert.equal(wait?.problem.code, 'ACTIVITY_FAILED');
  assert.match(
    wait.problem.message,
    /^The worker could not carry out this step: TypeError, activities-polls/,
  );
  assert.doesNotMatch(JSON.stringify(wait), /Jane|IBAN/);
  const settlement = await inActivity({}, () => awaitSettlement(worker({ trade: answer }).deps)(SETTLEMENT));
  assert.equal(
    settlement.kind === 'wait' ? settlement.wait.problem.code : settlement.kind,
    'ACTIVITY_FAILED',
  );
});

test('a poll that is given up ends with what stopped it, and tells nothing', async () => {
  const givenUp = new AbortController();
  const { deps, sent } = worker({
    listWithdrawals: async () => {
      givenUp.abort();
      return page();
    },
  });
  await assert.rejects(
    inActivity({ signal: givenUp.signal }, () => awaitWithdrawals(deps)(WITHDRAWALS)),
    CancelledFailure,
  );
  assert.equal(sent('listWithdrawals').length, 1);
});
