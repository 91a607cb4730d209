/** The metrics of a worker: what is counted as what, how many series there are at most, and what stands in no label. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { MetricMeter, MetricTags } from '@temporalio/common';
import type { WorkerEvent } from '../../activities/events.ts';
import { PROBLEMS } from '../../domain/problems.ts';
import { DECISIONS } from '../../domain/service/reply-rules.ts';
import type { Reply, ReplyFacts } from '../../domain/service/reply.ts';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import type { Operation, Requested } from '../../service/client.ts';
import { HISTOGRAM_BUCKETS, METRICS, metricsOf } from '../../worker/metrics.ts';
import { readPage } from '../support/docs-tables.ts';

const OPERATIONS = [
  'balances',
  'exposure',
  'pairs',
  'createQuote',
  'createTrade',
  'createWithdrawal',
  'trade',
  'withdrawal',
  'listTrades',
  'listWithdrawals',
  'listDeposits',
  'listWithdrawalAccounts',
  'listAccounts',
  'listPayoutAddresses',
  'listPayouts',
] as const satisfies readonly Operation[];

const FACTS: ReplyFacts = {
  status: 200,
  traceId: null,
  replayed: null,
  retryAfterMs: null,
  serviceTimeMs: null,
};

/** A meter that keeps what each series was told last, and the sum of a counter. */
function open(at: { monotonicMs: number } = { monotonicMs: 0 }) {
  const values = new Map<string, number>();
  const told =
    (name: string, suffix: string, isSum: boolean) =>
    (value: number, tags: MetricTags = {}) => {
      // As the meter of the SDK does.
      if (value < 0) throw new Error('must be non-negative');
      const labels = Object.entries(tags).map(([label, text]) => `${label}=${text}`);
      const series = `${name}${suffix}{${labels.join(',')}}`;
      values.set(series, isSum ? (values.get(series) ?? 0) + value : value);
    };
  const meter = {
    createCounter: (name: string) => ({ add: told(name, '_total', true) }),
    createGauge: (name: string) => ({ set: told(name, '', false) }),
    createHistogram: (name: string) => ({ record: told(name, '', true) }),
  } as unknown as MetricMeter;
  const clock = { wallMs: () => Date.parse('2026-11-21T12:00:00Z'), monotonicMs: () => at.monotonicMs };
  const metrics = metricsOf({ meter, clock });
  return { metrics, values, value: (series: string) => values.get(series) };
}

function requested(operation: Operation, reply: Reply<unknown>, more: Partial<Requested> = {}): WorkerEvent {
  const request = {
    operation,
    reply,
    requestId: 'r',
    idempotencyKey: null,
    waitedMs: 0,
    tookMs: 10,
    ...more,
  };
  return { kind: 'requested', key: 'write', request };
}

function refused(code: string): Reply<never> {
  const error = { code, type: 'X', message: 'somebody', retryStrategy: 'TERMINAL', details: {} };
  return { kind: 'UNKNOWN', reason: 'x', error, facts: { ...FACTS, status: 400 } };
}

const done = (value: unknown, facts: Partial<ReplyFacts> = {}): Reply<unknown> => ({
  kind: 'DONE',
  value,
  facts: { ...FACTS, ...facts },
});
const AWAY = { kind: 'UNKNOWN', reason: 'no reply', error: null, facts: FACTS } as const;

