/**
 * The steps before every write where time, people, other API keys and generations meet (M1, M2, M3): what readers found,
 * each course of events as short as it can be told.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { SENT_SOONER } from '../../domain/waits.ts';
import type { Problem } from '../../domain/problems.ts';
import type { Fact, Kept, Recorded } from '../../domain/people/instructions.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import type { Context, Effect } from '../../domain/writes/step.ts';
import { HIDDEN_BY } from '../../domain/writes/doubt.ts';
import { KeptRefusals } from '../../domain/writes/kept-refusals.ts';
import { NEW_LEG, type LegState, type LegStep } from '../../domain/writes/leg-state.ts';
import { executeTradeSteps, requestQuoteSteps, tradedSteps } from '../../domain/writes/trade.ts';
import {
  NEW_PAYMENT,
  createWithdrawalSteps,
  type PaymentState,
  type PaymentStep,
  type Wanted,
} from '../../domain/writes/withdrawal.ts';
import {
  IN_HAND,
  LEG,
  NO_ANSWER,
  NOW,
  PAYMENT,
  QUOTE,
  TRADE,
  WITHDRAWAL,
  context,
  done,
  failed,
  kindsOf,
  play,
  seen,
  stateOf,
  type Script,
} from '../support/scripts.ts';
import { recorded, type LooseInstruction } from '../support/instructions.ts';
import { urlOf } from '../support/root.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
/** As long as an attempt may still send, and its token be accepted, by clocks that agree. */
const OTHERS_SEND_MS = 75 * SECOND_MS;
const LIST_LAG_MS = MINUTE_MS;
const AMOUNT = '17250.00';
const KEY = context().credentials.keyName;
const OTHER_KEY = 'org/org-1/apiKey/2';
const WANTED: Wanted = { amount: AMOUNT, ahead: '0', unwanted: null };

/** An instruction as it was accepted at `atMs`. */
const saidAt = (atMs: number, said: LooseInstruction): Recorded => recorded({ ...said, atMs });
const kept = (instructions: readonly Recorded[], facts: readonly Fact[] = []): Kept => ({
  instructions,
  facts,
});
const item = PAYMENT.id;

const pay = (
  script: Script & { readonly kept?: Kept },
  state: PaymentState = NEW_PAYMENT,
  ctx: Context = context(),
  wanted: Wanted = WANTED,
) =>
  play(createWithdrawalSteps(ctx, PAYMENT, wanted, state), {
    ...(script.kept !== undefined && { 'read instructions': [script.kept] }),
    ...script,
  });

const sentAs = (effects: readonly Effect[]): readonly string[] =>
  effects.flatMap((effect) => (effect.kind === 'send withdrawal' ? [effect.request.reference] : []));
const noted = (effects: readonly Effect[]): readonly Fact[] =>
  effects.flatMap((effect) => (effect.kind === 'note facts' ? effect.facts : []));
const codeOf = (step: {
  readonly kind: string;
  wait?: { problem: Problem };
  problem?: Problem;
}): string | null => step.problem?.code ?? step.wait?.problem.code ?? null;
const replayed = (code: string) => failed(code, { facts: { replayed: true } });
const WRONG = 'WITHDRAWAL_ADDRESS_NOT_VERIFIED';
const untagged: Withdrawal = { ...WITHDRAWAL, tag: null };

/** A payment of a run that was started again, a while ago: this Temporal run has walked, and no doubt is left. */
const WALKED: PaymentState = {
  ...NEW_PAYMENT,
  knownIn: 'run-2',
  walkedIn: 'run-2',
  sent: true,
  knownAtMs: NOW - MINUTE_MS,
};
const again = (more: Parameters<typeof context>[0] = {}): Context =>
  context({ ...more, attempt: { runId: 'run-2', ...more.attempt } });

// An instruction to pay again closes nothing.

test('an instruction to pay again sends nothing new while the send before it is in doubt', () => {
  const payAgain = kept([saidAt(NOW, { kind: 'pay again', item, follows: 1, recordId: null })]);
  // The run in between was terminated with its send in doubt; lists lag, or show no tags, or cannot be read.
  for (const ctx of [again(), again({ attempt: { number: 2 } })]) {
    const { effects, result } = pay(
      { kept: payAgain, 'send withdrawal': [replayed(WRONG)] },
      NEW_PAYMENT,
      ctx,
    );
    assert.deepEqual(sentAs(effects), [PAYMENT.reference]);
    assert.equal(result.kind, 'wait');
  }
  const unknown = pay({ kept: payAgain, 'send withdrawal': [NO_ANSWER] }, WALKED, again());
  assert.deepEqual(sentAs(unknown.effects), [PAYMENT.reference]);
  const later = pay({ kept: payAgain, 'send withdrawal': [NO_ANSWER] }, stateOf(unknown.result), again());
  assert.deepEqual(sentAs(later.effects), [PAYMENT.reference]);
});

test('a payment whose first generation is paid is not paid again, whatever a person has said: its key answers', () => {
  const payAgain = kept([saidAt(NOW, { kind: 'pay again', item, follows: 1, recordId: null })]);
  const paid = done(untagged, { replayed: true });
  for (const state of [WALKED, NEW_PAYMENT]) {
    const { effects, result } = pay(
      {
        kept: payAgain,
        'send withdrawal': [paid],
        'fetch withdrawal': [done({ ...untagged, status: 'COMPLETED' })],
      },
      state,
      again(),
    );
    assert.deepEqual(sentAs(effects), [PAYMENT.reference]);
    assert.equal(result.kind, 'accepted');
  }
});

test('a person’s generation leaves once the one before is closed by its key, with an absent lookup, and is noted first', () => {
  const payAgain = kept([saidAt(NOW, { kind: 'pay again', item, follows: 1, recordId: null })]);
  const closed = { kept: payAgain, 'send withdrawal': [replayed(WRONG), done(untagged)] };
  const { effects, result } = pay(closed, WALKED, again());
  assert.deepEqual(sentAs(effects), [PAYMENT.reference, `${PAYMENT.reference}~9`]);
  assert.deepEqual(kindsOf(effects).slice(-5), [
    'send withdrawal',
    'scan withdrawals',
    'note facts',
    'scan withdrawals',
    'send withdrawal',
  ]);
  assert.deepEqual(noted(effects), [{ kind: 'opened', item, generation: 9, atMs: NOW }]);
  assert.equal(result.kind, 'accepted');
  // What could be it, and a list that cannot be read, forbid it; and so does a note that is not kept.
  for (const more of [{ 'scan withdrawals': [seen(untagged)] }, { 'note facts': [false] }]) {
    const held = pay({ ...closed, ...more }, WALKED, again());
    assert.deepEqual(sentAs(held.effects), [PAYMENT.reference]);
    assert.equal(held.result.kind, 'wait');
  }
});

