/** The steps of a payment against scripted replies: looks, sends, generations, and what follows (M1, M2). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Kept } from '../../domain/people/instructions.ts';
import { makeProblem } from '../../domain/problems.ts';
import { DECISIONS, type ReplyClass } from '../../domain/service/reply-rules.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import type { Answer, Context, Effect } from '../../domain/writes/step.ts';
import {
  NEW_PAYMENT,
  createWithdrawalSteps,
  type PaymentState,
  type PaymentStep,
  type Wanted,
} from '../../domain/writes/withdrawal.ts';
import {
  NOT_SENT,
  NO_ANSWER,
  NOW,
  PAYMENT,
  UNREADABLE,
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
import { kept, type LooseRecorded } from '../support/instructions.ts';

const AMOUNT = '17250.00';
const WANTED = { amount: AMOUNT, ahead: '0', unwanted: null } as const;
const LATER = NOW + 60_000;
/** A payment of this very run of which nothing is known since the send that could be accepted until `NOW` + 45 s. */
const DOUBTFUL: PaymentState = {
  ...NEW_PAYMENT,
  knownIn: 'run-1',
  walkedIn: 'run-1',
  sent: true,
  tries: 1,
  doubt: { lastSendMs: NOW + 45_000, absentAtMs: null, under: 'org/org-1/apiKey/1', why: 'no answer' },
};

const pay = (script: Script = {}, state = NEW_PAYMENT, ctx: Context = context()) =>
  play(createWithdrawalSteps(ctx, PAYMENT, WANTED, state), script);

function named(step: PaymentStep): string {
  return step.kind === 'wait' ? `wait: ${step.wait.reason}` : step.kind;
}

function problemOf(step: PaymentStep): string | null {
  if (step.kind === 'not paid') return step.problem.code;
  return step.kind === 'wait' ? step.wait.problem.code : null;
}

/** The references under which something was sent. */
function sentAs(effects: readonly Effect[]): readonly string[] {
  return effects.flatMap((effect) => (effect.kind === 'send withdrawal' ? [effect.request.reference] : []));
}

const replayed = (code: string): Answer => failed(code, { facts: { replayed: true } });

test('a fresh payment is sent once, without a look, under its reference', () => {
  const { result, effects } = pay();
  assert.deepEqual(kindsOf(effects), ['read instructions', 'send withdrawal']);
  assert.deepEqual(effects.at(-1), {
    kind: 'send withdrawal',
    request: { account: PAYMENT.account, currency: 'MXN', amount: AMOUNT, reference: PAYMENT.reference },
  });
  assert.ok(result.kind === 'accepted');
  assert.deepEqual(result.accepted, {
    withdrawalId: WITHDRAWAL.id,
    createdAtMs: Date.parse(WITHDRAWAL.createdAt),
    reference: PAYMENT.reference,
    status: 'PENDING',
    amount: AMOUNT,
  });
});

test('a payment that this history may not know of is looked for, then sent under the same key', () => {
  const rows: readonly (readonly [string, Context, Partial<PaymentState>])[] = [
    ['the run was reset', context({ attempt: { runId: 'run-2' } }), {}],
    ['another run made the plan', context({ plan: { madeFor: 'run-0' } }), {}],
    ['the attempt is not the first', context({ attempt: { number: 2 } }), {}],
    ['it is in doubt', context(), DOUBTFUL],
  ];
  for (const [why, ctx, state] of rows) {
    const found = pay({ 'scan withdrawals': [seen(WITHDRAWAL)] }, { ...NEW_PAYMENT, ...state }, ctx);
    assert.deepEqual(kindsOf(found.effects), ['read instructions', 'scan withdrawals'], why);
    assert.equal(found.result.kind, 'accepted', why);
    const absent = pay({}, { ...NEW_PAYMENT, ...state }, ctx);
    assert.deepEqual(
      kindsOf(absent.effects).filter((kind) => kind !== 'read rival'),
      ['read instructions', 'scan withdrawals', 'send withdrawal'],
      why,
    );
    assert.deepEqual(sentAs(absent.effects), [PAYMENT.reference], why);
    assert.equal(absent.result.kind, 'accepted', why);
  }
});

test('a plan that is older than a restore takes is no reason to look for a payment', () => {
  const { effects } = pay({}, NEW_PAYMENT, context({ plan: { madeAtMs: NOW - 3_600_000 } }));
  assert.deepEqual(kindsOf(effects), ['read instructions', 'send withdrawal']);
});

test('an untagged twin or an unreadable list never ends a payment; the same key again is itself a look', () => {
  for (const [look, held] of [
    [seen({ ...WITHDRAWAL, tag: null }), 'wait: person'],
    [UNREADABLE, 'wait: service'],
  ] as const) {
    const { result, effects } = pay({ 'scan withdrawals': [look] }, DOUBTFUL);
    assert.deepEqual(sentAs(effects), [PAYMENT.reference]);
    assert.equal(result.kind, 'accepted');
    const refused = pay(
      { 'scan withdrawals': [look], 'send withdrawal': [failed('WITHDRAWAL_ADDRESS_NOT_FOUND')] },
      DOUBTFUL,
      context({ nowMs: () => LATER }),
    );
    assert.equal(named(refused.result), held);
  }
});