/** As the exporter shows it: a histogram has a series for each bound, one for all, its sum and its count. */
function seriesOf(values: ReadonlyMap<string, number>): number {
  return [...values.keys()].reduce((sum, series) => {
    const bounds = HISTOGRAM_BUCKETS[series.replace(/\{.*/, '')];
    return sum + (bounds === undefined ? 1 : bounds.length + 3);
  }, 0);
}

test('a batch of 100,000 payments, with any codes, policies and statuses, leaves fewer than 500 series, and names nobody', () => {
  const { metrics, values } = open();
  const known = [...Object.keys(DECISIONS), ...Object.keys(PROBLEMS)];
  const codeAt = (nth: number): string =>
    nth % 2 === 0 ? `CANARY_${nth}` : (known[nth % known.length] ?? '');
  for (let nth = 0; nth < 100_000; nth += 1) {
    const operation = OPERATIONS[nth % OPERATIONS.length] ?? 'balances';
    const key = `canary-key-${nth % 70_000}`;
    const replies = [
      done({ id: `canary_${nth}`, quoteId: `canary_${nth - 1}` }, { replayed: true, serviceTimeMs: 1_000 }),
      refused(codeAt(nth)),
      AWAY,
    ];
    const reply = replies[Math.floor(nth / OPERATIONS.length) % 3] ?? AWAY;
    metrics.take(requested(operation, reply, { idempotencyKey: key }));
    const problem = {
      code: codeAt(nth) as never,
      item: `canary-item-${nth}`,
      message: 'canary',
      fix: 'canary',
    };
    metrics.take({ kind: 'stepped', step: { kind: 'not paid', state: NEW_PAYMENT, problem } });
    metrics.take({
      kind: 'stepped',
      step: { kind: 'wait', state: NEW_LEG, wait: { afterMs: 1, reason: 'money', problem } },
    });
    const to = (['SETTLED', 'NOT_SETTLED', 'PAID', 'FAILED', 'CAME_BACK'] as const)[nth % 5] ?? 'PAID';
    metrics.take({ kind: 'followed', to, record: { createdAt: '2026-11-21T11:59:00Z' } });
  }
  const many = Array.from({ length: 1_000 }, (_, nth) => `p${nth}`);
  metrics.show('cambist_build_info', [{ labels: { version: '1', build: 'b', mode: 'LIVE' }, value: 1 }]);
  for (const [name, { kind, labels }] of Object.entries(METRICS))
    if (kind === 'gauge' && labels.length > 0 && name !== 'cambist_build_info')
      metrics.show(
        name as Parameters<typeof metrics.show>[0],
        many.map((text) => ({ labels: Object.fromEntries(labels.map((label) => [label, text])), value: 1 })),
      );
    else if (kind === 'gauge')
      metrics.show(name as Parameters<typeof metrics.show>[0], [{ labels: {}, value: 1 }]);
  const series = seriesOf(values);
  assert.ok(series < 500, `${series} series`);
  assert.ok(series > 300, 'every metric was told of');
  assert.deepEqual(
    [...values.keys()].filter((each) => /canary/i.test(each)),
    [],
  );
  assert.deepEqual(
    new Set([...values.keys()].map((each) => each.replace(/\{.*/, ''))),
    new Set(Object.keys(METRICS)),
  );
});

test('what does not fit a gauge any more adds up in one row, and what is gone is 0', () => {
  const { metrics, value, values } = open();
  const rows = Array.from({ length: 100 }, (_, nth) => ({
    labels: { policy: `p${nth}`, state: 'HELD' },
    value: 1,
  }));
  metrics.show('cambist_runs', rows);
  assert.equal(value('cambist_runs{policy=p0,state=HELD}'), 1);
  assert.equal(value('cambist_runs{policy=other,state=other}'), 41);
  assert.equal(
    [...values.values()].reduce((sum, one) => sum + one, 0),
    100,
  );
  metrics.show('cambist_runs', rows.slice(1, 2));
  assert.equal(value('cambist_runs{policy=p0,state=HELD}'), 0);
  assert.equal(value('cambist_runs{policy=p1,state=HELD}'), 1);
  assert.equal(value('cambist_runs{policy=other,state=other}'), 0);
});

test('a request is counted by its operation, the class of its reply and its code', () => {
  const { metrics, value } = open();
  metrics.take(requested('listTrades', done({ items: [] })));
  metrics.take(requested('createTrade', refused('QUOTE_EXPIRED')));
  metrics.take(requested('createTrade', refused('SOMETHING_NEW')));
  metrics.take(requested('balances', { kind: 'NOT_SENT', reason: 'too many requests' }));
  metrics.take(requested('balances', { ...AWAY, facts: { ...FACTS, status: 429 } }));
  assert.equal(value('cambist_requests_total{operation=listTrades,class=done,code=none}'), 1);
  assert.equal(value('cambist_list_pages_total{list=Trades}'), 1);
  assert.equal(
    value('cambist_requests_total{operation=createTrade,class=look_up_then_a_new_quote,code=QUOTE_EXPIRED}'),
    1,
  );
  assert.equal(value('cambist_requests_total{operation=createTrade,class=unknown,code=other}'), 1);
  assert.equal(value('cambist_requests_total{operation=balances,class=wait_same_key,code=none}'), 1);
  assert.equal(value('cambist_requests_total{operation=balances,class=unknown,code=RATE_LIMIT_EXCEEDED}'), 1);
});

test('a write under a key that was sent before is a repeat, and so is one that the service answers with what it has stored', () => {
  const { metrics, value } = open();
  const send = (reply: Reply<unknown>) =>
    metrics.take(requested('createWithdrawal', reply, { idempotencyKey: 'k' }));
  send({ kind: 'NOT_SENT', reason: 'never left' });
  send(AWAY);
  assert.equal(value('cambist_repeated_writes_total{operation=createWithdrawal,known_by=worker}'), undefined);
  send(done({ id: 'w' }, { replayed: true }));
  assert.equal(value('cambist_repeated_writes_total{operation=createWithdrawal,known_by=worker}'), 1);
  assert.equal(value('cambist_repeated_writes_total{operation=createWithdrawal,known_by=service}'), 1);
});

test('the service is silent from the first request without an answer to the next answer, whatever that says', () => {
  const at = { monotonicMs: 0 };
  const { metrics, value } = open(at);
  metrics.take(requested('balances', AWAY));
  at.monotonicMs = 90_000;
  metrics.take(requested('balances', { kind: 'NOT_SENT', reason: 'no connection' }));
  assert.equal(value('cambist_service_silent_seconds{}'), 90);
  assert.equal(value('cambist_configuration_refused{key=write}'), undefined);
  metrics.take(requested('balances', refused('AUTH_API_KEY_INVALID')));
  assert.equal(value('cambist_service_silent_seconds{}'), 0);
  assert.equal(value('cambist_configuration_refused{key=write}'), 1);
  metrics.take(requested('balances', AWAY));
  assert.equal(value('cambist_configuration_refused{key=write}'), 1);
  metrics.take(requested('balances', done({})));
  assert.equal(value('cambist_configuration_refused{key=write}'), 0);
});

test('the times from quote to trade, from trade to settlement and from withdrawal to its end are measured', () => {
  const at = { monotonicMs: 0 };
  const { metrics, value } = open(at);
  const serviceTimeMs = Date.parse('2026-11-21T11:59:29.500Z');
  metrics.take(requested('createQuote', done({ id: 'qte_1' }, { serviceTimeMs })));
  at.monotonicMs = 700;
  metrics.take(requested('createTrade', done({ id: 'tde_1', quoteId: 'qte_1' })));
  metrics.take(requested('createTrade', done({ id: 'tde_2', quoteId: 'of another worker' })));
  metrics.take({ kind: 'followed', to: 'SETTLED', record: { createdAt: '2026-11-21T11:58:00Z' } });
  metrics.take({ kind: 'followed', to: 'PAID', record: { createdAt: '2026-11-21T10:59:30Z' } });
  assert.equal(value('cambist_quote_to_trade_seconds{}'), 0.7);
  assert.equal(value('cambist_trade_to_settled_seconds{}'), 90);
  assert.equal(value('cambist_accepted_to_paid_seconds{}'), 3_600);
  assert.equal(value('cambist_clock_skew_seconds{}'), 30);
});

test('a meter that fails keeps no worker from its work', () => {
  const fails = (): never => {
    throw new Error('the meter has a fault');
  };
  const instrument = () => ({ add: fails, set: fails, record: fails });
  const meter = { createCounter: instrument, createGauge: instrument, createHistogram: instrument };
  const clock = { wallMs: () => 0, monotonicMs: () => 0 };
  const metrics = metricsOf({ meter: meter as unknown as MetricMeter, clock });
  metrics.take(requested('createTrade', done({ id: 'tde_1', quoteId: 'qte_1' })));
});

test('the page of monitoring has each metric, with its labels and what it says', () => {
  const rows = readPage('docs/monitoring.md').rows('Metrics');
  assert.deepEqual(
    rows,
    Object.entries(METRICS).map(([name, { kind, labels, says }]) => [
      `\`${name}\``,
      kind,
      labels.map((label) => `\`${label}\``).join(', '),
      says,
    ]),
  );
});
