/** Before a person may name a record for an item, every item of ours that counts it as its own is looked for (M1, M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { BatchPayment, PlanBatch } from '../../domain/batch.ts';
import { keptPlan } from '../../domain/plan/plan.ts';
import type { Holds } from '../../domain/run/claims.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { claimantOf } from '../../operations/decide/claims.ts';
import type { Place } from '../../operations/place.ts';
import { PAYMENT, RUN, WHOLE_PLAN } from '../support/scripts.ts';

const RECORD: Withdrawal = {
  id: 'wtd_1',
  currency: PAYMENT.currency,
  withdrawalAmount: '10',
  status: 'PENDING',
  withdrawalAccountId: PAYMENT.account,
  createdAt: '2026-11-21T09:00:00.000Z',
  tag: null,
};
const CHUNK = `sandbox/${RUN.policy}.${RUN.id}/chunk-0001`;

type Told = Pick<Holds, 'hasPlan' | 'isFirst' | 'items'> | null;

/** A Temporal that shows one chunk of the run; `told`: what the chunk tells, or null where it does not answer. */
function placeWith(told: Told | (() => Told), payments: readonly BatchPayment[] | null = null): Place {
  const input = { run: RUN, mode: 'SANDBOX', number: 1, payments };
  const started = {
    workflowType: { name: 'chunk' },
    input: { payloads: [defaultPayloadConverter.toPayload(input)] },
  };
  const events = [{ workflowExecutionStartedEventAttributes: started }];
  const batch: PlanBatch | null =
    payments === null
      ? null
      : {
          payments: 1,
          totals: [{ currency: RECORD.currency, value: '10.00' }],
          payable: [],
          heldBy: [],
          chunks: [{ payments: 1, hash: 'h', unpayable: null }],
          rules: { parallel: 8, stopAfter: null, canary: null, dedupeMs: 86_400_000 },
        };
  const open = { workflowId: CHUNK, runId: 'c1', type: 'chunk', status: { name: 'RUNNING' } };
  const client = {
    options: {
      namespace: 'default',
      loadedDataConverter: { payloadCodecs: [], payloadConverter: defaultPayloadConverter },
    },
    workflowService: { getWorkflowExecutionHistory: async () => ({ history: { events } }) },
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: {
      async *list({ query }: { readonly query: string }) {
        const startTime = new Date(RECORD.createdAt);
        yield query.includes("'plan'") ? { runId: 'plan' } : { ...open, startTime };
      },
      getHandle: (workflowId: string, runId: string) => ({
        describe: async () => ({ workflowId, runId, status: { name: 'COMPLETED' }, type: 'plan' }),
        result: async () =>
          keptPlan(batch === null ? WHOLE_PLAN : { ...WHOLE_PLAN, batch, legs: [], payments: [] }),
        query: async () => {
          const now = typeof told === 'function' ? told() : told;
          return now && { runId: 'c1', heard: null, ...now };
        },
      }),
    },
  };
  return { client: client as unknown as Client, mode: 'SANDBOX' } as Place;
}

const ASKED = { plan: WHOLE_PLAN, item: 'two' };
/** What does not tell is asked once. */
const ONCE_MS = 1_500;

const claimant = (told: Parameters<typeof placeWith>[0]) =>
  claimantOf(placeWith(told), ASKED, RECORD, ONCE_MS);

const tells = (item: string) =>
  ({ hasPlan: true, isFirst: false, items: [[item, 'PENDING', RECORD.id]] }) as const;

test('a record that another item of the same run counts as its own is that item’s, and the item’s own is not', async () => {
  assert.equal(await claimant(tells('one')), `${RUN.policy}.${RUN.id} one`);
  assert.equal(await claimant(tells('two')), null);
  assert.equal(await claimant({ hasPlan: true, isFirst: false, items: [] }), null);
});

test('while a chunk of the same run does not answer, or may hold more than it tells, whose a record is stays open', async () => {
  for (const told of [null, { hasPlan: false, isFirst: false, items: [] }])
    await assert.rejects(
      claimant(told),
      (error) => error instanceof CommandFailure && error.problems[0]?.code === 'OTHER_RUN_SILENT',
    );
  assert.equal(await claimant({ hasPlan: false, isFirst: true, items: [] }), null);
});

test('a run that has just begun anew is asked again, until it has read its plan and tells all', async () => {
  let asked = 0;
  const place = placeWith(() => {
    asked += 1;
    return asked === 1 ? { hasPlan: false, isFirst: false, items: [] } : tells('one');
  });
  assert.equal(await claimantOf(place, ASKED, RECORD), `${RUN.policy}.${RUN.id} one`);
  assert.equal(asked, 2);
});

test('a chunk that does not tell is in the way only of a record that one of its payments could have', async () => {
  const asked = (payment: BatchPayment): Promise<string | null> =>
    claimantOf(placeWith({ hasPlan: false, isFirst: false, items: [] }, [payment]), ASKED, RECORD, ONCE_MS);
  const { account, currency } = PAYMENT;
  await assert.rejects(asked(['one', account, currency, '10.00']), CommandFailure);
  assert.equal(await asked(['one', account, currency, '10.01']), null);
  assert.equal(await asked(['one', 'wac_other', currency, '10.00']), null);
});
