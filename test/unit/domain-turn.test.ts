/** Whose turn it is to trade, and what other open runs have reserved. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NOTHING_THERE } from '../support/plans.ts';
import { holdingOf } from '../../domain/plan/holding.ts';
import { isReservation, reservedBy, reservedByAll } from '../../domain/plan/reserved.ts';
import {
  PRESENT_MS,
  TURN_MS,
  answerTo,
  forgetRuns,
  giveTurnBack,
  isUnused,
  listsLag,
  isNear,
  newTurnState,
  noteGone,
  reopenRun,
  takeTurn,
  type TurnState,
} from '../../domain/turn.ts';
import { makeProblem } from '../../domain/problems.ts';
import { newLeg, newPayment } from '../../domain/run/items.ts';
import { reservationIn } from '../../domain/run/reserves.ts';
import { adoptPlan, newRunState, type RunState } from '../../domain/run/state.ts';
import { NEW_LEG, type LegState } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT, type PaymentState } from '../../domain/writes/withdrawal.ts';
import { IN_HAND, LEG, PAYMENT, RUN, context } from '../support/scripts.ts';

const NOW = 1_000_000;
const POLICY = { name: 'p', text: 'policy: 1', hash: 'hash' };

test('the turn goes to whoever asked first, and to the next one when it is given back', () => {
  const state = newTurnState();
  assert.ok(takeTurn(state, 'a', true, NOW));
  assert.ok(!takeTurn(state, 'b', true, NOW + 1));
  assert.ok(!takeTurn(state, 'c', true, NOW + 2));
  assert.deepEqual(answerTo(state, 'c', NOW), { turn: 'others', run: 'a', before: 1 });
  giveTurnBack(state, 'a', null, NOW);
  assert.ok(!takeTurn(state, 'c', true, NOW + 3));
  assert.ok(takeTurn(state, 'b', true, NOW + 4));
  assert.deepEqual(answerTo(state, 'b', NOW), {
    turn: 'ours',
    hasLapsed: false,
    others: ['a'],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
});

test('those far back in the line are answered at once', () => {
  const state = newTurnState();
  for (const run of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) takeTurn(state, run, false, NOW);
  assert.deepEqual(
    ['b', 'f', 'g'].map((run) => isNear(state, run)),
    [true, true, false],
  );
  assert.deepEqual(answerTo(state, 'g', NOW), { turn: 'others', run: 'a', before: 5 });
});

test('only the run that has the turn can give it back', () => {
  const state = newTurnState();
  takeTurn(state, 'a', true, NOW);
  giveTurnBack(state, 'b', null, NOW);
  assert.ok(!takeTurn(state, 'b', true, NOW + 1));
});

test('a turn that is not used lapses; each question of its run begins its time anew', () => {
  const state = newTurnState();
  takeTurn(state, 'a', true, NOW);
  assert.ok(takeTurn(state, 'a', false, NOW + TURN_MS - 1));
  assert.ok(!takeTurn(state, 'b', true, NOW + TURN_MS));
  assert.ok(takeTurn(state, 'b', true, NOW + 2 * TURN_MS));
  giveTurnBack(state, 'b', null, NOW);
  assert.ok(takeTurn(state, 'a', false, NOW + 2 * TURN_MS + 1));
  assert.ok(answerTo(state, 'a', NOW).turn === 'ours');
  assert.deepEqual(answerTo(state, 'a', NOW), {
    turn: 'ours',
    hasLapsed: true,
    others: ['b'],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
  assert.ok(takeTurn(state, 'a', true, NOW + 2 * TURN_MS + 2));
  assert.deepEqual(answerTo(state, 'a', NOW), {
    turn: 'ours',
    hasLapsed: false,
    others: ['b'],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
});

test('a turn that lapsed has lapsed for its own run too, though nobody else took it', () => {
  const state = newTurnState();
  takeTurn(state, 'a', true, NOW);
  assert.ok(takeTurn(state, 'a', false, NOW + TURN_MS));
  assert.deepEqual(answerTo(state, 'a', NOW), {
    turn: 'ours',
    hasLapsed: true,
    others: [],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
});

test('a turn that was given back at a wait has not lapsed', () => {
  const state = newTurnState();
  takeTurn(state, 'a', true, NOW);
  giveTurnBack(state, 'a', null, NOW);
  takeTurn(state, 'a', false, NOW + 10 * TURN_MS);
  assert.deepEqual(answerTo(state, 'a', NOW), {
    turn: 'ours',
    hasLapsed: false,
    others: [],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
});

test('whoever stopped asking is passed over, and keeps its place', () => {
  const state = newTurnState();
  takeTurn(state, 'a', true, NOW);
  takeTurn(state, 'b', true, NOW);
  takeTurn(state, 'c', true, NOW + PRESENT_MS);
  giveTurnBack(state, 'a', null, NOW);
  assert.ok(takeTurn(state, 'c', true, NOW + PRESENT_MS + 1));
  takeTurn(state, 'd', true, NOW + PRESENT_MS + 2);
  takeTurn(state, 'b', true, NOW + PRESENT_MS + 3);
  giveTurnBack(state, 'c', null, NOW);
  assert.ok(!takeTurn(state, 'd', true, NOW + PRESENT_MS + 4));
  assert.ok(takeTurn(state, 'b', true, NOW + PRESENT_MS + 5));
});

test('a run that the turn does not know has a plan that may be older than its turn', () => {
  const state = newTurnState();
  takeTurn(state, 'a', false, NOW);
  assert.deepEqual(answerTo(state, 'a', NOW), {
    turn: 'ours',
    hasLapsed: true,
    others: [],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
  reopenRun(state, 'b');
  assert.deepEqual(answerTo(state, 'a', NOW), {
    turn: 'ours',
    hasLapsed: true,
    others: ['b'],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
  forgetRuns(state, ['b', 'never']);
  assert.deepEqual(answerTo(state, 'a', NOW), {
    turn: 'ours',
    hasLapsed: true,
    others: [],
    gone: [],
    tradedAgoMs: null,
    tradedAtMs: null,
  });
});

test('since when a run is gone is kept from the first who saw it, until the run takes money again or is forgotten', () => {
  const gone = (state: TurnState): unknown => {
    const answer = answerTo(state, 'a', NOW);
    return answer.turn === 'ours' && answer.gone;
  };
  const state = newTurnState();
  for (const run of ['b', 'a']) {
    takeTurn(state, run, true, NOW);
    if (run === 'b') giveTurnBack(state, run, null, NOW);
  }
  assert.deepEqual(gone(state), []);
  for (const sinceMs of [NOW + 5, NOW + 9]) noteGone(state, { run: 'b', runId: 'run-1', sinceMs });
  noteGone(state, { run: 'never', runId: null, sinceMs: NOW });
  assert.deepEqual(gone(state), [{ run: 'b', runId: 'run-1', sinceMs: NOW + 5 }]);
  // Another Temporal run of it.
  noteGone(state, { run: 'b', runId: 'run-2', sinceMs: NOW + 7 });
  assert.deepEqual(gone(state), [{ run: 'b', runId: 'run-2', sinceMs: NOW + 7 }]);
  reopenRun(state, 'b');
  assert.deepEqual(gone(state), []);
  noteGone(state, { run: 'b', runId: null, sinceMs: NOW });
  forgetRuns(state, ['b']);
  assert.deepEqual(gone(state), []);
});

test('the last trade of another run is told with its age, a run’s own is not, and a lapsed turn may have traded', () => {
  const state = newTurnState();
  takeTurn(state, 'a', true, NOW);
  giveTurnBack(state, 'a', NOW + 10, NOW + 10);
  takeTurn(state, 'b', true, NOW + 20);
  assert.equal(ago(state, 'b', NOW + 20), 10);
  giveTurnBack(state, 'b', NOW + 30, NOW + 30);
  takeTurn(state, 'b', true, NOW + 40);
  assert.equal(ago(state, 'b', NOW + 40), 30);
  takeTurn(state, 'c', true, NOW + 40 + TURN_MS);
  assert.equal(ago(state, 'c', NOW + 40 + TURN_MS), 0);
});

function ago(state: TurnState, run: string, nowMs: number): number | null {
  const answer = answerTo(state, run, nowMs);
  assert.ok(answer.turn === 'ours');
  return answer.tradedAgoMs;
}

const MXN_PAYMENT = { currency: 'MXN', amount: '17000', dependsOn: LEG.id };
const GUARD = {
  bound: { buyFactor: '1', sellFactor: '16.9' },
  text: '',
  staleAtMs: null,
  referenceRate: null,
};

test('an open run reserves what it sells, and of what it pays what its own purchases do not bring', () => {
  assert.deepEqual(reservedBy([{ ...LEG, guard: GUARD }], [MXN_PAYMENT]), [
    { currency: 'USD', takes: '1000', changes: '-1000', isTold: true },
    { currency: 'MXN', takes: '100', changes: '-100', isTold: true },
  ]);
  // Traded already: only the payment is left.
  assert.deepEqual(reservedBy([], [MXN_PAYMENT]), [
    { currency: 'MXN', takes: '17000', changes: '-17000', isTold: true },
  ]);
});

test('a leg that is asked for by what it buys reserves the most that its guard lets it sell', () => {
  const leg = { ...LEG, amount: { side: 'buy', value: '16900', fixed: true }, guard: GUARD } as const;
  assert.deepEqual(reservedBy([leg], []), [
    { currency: 'USD', takes: '1000', changes: '-1000', isTold: true },
    { currency: 'MXN', takes: '0', changes: '16900', isTold: true },
  ]);
  const unbounded = reservedBy([{ ...leg, guard: null }], []);
  assert.deepEqual(
    unbounded.map(({ currency, isTold }) => [currency, isTold]),
    [
      ['USD', false],
      ['MXN', true],
    ],
  );
});

/** One leg under a guard, and one payment. */
const PLAN = {
  ...context().plan,
  legs: [{ ...LEG, guard: GUARD }],
  payments: [PAYMENT],
  positions: [],
  batch: null,
  policy: POLICY,
};

