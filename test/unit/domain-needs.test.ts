/** What of a run needs a person, and how much of it an acknowledgement covers. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Need } from '../../domain/people/instructions.ts';
import { isCovered, needsIn } from '../../domain/run/needs.ts';
import type { Progress } from '../../domain/run/progress.ts';
import type { Waiting } from '../../domain/waits.ts';
import { recorded } from '../support/instructions.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

const waiting = (code: 'SHORTFALL' | 'IN_DOUBT' | 'AWAITING_SETTLEMENT', item: string): Waiting => ({
  reason: REASONS[code],
  problem: { code, item, message: 'x', fix: 'y' },
  wakeAtMs: NOW,
  sinceMs: NOW - 3_600_000,
});
const REASONS = {
  SHORTFALL: 'money',
  IN_DOUBT: 'person',
  AWAITING_SETTLEMENT: 'settlement',
} as const;

const progressOf = (...waits: readonly (Waiting | null)[]): Progress => ({
  status: 'HELD',
  items: waits.map((wait) => ({
    id: wait?.problem.item ?? 'fine',
    kind: 'payment',
    step: 'to be sent',
    waiting: wait,
  })),
  batch: null,
});

const batchOf = (counts: { readonly money: number; readonly person: number }): Progress => {
  const row = { currency: 'GBP', value: '1', there: null } as const;
  const held = [
    { ...row, code: 'SHORTFALL', reason: 'money', payments: counts.money },
    { ...row, code: 'RECORD_DIFFERS', reason: 'person', payments: counts.person },
    { ...row, code: 'AWAITING_SETTLEMENT', reason: 'settlement', payments: 7 },
    { ...row, code: 'IN_DOUBT', reason: 'doubt', payments: 2 },
  ] as const;
  const standing = {
    counts: {
      planned: 9,
      accepted: 0,
      paid: 0,
      notPaid: 0,
      needsHuman: counts.person,
      open: 9,
      sent: 0,
      waiting: 9,
    },
    totals: [],
    unpaid: [],
    held: held.filter(({ payments }) => payments > 0),
    unseen: 0,
    waiting: waiting('SHORTFALL', 'inv-1'),
  };
  return {
    status: 'HELD',
    items: [{ id: 'payments', kind: 'batch', step: '', waiting: standing.waiting }],
    batch: { ...standing, open: [], others: standing, leftOut: [] },
  };
};

const needsOf = (progress: Progress): readonly Need[] => needsIn(progress, NOW).needs;

const covers = (seen: Progress, now: Progress, standing = 'run-1 HELD'): boolean =>
  isCovered(
    [recorded({ kind: 'acknowledge', standing: 'run-1 HELD', needs: needsOf(seen) })],
    standing,
    needsOf(now),
  );

const ONE = waiting('IN_DOUBT', 'one');
const TWO = waiting('IN_DOUBT', 'two');

test('every item that needs a person is named, and what waits in good time is not', () => {
  const progress = progressOf(waiting('AWAITING_SETTLEMENT', 'leg'), null, waiting('SHORTFALL', 'one'), TWO);
  const { needs, first } = needsIn(progress, NOW);
  assert.deepEqual(needs, [
    ['SHORTFALL', 'one', 1],
    ['IN_DOUBT', 'two', 1],
  ]);
  assert.equal(first?.problem.item, 'two');
});

test('an acknowledgement does not cover a second payment that needs a person, nor another reason of the first one', () => {
  assert.ok(covers(progressOf(ONE), progressOf(ONE)));
  assert.ok(!covers(progressOf(ONE), progressOf(ONE, TWO)));
  assert.ok(!covers(progressOf(ONE), progressOf(waiting('SHORTFALL', 'one'))));
});

test('an acknowledgement goes on to cover what is left when a part of it is done', () => {
  assert.ok(covers(progressOf(ONE, TWO), progressOf(TWO)));
});

test('an acknowledgement is about one state of one Temporal run', () => {
  assert.ok(!covers(progressOf(ONE), progressOf(ONE), 'run-2 HELD'));
  assert.ok(!isCovered([], 'run-1 HELD', []));
});

test('of a batch, an acknowledgement covers as many payments as it saw', () => {
  const three = batchOf({ money: 3, person: 1 });
  assert.deepEqual(needsOf(three), [
    ['SHORTFALL', null, 3],
    ['RECORD_DIFFERS', null, 1],
  ]);
  assert.ok(covers(three, three));
  assert.ok(covers(three, batchOf({ money: 2, person: 0 })));
  assert.ok(!covers(three, batchOf({ money: 4, person: 1 })));
  assert.ok(!covers(three, batchOf({ money: 3, person: 2 })));
});

test('each reason for which a run needs a person is told once, with the moment since which the oldest of it is there', () => {
  const older = { ...waiting('SHORTFALL', 'two'), sinceMs: NOW - 7_200_000 };
  const unknown: Waiting = { ...ONE, reason: 'configuration' };
  const { sinceMs: _sinceMs, ...since } = unknown;
  const progress = progressOf(
    waiting('SHORTFALL', 'one'),
    older,
    waiting('AWAITING_SETTLEMENT', 'leg'),
    since,
  );
  assert.deepEqual(needsIn(progress, NOW).reasons, [
    { reason: 'money', sinceMs: NOW - 7_200_000 },
    { reason: 'configuration', sinceMs: null },
  ]);
  assert.deepEqual(needsIn(batchOf({ money: 3, person: 1 }), NOW).reasons, [
    { reason: 'money', sinceMs: NOW - 3_600_000 },
    { reason: 'person', sinceMs: null },
  ]);
});
