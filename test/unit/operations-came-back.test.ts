/** Money that came back: found in the service's list within a bound, and told though nobody asks for the run. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError } from '@temporalio/client';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Page, Withdrawal } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { endingOf } from '../../operations/exit-codes.ts';
import { asNow, cameBackIn, type FailedPayments } from '../../operations/watch/came-back.ts';
import { LOOK, readFailedPayments, withCameBack } from '../../operations/watch/look-for-failed.ts';
import type { Place } from '../../operations/place.ts';
import { listAttention } from '../../operations/watch/attention.ts';
import { makeReportOf } from '../support/cli-reports.ts';
import { NO_ANSWER, WITHDRAWAL, done } from '../support/scripts.ts';

const NOW_MS = Date.parse('2026-11-22T12:00:00Z');
const DAY_MS = 86_400_000;
const REPORT = makeReportOf({ status: 'COMPLETED' });
const ID = REPORT.payments[0]?.withdrawalId ?? '';
const REFERENCE = 'mxn-supplier.2026-11-21.supplier';

const record = (more: Partial<Withdrawal>): Withdrawal => ({
  ...WITHDRAWAL,
  tag: null,
  status: 'COMPLETED',
  createdAt: new Date(NOW_MS).toISOString(),
  ...more,
});

/** A list with these pages, and how many of them were read. */
function listOf(pages: readonly (readonly Withdrawal[])[]) {
  let asked = 0;
  const listWithdrawals = async (): Promise<Reply<Page<Withdrawal>>> => {
    const items = pages[asked] ?? [];
    asked += 1;
    return done({ items, nextCursor: `c${asked}`, prevCursor: null });
  };
  return { service: { listWithdrawals }, asked: () => asked };
}

const read = (service: Parameters<typeof readFailedPayments>[0]): Promise<FailedPayments> =>
  readFailedPayments(service, 'https://service', {
    facts: DEFAULT_SERVICE_FACTS,
    sinceMs: NOW_MS - LOOK.days * DAY_MS,
  });

const failedOf = (...records: readonly Withdrawal[]): Promise<FailedPayments> =>
  read(listOf([records, [record({ createdAt: '2026-01-01T00:00:00Z' })]]).service);

test('what has failed is found, by its reference and without one, and what is paid is not', async () => {
  const { payments } = await failedOf(
    record({ id: 'wtd_1', status: 'RETURNED', tag: `${REFERENCE}~2` }),
    record({ id: 'wtd_2', status: 'FAILED' }),
    record({ id: 'wtd_3', tag: REFERENCE }),
  );
  assert.deepEqual(payments, [
    { id: 'wtd_1', status: 'RETURNED', run: { policy: 'mxn-supplier', id: '2026-11-21' } },
    { id: 'wtd_2', status: 'FAILED', run: null },
  ]);
});

test('the look ends where the days end, and after so many pages it says how far it came', async () => {
  const old = record({ createdAt: new Date(NOW_MS - 31 * DAY_MS).toISOString() });
  const short = listOf([[record({})], [old], [old]]);
  assert.equal((await read(short.service)).sinceMs, NOW_MS - LOOK.days * DAY_MS);
  assert.equal(short.asked(), 2);
  const yesterday = record({ createdAt: new Date(NOW_MS - DAY_MS).toISOString() });
  const long = listOf(Array.from({ length: 50 }, () => [yesterday]));
  assert.equal((await read(long.service)).sinceMs, NOW_MS - DAY_MS);
  assert.equal(long.asked(), LOOK.pages);
});

test('a list that cannot be read is a failure, not an empty one', async () => {
  await assert.rejects(read({ listWithdrawals: async () => NO_ANSWER }), { ending: 'infrastructure' });
});

