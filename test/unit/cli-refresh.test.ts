/** A report held against the service of this moment: what is told as different, and that nothing is decided. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Ending } from '../../domain/endings.ts';
import { endingOf } from '../../operations/exit-codes.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { readLive, refreshReport, type Live } from '../../operations/follow/refresh.ts';
import { ReportSchema } from '../../cli/views/report-schema.ts';
import type { Page, Trade, Withdrawal } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import type { Report, ReportPayment } from '../../domain/run/report.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { NO_ANSWER, TRADE, WITHDRAWAL, done, failed } from '../support/scripts.ts';

const NOW_MS = Date.parse('2026-11-22T12:00:00Z');
const PAID = makeReportOf({ status: 'COMPLETED' });
const NOT_PAID: Report = {
  ...makeReportOf({ status: 'PARTIAL', payment: 'NOT_PAID' }),
  problems: [{ code: 'WITHDRAWAL_FAILED', item: 'supplier', message: 'm', fix: 'f' }],
};
const TRADE_ID = PAID.legs[0]?.tradeId ?? '';
const WITHDRAWAL_ID = PAID.payments[0]?.withdrawalId ?? '';

/** What a report becomes when the service says this of its leg and its payment. */
function refreshed(report: Report, leg: Live, payment: Live) {
  const live = { legs: new Map([['usd-mxn-1', leg]]), payments: new Map([['supplier', payment]]) };
  return refreshReport(report, live, DEFAULT_SERVICE_FACTS, NOW_MS);
}

const SETTLED = { id: TRADE_ID, status: 'SETTLED' };
const CASES: readonly {
  readonly name: string;
  readonly report: Report;
  readonly leg?: Live;
  readonly payment: Live;
  readonly outcome: ReportPayment['outcome'];
  readonly status: Report['status'];
  readonly codes: readonly string[];
  readonly different: boolean;
  readonly ending: Ending;
}[] = [
  {
    name: 'the same',
    report: PAID,
    payment: { id: WITHDRAWAL_ID, status: 'COMPLETED' },
    outcome: 'PAID',
    status: 'COMPLETED',
    codes: [],
    different: false,
    ending: 'done',
  },
  {
    name: 'a currency that was left, with every item done',
    report: {
      ...PAID,
      status: 'PARTIAL',
      problems: [{ code: 'TARGET_NOT_REACHED', item: 'EUR', message: 'm', fix: 'f' }],
    },
    payment: { id: WITHDRAWAL_ID, status: 'COMPLETED' },
    outcome: 'PAID',
    status: 'PARTIAL',
    codes: ['TARGET_NOT_REACHED'],
    different: false,
    ending: 'refused by us',
  },
  {
    name: 'returned after it was paid',
    report: PAID,
    payment: { id: WITHDRAWAL_ID, status: 'RETURNED' },
    outcome: 'NOT_PAID',
    status: 'PARTIAL',
    codes: ['WITHDRAWAL_FAILED'],
    different: true,
    ending: 'refused by the service',
  },
  {
    name: 'not shown any more, which proves nothing',
    report: PAID,
    payment: null,
    outcome: 'PAID',
    status: 'COMPLETED',
    codes: ['RECORD_NOT_SHOWN'],
    different: true,
    ending: 'needs a human',
  },
  {
    name: 'paid, though the report says otherwise',
    report: { ...NOT_PAID, payments: NOT_PAID.payments.map((item) => ({ ...item, withdrawalId: 'wtd_1' })) },
    payment: { id: 'wtd_1', status: 'COMPLETED' },
    outcome: 'NOT_PAID',
    status: 'PARTIAL',
    codes: ['WITHDRAWAL_FAILED', 'STATUS_DIFFERS'],
    different: true,
    ending: 'needs a human',
  },
  {
    name: 'appeared after the report had ended without it',
    report: NOT_PAID,
    payment: { id: 'wtd_9', status: 'PENDING' },
    outcome: 'NOT_PAID',
    status: 'PARTIAL',
    codes: ['WITHDRAWAL_FAILED', 'RECORD_APPEARED'],
    different: true,
    ending: 'needs a human',
  },
  {
    name: 'failed, as the report says',
    report: NOT_PAID,
    payment: null,
    outcome: 'NOT_PAID',
    status: 'PARTIAL',
    codes: ['WITHDRAWAL_FAILED'],
    different: false,
    ending: 'refused by the service',
  },
  {
    name: 'a trade that will not settle',
    report: PAID,
    leg: { id: TRADE_ID, status: 'REJECTED' },
    payment: { id: WITHDRAWAL_ID, status: 'COMPLETED' },
    outcome: 'PAID',
    status: 'PARTIAL',
    codes: ['SETTLEMENT_FAILED'],
    different: true,
    ending: 'refused by the service',
  },
];
for (const { name, report, leg = SETTLED, payment, outcome, status, codes, different, ending } of CASES) {
  test(`${name}: ${status}, ${ending}`, () => {
    const { report: now, differences } = refreshed(report, leg, payment);
    assert.equal(now.payments[0]?.outcome, outcome);
    assert.equal(now.payments[0]?.status, payment?.status ?? report.payments[0]?.status ?? null);
    assert.equal(now.status, status);
    assert.deepEqual(
      now.problems.map(({ code }) => code),
      codes,
    );
    assert.equal(differences.length > 0, different, differences.join('\n'));
    assert.equal(endingOf(now, []), ending);
    assert.deepEqual(ReportSchema.parse(now), now);
    const [total] = now.totals;
    assert.equal(total?.paid, outcome === 'PAID' ? '18500' : '0');
  });
}

