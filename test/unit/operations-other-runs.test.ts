/** Other runs of ours are asked which records are theirs: those that cannot answer must not hold up a write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Withdrawal } from '../../domain/service/records.ts';
import { recordsOfOthers } from '../../operations/other-runs.ts';

const RUN = { policy: 'p', id: '2026-11-21' };
const RECORD: Withdrawal = {
  id: 'wtd_1',
  currency: 'MXN',
  withdrawalAmount: '17250',
  status: 'PENDING',
  withdrawalAccountId: 'wac_1',
  createdAt: '2026-11-21T09:00:00.000Z',
  tag: null,
};

/** A Temporal that shows `count` other open runs; `answer` is what a question to the one with this number comes to. */
function temporalWith(count: number, answer: (index: number) => Promise<unknown>): Client {
  const infos = Array.from({ length: count }, (_, index) => ({
    workflowId: `sandbox/q${index}.2026-11-21`,
    runId: `open-${count}-${index}`,
    startTime: new Date('2026-11-21T08:00:00Z'),
  }));
  const client = {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: {
      async *list() {
        yield* infos;
      },
      getHandle: (_id: string, runId: string) => ({
        query: async () => ({
          report: await answer(infos.findIndex((info) => info.runId === runId)),
          next: null,
        }),
      }),
    },
  };
  return client as unknown as Client;
}

const ask = (client: Client) => recordsOfOthers({ client, mode: 'SANDBOX', run: RUN }, [RECORD]);

/** Begun before all tests, so that they are waited for side by side with others. */
const slow = askSlowRuns();

async function askSlowRuns(): Promise<{ readonly theirs: readonly string[]; readonly asked: number }> {
  let asked = 0;
  const client = temporalWith(200, async () => {
    asked += 1;
    await delay(2_600);
    throw new Error('nobody answers');
  });
  return { theirs: await ask(client), asked };
}

test('a run among many that have no worker still accounts for its record', async () => {
  const client = temporalWith(15, async (index) => {
    if (index !== 12) throw new Error('nobody answers');
    return { payments: [{ withdrawalId: RECORD.id }] };
  });
  assert.deepEqual(await ask(client), [RECORD.id]);
});

test('runs that take their time are not all waited for', async () => {
  const { theirs, asked } = await slow;
  assert.deepEqual(theirs, []);
  assert.ok(asked < 100, `${asked} were asked, one batch after the other.`);
});