test('a fresh refusal closes nothing: a person’s generation stays unsent', () => {
  const payAgain = kept([saidAt(NOW, { kind: 'pay again', item, follows: 1, recordId: null })]);
  const { effects } = pay({ kept: payAgain, 'send withdrawal': [failed(WRONG)] }, WALKED, again());
  assert.deepEqual(sentAs(effects), [PAYMENT.reference]);
});

test('a payment whose record has failed is paid again under the next eight, also where no list shows its tag', () => {
  const failedRecord = { ...untagged, status: 'RETURNED' };
  const payAgain = kept([saidAt(NOW, { kind: 'pay again', item, follows: 1, recordId: failedRecord.id })]);
  const { effects, result } = pay(
    {
      kept: payAgain,
      'scan withdrawals': [seen(failedRecord)],
      'send withdrawal': [done(failedRecord, { replayed: true }), done({ ...untagged, id: 'wtd_2' })],
      'fetch withdrawal': [done(failedRecord)],
    },
    WALKED,
    again(),
  );
  assert.deepEqual(sentAs(effects), [PAYMENT.reference, `${PAYMENT.reference}~9`]);
  assert.ok(result.kind === 'accepted' && result.accepted.withdrawalId === 'wtd_2');
});

test('a person’s eight have a window of their own; below an open window generations are walked by their keys', () => {
  const { withdrawalsUntilMs } = context().plan.sendWindows;
  const saidMs = withdrawalsUntilMs - HOUR_MS;
  const payAgain = kept(
    [saidAt(saidMs, { kind: 'pay again', item, follows: 1, recordId: null })],
    [{ kind: 'opened', item, generation: 9, atMs: saidMs }],
  );
  const at = (nowMs: number) => pay({ kept: payAgain }, WALKED, again({ nowMs: () => nowMs }));
  assert.deepEqual(sentAs(at(withdrawalsUntilMs).effects), [PAYMENT.reference]);
  assert.deepEqual(sentAs(at(withdrawalsUntilMs + 1).effects), [`${PAYMENT.reference}~9`]);
  const end = Date.parse(`${new Date(saidMs).toISOString().slice(0, 10)}T00:00:00Z`) + 5.5 * DAY_MS;
  assert.deepEqual(sentAs(at(end).effects), [`${PAYMENT.reference}~9`]);
  const over = at(end + 1);
  assert.deepEqual(sentAs(over.effects), []);
  assert.equal(codeOf(over.result), 'WINDOW_PASSED');
});

test('what a person called not executed before they paid again counts only after lookups, then its key is asked no more', () => {
  const notExecuted = saidAt(NOW - HOUR_MS, { kind: 'not executed', item });
  const payAgain = kept([notExecuted, saidAt(NOW, { kind: 'pay again', item, follows: 1, recordId: null })]);
  const spent: PaymentState = {
    ...WALKED,
    phase: { kind: 'spent', problem: { code: 'IDEMPOTENCY_MISMATCH', item, message: 'x', fix: 'y' } },
    doubt: { lastSendMs: NOW, absentAtMs: null, under: null, why: 'x' },
  };
  const first = pay({ kept: payAgain }, spent, again());
  assert.deepEqual(sentAs(first.effects), []);
  assert.equal(codeOf(first.result), 'DECISION_PENDING');
  const counts = again({ nowMs: () => NOW + OTHERS_SEND_MS + LIST_LAG_MS });
  assert.deepEqual(sentAs(pay({ kept: payAgain }, stateOf(first.result), counts).effects), [
    `${PAYMENT.reference}~9`,
  ]);
});

// Clocks.

test('a forgotten send is in doubt from the moment at which this Temporal run first sees the item, by a clock that agrees', () => {
  const first = pay({ 'send withdrawal': [NO_ANSWER] }, NEW_PAYMENT, again());
  assert.equal(stateOf(first.result).doubt?.lastSendMs, NOW + OTHERS_SEND_MS);
  const apart = pay({}, NEW_PAYMENT, again({ skewMs: () => 3 * MINUTE_MS }));
  assert.equal(codeOf(apart.result), 'CLOCK_SKEW');
  assert.equal(stateOf(apart.result).doubt, null);
  assert.equal(stateOf(apart.result).knownIn, null);
});

test('a send in doubt may be accepted until its token ends on a clock that agrees with ours', () => {
  const { result } = pay({ 'send withdrawal': [NO_ANSWER] });
  assert.equal(stateOf(result).doubt?.lastSendMs, NOW + 55 * SECOND_MS);
});

test('a clock that is wrong ends nothing: the window asks it first', () => {
  const ctx = (skewMs: number) => again({ nowMs: () => NOW + 30 * DAY_MS, skewMs: () => skewMs });
  assert.equal(codeOf(pay({}, WALKED, ctx(-30 * DAY_MS)).result), 'CLOCK_SKEW');
  assert.equal(codeOf(pay({}, WALKED, ctx(0)).result), 'WINDOW_PASSED');
  const leg: LegState = { ...NEW_LEG, knownIn: 'run-2', knownAtMs: NOW + 30 * DAY_MS };
  assert.equal(codeOf(play(requestQuoteSteps(ctx(-30 * DAY_MS), LEG, leg)).result), 'CLOCK_SKEW');
  assert.equal(codeOf(play(requestQuoteSteps(ctx(0), LEG, leg)).result), 'WINDOW_PASSED');
});

// "Not executed".

test('a "not executed" counts once this Temporal run has known it for long enough, and has looked after that', () => {
  const decided = kept([saidAt(NOW - DAY_MS, { kind: 'not executed', item })]);
  const doubtful: PaymentState = {
    ...WALKED,
    doubt: { lastSendMs: NOW, absentAtMs: null, under: KEY, why: 'x' },
  };
  const heard = pay({ kept: decided }, doubtful, again());
  assert.equal(codeOf(heard.result), 'DECISION_PENDING');
  const at = (afterMs: number, runId = 'run-2') =>
    pay({ kept: decided }, stateOf(heard.result), context({ attempt: { runId }, nowMs: () => NOW + afterMs }))
      .result;
  const countsMs = OTHERS_SEND_MS + LIST_LAG_MS;
  assert.equal(codeOf(at(countsMs - 1)), 'DECISION_PENDING');
  assert.equal(codeOf(at(countsMs)), 'DECIDED_NOT_EXECUTED');
  // A reset does not void it: it begins to know it anew.
  assert.equal(codeOf(at(countsMs, 'run-3')), 'DECISION_PENDING');
  // A record stands above it at any time.
  const found = pay(
    { kept: decided, 'scan withdrawals': [seen(WITHDRAWAL)] },
    stateOf(heard.result),
    again(),
  );
  assert.equal(found.result.kind, 'accepted');
});

