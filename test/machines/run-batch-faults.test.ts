/**
 * A batch at a service, and on workers, that fail in every way that is known of them: everybody is paid once, and the
 * ledger, the report and the file say the same.
 */
import assert from 'node:assert/strict';
import { describe } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { BatchPayment } from '../../domain/batch.ts';
import { reference, runName } from '../../domain/references.ts';
import type { Report } from '../../domain/run/report.ts';
import { todayIn } from '../../calendar/business-date.ts';
import type { FaultEffect, SandboxFault } from '../../sandbox/server.ts';
import {
  assertCameBack,
  assertPaidOnce,
  paymentsOf,
  startBatch,
  untilAllEnded,
  untilBooked,
  type BatchRun,
} from '../support/batches.ts';
import { command, flat } from '../support/commands.ts';
import { uniqueName } from '../support/dev-server.ts';
import { resetPoints, resetTo } from '../support/resets.ts';
import { cell, test } from '../support/sliced.ts';
import { openStage, type Stage, type StageOptions } from '../support/stage.ts';

const BALANCES = { USD: '10000000', EUR: '10000000', MXN: '10000000' };
/** Three chunks, in slices. */
const SIZE = { perChunk: 60 };
const ROWS = paymentsOf(180);
const AT_ONCE = { concurrency: 4 };

async function open(options: StageOptions = {}): Promise<Stage> {
  const stage = await openStage({ balances: BALANCES, ...options });
  await stage.startWorker();
  return stage;
}

/** What can happen to one send; in the end the payment is made. */
const MISHAPS: Readonly<Record<string, readonly FaultEffect[]>> = {
  'reply-lost': [{ kind: 'lose-reply' }],
  'reply-lost-lists-late': [{ kind: 'lose-reply' }, { kind: 'list-lag', ms: 6_000 }],
  'reply-lost-all-reads-late': [{ kind: 'lose-reply' }, { kind: 'list-lag', ms: 6_000, byId: true }],
  'lists-late': [{ kind: 'list-lag', ms: 3_000, byId: true }],
  'closed-before': [{ kind: 'close-before' }],
  'body-cut': [{ kind: 'cut-body' }],
  slow: [{ kind: 'delay', ms: 2_000 }],
  'slow-after': [{ kind: 'delay', ms: 2_000, when: 'after' }],
  'too-late': [{ kind: 'delay', ms: 16_000, when: 'after' }],
  held: [{ kind: 'hold', ms: 16_000 }],
  'held-and-lost': [{ kind: 'hold', ms: 2_000, when: 'after' }, { kind: 'lose-reply' }],
  'error-500': [{ kind: 'error', status: 500, stored: false }],
  'error-500-booked': [{ kind: 'error', status: 500, committed: true, stored: false }],
  'error-503': [{ kind: 'error', status: 503, stored: false, headers: { 'retry-after': '1' } }],
  'page-502': [{ kind: 'html', status: 502 }],
  'page-504-booked': [{ kind: 'html', status: 504, committed: true }],
  'too-many': [{ kind: 'rate-limit', retryAfter: 1 }],
  'odd-status': [{ kind: 'status', status: 201 }],
  redirect: [{ kind: 'status', status: 307 }],
  'half-a-record': [{ kind: 'status', body: '{"data":{"object":"withdrawal"}}' }],
  'no-body': [{ kind: 'status', body: '' }],
  'no-json': [{ kind: 'status', body: '{"data":{},"data":{}}' }],
  'booked-later': [{ kind: 'late-commit', ms: 3_000 }],
  'booked-later-500': [{ kind: 'late-commit', ms: 3_000, reply: '500' }],
};
/** The key never tells of the record, against the interface: only a tag does. */
const TOLD_BY_TAGS: typeof MISHAPS = {
  'booked-later-key-free': [{ kind: 'late-commit', ms: 3_000, key: 'free' }],
  'error-500-booked-kept': [{ kind: 'error', status: 500, committed: true, stored: true }],
  'failure-kept-booked': [{ kind: 'stored-failure', committed: true }],
  'booked-later-500-kept': [{ kind: 'late-commit', ms: 3_000, reply: '500', key: 'stored' }],
};

/** The first sends of a payment meet these effects, each once. */
function plant(on: Stage, batch: string, item: string, effects: readonly FaultEffect[]): void {
  const run = { policy: batch, id: `${todayIn('UTC', Date.now())}-weekly` };
  for (const effect of effects)
    on.sandbox.addFault({
      operation: 'createWithdrawal',
      times: 1,
      when: { reference: reference(run, item) },
      effect,
    });
}

describe('every third payment of a batch meets something of its own', AT_ONCE, () => {
  for (const [service, settings, mishaps] of [
    ['shows tags and keeps refusals', {}, { ...MISHAPS, ...TOLD_BY_TAGS }],
    ['shows no tags and keeps every answer', { metadataInLists: 'never', storeErrors: 'all' }, MISHAPS],
  ] as const)
    test(`where the service ${service}: everybody is paid, once`, async () => {
      const stage = await open({ settings });
      try {
        const name = uniqueName('b');
        const kinds = Object.entries(mishaps);
        const rows = ROWS.map(([id, ...rest], index): BatchPayment => {
          const [kind, effects] = (index % 3 === 0 ? kinds[(index / 3) % kinds.length] : null) ?? [id, []];
          const item = kind === id ? id : `${kind}-${index}`;
          plant(stage, name, item, effects);
          return [item, ...rest];
        });
        const batch = await startBatch(stage, rows, { ...SIZE, name });
        assertPaidOnce(batch, await untilAllEnded(stage, batch));
        for (const { when, hits, effect } of stage.sandbox.faults())
          assert.equal(hits, 1, `${when?.reference} met no ${effect.kind}.`);
      } finally {
        await stage.close();
      }
    });
});