/** Per class of reply to a first send that no look finds: what follows, and whether it is in doubt. */
const AFTER: Readonly<Record<Exclude<ReplyClass, 'done'>, { step: string; doubt: boolean }>> = {
  'wait, same key': { step: 'wait: service', doubt: true },
  'check state, then retry': { step: 'wait: doubt', doubt: true },
  'look up, then a new quote': { step: 'wait: doubt', doubt: true },
  'ours, probably': { step: 'wait: doubt', doubt: true },
  'wait for money': { step: 'not paid', doubt: false },
  'the item is wrong': { step: 'not paid', doubt: false },
  'pause the policy': { step: 'wait: configuration', doubt: false },
  'pause everything': { step: 'wait: configuration', doubt: false },
  unknown: { step: 'wait: doubt', doubt: true },
};
const CLASSES = Object.keys(AFTER) as (keyof typeof AFTER)[];
const DEFINITIVE: readonly ReplyClass[] = [
  'wait for money',
  'the item is wrong',
  'pause the policy',
  'pause everything',
];

function codesOf(replyClass: ReplyClass): readonly string[] {
  return Object.entries(DECISIONS).flatMap(([code, row]) => (row.class === replyClass ? [code] : []));
}

for (const replyClass of CLASSES) {
  const expected = AFTER[replyClass];

  test(`a payment answered with a code of "${replyClass}": ${expected.step}, under the same key`, () => {
    for (const code of codesOf(replyClass)) {
      const { result, effects } = pay({ 'send withdrawal': [failed(code)] });
      assert.equal(named(result), expected.step, code);
      assert.equal(stateOf(result).doubt !== null, expected.doubt && code !== 'RATE_LIMIT_EXCEEDED', code);
      assert.deepEqual(sentAs(effects), [PAYMENT.reference], code);
      assert.equal(stateOf(result).generation, 1, code);
      // An end is never said without a look after the reply.
      if (result.kind === 'not paid') assert.equal(kindsOf(effects).at(-1), 'scan withdrawals', code);
      const found = pay({ 'send withdrawal': [failed(code)], 'scan withdrawals': [seen(WITHDRAWAL)] });
      const looks = kindsOf(found.effects).includes('scan withdrawals');
      assert.equal(found.result.kind === 'accepted', looks, code);
    }
  });

  test(`a payment in doubt answered with a code of "${replyClass}" ends nothing and opens no generation`, () => {
    for (const answerOf of [failed, replayed])
      for (const code of codesOf(replyClass)) {
        const { result, effects } = pay({ 'send withdrawal': [answerOf(code)] }, DOUBTFUL);
        assert.equal(result.kind, 'wait', code);
        assert.ok(result.state.doubt !== null && result.state.doubt.lastSendMs >= NOW + 45_000, code);
        assert.deepEqual(sentAs(effects), [PAYMENT.reference], code);
        assert.equal(result.state.generation, 1, code);
      }
  });
}

test('a definitive refusal ends the doubt once no earlier send can be accepted any more', () => {
  const answer = failed('WITHDRAWAL_ADDRESS_NOT_VERIFIED');
  for (const [nowMs, step] of [
    [NOW + 45_000, 'wait: doubt'],
    [NOW + 45_001, 'not paid'],
  ] as const) {
    const { result } = pay({ 'send withdrawal': [answer] }, DOUBTFUL, context({ nowMs: () => nowMs }));
    assert.equal(named(result), step);
  }
});

/** A payment of a run that was started again, when it is in doubt no more. */
const AGAIN = context({ attempt: { runId: 'run-2' } });
const KNOWN_AGAIN: PaymentState = { ...NEW_PAYMENT, knownIn: 'run-2', walkedIn: 'run-2', sent: true };

test('a replayed definitive refusal opens the next generation of a run that was started again; a fresh one, a stored 5xx or a mismatch does not', () => {
  for (const replyClass of CLASSES)
    for (const code of codesOf(replyClass)) {
      const { result, effects } = pay(
        {
          'send withdrawal': [replayed(code), done({ ...WITHDRAWAL, tag: null })],
        },
        KNOWN_AGAIN,
        AGAIN,
      );
      const definitive = DEFINITIVE.includes(replyClass);
      assert.deepEqual(
        sentAs(effects),
        definitive ? [PAYMENT.reference, `${PAYMENT.reference}~2`] : [PAYMENT.reference],
        code,
      );
      assert.equal(result.kind === 'accepted', definitive, code);
      if (result.kind === 'accepted') assert.equal(result.accepted.reference, `${PAYMENT.reference}~2`);
    }
});