test('the same ends the doubt about a payment that may not be sent, in minutes and not in a day', () => {
  const decided = saidAt(NOW, { kind: 'not executed', item });
  const cancel = saidAt(NOW, { kind: 'cancel' });
  const unwanted: Problem = { code: 'ACCOUNT_NOT_FOUND', item, message: 'x', fix: 'y' };
  for (const [wanted, before] of [
    [{ ...WANTED, unwanted }, []],
    [WANTED, [cancel]],
  ] as const) {
    const at = (afterMs: number, said: readonly Recorded[], state: PaymentState) =>
      pay({ kept: kept([...before, ...said]) }, state, again({ nowMs: () => NOW + afterMs }), wanted);
    const doubtful = at(0, [], NEW_PAYMENT).result;
    assert.equal(codeOf(doubtful), 'IN_DOUBT');
    assert.ok(doubtful.kind === 'wait' && doubtful.wait.reason === 'doubt');
    // What stands against it besides, somebody may mend.
    assert.match(
      doubtful.wait.problem.fix,
      new RegExp(`safety wait until .*; nothing for you to do\\. ${SENT_SOONER}$`),
    );
    const heard = at(0, [decided], stateOf(doubtful)).result;
    assert.equal(codeOf(heard), 'DECISION_PENDING');
    const countsMs = OTHERS_SEND_MS + LIST_LAG_MS;
    assert.equal(codeOf(at(countsMs - 1, [decided], stateOf(heard)).result), 'DECISION_PENDING');
    const ended = at(countsMs, [decided], stateOf(heard));
    assert.equal(codeOf(ended.result), 'DECIDED_NOT_EXECUTED');
    assert.deepEqual(sentAs(ended.effects), []);
    // Nothing counts while the lists cannot be read whole.
    const cut = pay(
      {
        kept: kept([...before, decided]),
        'scan withdrawals': [{ records: [], complete: false, reason: 'cut' }],
      },
      stateOf(heard),
      again({ nowMs: () => NOW + countsMs }),
      wanted,
    );
    assert.equal(cut.result.kind, 'wait');
  }
});

test('a leg that a person called not traded ends no sooner either', () => {
  const decided = kept([saidAt(NOW - DAY_MS, { kind: 'not executed', item: LEG.id })]);
  const quote = (nowMs: number, state: LegState) =>
    play(requestQuoteSteps(again({ nowMs: () => nowMs }), LEG, state), { 'read instructions': [decided] })
      .result;
  const heard = quote(NOW, NEW_LEG);
  assert.equal(codeOf(heard), 'DECISION_PENDING');
  assert.equal(codeOf(quote(NOW + OTHERS_SEND_MS + LIST_LAG_MS - 1, stateOf(heard))), 'DECISION_PENDING');
  assert.equal(codeOf(quote(NOW + OTHERS_SEND_MS + LIST_LAG_MS, stateOf(heard))), 'DECIDED_NOT_EXECUTED');
});

test('a payment of proceeds whose leg is not known to be traded is looked up by its own reference before it ends', () => {
  const unwanted: Problem = { code: 'LEG_NOT_TRADED', item, message: 'x', fix: 'y' };
  const wanted: Wanted = { amount: null, ahead: '0', unwanted };
  const found = pay({ 'scan withdrawals': [seen(WITHDRAWAL)] }, NEW_PAYMENT, again(), wanted);
  assert.ok(found.result.kind === 'accepted' && found.result.accepted.amount === WITHDRAWAL.withdrawalAmount);
  // Another run may have paid it, and lists may lag: its end waits for that too.
  const absent = pay({}, NEW_PAYMENT, again(), wanted);
  assert.equal(absent.result.kind, 'wait');
  const lastMs = NOW + OTHERS_SEND_MS;
  const half = pay({}, absent.result.state, again({ nowMs: () => lastMs + LIST_LAG_MS }), wanted);
  const end = pay({}, stateOf(half.result), again({ nowMs: () => lastMs + 2 * LIST_LAG_MS }), wanted);
  assert.equal(codeOf(end.result), 'LEG_NOT_TRADED');
  // Where this very run has made the plan, one lookup is enough.
  const fresh = pay({}, NEW_PAYMENT, context(), wanted);
  assert.deepEqual(kindsOf(fresh.effects), ['read instructions', 'scan withdrawals']);
  assert.equal(codeOf(fresh.result), 'LEG_NOT_TRADED');
});

// Restores and other API keys.

test('a quote that was known dead more than half a minute ago is doubt: a restored history may have forgotten the next one', () => {
  const quote = {
    id: 'qte_1',
    sellAmount: '1000',
    buyAmount: '17250',
    usableUntilMs: NOW - MINUTE_MS,
    probed: false,
  };
  const leg: LegState = { ...NEW_LEG, knownIn: 'run-1', sent: true, quote, quotes: 1 };
  const ctx = context({ plan: { madeAtMs: NOW - HOUR_MS } });
  const old = play(executeTradeSteps(ctx, LEG, { ...leg, knownAtMs: NOW - 31 * SECOND_MS })).result;
  assert.equal(codeOf(old), 'IN_DOUBT');
  assert.equal(stateOf(old).doubt?.lastSendMs, NOW + OTHERS_SEND_MS);
  // It asks again so soon that a call which comes late tells of a restore.
  assert.ok(old.kind === 'wait' && old.wait.afterMs <= 10 * SECOND_MS);
  assert.equal(
    play(executeTradeSteps(ctx, LEG, { ...leg, knownAtMs: NOW - 29 * SECOND_MS })).result.kind,
    'requote',
  );
});