test('what an open run tells is read in its own form alone: in another one it counts as silent', () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', POLICY);
  adoptPlan(state, PLAN);
  const told = reservationIn(state, 'run-1') ?? assert.fail('It has a plan.');
  assert.ok(told.legs.length > 0 && told.reserved.length > 0);
  assert.ok(isReservation(structuredClone(told)));
  const [reserved] = told.reserved;
  const [leg] = told.legs;
  for (const other of [
    told.reserved,
    { reserved: told.reserved },
    { ...told, reserved: [{ ...reserved, takes: 'all' }] },
    { ...told, legs: [{ ...leg, sides: [{ currency: 'USD', most: 1 }] }] },
    'everything',
  ])
    assert.ok(!isReservation(other), JSON.stringify(other));
});

test('what a leg may have brought already is not counted on: it may be among the balances', () => {
  const mxnOf = (untold: ReadonlySet<string>) =>
    reservedBy([{ ...LEG, guard: GUARD }], [MXN_PAYMENT], untold).find(({ currency }) => currency === 'MXN');
  assert.deepEqual(mxnOf(new Set(['USD']))?.takes, '100');
  assert.deepEqual(mxnOf(new Set(['USD', 'MXN'])), {
    currency: 'MXN',
    takes: '17000',
    changes: '-100',
    isTold: false,
  });
});

