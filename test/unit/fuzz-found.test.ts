/** What the model-based test and reviews have found: each course of events, as short as it could be told, and what must come of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEW_LEG } from '../../domain/writes/leg-state.ts';
import { executeTradeSteps, requestQuoteSteps } from '../../domain/writes/trade.ts';
import { NEW_PAYMENT, createWithdrawalSteps } from '../../domain/writes/withdrawal.ts';
import { rateOf } from '../../domain/plan/price-bounds.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import { statusOf } from '../../domain/run/report.ts';
import { adoptPlan, newRunState } from '../../domain/run/state.ts';
import {
  IN_HAND,
  LEG,
  NO_ANSWER,
  NOW,
  PAYMENT,
  RUN,
  TRADE,
  UNREADABLE,
  WITHDRAWAL,
  context,
  done,
  failed,
  kindsOf,
  play,
  seen,
  stateOf,
} from '../support/scripts.ts';
import { TRADED_LEG } from '../support/stages.ts';
import { kept } from '../support/instructions.ts';

const AMOUNT = '17250.00';
const WANTED = { amount: AMOUNT, ahead: '0', unwanted: null } as const;

test('waits for the right credentials or the right clock grow longer and longer', () => {
  const foreign = context({
    credentials: { mode: 'SANDBOX', organisation: 'org-2', keyName: 'org/org-2/apiKey/1' },
  });
  const skewed = context({ skewMs: () => 60_000 });
  for (const ctx of [foreign, skewed]) {
    let state = NEW_PAYMENT;
    const waits = [1, 2, 3, 4].map(() => {
      const { result } = play(createWithdrawalSteps(ctx, PAYMENT, WANTED, state));
      assert.ok(result.kind === 'wait' && result.wait.reason === 'configuration');
      state = result.state;
      return result.wait.afterMs;
    });
    assert.deepEqual(waits, [5_000, 8_000, 16_000, 32_000]);
  }
  const leg = play(requestQuoteSteps(foreign, LEG, NEW_LEG)).result;
  assert.equal(stateOf(leg).tries, 1);
});

test('a leg that waits for money which no read can show is tried again every quarter of an hour', () => {
  const quote = {
    id: 'qte_1',
    sellAmount: '1000',
    buyAmount: '17250',
    usableUntilMs: NOW + 30_000,
    probed: false,
  };
  const ctx = context({ rules: { shortfall: 'hold' } });
  const script = { 'send trade': [failed('TRADE_INSUFFICIENT_BALANCE')] };
  for (const [side, afterMs] of [
    ['sell', 15_000],
    ['buy', 900_000],
  ] as const) {
    const leg = { ...LEG, amount: { side, value: side === 'sell' ? '1000' : '17250', fixed: true } };
    const { result } = play(
      executeTradeSteps(ctx, leg, { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quote }),
      script,
    );
    assert.ok(result.kind === 'wait' && result.wait.reason === 'money');
    assert.equal(result.wait.afterMs, afterMs);
  }
});

test('a person’s decision stands before the first send too: the payment may have been made by hand', () => {
  const said = { item: PAYMENT.id, by: 'ana', atMs: NOW } as const;
  const byHand = { ...WITHDRAWAL, tag: null };
  const decisions = [
    [{ kind: 'executed', recordId: WITHDRAWAL.id, ...said }, 'accepted'],
    // Not executed counts after two minutes and a quarter.
    [{ kind: 'not executed', why: 'seen', ...said }, 'wait'],
  ] as const;
  for (const [word, kind] of decisions) {
    const script = { 'read instructions': [kept(word)], 'fetch withdrawal': [done(byHand)] };
    const { result, effects } = play(createWithdrawalSteps(context(), PAYMENT, WANTED, NEW_PAYMENT), script);
    assert.equal(result.kind, kind);
    assert.ok(!kindsOf(effects).includes('send withdrawal'));
  }
});

test('an untagged record that could be the payment needs a person: no look will ever say more', () => {
  const script = {
    'send withdrawal': [failed('WITHDRAWAL_ADDRESS_NOT_VERIFIED')],
    'scan withdrawals': [seen({ ...WITHDRAWAL, tag: null })],
  };
  const { result } = play(createWithdrawalSteps(context(), PAYMENT, WANTED, NEW_PAYMENT), script);
  assert.ok(result.kind === 'wait' && result.wait.reason === 'person');
  assert.equal(result.wait.problem.code, 'RECORD_COULD_BE_IT');
});

test('a trade in doubt is in doubt as long as its quote lives, however early its token ends', () => {
  const quote = { ...IN_HAND, usableUntilMs: NOW + 59_000 };
  const script = { 'send trade': [NO_ANSWER] };
  const { result } = play(
    executeTradeSteps(context(), LEG, { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quote }),
    script,
  );
  assert.ok((stateOf(result).doubt?.lastSendMs ?? 0) >= NOW + 59_000);
});

test('nothing more is sent once a reply has told that the clocks are apart', () => {
  let skew = 0;
  const ctx = context({ skewMs: () => skew });
  const asked: string[] = [];
  const steps = createWithdrawalSteps(ctx, PAYMENT, WANTED, NEW_PAYMENT);
  let next = steps.next();
  while (next.done !== true) {
    asked.push(next.value.kind);
    const { kind } = next.value;
    if (kind === 'send withdrawal') skew = 60_000;
    next = steps.next(
      kind === 'send withdrawal'
        ? failed('WITHDRAWAL_ADDRESS_NOT_VERIFIED', { facts: { replayed: true } })
        : kind === 'read instructions'
          ? kept()
          : seen<Withdrawal>(),
    );
  }
  assert.equal(asked.filter((kind) => kind === 'send withdrawal').length, 1);
  assert.ok(next.value.kind === 'wait' && next.value.wait.problem.code === 'CLOCK_SKEW');
});

/** Doubt whose time is over by the clock of `context`, after one look that found nothing. */
const OVERDUE = { lastSendMs: NOW - 2 * 86_400_000, absentAtMs: NOW - 60_000, under: null, why: 'no answer' };