test('doubt that only time ends says when that is, the same at each look, and that nothing is to do', () => {
  const reset = context({ attempt: { runId: 'run-2' } });
  const first = play(requestQuoteSteps(reset, LEG, NEW_LEG)).result;
  assert.ok(first.kind === 'wait');
  const safeAtMs = (first.state.doubt?.lastSendMs ?? 0) + reset.facts.settleDoubtMs.trade;
  assert.equal(first.wait.safeAtMs, safeAtMs);
  const end = new Date(safeAtMs).toISOString().slice(11, 19);
  assert.match(
    first.wait.problem.fix,
    new RegExp(
      `safety wait until ${end} UTC, to be sure that nothing was sent before; nothing for you to do\\.$`,
    ),
  );
  const later = context({ attempt: { runId: 'run-2' }, nowMs: () => NOW + MINUTE_MS });
  const second = play(requestQuoteSteps(later, LEG, first.state)).result;
  assert.ok(second.kind === 'wait');
  assert.equal(second.wait.safeAtMs, safeAtMs);
  assert.ok(safeAtMs - NOW > 2 * MINUTE_MS && safeAtMs - NOW < 5 * MINUTE_MS);
});

test('a leg that was silent for half a minute while it waits for money stays so until doubt about it has ended', () => {
  const own: Context = context({ plan: { madeAtMs: NOW - HOUR_MS }, rules: HOLD });
  const before: LegState = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW - MINUTE_MS };
  const none = { 'read balances': [done({ aggregateUsd: '0', balances: [] })] };
  const first = play(requestQuoteSteps(own, LEG, before), none).result;
  assert.equal(codeOf(first), 'SHORTFALL');
  // The money comes soon after, perhaps the very money that a forgotten trade has left.
  const soon = context({ ...own, nowMs: () => NOW + 10_000 });
  const second = play(requestQuoteSteps(soon, LEG, stateOf(first)));
  assert.equal(codeOf(second.result), 'IN_DOUBT');
  assert.ok(!kindsOf(second.effects).includes('send quote'));
});

test('a plan that a clock dates into the future is not young: the clock has been set since, and a restore may lie between', () => {
  const { effects } = play(
    requestQuoteSteps(context({ plan: { madeAtMs: NOW + 2 * HOUR_MS } }), LEG, NEW_LEG),
  );
  assert.ok(!kindsOf(effects).includes('send quote'));
  assert.ok(kindsOf(effects).includes('scan trades'));
});

test('doubt that a restored history believes to be nearly over begins anew', () => {
  const doubt = { lastSendMs: NOW - HOUR_MS, absentAtMs: NOW - HOUR_MS, under: KEY, why: 'x' };
  const leg: LegState = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW - 5 * MINUTE_MS, sent: true, doubt };
  const { result } = play(requestQuoteSteps(context(), LEG, leg));
  assert.equal(codeOf(result), 'IN_DOUBT');
  assert.equal(stateOf(result).doubt?.lastSendMs, NOW + OTHERS_SEND_MS);
});

test('a leg in doubt that is looked up late has forgotten nothing before its doubt could have ended', () => {
  const legInDoubt = (endsAtMs: number): LegState => {
    const lastSendMs = endsAtMs - context().facts.settleDoubtMs.trade;
    const doubt = { lastSendMs, absentAtMs: null, under: KEY, why: 'x' };
    return { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW - 10 * MINUTE_MS, sent: true, doubt };
  };
  const soon = legInDoubt(NOW - 29 * SECOND_MS);
  assert.deepEqual(stateOf(play(requestQuoteSteps(context(), LEG, soon)).result).doubt, {
    ...soon.doubt,
    absentAtMs: NOW,
  });
  const late = play(requestQuoteSteps(context(), LEG, legInDoubt(NOW - 31 * SECOND_MS))).result;
  assert.equal(stateOf(late).doubt?.lastSendMs, NOW + OTHERS_SEND_MS);
});

const NEW_KEY = { mode: 'SANDBOX', organisation: 'org-1', keyName: OTHER_KEY } as const;

test('under another API key than the plan’s nothing is fresh: the key is named, and then nobody must have sent the item', () => {
  const ctx = (nowMs: number) => context({ credentials: NEW_KEY, nowMs: () => nowMs });
  const first = pay({}, NEW_PAYMENT, ctx(NOW));
  assert.deepEqual(sentAs(first.effects), []);
  assert.deepEqual(noted(first.effects), [{ kind: 'api key', keyName: OTHER_KEY, atMs: NOW }]);
  assert.equal(codeOf(first.result), 'API_KEY_CHANGED');
  const named = kept([], [{ kind: 'api key', keyName: OTHER_KEY, atMs: NOW }]);
  const provenMs = NOW + OTHERS_SEND_MS + LIST_LAG_MS;
  const early = pay({ kept: named }, stateOf(first.result), ctx(provenMs - 1));
  assert.deepEqual(sentAs(early.effects), []);
  const proven = pay({ kept: named }, stateOf(first.result), ctx(provenMs));
  assert.deepEqual(sentAs(proven.effects), [PAYMENT.reference]);
  assert.equal(proven.result.kind, 'accepted');
  // A record without a tag could be what was sent under the other key.
  const twin = pay(
    { kept: named, 'scan withdrawals': [seen(untagged)] },
    stateOf(first.result),
    ctx(provenMs),
  );
  assert.deepEqual(sentAs(twin.effects), []);
  assert.equal(codeOf(twin.result), 'RECORD_COULD_BE_IT');
});

test('a worker with the plan’s key is not fresh either once the instructions name another one', () => {
  const named = kept([], [{ kind: 'api key', keyName: OTHER_KEY, atMs: NOW - HOUR_MS }]);
  for (const { effects, result } of [
    pay({ kept: named }),
    play(requestQuoteSteps(context(), LEG, NEW_LEG), { 'read instructions': [named] }),
  ]) {
    assert.equal(codeOf(result), 'API_KEY_CHANGED');
    assert.deepEqual(noted(effects), [{ kind: 'api key', keyName: KEY, atMs: NOW }]);
    assert.ok(!kindsOf(effects).some((kind) => kind.startsWith('send')));
  }
});

test('what may have been sent under another API key leaves only once lists have settled it', () => {
  const named = kept([], [{ kind: 'api key', keyName: OTHER_KEY, atMs: NOW - DAY_MS }]);
  const doubtful: PaymentState = {
    ...NEW_PAYMENT,
    knownIn: 'run-1',
    walkedIn: 'run-1',
    sent: true,
    doubt: { lastSendMs: NOW, absentAtMs: null, under: KEY, why: 'no answer' },
  };
  const ctx = (nowMs: number) => context({ credentials: NEW_KEY, nowMs: () => nowMs });
  const half = pay({ kept: named }, doubtful, ctx(NOW + DAY_MS / 2));
  assert.deepEqual(sentAs(half.effects), []);
  const over = pay({ kept: named }, stateOf(half.result), ctx(NOW + DAY_MS));
  assert.deepEqual(sentAs(over.effects), [PAYMENT.reference]);
});

// Refusals that last.