test('a payment of all that a leg brings takes what the leg buys, and no more', () => {
  const all = { ...MXN_PAYMENT, amount: null };
  const [, mxn] = reservedBy([{ ...LEG, guard: GUARD }], [all]);
  assert.deepEqual(mxn, { currency: 'MXN', takes: '0', changes: '0', isTold: true });
});

test('nobody plans with what others have reserved, nor with what cannot be told', () => {
  const observation = {
    ...NOTHING_THERE,
    balances: { balances: [{ currency: 'USD', withdrawable: '1500', total: '1500' }] },
    onTheWay: [{ currency: 'USD', comes: '50', goes: '0', isTold: true }],
    reserved: reservedByAll([reservedBy([LEG], []), reservedBy([LEG], [])]),
  };
  assert.deepEqual(holdingOf(observation, 'USD'), { withdrawable: '0', projected: '-450' });
  assert.deepEqual(holdingOf(observation, 'EUR'), { withdrawable: '0', projected: '0' });
  // Where a sale leaves the balance at settlement only, what it will take is not there to be sold again.
  const sold = {
    ...observation,
    reserved: [],
    onTheWay: [{ currency: 'USD', comes: '0', goes: '600', isTold: true }],
  };
  assert.deepEqual(holdingOf(sold, 'USD'), { withdrawable: '900', projected: '900' });
  const [usd] = observation.reserved;
  assert.ok(usd !== undefined, 'dollars are reserved');
  const silent = { ...observation, reserved: [{ ...usd, isTold: false }] };
  assert.equal(holdingOf(silent, 'USD').projected, null);
});