test('a run whose only trade will never settle has failed, then as before', () => {
  const settlement = { code: 'SETTLEMENT_FAILED', item: 'usd-mxn-1', message: 'm', fix: 'f' } as const;
  const report: Report = {
    ...PAID,
    status: 'FAILED',
    legs: PAID.legs.map((leg) => ({ ...leg, settled: false })),
    payments: [],
    problems: [settlement],
  };
  const live = { legs: new Map([['usd-mxn-1', { id: TRADE_ID, status: 'REJECTED' }]]), payments: new Map() };
  const { report: now, differences } = refreshReport(report, live, DEFAULT_SERVICE_FACTS, NOW_MS);
  assert.equal(now.status, 'FAILED');
  assert.deepEqual(differences, []);
});

test('a run that has left a currency outside its target does not become green by being looked at', () => {
  const left = { code: 'TARGET_NOT_REACHED', item: 'EUR', message: 'm', fix: 'f' } as const;
  const report: Report = { ...PAID, status: 'PARTIAL', legs: [], payments: [], problems: [left] };
  const live = { legs: new Map(), payments: new Map() };
  assert.equal(refreshReport(report, live, DEFAULT_SERVICE_FACTS, NOW_MS).report.status, 'PARTIAL');
});

test('another trade of a leg than the one of the report is told, and does not settle that one', () => {
  const settlement = { code: 'SETTLEMENT_FAILED', item: 'usd-mxn-1', message: 'm', fix: 'f' } as const;
  const legs = PAID.legs.map((leg) => ({ ...leg, settled: false }));
  const report: Report = { ...PAID, status: 'PARTIAL', legs, problems: [settlement] };
  const other = { id: 'tde_9', status: 'SETTLED' };
  const { report: now, differences } = refreshed(report, other, { id: WITHDRAWAL_ID, status: 'COMPLETED' });
  assert.equal(now.legs[0]?.settled, false);
  assert.equal(now.status, 'PARTIAL');
  assert.match(differences.join(), /tde_9/);
});

test('a run that was refused for one of its items does not become green by being looked at', () => {
  const refused = { code: 'OVER_LIMIT', item: 'usd-mxn-1', message: 'm', fix: 'f' } as const;
  const report = makeReportOf({ status: 'FAILED', items: false, problems: [refused] });
  const live = { legs: new Map(), payments: new Map() };
  assert.equal(refreshReport(report, live, DEFAULT_SERVICE_FACTS, NOW_MS).report.status, 'FAILED');
});

test('a batch of which not every payment is in the report does not become green by the others', () => {
  const totals = PAID.totals.map((total) => ({ ...total, planned: '20000' }));
  const all = { id: WITHDRAWAL_ID, status: 'COMPLETED' };
  const statusOf = (status: Report['status'], payment: Live): string =>
    refreshed({ ...PAID, status, totals }, SETTLED, payment).report.status;
  assert.equal(statusOf('PARTIAL', all), 'PARTIAL');
  assert.equal(statusOf('COMPLETED', all), 'COMPLETED');
});

test('a word that has only moved on is told, and the outcome left to the run', () => {
  const open: Report = {
    ...PAID,
    status: 'RUNNING',
    payments: PAID.payments.map((item) => ({ ...item, status: 'PENDING', outcome: 'PENDING' })),
  };
  const { report: now, differences } = refreshed(open, SETTLED, { id: WITHDRAWAL_ID, status: 'COMPLETED' });
  assert.equal(now.payments[0]?.outcome, 'PENDING');
  assert.equal(now.status, 'RUNNING');
  assert.deepEqual(differences, ['supplier: the report says "PENDING", the service says "COMPLETED".']);
});

// Reading.