const DISABLED = 'WITHDRAWAL_DISABLED_FOR_ACCOUNT';
const NO_DEPOSIT = 'WITHDRAWAL_PENDING_DEPOSIT_REQUIRED';
const HOLD = { shortfall: 'hold' } as const;

/** Plays a run that is refused for `forMs`, at a service that keeps its refusals: the generation that pays, and when. */
function mendedAfter(code: string, forMs: number, startMs = NOW) {
  let now = startMs;
  let state = NEW_PAYMENT;
  let facts: readonly Fact[] = [];
  const refused = new Set<string>();
  for (let calls = 0; calls < 5_000; calls += 1) {
    const steps = createWithdrawalSteps(context({ nowMs: () => now, rules: HOLD }), PAYMENT, WANTED, state);
    let next = steps.next();
    while (next.done !== true) {
      const effect = next.value;
      if (effect.kind === 'read instructions') next = steps.next(kept([], facts));
      else if (effect.kind === 'note facts') {
        facts = [...facts, ...effect.facts];
        next = steps.next(true);
      } else if (effect.kind === 'send withdrawal') {
        const { reference } = effect.request;
        const wasRefused = refused.has(reference);
        if (!wasRefused && now < startMs + forMs) refused.add(reference);
        const fresh = refused.has(reference) ? failed(code) : done({ ...WITHDRAWAL, tag: null });
        next = steps.next(wasRefused ? replayed(code) : fresh);
      } else next = steps.next(seen<Withdrawal>());
    }
    const step: PaymentStep = next.value;
    if (step.kind !== 'wait') return { step, hours: (now - startMs) / HOUR_MS };
    state = stateOf(step);
    now += step.wait.afterMs;
  }
  return { step: null, hours: Infinity };
}

test('a refusal that lasts for days is waited out, and paid inside the window once its cause is mended', () => {
  for (const [code, days] of [
    [DISABLED, 2],
    [NO_DEPOSIT, 3],
    [DISABLED, 4],
  ] as const)
    for (const startMs of [NOW, Date.parse('2026-11-21T00:10:00Z'), Date.parse('2026-11-21T23:50:00Z')]) {
      const { step, hours } = mendedAfter(code, days * DAY_MS, startMs);
      assert.equal(step?.kind, 'accepted', `${code} for ${days} days`);
      assert.ok(startMs + hours * HOUR_MS <= context().plan.sendWindows.withdrawalsUntilMs);
    }
});

test('a new start opens one generation before its time, and never the eighth', () => {
  const opened = (generation: number): Fact => ({ kind: 'opened', item, generation, atMs: NOW - MINUTE_MS });
  const keptRefusals = new KeptRefusals();
  const worker = again({ keptRefusals });
  const refused = { 'send withdrawal': [replayed(DISABLED), replayed(DISABLED), failed(DISABLED)] };
  const first = pay({ kept: kept([], [opened(2)]), ...refused }, WALKED, worker);
  assert.deepEqual(
    sentAs(first.effects),
    ['', '~2', '~3'].map((suffix) => `${PAYMENT.reference}${suffix}`),
  );
  const second = pay(
    { kept: kept([], [opened(2), opened(3)]), 'send withdrawal': [replayed(DISABLED)] },
    stateOf(first.result),
    worker,
  );
  assert.deepEqual(sentAs(second.effects), [`${PAYMENT.reference}~3`]);
  const seventh: PaymentState = { ...WALKED, generation: 7 };
  const kept7 = [opened(7)];
  keptRefusals.note(PAYMENT.reference, 6);
  const never = pay({ kept: kept([], kept7), 'send withdrawal': [replayed(DISABLED)] }, seventh, worker);
  assert.deepEqual(sentAs(never.effects), [`${PAYMENT.reference}~7`]);
  // Kept for a person who says that the cause is gone, once.
  const goOn = saidAt(NOW, { kind: 'go-on', item });
  const mended = pay(
    { kept: kept([goOn], kept7), 'send withdrawal': [replayed(DISABLED), done(untagged)] },
    seventh,
    worker,
  );
  assert.deepEqual(sentAs(mended.effects), [`${PAYMENT.reference}~7`, `${PAYMENT.reference}~8`]);
});

test('a new start walks through all generations that were opened, before a person’s word opens the eighth', () => {
  const opened = [2, 3, 4, 5, 6, 7].map((generation): Fact => ({
    kind: 'opened',
    item,
    generation,
    atMs: NOW - MINUTE_MS,
  }));
  const goOn = saidAt(NOW, { kind: 'go-on', item });
  const before = Array.from({ length: 7 }, () => replayed(DISABLED));
  const refused = { 'send withdrawal': [...before, failed(DISABLED)] };
  const { effects } = pay(
    { kept: kept([goOn], opened), ...refused },
    { ...WALKED, hasOpenedEarly: true },
    again(),
  );
  assert.deepEqual(
    sentAs(effects),
    ['', '~2', '~3', '~4', '~5', '~6', '~7', '~8'].map((suffix) => `${PAYMENT.reference}${suffix}`),
  );
});

test('a generation whose opening Temporal has lost, and that the service has refused before, does not count as opened early', () => {
  const walk = (...answers: readonly ReturnType<typeof failed>[]) =>
    sentAs(pay({ 'send withdrawal': answers }, WALKED, again()).effects).map((name) =>
      name.slice(PAYMENT.reference.length),
    );
  const [old, fresh] = [replayed(DISABLED), failed(DISABLED)];
  assert.deepEqual(walk(old, old, fresh), ['', '~2', '~3']);
  assert.deepEqual(walk(old, fresh), ['', '~2']);
});

test('a run that made the plan anew, over records that it found, opens one generation before its time', () => {
  const opened = { kind: 'opened', item, generation: 2, atMs: NOW - MINUTE_MS } as const;
  const first = pay(
    { kept: kept([], [opened]), 'send withdrawal': [replayed(DISABLED), replayed(DISABLED), done(untagged)] },
    { ...NEW_PAYMENT, knownIn: 'run-1', walkedIn: 'run-1', sent: true, knownAtMs: NOW },
    context({ plan: { foundRecords: true }, facts: { ...context().facts, keyUsedSince: '2026-11-01' } }),
  );
  assert.deepEqual(
    sentAs(first.effects),
    ['', '~2', '~3'].map((suffix) => `${PAYMENT.reference}${suffix}`),
  );
});