test('generations are walked from the first, past every refusal of those that were opened before', () => {
  const refusal = replayed('WITHDRAWAL_ADDRESS_NOT_VERIFIED');
  const facts = [2, 3, 4, 5, 6, 7, 8].map(
    (generation) => ({ kind: 'opened', item: PAYMENT.id, generation, atMs: NOW }) as const,
  );
  const { result, effects } = pay(
    { 'send withdrawal': [refusal], 'read instructions': [{ instructions: [], facts }] },
    KNOWN_AGAIN,
    AGAIN,
  );
  assert.deepEqual(
    sentAs(effects),
    [1, 2, 3, 4, 5, 6, 7, 8].map((generation) =>
      generation === 1 ? PAYMENT.reference : `${PAYMENT.reference}~${generation}`,
    ),
  );
  assert.equal(named(result), 'not paid');
  // Another Temporal run begins at the first again.
  const again = pay({}, { ...stateOf(result), generation: 5, walkedIn: 'run-0' });
  assert.deepEqual(sentAs(again.effects), [PAYMENT.reference]);
});

test('a run goes past a standing refusal once, and again only when a read shows the cause gone', () => {
  const hold = {
    ...AGAIN,
    plan: { ...AGAIN.plan, rules: { ...AGAIN.plan.rules, shortfall: 'hold' as const } },
  };
  const poor = failed('WITHDRAWAL_INSUFFICIENT_BALANCE');
  const again = replayed('WITHDRAWAL_INSUFFICIENT_BALANCE');
  // The first generation is refused of old, the second is refused now.
  const first = pay({ 'send withdrawal': [again, poor] }, KNOWN_AGAIN, hold);
  assert.equal(named(first.result), 'wait: money');
  assert.equal(stateOf(first.result).generation, 2);
  // No money yet: nothing is sent.
  const none = done({ aggregateUsd: '0', balances: [{ currency: 'MXN', withdrawable: '1', total: '1' }] });
  const facts = [{ kind: 'opened', item: PAYMENT.id, generation: 2, atMs: NOW }] as const;
  const opened = { 'read instructions': [{ instructions: [], facts }] };
  const waiting = pay({ ...opened, 'read balances': [none] }, stateOf(first.result), hold);
  assert.equal(named(waiting.result), 'wait: money');
  assert.ok(waiting.result.kind === 'wait');
  assert.deepEqual(waiting.result.wait.short, { currency: 'MXN', needed: '17250', there: '1' });
  assert.deepEqual(sentAs(waiting.effects), []);
  // Money is there: past the second, to the third.
  const there = pay(
    { ...opened, 'send withdrawal': [again, done({ ...WITHDRAWAL, tag: null })] },
    stateOf(first.result),
    hold,
  );
  assert.deepEqual(sentAs(there.effects), [`${PAYMENT.reference}~2`, `${PAYMENT.reference}~3`]);
});

test('a later generation that nobody has opened is not sent, whatever the history says of it', () => {
  const state = { ...KNOWN_AGAIN, generation: 3, walkedIn: AGAIN.attempt.runId };
  assert.deepEqual(sentAs(pay({}, state, AGAIN).effects), [PAYMENT.reference]);
  const facts = [{ kind: 'opened', item: PAYMENT.id, generation: 3, atMs: NOW }] as const;
  const opened = pay({ 'read instructions': [{ instructions: [], facts }] }, state, AGAIN);
  assert.deepEqual(sentAs(opened.effects), [`${PAYMENT.reference}~3`]);
});

/** Replies without a usable code. */
const ODD: readonly (readonly [string, Answer, string, boolean])[] = [
  ['no answer', NO_ANSWER, 'wait: doubt', true],
  ['an unknown code', failed('WITHDRAWAL_SOMETHING_NEW'), 'wait: doubt', true],
  ['a request that never left', NOT_SENT, 'wait: service', false],
  ['the success of another amount', done({ ...WITHDRAWAL, withdrawalAmount: '1.00' }), 'wait: doubt', true],
  [
    'the success of another account',
    done({ ...WITHDRAWAL, withdrawalAccountId: 'wac_x' }),
    'wait: doubt',
    true,
  ],
  ['the success of another currency', done({ ...WITHDRAWAL, currency: 'EUR' }), 'wait: doubt', true],
  ['the success of another tag', done({ ...WITHDRAWAL, tag: 'p.2026-11-21.other' }), 'wait: doubt', true],
  [
    'a nonce that was used before',
    failed('AUTH_TOKEN_INVALID', { details: { reason: 'nonce_replay' } }),
    'wait: doubt',
    true,
  ],
];

for (const [what, answer, step, doubt] of ODD)
  test(`a payment that got ${what}: ${step}${doubt ? ', in doubt' : ''}`, () => {
    const { result } = pay({ 'send withdrawal': [answer] });
    assert.equal(named(result), step);
    assert.equal(stateOf(result).doubt !== null, doubt);
  });