function serviceOf(lists: {
  readonly trades?: readonly Trade[];
  readonly withdrawals?: readonly Withdrawal[];
  readonly byId?: 'whole' | 'partial' | 'unreadable';
  readonly cut?: true;
}) {
  const { trades = [], withdrawals = [], byId = 'unreadable', cut } = lists;
  const list =
    <T>(items: readonly T[]) =>
    (page?: { readonly startingAfter?: string }): Promise<Reply<Page<T>>> =>
      Promise.resolve(
        page?.startingAfter === undefined
          ? done({ items, nextCursor: cut === true ? 'next' : null, prevCursor: null })
          : NO_ANSWER,
      );
  const fetched = <T extends Trade | Withdrawal>(record: T) =>
    byId === 'unreadable'
      ? failed('INTERNAL_ERROR')
      : byId === 'whole'
        ? done({ kind: 'WHOLE', record } as const)
        : done({
            kind: 'PARTIAL',
            record: { id: record.id, status: record.status, currency: null },
          } as const);
  return {
    trade: (id: string) => Promise.resolve(fetched({ ...TRADE, id, status: 'LOCKED' })),
    withdrawal: (id: string) => Promise.resolve(fetched({ ...WITHDRAWAL, id, status: 'RETURNED' })),
    listTrades: list(trades),
    listWithdrawals: list(withdrawals),
  };
}

const RUN = { policy: 'mxn-supplier', id: '2026-11-21' };
const read = (service: ReturnType<typeof serviceOf>, report: Report) =>
  readLive(service, 'http://127.0.0.1/v3', { run: RUN, report, facts: DEFAULT_SERVICE_FACTS });

for (const byId of ['whole', 'partial'] as const) {
  test(`records are read by their ids, also where the answer is ${byId}`, async () => {
    const live = await read(serviceOf({ byId }), PAID);
    assert.deepEqual([...live.legs], [['usd-mxn-1', { id: TRADE_ID, status: 'LOCKED' }]]);
    assert.deepEqual([...live.payments], [['supplier', { id: WITHDRAWAL_ID, status: 'RETURNED' }]]);
  });
}

test('a payment that has failed, and was paid since as a later generation, is that payment', async () => {
  const tag = 'mxn-supplier.2026-11-21.supplier';
  const later = { ...WITHDRAWAL, id: 'wtd_9', tag: `${tag}~9`, status: 'COMPLETED' };
  const live = await read(serviceOf({ byId: 'whole', withdrawals: [later] }), PAID);
  assert.deepEqual(live.payments.get('supplier'), { id: 'wtd_9', status: 'COMPLETED' });
  // Without the whole list nobody can say that there is none.
  await assert.rejects(read(serviceOf({ byId: 'whole', cut: true }), PAID), CommandFailure);
});

test('where that answer cannot be read, the list counts', async () => {
  const trades = [{ ...TRADE, id: TRADE_ID, status: 'SETTLED' }];
  const withdrawals = [{ ...WITHDRAWAL, id: WITHDRAWAL_ID, status: 'COMPLETED' }];
  const live = await read(serviceOf({ trades, withdrawals }), PAID);
  assert.equal(live.legs.get('usd-mxn-1')?.status, 'SETTLED');
  assert.equal(live.payments.get('supplier')?.status, 'COMPLETED');
});

test('the records of a large batch are read from the list; only what it does not show is asked for by its id', async () => {
  const payments = Array.from({ length: 60 }, (_, index) => ({
    ...(PAID.payments[0] ?? assert.fail()),
    id: `inv-${index}`,
    withdrawalId: `wtd_${index}`,
  }));
  const withdrawals = payments
    .slice(1)
    .map(({ withdrawalId }) => ({ ...WITHDRAWAL, id: withdrawalId, status: 'COMPLETED' }));
  const asked: string[] = [];
  const service = serviceOf({ byId: 'whole', withdrawals });
  const counting = {
    ...service,
    withdrawal: (id: string) => {
      asked.push(id);
      return service.withdrawal(id);
    },
  };
  const live = await read(counting, { ...PAID, legs: [], payments });
  assert.deepEqual(asked, ['wtd_0']);
  assert.deepEqual(live.payments.get('inv-0'), { id: 'wtd_0', status: 'RETURNED' });
  assert.deepEqual(live.payments.get('inv-59'), { id: 'wtd_59', status: 'COMPLETED' });
  assert.equal(live.payments.size, 60);
});

test('an item without a record is looked for by its name; one that may still pay counts before one that failed', async () => {
  const tag = 'mxn-supplier.2026-11-21.supplier';
  const withdrawals = [
    { ...WITHDRAWAL, id: 'wtd_3', tag: `${tag}~2`, status: 'FAILED' },
    { ...WITHDRAWAL, id: 'wtd_2', tag, status: 'PENDING' },
    { ...WITHDRAWAL, id: 'wtd_1', tag: `${tag}-b`, status: 'PENDING' },
  ];
  const live = await read(serviceOf({ byId: 'whole', withdrawals }), NOT_PAID);
  assert.deepEqual(live.payments.get('supplier'), { id: 'wtd_2', status: 'PENDING' });
  const none = await read(serviceOf({ byId: 'whole' }), NOT_PAID);
  assert.equal(none.payments.get('supplier'), null);
});

test('a list that cannot be read whole ends the command: nothing is told about what was not seen', async () => {
  await assert.rejects(read(serviceOf({ cut: true }), PAID), (error) => {
    assert.ok(error instanceof CommandFailure);
    assert.equal(error.ending, 'infrastructure');
    return true;
  });
});