test('a run that made the plan opens by turns alone, a quarter of an hour after the refusal at the soonest', () => {
  const state: PaymentState = {
    ...NEW_PAYMENT,
    knownIn: 'run-1',
    walkedIn: 'run-1',
    sent: true,
    refusedAtMs: NOW,
  };
  const at = (minutes: number) =>
    pay(
      { 'send withdrawal': [replayed(DISABLED), failed(DISABLED)] },
      state,
      context({ nowMs: () => NOW + minutes * MINUTE_MS }),
    );
  assert.deepEqual(sentAs(at(14).effects), [PAYMENT.reference]);
  assert.deepEqual(sentAs(at(15).effects), [PAYMENT.reference, `${PAYMENT.reference}~2`]);
});

test('the next generation asks for no absence where only its own key has sent: a twin holds nobody up', () => {
  const state: PaymentState = { ...WALKED };
  const script = {
    'send withdrawal': [replayed(WRONG), done({ ...untagged, id: 'wtd_2' })],
    'scan withdrawals': [seen(untagged)],
  };
  const { effects, result } = pay(script, state, again());
  assert.deepEqual(sentAs(effects), [PAYMENT.reference, `${PAYMENT.reference}~2`]);
  assert.equal(result.kind, 'accepted');
  // Where another API key may have sent, it could be that one's.
  const named = kept(
    [],
    [
      { kind: 'api key', keyName: OTHER_KEY, atMs: NOW - 2 * DAY_MS },
      { kind: 'api key', keyName: KEY, atMs: NOW - DAY_MS },
    ],
  );
  const lookups = { 'scan withdrawals': [seen<Withdrawal>(), seen(untagged)] };
  const held = pay({ ...script, ...lookups, kept: named }, state, again());
  assert.deepEqual(sentAs(held.effects), [PAYMENT.reference]);
});

test('money is granted in the order of the plan: what a payment before it needs is not there for the next one', () => {
  const poor = failed('WITHDRAWAL_INSUFFICIENT_BALANCE', { details: { availableAmount: '0' } });
  const short = pay({ 'send withdrawal': [poor] }, NEW_PAYMENT, context({ rules: HOLD })).result;
  const there = (available: string, ahead: string) =>
    pay(
      {
        'read balances': [
          done({
            aggregateUsd: '0',
            balances: [{ currency: 'MXN', withdrawable: available, total: available }],
          }),
        ],
      },
      stateOf(short),
      context({ rules: HOLD }),
      { ...WANTED, ahead },
    );
  assert.deepEqual(sentAs(there('17250.00', '17250.00').effects), []);
  assert.deepEqual(sentAs(there('34499.99', '17250.00').effects), []);
  assert.deepEqual(sentAs(there('34500.00', '17250.00').effects), [PAYMENT.reference]);
});

test('a refusal in spite of the money that a read has shown uses up no generation before there is more of it', () => {
  const hold = again({ rules: HOLD });
  const poor = (isKept: boolean) =>
    failed('WITHDRAWAL_INSUFFICIENT_BALANCE', { facts: { replayed: isKept } });
  const balances = done({
    aggregateUsd: '0',
    balances: [{ currency: 'MXN', withdrawable: '20000', total: '20000' }],
  });
  const facts: readonly Fact[] = [{ kind: 'opened', item, generation: 2, atMs: NOW }];
  const state: PaymentState = { ...WALKED, hasOpenedEarly: true };
  const short = pay({ 'send withdrawal': [poor(false)] }, state, hold).result;
  const first = pay(
    { 'read balances': [balances], 'send withdrawal': [poor(true), poor(false)] },
    stateOf(short),
    hold,
  );
  assert.deepEqual(sentAs(first.effects), [PAYMENT.reference, `${PAYMENT.reference}~2`]);
  const second = pay({ kept: kept([], facts), 'read balances': [balances] }, stateOf(first.result), hold);
  assert.deepEqual(sentAs(second.effects), []);
});

test('nothing leaves long after people were heard: they are asked again, and what they said meanwhile counts', () => {
  let now = NOW;
  const cancel = kept([saidAt(NOW, { kind: 'cancel' })]);
  for (const [later, sends] of [
    [kept([]), 1],
    [cancel, 0],
  ] as const) {
    now = NOW;
    let reads = 0;
    const ctx = again({ nowMs: () => now });
    const steps = createWithdrawalSteps(ctx, PAYMENT, WANTED, NEW_PAYMENT);
    let sent = 0;
    let next = steps.next();
    while (next.done !== true) {
      const { kind } = next.value;
      if (kind === 'read instructions') next = steps.next((reads += 1) === 1 ? kept([]) : later);
      else if (kind === 'read rival') next = steps.next({ rival: null, silent: null });
      else if (kind === 'send withdrawal') {
        sent += 1;
        next = steps.next(done(WITHDRAWAL));
      } else {
        // A list of many pages.
        now += 12 * SECOND_MS;
        next = steps.next(seen<Withdrawal>());
      }
    }
    assert.equal(sent, sends);
  }
});

test('a trade that was found is adopted whatever people said', () => {
  const decided = kept([saidAt(NOW, { kind: 'not executed', item: LEG.id })]);
  const { result } = play(requestQuoteSteps(again(), LEG, NEW_LEG), {
    'read instructions': [decided],
    'scan trades': [seen(TRADE)],
  });
  assert.equal(result.kind, 'traded');
});

test('a trade that came out worse than the guard or a limit is held until a person accepts it by its id', () => {
  const bound = { buyFactor: '1', sellFactor: '17.2' };
  const guard = { bound, text: 'at least 17.2', staleAtMs: null, referenceRate: null };
  const limits = {
    perTrade: { value: '17300', currency: 'MXN' },
    perRun: null,
    perDay: null,
    perPayment: [],
    paidPerRun: [],
  };
  const rows: readonly (readonly [string, string | null])[] = [
    ['17199.99', 'EXECUTED_OUTSIDE_GUARD'],
    ['17300.01', 'EXECUTED_OVER_LIMIT'],
    ['17250.00', null],
  ];
  for (const [executedAmount, code] of rows) {
    const leg = { ...LEG, guard };
    const ctx = again({ rules: { limits } });
    const found = { 'scan trades': [seen({ ...TRADE, executedAmount })] };
    const first: LegStep = play(requestQuoteSteps(ctx, leg, NEW_LEG), found).result;
    assert.ok(first.kind === 'traded');
    assert.equal(first.worse?.code ?? null, code);
    assert.equal(first.isHeld, code !== null);
    const { traded } = first;
    // From then on nothing is asked of the service: a traded leg needs no quote, whatever lists show.
    for (const [said, isHeld] of [
      [kept([]), code !== null],
      [kept([saidAt(NOW, { kind: 'accept', item: LEG.id, recordId: 'tde_other' })]), code !== null],
      [kept([saidAt(NOW, { kind: 'accept', item: LEG.id, recordId: TRADE.id })]), false],
      [kept([saidAt(NOW, { kind: 'cancel' })]), false],
    ] as const) {
      const played = play(tradedSteps(ctx, leg, traded), { 'read instructions': [said] });
      assert.deepEqual(kindsOf(played.effects), ['read instructions']);
      assert.ok(played.result.kind === 'traded' && played.result.isHeld === isHeld);
    }
    if (code === null) continue;
    const accepts = saidAt(NOW, { kind: 'accept', item: LEG.id, recordId: TRADE.id });
    const unsigned = { [accepts.id]: 'ben has not signed.' };
    const { result } = play(tradedSteps(ctx, leg, traded), {
      'read instructions': [{ ...kept([accepts]), unsigned }],
    });
    assert.ok(result.kind === 'traded' && result.isHeld);
    assert.match(result.worse?.message ?? '', /ben has not signed\.$/);
  }
});