test('a success that shows no metadata is ours, and counts whenever it comes', () => {
  for (const state of [NEW_PAYMENT, DOUBTFUL]) {
    const { result } = pay(
      { 'send withdrawal': [done({ ...WITHDRAWAL, tag: null }, { replayed: true })] },
      state,
    );
    assert.ok(result.kind === 'accepted');
    assert.equal(result.accepted.reference, PAYMENT.reference);
  }
});

test('after a failed initiation the record is fetched by the id that came with it', () => {
  const answer = failed('WITHDRAWAL_INITIATION_FAILED', {
    details: { resourceId: WITHDRAWAL.id, timeoutMs: 3_000 },
  });
  // The record need not show its tag: the service gave us its id.
  const found = pay({
    'send withdrawal': [answer],
    'fetch withdrawal': [done({ ...WITHDRAWAL, tag: null })],
  });
  assert.equal(found.result.kind, 'accepted');
  const others = [
    done({ ...WITHDRAWAL, withdrawalAmount: '1.00' }),
    failed('WITHDRAWAL_NOT_FOUND'),
    failed('ROUTE_NOT_FOUND'),
    NO_ANSWER,
  ];
  for (const fetched of others) {
    const { result } = pay({ 'send withdrawal': [answer], 'fetch withdrawal': [fetched] });
    assert.equal(named(result), 'wait: doubt');
    assert.ok(result.kind === 'wait' && result.wait.afterMs === 3_000);
  }
});

test('a stored failure, a mismatch and a duplicate are never sent again: doubt by time, then a person', () => {
  const facts = { ...context().facts, settleDoubtMs: { trade: 2_000, withdrawal: 4_000 } };
  const later = (ms: number) => context({ facts, nowMs: () => NOW + ms });
  for (const answer of [
    failed('IDEMPOTENCY_MISMATCH'),
    failed('TRADE_DUPLICATE_CLIENT_REFERENCE'),
    replayed('WITHDRAWAL_INITIATION_FAILED'),
    replayed('INTERNAL_ERROR'),
  ]) {
    const first = pay({ 'send withdrawal': [answer] }).result;
    assert.equal(named(first), 'wait: doubt');
    const half = pay({}, stateOf(first), later(57_500));
    assert.equal(named(half.result), 'wait: doubt');
    const end = pay({}, stateOf(half.result), later(59_500));
    assert.equal(named(end.result), 'wait: person');
    assert.deepEqual(sentAs([...half.effects, ...end.effects]), []);
    // A record that appears after all stands above everything.
    const found = pay({ 'scan withdrawals': [seen(WITHDRAWAL)] }, stateOf(end.result), later(60_000));
    assert.equal(found.result.kind, 'accepted');
  }
});

test('too little money holds or ends the payment, as the policy says', () => {
  for (const code of codesOf('wait for money')) {
    assert.equal(named(pay({ 'send withdrawal': [failed(code)] }).result), 'not paid', code);
    const hold = context({ rules: { shortfall: 'hold' } });
    const { result } = pay({ 'send withdrawal': [failed(code)] }, NEW_PAYMENT, hold);
    assert.equal(named(result), 'wait: money', code);
  }
});

const alike = (kind: 'held' | 'approved') => (kind === 'held' ? { kind, recordId: 'wtd_9' } : { kind });

test('a payment that somebody else may have made waits for a person before it is sent, also after a reset', () => {
  for (const ctx of [context(), context({ attempt: { runId: 'run-2' } })]) {
    const wanted = { ...WANTED, alike: alike('held') };
    const { result, effects } = play(createWithdrawalSteps(ctx, PAYMENT, wanted, NEW_PAYMENT), {
      'scan withdrawals': [seen<Withdrawal>()],
    });
    assert.equal(named(result), 'wait: person');
    assert.equal(problemOf(result), 'LOOKS_PAID');
    assert.deepEqual(sentAs(effects), []);
  }
});

test('one that a person has approved is sent, and no reason against an end', () => {
  const words = [
    kept({
      kind: 'go-on',
      item: 'look-alikes-abcdefghijkl',
      takesBack: null,
      lookAlikes: { sinceMs: NOW - 86_400_000, untilMs: NOW - 60_000, perGroup: 1, groups: [] },
      atMs: NOW - 30_000,
    }),
  ];
  const refusal = failed('WITHDRAWAL_ADDRESS_NOT_VERIFIED');
  const twin = (atMs: number): Withdrawal => ({
    ...WITHDRAWAL,
    id: 'wtd_9',
    tag: null,
    createdAt: new Date(atMs).toISOString(),
  });
  const end = (kind: 'approved' | null, atMs: number): PaymentStep => {
    const wanted = kind === null ? WANTED : { ...WANTED, alike: alike(kind) };
    return play(createWithdrawalSteps(context(), PAYMENT, wanted, NEW_PAYMENT), {
      'read instructions': words,
      'send withdrawal': [refusal],
      'scan withdrawals': [seen(twin(atMs))],
    }).result;
  };
  assert.equal(named(end('approved', NOW - 60_000)), 'not paid');
  // What was created since, and what was approved for no payment of this kind, still could be it.
  assert.equal(problemOf(end('approved', NOW - 59_999)), 'RECORD_COULD_BE_IT');
  assert.equal(problemOf(end(null, NOW - 60_000)), 'RECORD_COULD_BE_IT');
});

