/** Traces of a real command and a real worker process, as a collector gets them: from the command to the service, and nothing secret. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Headers } from '@temporalio/common';
import { RUN_TYPE } from '../../workflows/names.ts';
import { TRACE_HEADER } from '../../workflows/trace-header.ts';
import { ACCOUNTS, assertNone, canariesOf } from '../support/canaries.ts';
import { openCollector, type TakenSpan } from '../support/collector.ts';
import { assertExit, commandProcess, putPolicy, reportOf, startCommand } from '../support/commands.ts';
import { eventually } from '../support/patience.ts';
import { MXN_ACCOUNT, convertPolicy } from '../support/policies.ts';
import { openServiceProxy } from '../support/proxy.ts';
import { assertDoneOnce, openStage, type Run } from '../support/stage.ts';

const collector = await openCollector();
const stage = await openStage({ rates: { 'USD/MXN': '17.25' }, accounts: ACCOUNTS });
const service = new URL(stage.sandbox.baseUrl);
const proxy = await openServiceProxy(service.host);
const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_BSP_SCHEDULE_DELAY: '100' };
const worker = startCommand(stage, ['worker', '--json'], {
  env: { ...traced, CAMBIST_BASE_URL: `http://${proxy.address}${service.pathname}` },
});
after(async () => {
  worker.process.kill('SIGKILL');
  await worker.ended;
  await stage.close();
  await proxy.close();
  await collector.close();
});

/** The spans of a run, and of the command that started it, once they are all there. */
function spansOf(run: string, last: string): Promise<readonly TakenSpan[]> {
  return eventually(`the spans of ${run}`, () => {
    const all = collector.spans();
    const [first] = all.filter(({ attributes }) => attributes['temporalWorkflowId'] === `sandbox/${run}`);
    const ours = all.filter(({ traceId }) => traceId === first?.traceId);
    const known = new Set(ours.map(({ spanId }) => spanId));
    const isWhole = ours.every(({ parentId }) => parentId === null || known.has(parentId));
    return isWhole && ours.some(({ name }) => name === last) ? ours : null;
  });
}

/** Headers in which the worker's own code would find no trace, or fall over one. */
const FORGED: readonly Headers[string][] = [
  { metadata: { encoding: Buffer.from('no/such') }, data: Buffer.from('…') },
  defaultPayloadConverter.toPayload({ traceparent: 'x'.repeat(100_000) }),
];
const started: readonly Run[] = [
  await stage.start(convertPolicy()),
  ...(await Promise.all(FORGED.map(startForged))),
];

/** As a stranger starts it who may start workflows. */
async function startForged(header: Headers[string]): Promise<Run> {
  const { connection, namespace } = stage.temporal;
  const stranger = new Client({
    connection,
    namespace,
    interceptors: {
      workflow: [
        { startWithDetails: (input, next) => next({ ...input, headers: { [TRACE_HEADER]: header } }) },
      ],
    },
  });
  const run = stage.find(convertPolicy(), {});
  await stranger.workflow.start(RUN_TYPE, {
    workflowId: run.handle.workflowId,
    taskQueue: stage.env['CAMBIST_TASK_QUEUE'] ?? '',
    args: [run.input],
  });
  return run;
}

/** Its run has ended after the first test: a command shows it once more. */
const policy = await putPolicy(stage);

test('a run is one trace from the command to the service, which says steps, items and requests, and nothing secret', async () => {
  const words = ['run', policy.file, '--by', 'Canary Person', '--json'];
  const ended = await commandProcess(stage, words, { env: traced });
  assertExit(ended, 0);
  const report = reportOf(ended);
  const spans = await spansOf(policy.runText, 'cambist run');

  const way = (span: TakenSpan | undefined): readonly string[] =>
    span === undefined ? [] : [...way(spans.find(({ spanId }) => spanId === span.parentId)), span.name];
  const one = (name: string): TakenSpan => {
    const found = spans.filter((span) => span.name === name);
    assert.equal(found.length, 1, `${name}: ${JSON.stringify(spans.map((span) => span.name))}`);
    return found[0] as TakenSpan;
  };
  const start = ['cambist run', 'StartWorkflow:run'];
  assert.deepEqual(way(one('POST /fx/quotes')), [...start, 'Ask for a price: usd-mxn-1', 'POST /fx/quotes']);
  assert.deepEqual(way(one('POST /fx/trades')), [...start, 'Trade: usd-mxn-1', 'POST /fx/trades']);
  assert.deepEqual(way(one('POST /fx/withdrawals')), [...start, 'Pay: supplier', 'POST /fx/withdrawals']);
  assert.deepEqual(way(one('Read what the service has')), [
    ...start,
    'Read the plan',
    'StartWorkflow:plan',
    'Read what the service has',
  ]);
  assert.deepEqual(
    spans.filter(({ parentId }) => parentId === null).map(({ name }) => name),
    ['cambist run'],
  );

  for (const [path, operation] of [
    ['/fx/trades', 'createTrade'],
    ['/fx/withdrawals', 'createWithdrawal'],
  ] as const) {
    const { attributes } = one(`POST ${path}`);
    const logged = stage.sandbox
      .requests()
      .find(({ requestId }) => requestId === attributes['cambist.request_id']);
    assert.equal(logged?.operation, operation);
    assert.deepEqual(attributes, {
      'http.request.method': 'POST',
      'url.template': path,
      'http.response.status_code': 200,
      'cambist.operation': operation,
      'cambist.reply': 'done',
      'cambist.request_id': logged.requestId,
      'cambist.service_trace_id': logged.traceId,
    });
  }

  const [payment] = report.payments;
  const [leg] = report.legs;
  const canaries = [
    ...(await canariesOf(stage, proxy)),
    ...[
      'Canary Person',
      'Canary Reason',
      'org_',
      MXN_ACCOUNT,
      payment?.withdrawalId,
      leg?.tradeId,
      leg?.quoteId,
    ],
    ...[payment?.amount, leg?.sellAmount, leg?.buyAmount, leg?.rate],
  ];
  assert.ok(collector.bodies().includes(policy.runText));
  assertNone(
    canaries.map((canary) => canary ?? assert.fail('a canary is missing')),
    { spans: collector.bodies() },
  );
});

test('a run that a stranger or an untraced command has started goes on as ever, as one trace of its own', async () => {
  for (const run of started) {
    assertDoneOnce(run, await run.report());
    const name = `${run.name.policy}.${run.name.id}`;
    const spans = await spansOf(name, 'Pay: supplier');
    assert.ok(spans.some((span) => span.name === 'Read what the service has'));
    const others = collector
      .spans()
      .filter(
        ({ attributes, traceId }) =>
          String(attributes['temporalWorkflowId']).startsWith(`sandbox/${name}`) &&
          traceId !== spans[0]?.traceId,
      );
    assert.deepEqual(others, []);
  }
  assert.ok(!collector.bodies().includes('xxxx'));
});

test('a worker without traces replays a run with one, and a command whose collector is away says so once', async () => {
  worker.process.kill('SIGTERM');
  assertExit(await worker.ended, 0);
  await stage.startWorker();
  const env = { ...traced, OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' };
  const ended = await commandProcess(stage, ['run', policy.file, '--json'], { env });
  assertExit(ended, 0);
  assert.equal(reportOf(ended).status, 'COMPLETED');
  assert.equal(ended.stderr.match(/TRACES_UNSENT/g)?.length, 1, ended.stderr);
});
