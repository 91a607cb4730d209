/**
 * A run of 500 payments on a real server: nothing that Temporal carries for it grows with the run. Every payload of every
 * history and every answer is measured, also where the run goes on in a new history.
 */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { movesOf } from '../../domain/plan/moves.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { instructionsIdOf, planIdOf, reportQuery } from '../../workflows/names.ts';
import type { ReportPage } from '../../domain/run/report.ts';
import { startServerOfShortHistories, uniqueName } from '../support/dev-server.ts';
import { openStage, type Run } from '../support/stage.ts';

const PAYMENTS = 500;
const MOST_BYTES = 128 * 1_024;

/** Names and accounts of the greatest length that the text of a policy has room for; the accounts are all different. */
const NAME = 'n'.repeat(40);
const PAYEES = Array.from({ length: PAYMENTS }, (_, index) => ({
  id: `${index}-`.padEnd(64, 'i'),
  account: `wac_${String(index).replaceAll('0', 'x').padStart(18, 'a')}`,
}));

const MANY = `policy: 1
kind: convert
name: many
environment: sandbox
zone: UTC
convert: { sell: USD, buy: MXN, amount: { sell: "1000.00" } }
quote: { settlement: IMMEDIATE }
settle: { until: status }
shortfall: hold
withdraw:
${PAYEES.map(({ id, account }, index) => `- {id: ${id},account: ${account},amount: {fixed: "${index + 1}"}}`).join('\n')}
`;

// What a history takes over is read again first, which takes about 35 events.
const server = await startServerOfShortHistories(60);
const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  accounts: PAYEES.map(({ account }) => ({
    id: account,
    currency: 'MXN',
    assetType: 'FIAT',
    status: 'LIVE',
    rail: 'SPEI',
  })),
  balances: { USD: '10000', MXN: '0' },
  temporalAddress: server.address,
});
await stage.startWorker();
after(async () => {
  await stage.close();
  await server.kill();
});

/** The payloads of a value as the SDK reads it: whatever has bytes, and how many. */
function payloadsIn(value: unknown, path: string): readonly (readonly [path: string, bytes: number])[] {
  if (value instanceof Uint8Array) return [[path, value.byteLength]];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => payloadsIn(inner, `${path}.${name}`));
}

/** The largest payloads of all histories of a workflow, from this Temporal run back to the first. */
async function largestOf(
  workflowId: string,
  runId?: string,
): Promise<readonly (readonly [string, number])[]> {
  const history = await stage.temporal.client.workflow.getHandle(workflowId, runId).fetchHistory();
  const events = history.events ?? [];
  const own = events.flatMap((event) => payloadsIn(event, `${workflowId} ${event.eventType}`));
  const before = events[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId;
  const earlier = before ? await largestOf(workflowId, before) : [];
  return [...own, ...earlier].toSorted(([, a], [, b]) => b - a).slice(0, 5);
}

async function pagesOf(run: Run): Promise<readonly ReportPage[]> {
  const pages: ReportPage[] = [];
  for (let offset: number | null = 0; offset !== null;) {
    // One part after the other.
    const page: ReportPage = await run.handle.query(reportQuery, offset);
    pages.push(page);
    offset = page.next;
  }
  return pages;
}

test('500 payments wait for money, go on in new histories and are paid once, and no payload is above 128 KiB', async () => {
  const name = uniqueName(NAME).slice(-40);
  const run = await stage.start(MANY, { name, id: `${todayIn('UTC', Date.now())}-`.padEnd(64, 'r') });
  // All are asked for more than there is: what is left over waits.
  const held = await run.until(({ payments }) => payments.some(({ reason }) => reason !== null));
  assert.equal(held.payments.length, PAYMENTS);
  stage.sandbox.deposit({ currency: 'MXN', amount: '1000000' });
  await run.wake();
  const report = await run.report();
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report.problems.slice(0, 3)));
  assert.deepEqual(new Set(report.payments.map(({ outcome }) => outcome)), new Set(['PAID']));
  assert.equal(run.movements().withdrawals.length, PAYMENTS);

  const started = (await run.handle.fetchHistory()).events?.[0]?.workflowExecutionStartedEventAttributes;
  assert.ok(started?.continuedExecutionRunId, 'the run has gone on in a new history');
  const ids = [run.handle.workflowId, planIdOf('SANDBOX', run.name), instructionsIdOf('SANDBOX', run.name)];
  const measured = (await Promise.all(ids.map((id) => largestOf(id)))).flat();
  const answers = (await pagesOf(run)).map(
    (page, index) => [`part ${index} of the report`, Buffer.byteLength(JSON.stringify(page))] as const,
  );
  assert.ok(answers.length > 1);
  const plan = await readFirstPlan(stage.temporal.client, 'SANDBOX', run.name);
  const asShown = { ...run.input, shown: movesOf(plan ?? assert.fail('There is no plan.')) };
  const start = ['a start after everything was shown', Buffer.byteLength(JSON.stringify(asShown))] as const;
  const tooLarge = [...measured, ...answers, start].filter(([, bytes]) => bytes > MOST_BYTES);
  assert.deepEqual(tooLarge, []);
});