test('by a clock that is wrong no doubt is ever over', () => {
  const quote = {
    id: 'qte_1',
    sellAmount: '1000',
    buyAmount: '17250',
    usableUntilMs: NOW - 600_000,
    probed: false,
  };
  const known = { knownIn: 'run-1', knownAtMs: NOW, sent: true, doubt: OVERDUE };
  for (const [skewMs, waits] of [
    [60_000, true],
    [0, false],
  ] as const) {
    const ctx = context({ skewMs: () => skewMs });
    const steps = [
      requestQuoteSteps(ctx, LEG, { ...NEW_LEG, ...known }),
      executeTradeSteps(ctx, LEG, { ...NEW_LEG, ...known, quote }),
    ];
    for (const { result, effects } of steps.map((each) => play(each))) {
      assert.equal(result.kind === 'wait' && result.wait.problem.code === 'CLOCK_SKEW', waits);
      assert.ok(!waits || !kindsOf(effects).includes('send trade'));
    }
    const cancelled = { 'read instructions': [kept({ kind: 'cancel', atMs: NOW })] };
    const payment = { ...NEW_PAYMENT, ...known, walkedIn: 'run-1' };
    const { result } = play(createWithdrawalSteps(ctx, PAYMENT, WANTED, payment), cancelled);
    assert.equal(result.kind, waits ? 'wait' : 'not paid');
  }
});

test('a look that a wrong clock dated in the future does not hold up the end of doubt', () => {
  const doubt = { ...OVERDUE, absentAtMs: NOW + 7_200_000 };
  const state = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, sent: true, doubt };
  const { result } = play(requestQuoteSteps(context(), LEG, state));
  assert.equal(stateOf(result).doubt?.absentAtMs, NOW);
});

test('a quote that another Temporal run was told of is dead, however long it lives: a later one may have been traded', () => {
  const quote = { ...IN_HAND, usableUntilMs: NOW + 59_000 };
  const reset = context({ attempt: { runId: 'run-2' } });
  const first = play(executeTradeSteps(reset, LEG, { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quote }));
  const state = first.result.kind === 'wait' ? first.result.state : NEW_LEG;
  const second = play(executeTradeSteps(reset, LEG, state));
  for (const { result, effects } of [first, second]) {
    assert.ok(result.kind === 'wait' && result.wait.reason === 'doubt');
    assert.ok(!kindsOf(effects).includes('send trade'));
  }
});