test('that look-alikes are approved counts only where the worker that sends reads so itself, and with the signatures that it must have', () => {
  const list = kept({
    kind: 'go-on',
    id: 'list',
    item: 'look-alikes-abcdefghijkl',
    takesBack: null,
    lookAlikes: { sinceMs: NOW - 86_400_000, untilMs: NOW - 60_000, perGroup: 1, groups: [] },
    atMs: NOW - 30_000,
  });
  const unsigned = { ...list, unsigned: { list: 'ben has not signed.' } };
  const told = (kind: 'held' | 'approved', words: Kept) => {
    const wanted = { ...WANTED, alike: alike(kind) };
    const { result, effects } = play(createWithdrawalSteps(context(), PAYMENT, wanted, NEW_PAYMENT), {
      'read instructions': [words],
      'send withdrawal': [done(WITHDRAWAL)],
    });
    return [result.kind === 'wait' ? problemOf(result) : result.kind, sentAs(effects).length];
  };
  assert.deepEqual(told('approved', list), ['accepted', 1]);
  assert.deepEqual(told('approved', unsigned), ['AWAITING_APPROVAL', 0]);
  // Whoever answers in the place of the worker that gives the go can say what he likes.
  assert.deepEqual(told('approved', kept()), ['LOOKS_PAID', 0]);
  assert.deepEqual(told('held', unsigned), ['AWAITING_APPROVAL', 0]);
  assert.deepEqual(told('held', list), ['LOOKS_PAID', 0]);
});

test('while a decision lacks signatures, a payment is neither sent nor ended, and a record of its own is adopted', () => {
  const words = kept({ kind: 'executed', item: PAYMENT.id, recordId: 'wtd_9', id: 'word' });
  const unsigned = { ...words, unsigned: { word: 'ben has not signed.' } };
  const after = (state: PaymentState, record?: Withdrawal) =>
    play(createWithdrawalSteps(context(), PAYMENT, WANTED, state), {
      'read instructions': [unsigned],
      'scan withdrawals': [record === undefined ? seen<Withdrawal>() : seen(record)],
    });
  for (const state of [NEW_PAYMENT, DOUBTFUL]) {
    const { result, effects } = after(state);
    assert.equal(named(result), 'wait: approval');
    assert.equal(problemOf(result), 'AWAITING_APPROVAL');
    assert.deepEqual(sentAs(effects), []);
    assert.equal(named(after(state, { ...WITHDRAWAL, tag: PAYMENT.reference }).result), 'accepted');
  }
});

test('a record that a word to pay again names makes no record the payment’s own before that word is signed', () => {
  const words = kept({ kind: 'pay again', item: PAYMENT.id, follows: 1, recordId: 'wtd_9', id: 'word' });
  const after = (unsigned: Readonly<Record<string, string>>) =>
    play(createWithdrawalSteps(context(), PAYMENT, WANTED, DOUBTFUL), {
      'read instructions': [{ ...words, unsigned }],
      'scan withdrawals': [seen({ ...WITHDRAWAL, id: 'wtd_9', tag: null })],
    });
  // The key that is in doubt leaves once more, and the service answers it as it did.
  assert.deepEqual(sentAs(after({}).effects), []);
  assert.deepEqual(sentAs(after({ word: 'ben has not signed.' }).effects), [PAYMENT.reference]);
});

const UNJUDGED = { unsigned: { word: 'ssh-keygen is missing.' }, unjudged: ['word'] };
const UNJUDGED_WORDS: readonly LooseRecorded[] = [
  { kind: 'pay again', item: PAYMENT.id, follows: 1, recordId: 'wtd_9', id: 'word' },
  { kind: 'not this', item: PAYMENT.id, recordId: 'wtd_9', id: 'word' },
];
const ENDED: LooseRecorded = { kind: 'not executed', item: PAYMENT.id };

/** What a payment comes to while people’s words about it cannot be judged. */
function whileUnjudged(words: readonly LooseRecorded[], now: Context, list: readonly Withdrawal[] = []) {
  const { result, effects } = play(createWithdrawalSteps(now, PAYMENT, WANTED, DOUBTFUL), {
    'read instructions': [{ ...kept(...words), ...UNJUDGED }],
    'scan withdrawals': [seen(...list)],
  });
  assert.deepEqual(sentAs(effects), []);
  return { result, problem: problemOf(result) };
}

