/** How a worker keeps its gauges up to date: what it reads how often, and what it shows when something cannot be read. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { drillScope, type Halt } from '../../domain/halt.ts';
import type { Figures } from '../../operations/watch/figures.ts';
import type { FailedPayments } from '../../operations/watch/came-back.ts';
import { keepLookingRound } from '../../worker/look-round.ts';
import type { Row } from '../../worker/metrics.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');
const FIGURES: Figures = {
  runs: [{ policy: 'p', state: 'HELD', runs: 2 }],
  attention: [{ reason: 'money', runs: 2, sinceMs: NOW - 90_000 }],
  cameBack: 1,
  missed: 3,
  references: [{ policy: 'p', part: 0.5 }],
};
const HALT: Halt = { scope: { policy: null, currency: null }, by: 'ana', why: 'x', atMs: NOW };

/** Looks until `isEnough`, with a pace of a millisecond; `takes` is how long each look takes by the clock. */
async function look(
  isEnough: (looks: number) => boolean,
  more: {
    readonly halts?: readonly Halt[];
    readonly cameBackMs?: number;
    readonly readFigures?: (failed: FailedPayments | null) => Promise<Figures>;
  } = {},
) {
  const shown = new Map<string, readonly Row[]>();
  const counts = { figures: 0, failed: 0 };
  const ending = new AbortController();
  const metrics = { show: (name: string, rows: readonly Row[]) => void shown.set(name, rows) };
  const looking = keepLookingRound(
    {
      metrics,
      clock: { wallMs: () => NOW, monotonicMs: () => 0 },
      pace: { ownMs: 1, runsMs: 1, cameBackMs: more.cameBackMs ?? 0 },
      halts: () => more.halts ?? [],
      onMachine: () => null,
      isUnreadable: () => false,
      ceilings: async () => [{ kind: 'paid', policy: null, per: 'day', currency: 'EUR', part: 0.25 }],
      readFailed: async () => {
        counts.failed += 1;
        throw new Error('the service is away');
      },
      readFigures: async (failed) => {
        counts.figures += 1;
        if (isEnough(counts.figures)) ending.abort();
        return (more.readFigures ?? (async () => FIGURES))(failed);
      },
    },
    ending.signal,
  );
  await looking;
  await nextTurn();
  return { shown, counts };
}

test('what the worker has read stands in its gauges, and what came back is asked for much less often', async () => {
  const { shown, counts } = await look((looks) => looks === 3, { cameBackMs: 1 });
  assert.deepEqual(counts, { figures: 3, failed: 1 });
  assert.deepEqual(shown.get('cambist_runs'), [{ labels: { policy: 'p', state: 'HELD' }, value: 2 }]);
  assert.deepEqual(shown.get('cambist_attention_oldest_seconds'), [
    { labels: { reason: 'money' }, value: 90 },
  ]);
  assert.deepEqual(shown.get('cambist_missed_starts'), [{ labels: {}, value: 3 }]);
  assert.deepEqual(shown.get('cambist_looked_timestamp_seconds'), [{ labels: {}, value: NOW / 1_000 }]);
  assert.deepEqual(shown.get('cambist_ceiling_used_ratio'), [
    { labels: { kind: 'paid', policy: 'all', per: 'day', currency: 'EUR' }, value: 0.25 },
  ]);
});

test('where Temporal is away nothing is shown as read, and the worker looks again', async () => {
  const { shown, counts } = await look((looks) => looks === 3, {
    readFigures: async () => {
      throw new Error('Temporal is away');
    },
  });
  assert.equal(counts.figures, 3);
  assert.equal(shown.has('cambist_looked_timestamp_seconds'), false);
  assert.ok(shown.has('cambist_halts'));
});

test('halts are counted by what they are of, and drills are none', async () => {
  const halts = [
    HALT,
    { ...HALT, scope: drillScope('d') },
    { ...HALT, scope: { policy: 'p', currency: 'EUR' } },
  ];
  const { shown } = await look(() => true, { halts });
  const counts = (shown.get('cambist_halts') ?? []).map(({ labels, value }) => [labels['of'], value]);
  assert.deepEqual(Object.fromEntries(counts), {
    everything: 1,
    policy: 1,
    currency: 0,
    machine: 0,
    unreadable: 0,
  });
});