test('a trade that a person names is found in the list where its own answer is not whole', () => {
  const word = { kind: 'executed', item: LEG.id, by: 'ana', recordId: TRADE.id, atMs: NOW } as const;
  const byHand = { ...TRADE, clientReferenceId: null, quoteId: 'qte_x' };
  const ctx = context({ attempt: { runId: 'run-2' } });
  const script = { 'read instructions': [kept(word)], 'fetch trade': [NO_ANSWER] };
  const found = play(requestQuoteSteps(ctx, LEG, NEW_LEG), {
    ...script,
    'scan trades': [seen<Trade>(), seen<Trade>(byHand)],
  });
  assert.equal(found.result.kind, 'traded');
  // What could not be read is no proof that there is none.
  const unread = play(requestQuoteSteps(ctx, LEG, NEW_LEG), {
    ...script,
    'scan trades': [seen<Trade>(), UNREADABLE],
  });
  assert.ok(unread.result.kind === 'wait' && unread.result.wait.problem.code === 'LOOKUP_INCOMPLETE');
  const none = play(requestQuoteSteps(ctx, LEG, NEW_LEG), { ...script, 'scan trades': [seen<Trade>()] });
  assert.ok(none.result.kind === 'wait' && none.result.wait.problem.code === 'DECISION_UNPROVEN');
});

test('a trade that sold nothing has no rate, and its report can be made', () => {
  assert.equal(rateOf('0', '17250'), null);
});

test('a run whose trade never settles is not completed', () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const plan = {
    ...context().plan,
    positions: [],
    batch: null,
    policy: { name: 'p', text: '', hash: 'hash' },
    legs: [LEG],
    payments: [],
  };
  adoptPlan(state, plan);
  const [leg] = state.legs;
  assert.ok(leg !== undefined);
  leg.stage = { ...TRADED_LEG, settled: false };
  state.ended = true;
  assert.equal(statusOf(state), 'FAILED');
});

test('what a person has said of a payment judges no record that was made later, or in the ten minutes before', () => {
  const said = (atMs: number) => ({ kind: 'not executed', item: PAYMENT.id, atMs }) as const;
  const untagged = { ...WITHDRAWAL, tag: null };
  const bookedAtMs = Date.parse(untagged.createdAt);
  // A reset has forgotten the send that came after the word.
  const ctx = context({ attempt: { runId: 'run-2' }, nowMs: () => bookedAtMs + 60_000 });
  const stepOf = (atMs: number, ...records: readonly Withdrawal[]) => {
    const decision = kept(said(atMs));
    const heard = { id: decision.instructions[0]?.id ?? '', sinceMs: NOW - 600_000 };
    const state = { ...NEW_PAYMENT, knownIn: 'run-2', heard };
    return play(createWithdrawalSteps(ctx, PAYMENT, WANTED, state), {
      'read instructions': [decision],
      'scan withdrawals': [seen(...records)],
    }).result;
  };
  // The service's clock may have been behind when it made the record.
  const slackMs = 10 * 60_000;
  for (const saidAtMs of [bookedAtMs - 1, bookedAtMs + 1, bookedAtMs + slackMs - 1]) {
    const step = stepOf(saidAtMs, untagged);
    assert.ok(step.kind === 'wait' && step.wait.problem.code === 'RECORD_COULD_BE_IT');
    assert.match(step.wait.problem.message, /does not count/);
  }
  // Nor is an older one in front of it any excuse.
  const older = { ...untagged, id: 'wtd_0', createdAt: '2026-11-21T14:00:00.000Z' };
  assert.equal(stepOf(bookedAtMs - 1, older, untagged).kind, 'wait');
  assert.equal(stepOf(bookedAtMs + slackMs, older, untagged).kind, 'not paid');
});