test('while it cannot be told whether a word about it is signed, a payment is neither sent, nor ended, nor another record its own (M1)', () => {
  const late = context({ nowMs: () => context().plan.sendWindows.withdrawalsUntilMs + 1 });
  // What people have signed before it does not count alone: the word may have taken it back.
  const asPaid: LooseRecorded = { kind: 'executed', item: PAYMENT.id, recordId: 'wtd_9' };
  const untagged: Withdrawal = { ...WITHDRAWAL, id: 'wtd_9', tag: null };
  for (const word of UNJUDGED_WORDS)
    for (const words of [[word], [ENDED, word], [asPaid, word]])
      for (const now of [context(), late])
        for (const list of [[], [untagged]]) {
          const { result, problem } = whileUnjudged(words, now, list);
          assert.deepEqual([named(result), problem], ['wait: approval', 'AWAITING_APPROVAL']);
        }
  // Another payment of the run goes on.
  const other = kept({ kind: 'not this', item: 'other', recordId: 'wtd_9', id: 'word' });
  const { effects } = play(createWithdrawalSteps(context(), PAYMENT, WANTED, NEW_PAYMENT), {
    'read instructions': [{ ...other, ...UNJUDGED }],
  });
  assert.deepEqual(sentAs(effects), [PAYMENT.reference]);
});

test('a word that cannot be judged keeps no payment from its own record, from a cancel, or from a later decision that counts (M8)', () => {
  const paid: Withdrawal = { ...WITHDRAWAL, tag: PAYMENT.reference, status: 'COMPLETED' };
  for (const word of UNJUDGED_WORDS) {
    assert.equal(whileUnjudged([word], context(), [paid]).result.kind, 'accepted');
    // Both go on to the proofs that any end needs.
    assert.equal(whileUnjudged([word, { kind: 'cancel' }], context()).problem, 'IN_DOUBT');
    assert.equal(whileUnjudged([word, ENDED], context()).problem, 'DECISION_PENDING');
  }
});

test('a record that a person says is not the payment’s stops it no more; the service’s own word counts all the same', () => {
  const twin: Withdrawal = { ...WITHDRAWAL, id: 'wtd_9', tag: null };
  const notThis = (recordId: string) =>
    ({
      kind: 'not this',
      item: PAYMENT.id,
      recordId,
      why: 'paid by hand for another invoice',
      atMs: NOW,
    }) as const;
  const late = context({ nowMs: () => context().plan.sendWindows.withdrawalsUntilMs + 1 });
  const said = (words: readonly LooseRecorded[], list: readonly Withdrawal[]) =>
    play(createWithdrawalSteps(late, PAYMENT, WANTED, NEW_PAYMENT), {
      'read instructions': [kept(...words)],
      'scan withdrawals': [seen(...list)],
    }).result;
  // Past its window nothing else could ever end it.
  assert.equal(problemOf(said([], [twin])), 'RECORD_COULD_BE_IT');
  assert.equal(problemOf(said([notThis(twin.id)], [twin])), 'WINDOW_PASSED');
  // One of two is named.
  const other = { ...twin, id: 'wtd_8' };
  const left = said([notThis(twin.id)], [other, twin]);
  assert.match(
    left.kind === 'wait' ? left.wait.problem.message : left.kind,
    /withdrawal wtd_8 has no reference/,
  );
  const both = said([], [other, twin]);
  assert.match(
    both.kind === 'wait' ? both.wait.problem.message : both.kind,
    /withdrawals wtd_8, wtd_9 have no reference/,
  );
  // It carries the payment's tag, or the service gave it for the payment.
  assert.equal(said([notThis(WITHDRAWAL.id)], [WITHDRAWAL]).kind, 'accepted');
  const given = { ...NEW_PAYMENT, closedIds: [twin.id] };
  const { result } = play(createWithdrawalSteps(late, PAYMENT, WANTED, given), {
    'read instructions': [kept(notThis(twin.id))],
    'scan withdrawals': [seen(twin)],
  });
  assert.equal(result.kind, 'accepted');
});

test('a request that the service calls malformed is our bug while nothing else was accepted: it holds', () => {
  const answer = failed('VALIDATION_BODY_FAILED');
  const alone = pay({ 'send withdrawal': [answer] }, NEW_PAYMENT, context({ othersAccepted: false }));
  assert.equal(named(alone.result), 'wait: configuration');
});

test('a cancelled payment is not sent; one that may have been sent is looked for until that is settled', () => {
  const words = [kept({ kind: 'cancel', atMs: NOW })];
  const fresh = pay({ 'read instructions': words });
  assert.equal(problemOf(fresh.result), 'CANCELLED');
  assert.deepEqual(sentAs(fresh.effects), []);
  const doubtful = pay({ 'read instructions': words }, DOUBTFUL);
  assert.equal(named(doubtful.result), 'wait: doubt');
  assert.deepEqual(sentAs(doubtful.effects), []);
  const found = pay({ 'read instructions': words, 'scan withdrawals': [seen(WITHDRAWAL)] }, DOUBTFUL);
  assert.equal(found.result.kind, 'accepted');
});