test('what may have been taken already cannot be told: others would count it twice, and buy or sell it back', () => {
  const untoldIn = (change: (state: RunState) => void, runId = 'run-1') => {
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', POLICY);
    adoptPlan(state, PLAN);
    change(state);
    return (reservationIn(state, runId)?.reserved ?? [])
      .flatMap(({ currency, isTold }) => (isTold ? [] : currency))
      .toSorted();
  };
  const doubt = { lastSendMs: NOW, absentAtMs: null, under: null, why: 'no answer' };
  const leg =
    (more: Partial<LegState>, isAtWork = false) =>
    (state: RunState) => {
      for (const record of state.legs)
        Object.assign(record, { isAtWork, stage: { ...newLeg(), state: { ...NEW_LEG, ...more } } });
    };
  const payment =
    (more: Partial<PaymentState>, isAtWork = false) =>
    (state: RunState) => {
      for (const record of state.payments)
        Object.assign(record, { isAtWork, stage: { ...newPayment(), state: { ...NEW_PAYMENT, ...more } } });
    };
  const both = [LEG.buy, LEG.sell].toSorted();
  assert.deepEqual(
    untoldIn(() => {}),
    [],
  );
  assert.deepEqual(untoldIn(leg({ knownIn: 'run-1', doubt })), both);
  assert.deepEqual(untoldIn(leg({ knownIn: 'run-1', quote: IN_HAND }, true)), both);
  assert.deepEqual(untoldIn(leg({ knownIn: 'run-1' }, true)), []);
  assert.deepEqual(untoldIn(payment({ knownIn: 'run-1', doubt })), [PAYMENT.currency]);
  assert.deepEqual(untoldIn(payment({}, true)), [PAYMENT.currency]);
  // It says since when, as far as anything waits.
  const sinceMs = (state: RunState) =>
    reservationIn(state, 'run-1')?.reserved.map((one) => one.untoldSinceMs);
  const waits = newRunState(RUN, 'sandbox/p.2026-11-21', POLICY);
  adoptPlan(waits, PLAN);
  leg({ knownIn: 'run-1', doubt })(waits);
  assert.deepEqual(sinceMs(waits), [undefined, undefined]);
  const problem = makeProblem('IN_DOUBT', LEG.id);
  for (const record of waits.legs)
    record.waiting = { reason: 'doubt', problem, wakeAtMs: NOW + 10_000, sinceMs: NOW };
  assert.deepEqual(sinceMs(waits), [NOW, NOW]);
  // What a reset run has not looked up yet, and what a call has forgotten.
  assert.deepEqual(
    untoldIn(() => {}, 'run-2'),
    both,
  );
  assert.deepEqual(untoldIn(leg({ knownIn: null, sent: true })), both);
  assert.deepEqual(
    untoldIn((state) => [leg, payment].forEach((one) => one({ knownIn: 'run-2' })(state)), 'run-2'),
    [],
  );
});

test('a payment of a leg that is known not to be traded cannot have been sent: two reset runs, of which each sells what the other pays, do not wait for each other', () => {
  const payments = [{ ...PAYMENT, dependsOn: LEG.id }];
  const plan = { ...PLAN, payments };
  const untoldIn = (leg: Partial<LegState>, payment: Partial<PaymentState>) => {
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', POLICY);
    adoptPlan(state, plan);
    for (const record of state.legs) record.stage = { ...newLeg(), state: { ...NEW_LEG, ...leg } };
    for (const record of state.payments)
      record.stage = { ...newPayment(), state: { ...NEW_PAYMENT, ...payment } };
    return (reservationIn(state, 'run-2')?.reserved ?? []).flatMap(({ currency, isTold }) =>
      isTold ? [] : currency,
    );
  };
  const doubt = { lastSendMs: NOW, absentAtMs: null, under: null, why: 'no answer' };
  assert.deepEqual(untoldIn({ knownIn: 'run-2' }, {}), []);
  assert.deepEqual(untoldIn({ knownIn: 'run-2', doubt }, {}).toSorted(), [LEG.buy, LEG.sell].toSorted());
  assert.deepEqual(untoldIn({ knownIn: 'run-2' }, { doubt }), [PAYMENT.currency]);
  assert.deepEqual(untoldIn({ knownIn: 'run-2' }, { sent: true }), [PAYMENT.currency]);
});

test('the turn is unused once no run that has had it may still take money', () => {
  const state = newTurnState();
  assert.ok(isUnused(state));
  takeTurn(state, 'a', true, NOW);
  giveTurnBack(state, 'a', null, NOW);
  assert.ok(!isUnused(state));
  forgetRuns(state, ['a']);
  assert.ok(isUnused(state));
});

test('the place of a run that never asks again is given up after an hour', () => {
  const state = newTurnState();
  takeTurn(state, 'a', true, NOW);
  takeTurn(state, 'gone', true, NOW);
  const told = (atMs: number) => {
    takeTurn(state, 'a', false, atMs);
    takeTurn(state, 'b', true, atMs);
    return answerTo(state, 'b', atMs);
  };
  assert.deepEqual(told(NOW + 3_600_000), { turn: 'others', run: 'a', before: 1 });
  assert.deepEqual(told(NOW + 3_600_001), { turn: 'others', run: 'a', before: 0 });
});

test('who waits for lists is asked again before its history could be taken for a restored one', () => {
  assert.deepEqual(
    [60_000, 10_001, 9_000].map((leftMs) => listsLag(leftMs, null).afterMs),
    [10_000, 10_000, 9_000],
  );
});