test('a trade that gave less than its quote is held, though the guard allows it; one that gave more is not', () => {
  const quoted = play(requestQuoteSteps(context(), LEG, NEW_LEG)).result;
  for (const [executedAmount, code] of [
    ['17249.99', 'EXECUTED_BELOW_QUOTE'],
    ['17250.00', null],
    ['17250.01', null],
  ] as const) {
    const { result } = play(executeTradeSteps(context(), LEG, stateOf(quoted)), {
      'send trade': [done({ ...TRADE, executedAmount })],
    });
    assert.ok(result.kind === 'traded');
    assert.equal(result.worse?.code ?? null, code);
    // From then on it is judged by what was kept of it.
    const later = play(tradedSteps(context(), LEG, result.traded)).result;
    assert.ok(later.kind === 'traded', later.kind);
    assert.equal(later.worse?.code ?? null, code);
  }
});

test('a quote with more decimals than its currency is kept by what is booked in that currency', () => {
  const quoteAmount = '17250.009';
  const quoted = play(requestQuoteSteps(context(), LEG, NEW_LEG), {
    'send quote': [done({ ...QUOTE, quoteAmount })],
  }).result;
  for (const [executedAmount, code] of [
    ['17250.00', null],
    ['17249.99', 'EXECUTED_BELOW_QUOTE'],
  ] as const) {
    const { result } = play(executeTradeSteps(context(), LEG, stateOf(quoted)), {
      'send trade': [done({ ...TRADE, executedAmount })],
    });
    assert.ok(result.kind === 'traded', result.kind);
    assert.equal(result.worse?.code ?? null, code);
  }
});

test('a leg that was refused for money although a read shows it asks for no quote before there is more of it', () => {
  const hold = context({ rules: HOLD });
  const quoted = play(requestQuoteSteps(hold, LEG, NEW_LEG)).result;
  const poor = failed('TRADE_INSUFFICIENT_BALANCE');
  const short = play(executeTradeSteps(hold, LEG, stateOf(quoted)), { 'send trade': [poor] }).result;
  const at = (minutes: number, withdrawable: string) => {
    const nowMs = NOW + minutes * MINUTE_MS;
    const state = { ...stateOf(short), knownAtMs: nowMs - SECOND_MS };
    const balances = done({ aggregateUsd: '0', balances: [{ currency: 'USD', withdrawable, total: '0' }] });
    return play(requestQuoteSteps(context({ rules: HOLD, nowMs: () => nowMs }), LEG, state), {
      'read balances': [balances],
    }).result.kind;
  };
  assert.equal(at(1, '1000000'), 'wait');
  assert.equal(at(1, '1000000.01'), 'quoted');
  assert.equal(at(15, '1000000'), 'quoted');
});

test('a refused leg waits for no money before it ends, and ends only when nothing sent can appear any more', () => {
  const problem: Problem = { code: 'QUOTES_USED_UP', item: LEG.id, message: 'x', fix: 'y' };
  const refused: LegState = { ...NEW_LEG, knownIn: 'run-1', sent: true, phase: { kind: 'refused', problem } };
  const none = done({ aggregateUsd: '0', balances: [] });
  const after = (idleMs: number) =>
    play(requestQuoteSteps(context({ rules: HOLD }), LEG, { ...refused, knownAtMs: NOW - idleMs }), {
      'read balances': [none],
    });
  assert.equal(codeOf(after(SECOND_MS).result), 'QUOTES_USED_UP');
  // Known for so long that a backup may have been restored since: it may have been sent.
  const { result, effects } = after(MINUTE_MS);
  assert.equal(codeOf(result), 'IN_DOUBT');
  assert.equal(stateOf(result).phase.kind, 'refused');
  assert.ok(!kindsOf(effects).includes('read balances'));
});

test('a generation whose own record has failed is closed by a lookup too: under another API key it is not sent again', () => {
  const returned = { ...WITHDRAWAL, status: 'RETURNED' };
  const facts: readonly Fact[] = [{ kind: 'api key', keyName: OTHER_KEY, atMs: NOW - DAY_MS }];
  for (const record of [returned, { ...returned, tag: null }]) {
    const payAgain = kept([saidAt(NOW, { kind: 'pay again', item, follows: 1, recordId: record.id })], facts);
    const { effects } = pay(
      { kept: payAgain, 'scan withdrawals': [seen(record)] },
      WALKED,
      again({ credentials: NEW_KEY }),
    );
    assert.deepEqual(sentAs(effects), [`${PAYMENT.reference}~9`]);
  }
});

test('a plan that was made anew over found records may have been sent under a key that is forgotten', () => {
  const lost = { plan: { foundRecords: true } };
  const first = pay({}, NEW_PAYMENT, context(lost));
  assert.deepEqual(sentAs(first.effects), []);
  assert.equal(codeOf(first.result), 'API_KEY_CHANGED');
  // Unless the operator knows that only this key has written since the run's date began.
  const { facts } = context();
  for (const [keyUsedSince, sends] of [
    ['2026-11-21', 1],
    ['2026-11-22', 0],
  ] as const) {
    const known = pay({}, NEW_PAYMENT, context({ ...lost, facts: { ...facts, keyUsedSince } }));
    assert.equal(sentAs(known.effects).length, sends, keyUsedSince);
  }
});