test('no payment leaves before its date begins or after its send window', () => {
  const { sendWindows } = context().plan;
  const rows: readonly (readonly [number, string, string | null])[] = [
    [sendWindows.opensAtMs - 1, 'wait: opening', 'NOT_YET_OPEN'],
    [sendWindows.opensAtMs, 'accepted', null],
    [sendWindows.withdrawalsUntilMs, 'accepted', null],
    [sendWindows.withdrawalsUntilMs + 1, 'not paid', 'WINDOW_PASSED'],
  ];
  for (const [nowMs, step, code] of rows) {
    const { result, effects } = pay({}, NEW_PAYMENT, context({ nowMs: () => nowMs }));
    assert.equal(named(result), step);
    assert.equal(problemOf(result), code);
    assert.equal(sentAs(effects).length, step === 'accepted' ? 1 : 0);
  }
  // Beyond the send window the same key is no lookup any more: what is in doubt is settled by lookups alone.
  const late = context({ nowMs: () => sendWindows.withdrawalsUntilMs + 1 });
  const { result, effects } = pay({}, DOUBTFUL, late);
  assert.equal(named(result), 'wait: doubt');
  assert.deepEqual(sentAs(effects), []);
});

test('a worker of another organisation or mode touches nothing', () => {
  for (const credentials of [
    { mode: 'LIVE', organisation: 'org-1', keyName: 'k' },
    { mode: 'SANDBOX', organisation: 'org-2', keyName: 'k' },
  ] as const) {
    const { result, effects } = pay({}, DOUBTFUL, context({ credentials }));
    assert.equal(problemOf(result), 'CREDENTIALS_DIFFER');
    assert.deepEqual(kindsOf(effects), ['read instructions']);
  }
});

test('two payments of one call never count the same record as their own', () => {
  const { result } = pay({}, NEW_PAYMENT, context({ take: () => false }));
  assert.equal(problemOf(result), 'RECORD_TAKEN');
});

test('a success that another payment of the run counts as its own is for a person to sort out', () => {
  const { result } = pay({}, NEW_PAYMENT, context({ otherWithdrawalIds: [WITHDRAWAL.id] }));
  assert.equal(named(result), 'wait: person');
  assert.equal(problemOf(result), 'RECORD_TAKEN');
});

test('clocks more than ten seconds apart stop the payment, not the look', () => {
  const { result, effects } = pay({}, DOUBTFUL, context({ skewMs: () => 10_001 }));
  assert.equal(problemOf(result), 'CLOCK_SKEW');
  assert.ok(kindsOf(effects).includes('scan withdrawals'));
});

test('a record that contradicts the plan is never overwritten: a person decides', () => {
  const { result, effects } = pay(
    { 'scan withdrawals': [seen({ ...WITHDRAWAL, withdrawalAmount: '1.00' })] },
    DOUBTFUL,
  );
  assert.equal(named(result), 'wait: person');
  assert.equal(problemOf(result), 'RECORD_DIFFERS');
  assert.deepEqual(sentAs(effects), []);
});

test('a record that answered another payment of the run could not be this one', () => {
  const twin = { ...WITHDRAWAL, tag: null };
  const ctx = context({ otherWithdrawalIds: [WITHDRAWAL.id], nowMs: () => LATER });
  const answer = failed('WITHDRAWAL_ADDRESS_NOT_VERIFIED');
  const { result } = pay({ 'scan withdrawals': [seen(twin)], 'send withdrawal': [answer] }, DOUBTFUL, ctx);
  assert.equal(named(result), 'not paid');
});

