/** What `plan` sees of other batches of the policy: by the tags of the service's list, within `dedupe`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page, Withdrawal } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { paidByOthers } from '../../operations/batches/paid-by-others.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const DAY_MS = 86_400_000;

const FACTS = { status: 200, traceId: null, replayed: null, retryAfterMs: null, serviceTimeMs: null };

function record(tag: string | null, more: Partial<Withdrawal> = {}): Withdrawal {
  return {
    id: `wtd_${tag}_${more.status}`,
    status: 'COMPLETED',
    currency: 'EUR',
    withdrawalAmount: '10.00',
    withdrawalAccountId: 'wac_7Hk2mQ9vT4xR',
    createdAt: new Date(NOW_MS - DAY_MS).toISOString(),
    tag,
    ...more,
  };
}

/** For the payments inv-1 and inv-2 of a batch, where the list is this. */
async function heldIn(reply: Reply<Page<Withdrawal>>): Promise<readonly (readonly [string, string])[]> {
  const held = await paidByOthers(
    { listWithdrawals: () => Promise.resolve(reply) },
    {
      run: { policy: 'p', id: '2026-11-21' },
      names: new Set(['inv-1', 'inv-2']),
      sinceMs: NOW_MS - 30 * DAY_MS,
      facts: { withdrawalStatuses: { paid: ['COMPLETED'], failed: ['FAILED'], pending: [] } },
      address: 'http://127.0.0.1:1',
    },
  );
  return [...held];
}

const listOf = (items: readonly Withdrawal[]): Reply<Page<Withdrawal>> => ({
  kind: 'DONE',
  value: { items, nextCursor: null, prevCursor: null },
  facts: FACTS,
});

test('a payment is held by the other run of the policy whose tag a record carries, whatever its capitals', async () => {
  const cases: readonly (readonly [why: string, records: readonly Withdrawal[], held: unknown])[] = [
    ['another run', [record('p.2026-11-20.INV-1')], [['inv-1', 'p.2026-11-20']]],
    ['paid again there', [record('p.2026-11-20.inv-2~2')], [['inv-2', 'p.2026-11-20']]],
    ['this run itself', [record('p.2026-11-21.inv-1')], []],
    ['another policy', [record('q.2026-11-20.inv-1')], []],
    ['another payment', [record('p.2026-11-20.inv-3')], []],
    ['no tag', [record(null)], []],
    ['it has failed', [record('p.2026-11-20.inv-1', { status: 'FAILED' })], []],
    ['it is pending', [record('p.2026-11-20.inv-1', { status: 'PENDING' })], [['inv-1', 'p.2026-11-20']]],
    [
      'longer ago',
      [record('p.2026-10-20.inv-1', { createdAt: new Date(NOW_MS - 31 * DAY_MS).toISOString() })],
      [],
    ],
  ];
  for (const [why, records, held] of cases) assert.deepEqual(await heldIn(listOf(records)), held, why);
});

test('a list that cannot be read says nothing of others, and there is no plan', async () => {
  await assert.rejects(heldIn({ kind: 'NOT_SENT', cause: 'ECONNREFUSED' } as unknown as Reply<never>), {
    name: 'CommandFailure',
  });
});
