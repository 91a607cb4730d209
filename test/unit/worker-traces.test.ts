// What goes along with a trace, and what of a span leaves. The way of a whole trace is in test/server/traces.test.ts.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SpanKind, SpanStatusCode, TraceFlags } from '@opentelemetry/api';
import { ExportResultCode, type ExportResult } from '@opentelemetry/core';
import { Resource } from '@opentelemetry/resources';
import {
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanExporter,
} from '@opentelemetry/sdk-trace-base';
import {
  ApplicationFailure,
  ApplicationFailureCategory,
  defaultPayloadConverter,
  type Headers,
} from '@temporalio/common';
import type { Reply } from '../../domain/service/reply.ts';
import { openTraces, openedTraces } from '../../config/traces.ts';
import { SPAN_ATTRIBUTES, sendingShown, shown } from '../../config/traces/shown-spans.ts';
import { TRACE_HEADER, traceHeaderIn } from '../../workflows/trace-header.ts';
import { tracesBy } from '../../config/traces/open.ts';
import { spanName, tracesOfWorker } from '../../worker/traces.ts';
import { codes, readPage } from '../support/docs-tables.ts';

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const json = (value: unknown): Headers[string] => defaultPayloadConverter.toPayload(value);
const bytes = (text: string): Uint8Array => Buffer.from(text);

test('of the header of a trace, only the ids of a trace and a span go on, and baggage and a state do not', () => {
  const header = json({ traceparent: TRACEPARENT, tracestate: 'a=b', baggage: 'name=canary' });
  assert.deepEqual(traceHeaderIn({ [TRACE_HEADER]: header, other: json('x') }), {
    [TRACE_HEADER]: json({ traceparent: TRACEPARENT }),
  });
});