test('a record that another run of ours accounts for could not be this payment: nobody is asked in vain', () => {
  const script = { 'send withdrawal': [failed(WRONG)], 'scan withdrawals': [seen(untagged)] };
  const mine = pay({ ...script, 'read claims': [{ claimed: [] }] });
  assert.equal(codeOf(mine.result), 'RECORD_COULD_BE_IT');
  const theirs = pay({ ...script, 'read claims': [{ claimed: [untagged.id] }] });
  assert.equal(theirs.result.kind, 'not paid');
  // Beyond fifty nobody is asked: it could be one of them.
  const many = Array.from({ length: 51 }, (_, index) => ({ ...untagged, id: `wtd_${index}` }));
  const asked = pay({ ...script, 'scan withdrawals': [seen(...many)] });
  assert.equal(codeOf(asked.result), 'RECORD_COULD_BE_IT');
  assert.ok(!kindsOf(asked.effects).includes('read claims'));
});

test('a new start sends nothing that another run of the policy has done meanwhile, and asks about it once', () => {
  const rival = { 'read rival': [{ rival: 'p.2026-11-21-2', silent: null }] };
  const held = pay(rival, WALKED, again());
  assert.deepEqual(sentAs(held.effects), []);
  assert.equal(codeOf(held.result), 'DONE_ELSEWHERE');
  const leg = play(
    requestQuoteSteps(again(), LEG, { ...NEW_LEG, knownIn: 'run-2', knownAtMs: NOW, sent: true }),
    rival,
  );
  assert.equal(codeOf(leg.result), 'DONE_ELSEWHERE');
  assert.ok(!kindsOf(leg.effects).includes('send quote'));
  // One that does not answer may have done it: nothing leaves, and it is asked again.
  const silent = { 'read rival': [{ rival: null, silent: 'p.2026-11-21-2' }] };
  const waiting = pay(silent, WALKED, again());
  assert.deepEqual(sentAs(waiting.effects), []);
  assert.equal(codeOf(waiting.result), 'OTHER_RUN_SILENT');
  assert.ok(kindsOf(pay({}, stateOf(waiting.result), again()).effects).includes('read rival'));
  const unquoted = play(
    requestQuoteSteps(again(), LEG, { ...NEW_LEG, knownIn: 'run-2', knownAtMs: NOW, sent: true }),
    silent,
  );
  assert.equal(codeOf(unquoted.result), 'OTHER_RUN_SILENT');
  assert.ok(!kindsOf(unquoted.effects).includes('send quote'));
  const free = pay({ 'send withdrawal': [NO_ANSWER] }, WALKED, again());
  assert.equal(kindsOf(free.effects).filter((kind) => kind === 'read rival').length, 1);
  const later = pay({}, stateOf(free.result), again());
  assert.ok(!kindsOf(later.effects).includes('read rival'));
  // The run that made the plan is the first of its date, or was started on purpose.
  assert.ok(!kindsOf(pay({}).effects).includes('read rival'));
});

test('a refusal that another Temporal run was given, and its quotes, end nothing after a reset; its doubt stays', () => {
  const problem: Problem = { code: 'TRADE_INSUFFICIENT_BALANCE', item: LEG.id, message: 'x', fix: 'y' };
  const doubt = { lastSendMs: NOW - DAY_MS, absentAtMs: NOW - DAY_MS, under: KEY, why: 'x' };
  const before: LegState = {
    ...NEW_LEG,
    knownIn: 'run-1',
    sent: true,
    quotes: 3,
    phase: { kind: 'refused', problem },
    doubt,
  };
  const first = play(requestQuoteSteps(again(), LEG, before)).result;
  assert.equal(codeOf(first), 'IN_DOUBT');
  assert.equal(stateOf(first).phase.kind, 'open');
  // When time has settled the doubt, it asks for a quote.
  let state = stateOf(first);
  let nowMs = NOW;
  let step = first;
  for (let calls = 0; step.kind === 'wait' && calls < 50; calls += 1) {
    nowMs += step.wait.afterMs;
    const at = nowMs;
    step = play(requestQuoteSteps(again({ nowMs: () => at }), LEG, state)).result;
    state = stateOf(step);
  }
  assert.equal(step.kind, 'requote');
  assert.equal(play(requestQuoteSteps(again({ nowMs: () => nowMs }), LEG, state)).result.kind, 'quoted');
  // Not either where the reset is to before a trade.
  const quoted: LegState = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quotes: 3, quote: IN_HAND };
  assert.equal(stateOf(play(executeTradeSteps(again(), LEG, quoted)).result).quotes, 0);
  const short: PaymentState = {
    ...WALKED,
    knownIn: 'run-1',
    walkedIn: 'run-1',
    phase: { kind: 'short', problem, despite: null },
  };
  assert.equal(stateOf(pay({ 'send withdrawal': [NO_ANSWER] }, short, again()).result).phase.kind, 'open');
  // What a person has to decide, no reset decides.
  const spent: PaymentState = { ...short, phase: { kind: 'spent', problem } };
  assert.equal(stateOf(pay({}, spent, again()).result).phase, spent.phase);
});

const FOREIGN = { credentials: { ...context().credentials, organisation: 'org-2' } };
const SECOND_ATTEMPT = { attempt: { ...context().attempt, number: 2 } };

for (const [what, cannotTell] of [
  ['the clocks are apart', { skewMs: () => MINUTE_MS }],
  ['the credentials are of another organisation', FOREIGN],
] as const) {
  test(`a second attempt that can tell nothing yet, since ${what}, leaves to the next call what the first may have sent`, () => {
    const known = { knownIn: 'run-1', knownAtMs: NOW, sent: false };
    const quoted = { ...NEW_LEG, ...known, quotes: 1, quote: IN_HAND };
    const leg = play(executeTradeSteps(context({ ...SECOND_ATTEMPT, ...cannotTell }), LEG, quoted));
    assert.equal(leg.result.kind, 'wait');
    const next = play(executeTradeSteps(context({ nowMs: () => NOW + MINUTE_MS }), LEG, stateOf(leg.result)));
    assert.equal(next.result.kind === 'wait' && next.result.wait.reason, 'doubt');

    const payment = pay({}, { ...WALKED, ...known }, context({ ...SECOND_ATTEMPT, ...cannotTell }));
    const cancel = kept([saidAt(NOW, { kind: 'cancel' })]);
    const cancelled = pay({ kept: cancel }, stateOf(payment.result), context());
    assert.equal(cancelled.result.kind === 'wait' && cancelled.result.wait.reason, 'doubt');
  });
}

test('the design says of everything that may hide a send what proves sooner that there was none', () => {
  const page = readFileSync(urlOf('docs/design.md'), 'utf8');
  for (const why of Object.values(HIDDEN_BY)) assert.ok(page.includes(`| ${why} | `), why);
});