const NAMED = { kind: 'executed', item: PAYMENT.id, recordId: 'wtd_9', atMs: NOW } as const;
const UNTAGGED: Withdrawal = { ...WITHDRAWAL, id: 'wtd_9', tag: null };
/** What a person's naming a record comes to: the record as the service shows it, and ids that other payments have. */
const NAMINGS: readonly (readonly [string, Answer, readonly string[], string | null])[] = [
  ['agrees and shows no tag', done(UNTAGGED), [], null],
  ['carries the payment’s own tag', done({ ...UNTAGGED, tag: PAYMENT.reference }), [], null],
  ['shows no account', done({ ...UNTAGGED, withdrawalAccountId: null }), [], null],
  ['is of another amount', done({ ...UNTAGGED, withdrawalAmount: '17250.01' }), [], 'DECISION_UNPROVEN'],
  ['is in another currency', done({ ...UNTAGGED, currency: 'USD' }), [], 'DECISION_UNPROVEN'],
  ['went to another account', done({ ...UNTAGGED, withdrawalAccountId: 'wac_X' }), [], 'DECISION_UNPROVEN'],
  ['carries another tag', done({ ...UNTAGGED, tag: 'p.2026-11-21.other' }), [], 'DECISION_UNPROVEN'],
  ['answered another payment', done(UNTAGGED), ['wtd_9'], 'DECISION_UNPROVEN'],
  ['is not to be found', failed('WITHDRAWAL_NOT_FOUND'), [], 'DECISION_UNPROVEN'],
  ['cannot be read', NO_ANSWER, [], 'DECISION_UNPROVEN'],
];
for (const [what, answer, otherWithdrawalIds, code] of NAMINGS)
  test(`a person names a record that ${what}: ${code === null ? 'adopted' : 'asked again'}`, () => {
    const script = { 'read instructions': [kept(NAMED)], 'fetch withdrawal': [answer] };
    // The list shows the record too, when there is one.
    const listed =
      typeof answer === 'object' && 'kind' in answer && answer.kind === 'DONE'
        ? [answer.value as Withdrawal]
        : [];
    for (const look of [seen<Withdrawal>(), seen(...listed)]) {
      const { result, effects } = pay(
        { ...script, 'scan withdrawals': [look] },
        DOUBTFUL,
        context({ otherWithdrawalIds }),
      );
      if (code === null) assert.equal(result.kind === 'accepted' && result.accepted.withdrawalId, 'wtd_9');
      else assert.equal(named(result), 'wait: person');
      if (code !== null && look.records.length === 0) assert.equal(problemOf(result), code);
      assert.deepEqual(sentAs(effects), []);
    }
  });

test('a person names a record without a tag that an item of another run has: nothing is adopted, and a person is asked again', () => {
  const TAKEN = { claimed: ['wtd_9'] };
  const script = {
    'read instructions': [kept(NAMED)],
    'fetch withdrawal': [done(UNTAGGED)],
    'scan withdrawals': [seen(UNTAGGED)],
  };
  const { result, effects } = pay({ ...script, 'read claims': [TAKEN, TAKEN] }, DOUBTFUL);
  assert.equal(named(result), 'wait: person');
  assert.equal(problemOf(result), 'DECISION_UNPROVEN');
  assert.match(JSON.stringify(result), /another item has this record as its own/);
  assert.deepEqual(sentAs(effects), []);
  // A tag says whose it is.
  const own = done({ ...UNTAGGED, tag: PAYMENT.reference });
  const told = pay(
    { ...script, 'fetch withdrawal': [own], 'scan withdrawals': [seen<Withdrawal>()] },
    DOUBTFUL,
  );
  assert.ok(!kindsOf(told.effects).includes('read claims'));
});

test('a record that people have named for another item too is adopted by neither; where that cannot be read, it is asked again', () => {
  for (const [name, answers, wait] of [
    ['listed', [{ named: true }, { named: true }], 'wait: person'],
    ['listed', [{ named: null }, { named: null }], 'wait: service'],
    ['listed', [{ named: false }], 'accepted'],
    ['not listed', [{ named: true }], 'wait: person'],
    ['not listed', [{ named: null }], 'wait: service'],
    ['not listed', [{ named: false }], 'accepted'],
  ] as const) {
    const script = {
      'read instructions': [kept(NAMED)],
      'fetch withdrawal': [done(UNTAGGED)],
      'scan withdrawals': [name === 'listed' ? seen(UNTAGGED) : seen<Withdrawal>()],
      'read words': answers,
    };
    const { result, effects } = pay(script, DOUBTFUL);
    assert.equal(named(result), wait, `${name} ${JSON.stringify(answers)}`);
    assert.deepEqual(sentAs(effects), []);
  }
});

test('a payment that was never handed to a sender ends after one lookup, also in a run that was reset', () => {
  const unwanted = makeProblem('ACCOUNT_UNUSABLE', PAYMENT.id);
  const end = (more: Partial<Wanted> = {}, state = NEW_PAYMENT, script: Script = {}) =>
    play(
      createWithdrawalSteps(AGAIN, PAYMENT, { ...WANTED, unwanted, isNeverSent: true, ...more }, state),
      script,
    );
  const { result, effects } = end();
  assert.equal(named(result), 'not paid');
  assert.deepEqual(kindsOf(effects), ['read instructions', 'scan withdrawals']);
  // A call that was lost says nothing against it.
  assert.equal(named(end({}, { ...NEW_PAYMENT, sent: true }).result), 'not paid');
  assert.equal(named(end({}, NEW_PAYMENT, { 'scan withdrawals': [seen(WITHDRAWAL)] }).result), 'accepted');
  assert.equal(
    problemOf(end({}, NEW_PAYMENT, { 'scan withdrawals': [UNREADABLE] }).result),
    'LOOKUP_INCOMPLETE',
  );
  // What this history shows of a send counts more.
  assert.equal(named(end({}, { ...DOUBTFUL, knownIn: 'run-2' }).result), 'wait: doubt');
  assert.equal(named(end({ unwanted: null }).result), 'accepted');
});