const FORGED: readonly (readonly [what: string, header: unknown])[] = [
  ['no payload', null],
  ['an empty payload', {}],
  ['no bytes', { metadata: { encoding: bytes('json/plain') }, data: null }],
  ['an encoding that nobody knows', { metadata: { encoding: bytes('no/such') }, data: bytes('{}') }],
  ['half a text', { metadata: { encoding: bytes('json/plain') }, data: bytes('{') }],
  ['nothing', json(null)],
  ['a number', json(7)],
  ['a list', json([TRACEPARENT])],
  ['no ids', json({})],
  ['ids that are no text', json({ traceparent: [TRACEPARENT] })],
  ['ids of zeros', json({ traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01` })],
  ['ids in capitals', json({ traceparent: TRACEPARENT.toUpperCase() })],
  ['more behind the ids', json({ traceparent: `${TRACEPARENT}\n` })],
  ['more than a header of ours holds', json({ traceparent: TRACEPARENT, more: 'x'.repeat(1_000) })],
];
for (const [what, header] of FORGED)
  test(`a header of a trace with ${what} counts as none`, () => {
    assert.deepEqual(traceHeaderIn({ [TRACE_HEADER]: header as Headers[string] }), {});
  });

test('without headers there is no trace', () => {
  assert.deepEqual([traceHeaderIn({}), traceHeaderIn(null), traceHeaderIn(undefined)], [{}, {}, {}]);
});

const payments = (...ids: readonly string[]) =>
  ids.map((id) => ({ payment: { id, account: 'wac_Canary', amount: '1.00' } }));
const NAMES: readonly (readonly [type: string, call: unknown, name: string])[] = [
  ['readPlan', { run: { policy: 'p', id: '2026-11-21' } }, 'Read the plan'],
  ['executeTrade', { leg: { id: 'usd-mxn-1' }, legs: ['p.2026-11-21.usd-mxn-1'] }, 'Trade: usd-mxn-1'],
  ['awaitSettlement', { leg: 'usd-mxn-1', unpaid: [{ id: 'x' }] }, 'Wait for the settlement: usd-mxn-1'],
  ['createWithdrawals', { items: payments('inv-1') }, 'Pay: inv-1'],
  ['createWithdrawals', { items: payments('a', 'b', 'c', 'd', 'e') }, 'Pay: a, b, c and 2 more'],
  ['awaitWithdrawals', { items: [{ id: 'a', withdrawalId: 'wtd_1' }] }, 'Wait until payments are paid: a'],
  [
    'confirmOutcomes',
    {
      legs: [{ leg: { id: 'usd-mxn-1' }, tradeId: 'tde_1' }],
      payments: [{ id: 'a', account: 'wac_Canary' }],
    },
    'Check at the service what was done: usd-mxn-1, a',
  ],
  ['executeTrade', undefined, 'Trade'],
  ['executeTrade', 'sealed', 'Trade'],
  ['executeTrade', { leg: { id: 'Ana Canary, 1,000.00 USD\n' }, items: 7, legs: [null, 3] }, 'Trade'],
];
for (const [type, call, name] of NAMES)
  test(`the span of ${type} is called "${name}"`, () => {
    assert.equal(spanName(type, [call]), name);
  });

const span = (more: Partial<ReadableSpan> = {}): ReadableSpan => ({
  name: 'Trade: usd-mxn-1',
  kind: SpanKind.INTERNAL,
  spanContext: () => ({ traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: TraceFlags.SAMPLED }),
  startTime: [1, 0],
  endTime: [2, 0],
  duration: [1, 0],
  ended: true,
  status: { code: SpanStatusCode.ERROR, message: 'canary of a message' },
  attributes: { run_id: 'r', temporalTerminateReason: 'canary of a reason', name: 'canary of a name' },
  links: [],
  events: [{ name: 'exception', time: [1, 0], attributes: { 'exception.stacktrace': 'canary of a stack' } }],
  resource: Resource.empty(),
  instrumentationLibrary: { name: 'cambist' },
  droppedAttributesCount: 0,
  droppedEventsCount: 0,
  droppedLinksCount: 0,
  ...more,
});

test('of a span no message, stack, reason or other attribute leaves that is in no list', () => {
  const left = shown(span());
  assert.deepEqual(
    [left.attributes, left.events, left.status],
    [{ run_id: 'r' }, [], { code: SpanStatusCode.ERROR }],
  );
  assert.ok(!JSON.stringify(left).includes('canary'));
});

test('what a span may hold is what the documentation says', () => {
  const rows = readPage('docs/monitoring.md').rows('What is in a span');
  const named = rows.flatMap(([attributes = '']) => attributes.split(', '));
  assert.deepEqual(named.toSorted(), SPAN_ATTRIBUTES.map((name) => codes([name])).toSorted());
});

test('that the collector takes no spans is said once, without its words', () => {
  const said: string[] = [];
  const results: ExportResult[] = [
    { code: ExportResultCode.SUCCESS },
    { code: ExportResultCode.FAILED, error: Object.assign(new Error('canary'), { code: 'ECONNREFUSED' }) },
    { code: ExportResultCode.FAILED, error: new Error('canary') },
  ];
  const inner: SpanExporter = {
    export: (_spans, done) => done(results.shift() ?? { code: ExportResultCode.SUCCESS }),
    shutdown: async () => {},
  };
  const exporter = sendingShown(inner, ({ message }) => said.push(message));
  for (let times = 0; times < 3; times += 1) exporter.export([span()], () => {});
  assert.deepEqual(said, ['The collector takes no spans (ECONNREFUSED)']);
});

const COLLECTOR = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
const OFF: readonly (readonly [what: string, env: NodeJS.ProcessEnv, says: number])[] = [
  ['no collector is named', {}, 0],
  ['an empty one is named', { OTEL_EXPORTER_OTLP_ENDPOINT: '' }, 0],
  ['OpenTelemetry is switched off', { ...COLLECTOR, OTEL_SDK_DISABLED: 'TRUE' }, 0],
  ['no exporter of traces is wanted', { ...COLLECTOR, OTEL_TRACES_EXPORTER: 'none' }, 0],
  ['the address is none', { OTEL_EXPORTER_OTLP_ENDPOINT: 'secret@collector:4318' }, 1],
  ['another protocol is wanted', { ...COLLECTOR, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }, 1],
  [
    'another protocol is wanted for traces',
    { ...COLLECTOR, OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' },
    1,
  ],
];
for (const [what, env, says] of OFF)
  test(`where ${what}, there are no traces${says === 0 ? '' : ', and the program says why'}`, async () => {
    const said: string[] = [];
    assert.equal(await openTraces(env, { say: ({ message }) => said.push(message) }), null);
    assert.equal(openedTraces(), null);
    assert.equal(said.length, says);
    assert.ok(!said.join().includes('secret'));
  });

test('where OpenTelemetry falls over the value of a variable, there are no traces, and the program says so', async () => {
  const said: string[] = [];
  // The exporter reads the environment of the process.
  process.env['OTEL_EXPORTER_OTLP_HEADERS'] = 'authorization=secret%ZZ';
  try {
    assert.equal(await openTraces(COLLECTOR, { say: ({ message }) => said.push(message) }), null);
  } finally {
    delete process.env['OTEL_EXPORTER_OTLP_HEADERS'];
  }
  assert.deepEqual(said, ['OpenTelemetry cannot use the value of one of its variables']);
});

const memory = new InMemorySpanExporter();
const worker = tracesOfWorker(tracesBy(new SimpleSpanProcessor(sendingShown(memory, () => {}))));

/** What an activity of this workflow leaves in spans, the first that ended first. */
async function spansOf(
  work: () => Promise<unknown>,
  { workflowId = 'sandbox/p.2026-11-21', headers = {} }: { workflowId?: string; headers?: Headers } = {},
): Promise<readonly ReadableSpan[]> {
  memory.reset();
  const info = {
    activityType: 'executeTrade',
    activityId: '5',
    attempt: 2,
    inWorkflow: true,
    workflowNamespace: 'default',
    workflowExecution: { workflowId, runId: 'r' },
  };
  const [make] = worker.around({}).activity ?? [];
  type Made = Parameters<NonNullable<typeof make>>[0];
  const inbound = make?.({ info } as unknown as Made).inbound;
  await inbound?.execute?.({ args: [{ leg: { id: 'usd-mxn-1' } }], headers }, work).catch(() => {});
  return memory.getFinishedSpans();
}

const FACTS = { status: 200, traceId: 'abc', replayed: null, retryAfterMs: null, serviceTimeMs: null };
const request = (reply: Reply<unknown>) => ({
  operation: 'trade' as const,
  reply,
  requestId: 'q',
  idempotencyKey: null,
  waitedMs: 1,
  tookMs: 2,
});
const tell = (reply: Reply<unknown>): void =>
  worker.take({ kind: 'requested', key: 'write', request: request(reply) });

test('an activity goes on in the trace of its header, and one with a header that nobody can read in that of its run', async () => {
  const [handed] = await spansOf(async () => {}, {
    headers: { [TRACE_HEADER]: json({ traceparent: TRACEPARENT }) },
  });
  assert.deepEqual(
    [handed?.spanContext().traceId, handed?.parentSpanId],
    ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'],
  );
  const traceOf = async (workflowId: string, headers: Headers = {}): Promise<unknown> => {
    const [only] = await spansOf(async () => {}, { workflowId, headers });
    assert.equal(only?.parentSpanId, undefined);
    return only?.spanContext().traceId;
  };
  const ofRun = await traceOf('sandbox/p.2026-11-21');
  for (const [, header] of FORGED)
    assert.equal(await traceOf('sandbox/p.2026-11-21', { [TRACE_HEADER]: header as Headers[string] }), ofRun);
  assert.equal(await traceOf('sandbox/p.2026-11-21/chunk-0001'), ofRun);
  const others = [
    'sandbox/p.2026-11-22',
    'live/p.2026-11-21',
    'sandbox/schedule/p-1',
    'sandbox/schedule/p-2',
    'any',
  ];
  const seen = new Set([ofRun]);
  for (const other of others) seen.add(await traceOf(other));
  assert.equal(seen.size, 1 + others.length);
});

test('of a failed attempt its code is told, of a poll that goes on later no error, and of none its words', async () => {
  const failed = async (error: Error): Promise<unknown> => {
    const [only] = await spansOf(async () => {
      throw error;
    });
    assert.ok(!JSON.stringify([only?.attributes, only?.events, only?.status]).includes('Ana Canary'));
    return [only?.attributes['cambist.failure'], only?.status.code === SpanStatusCode.ERROR];
  };
  const message = 'Ana Canary gets 1,000.00 USD';
  assert.deepEqual(await failed(ApplicationFailure.retryable(message, 'ACTIVITY_FAILED')), [
    'ACTIVITY_FAILED',
    true,
  ]);
  assert.deepEqual(await failed(ApplicationFailure.retryable(message, message)), ['OTHER', true]);
  assert.deepEqual(await failed(new Error(message)), ['OTHER', true]);
  const category = ApplicationFailureCategory.BENIGN;
  assert.deepEqual(await failed(ApplicationFailure.create({ message, type: 'NOT_YET', category })), [
    'NOT_YET',
    false,
  ]);
});

test('a request is a span below its activity, without the id that it asks for', async () => {
  const [sent, activity] = await spansOf(async () => tell({ kind: 'DONE', value: {}, facts: FACTS }));
  assert.deepEqual([activity?.name, activity?.attributes['cambist.attempt']], ['Trade: usd-mxn-1', 2]);
  assert.equal(sent?.parentSpanId, activity?.spanContext().spanId);
  assert.equal(sent?.name, 'GET /fx/trades/{id}');
  assert.deepEqual(sent?.attributes, {
    'http.request.method': 'GET',
    'url.template': '/fx/trades/{id}',
    'http.response.status_code': 200,
    'cambist.operation': 'trade',
    'cambist.reply': 'done',
    'cambist.request_id': 'q',
    'cambist.service_trace_id': 'abc',
  });
});

test('a refused request has its code and no words, and a trace id as long as a signature is none', async () => {
  const error = { code: 'TRADE_X', type: 'X', message: 'Ana Canary', retryStrategy: 'TERMINAL', details: {} };
  const facts = { ...FACTS, status: 400, traceId: 'x'.repeat(86) };
  const [sent] = await spansOf(async () => tell({ kind: 'UNKNOWN', reason: 'x', error, facts }));
  assert.equal(sent?.attributes['cambist.code'], 'TRADE_X');
  assert.equal(sent?.attributes['cambist.service_trace_id'], undefined);
  assert.ok(!JSON.stringify(sent?.attributes).includes('Ana Canary'));
});

test('what was never sent, and what a worker asks for itself, is no span', async () => {
  assert.equal((await spansOf(async () => tell({ kind: 'NOT_SENT', reason: 'halted' }))).length, 1);
  memory.reset();
  tell({ kind: 'DONE', value: {}, facts: FACTS });
  assert.deepEqual(memory.getFinishedSpans(), []);
});