test('a report says of a payment that came back that it is not paid, and ends so', async () => {
  const failed = await failedOf(record({ id: ID, status: 'RETURNED', tag: REFERENCE }));
  const report = withCameBack(REPORT, failed, NOW_MS);
  assert.equal(report.status, 'PARTIAL');
  assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
  assert.deepEqual(
    report.problems.map(({ code, item }) => [code, item]),
    [['WITHDRAWAL_FAILED', 'supplier']],
  );
  assert.deepEqual(report.legs, REPORT.legs);
  assert.equal(endingOf(report, []), 'refused by the service');
});

test('what is read in parts says of a payment that came back what the whole report says', async () => {
  const failed = await failedOf(record({ id: ID, status: 'RETURNED', tag: REFERENCE }));
  const now = withCameBack(REPORT, failed, NOW_MS);
  const { part, payment } = asNow(now);
  const [told] = REPORT.payments;
  assert.ok(told !== undefined);
  assert.deepEqual({ ...part(REPORT), evidence: now.evidence }, now);
  // The first part of a batch has the run itself, and no payment.
  const { status, totals, problems } = part({ ...REPORT, payments: [] });
  assert.deepEqual([status, totals, problems], [now.status, now.totals, []]);
  assert.deepEqual(payment({ ...told, traceId: 't' }), { ...now.payments[0], traceId: 't' });
  const other = { ...told, id: 'other' };
  assert.equal(payment(other), other);
});

test('a payment that the report has as not paid, or that was paid again since, did not come back', async () => {
  const failed = await failedOf(record({ id: ID, status: 'RETURNED', tag: REFERENCE }));
  const [paid] = REPORT.payments;
  assert.ok(paid !== undefined);
  assert.equal(cameBackIn([paid], failed).length, 1);
  assert.deepEqual(cameBackIn([{ ...paid, outcome: 'NOT_PAID' }], failed), []);
  assert.deepEqual(cameBackIn([{ ...paid, withdrawalId: 'wtd_later' }], failed), []);
  assert.equal(
    withCameBack(makeReportOf({ status: 'PARTIAL', payment: 'NOT_PAID' }), failed, NOW_MS).problems.length,
    0,
  );
});

/** A Temporal with completed runs, each with the report above. */
function placeWith(...runs: readonly string[]): Place {
  const infos = runs.map((run) => ({
    workflowId: `sandbox/${run}`,
    runId: run,
    taskQueue: 'q',
    status: { name: 'COMPLETED' },
    startTime: new Date(NOW_MS),
    typedSearchAttributes: { get: () => 'COMPLETED' },
  }));
  const workflow = {
    async *list() {
      yield* infos;
    },
    getHandle: (workflowId: string) => ({
      result: async () => ({ report: REPORT, traceIds: [], next: null, chunks: 0 }),
      describe: async () => {
        throw new WorkflowNotFoundError('Nothing was said.', workflowId, undefined);
      },
    }),
  };
  return { client: { workflow }, mode: 'SANDBOX' } as unknown as Place;
}

test('a completed run of which money came back needs a person, and the others do not', async () => {
  const place = placeWith('mxn-supplier.2026-11-21', 'mxn-supplier.2026-11-20');
  const failed = await failedOf(record({ id: ID, status: 'RETURNED', tag: REFERENCE }));
  const { listed } = await listAttention(place, NOW_MS, failed);
  assert.deepEqual(
    listed.map(({ facts, why, needs }) => [facts.run.id, why?.code, needs]),
    [['2026-11-21', 'WITHDRAWAL_FAILED', [['WITHDRAWAL_FAILED', 'supplier', 1]]]],
  );
  assert.deepEqual((await listAttention(place, NOW_MS, await failedOf())).listed, []);
});

test('where the list shows no references, the newest runs are asked', async () => {
  const place = placeWith('mxn-supplier.2026-11-21');
  const { listed } = await listAttention(
    place,
    NOW_MS,
    await failedOf(record({ id: ID, status: 'RETURNED' })),
  );
  assert.equal(listed.length, 1);
});