/** Its sends of withdrawals meet this, as often as the rest of the fault says. */
function plantOnAll(on: Stage, batch: string, fault: Omit<SandboxFault, 'operation' | 'when'>): string {
  return on.sandbox.addFault({ operation: 'createWithdrawal', when: { reference: `${batch}.*` }, ...fault });
}

const DOWN_MS = 4_000;

describe('the service or the worker fails for a while', AT_ONCE, () => {
  cell('one reply of twenty is lost', async () => {
    const stage = await open();
    try {
      const name = uniqueName('b');
      const fault = plantOnAll(stage, name, { probability: 0.05, effect: { kind: 'lose-reply' } });
      const batch = await startBatch(stage, paymentsOf(300), { perChunk: 100, name });
      assertPaidOnce(batch, await untilAllEnded(stage, batch));
      assert.ok(hitsOf(stage, fault) >= 5);
    } finally {
      await stage.close();
    }
  });

  for (const [what, effect] of [
    ['that there are too many requests', { kind: 'rate-limit', retryAfter: 1 }],
    ['503', { kind: 'error', status: 503 }],
  ] as const)
    test(`it answers ${what}, for some seconds in the middle`, async () => {
      const stage = await open();
      try {
        const name = uniqueName('b');
        const batch = await startBatch(stage, ROWS, { ...SIZE, name });
        await untilBooked(batch, 30);
        const fault = plantOnAll(stage, name, { effect });
        await stage.sandbox.faultHit(fault);
        await delay(DOWN_MS);
        stage.sandbox.clearFaults(fault);
        assertPaidOnce(batch, await untilAllEnded(stage, batch));
      } finally {
        await stage.close();
      }
    });

  test('it is away for some seconds in the middle', async () => {
    const stage = await open();
    try {
      const batch = await startBatch(stage, ROWS, SIZE);
      await untilBooked(batch, 30);
      await stage.closeSandbox();
      await delay(DOWN_MS);
      await stage.reopenSandbox();
      assertPaidOnce(batch, await untilAllEnded(stage, batch));
    } finally {
      await stage.close();
    }
  });

  test('it is away when the batch is to be planned: status says how many payments were submitted', async () => {
    const stage = await open();
    try {
      await stage.closeSandbox();
      const batch = await startBatch(stage, ROWS, SIZE);
      await batch.until(({ status }) => status === 'HELD');
      const { stdout } = await command(stage, ['status', runName(batch.name)]);
      assert.match(flat(stdout), / is held \(no plan yet, 180 payments submitted\) by /);
      await stage.reopenSandbox();
      await batch.wake();
      assertPaidOnce(batch, await untilAllEnded(stage, batch));
    } finally {
      await stage.close();
    }
  });
});

function hitsOf({ sandbox }: Stage, fault: string): number {
  return sandbox.faults().find(({ id }) => id === fault)?.hits ?? 0;
}

async function resetToStart(stage: Stage, handle: BatchRun['handle']): Promise<void> {
  const { workflowId, runId } = await handle.describe();
  const [first] = await resetPoints(handle);
  assert.ok(first !== undefined);
  await resetTo(stage.temporal, { workflowId, runId }, first);
}

/** The service gives money back so long after a payment was completed. */
const RETURN_AFTER_MS = 3_600_000;
/** Longer than any doubt lasts here. */
const DOUBT_MS = 120_000;
const RETURNED = ['inv-10', 'inv-70'];

describe('two payments come back after the batch has ended', AT_ONCE, () => {
  /** Of each chunk that has one of them, a payment that cannot be made at all. */
  const UNPAYABLE = ['inv-15', 'inv-75'];
  const rows = ROWS.map(([id, account, ...rest]): BatchPayment => {
    return [id, UNPAYABLE.includes(id) ? 'wac_Unver1fied22' : account, ...rest];
  });

  for (const [what, again] of [
    ['a new start', (batch: BatchRun) => batch.startAgain()],
    ['a reset of the run', (batch: BatchRun, stage: Stage) => resetToStart(stage, batch.handle)],
  ] as const)
    test(`${what} says so, and pays nobody again`, async () => {
      const stage = await open({ settings: { withdrawalReturnAfterMs: RETURN_AFTER_MS } });
      try {
        const name = uniqueName('b');
        for (const id of RETURNED)
          plant(stage, name, id, [{ kind: 'outcome', outcome: 'returned-after-completed' }]);
        const batch = await startBatch(stage, rows, { ...SIZE, name });
        assertPaidOnce(batch, await untilAllEnded(stage, batch), UNPAYABLE);
        stage.time.pass(RETURN_AFTER_MS);
        await again(batch, stage);
        const toldOf = (report: Report, id: string): boolean =>
          report.problems.some(({ code, item }) => code === 'WITHDRAWAL_FAILED' && item === id);
        await batch.until((report) => RETURNED.every((id) => toldOf(report, id)));
        // That the others were not made either is proven after a while.
        stage.time.pass(DOUBT_MS);
        await batch.wake();
        assertCameBack(batch, await untilAllEnded(stage, batch), { cameBack: RETURNED, notPaid: UNPAYABLE });
      } finally {
        await stage.close();
      }
    });
});
