/** The steps of a leg against scripted replies: what is asked for, what is sent, and what follows (M1, M2, M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Problem } from '../../domain/problems.ts';
import { runName } from '../../domain/references.ts';
import { besideLostRuns } from '../../domain/writes/lost-runs.ts';
import type { Trade } from '../../domain/service/records.ts';
import type { WaitReason } from '../../domain/waits.ts';
import { DECISIONS, type ReplyClass } from '../../domain/service/reply-rules.ts';
import { unreadable, type Answer, type Context, type Day, type Effect } from '../../domain/writes/step.ts';
import { NEW_LEG, quietWhile, type LegState, type LegStep } from '../../domain/writes/leg-state.ts';
import { executeTradeSteps, requestQuoteSteps } from '../../domain/writes/trade.ts';
import {
  LEG,
  NOT_SENT,
  NO_ANSWER,
  NOW,
  QUOTE,
  RUN,
  TRADE,
  UNREADABLE,
  context,
  done,
  failed,
  kindsOf,
  play,
  seen,
  stateOf,
  type Script,
} from '../support/scripts.ts';
import { kept } from '../support/instructions.ts';

const IN_HAND = {
  id: QUOTE.id,
  sellAmount: '1000.00',
  buyAmount: '17250.00',
  usableUntilMs: NOW + 20_000,
  probed: false,
};
/** A leg whose quote, good for another 20 s, this very run has asked for. */
const QUOTED: LegState = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quotes: 1, quote: IN_HAND };
/** The same after a send of which nothing is known. */
const DOUBTFUL: LegState = {
  ...QUOTED,
  sent: true,
  tries: 1,
  doubt: { lastSendMs: NOW + 45_000, absentAtMs: null, under: 'org/org-1/apiKey/1', why: 'no answer' },
};

const quote = (script: Script = {}, state = NEW_LEG, ctx: Context = context()) =>
  play(requestQuoteSteps(ctx, LEG, state), script);
const trade = (script: Script = {}, state = QUOTED, ctx: Context = context()) =>
  play(executeTradeSteps(ctx, LEG, state), script);

/** A step in one word: what it is, and what it waits for. */
function named(step: LegStep): string {
  return step.kind === 'wait' ? `wait: ${step.wait.reason}` : step.kind;
}

function problemOf(step: LegStep): string | null {
  if (step.kind === 'not traded') return step.problem.code;
  return step.kind === 'wait' ? step.wait.problem.code : null;
}

test('a fresh leg is quoted and traded without a look, in one send each', () => {
  const quoted = quote();
  assert.equal(quoted.result.kind, 'quoted');
  assert.deepEqual(kindsOf(quoted.effects), ['read instructions', 'read balances', 'send quote']);
  const traded = trade({}, quoted.result.state);
  assert.deepEqual(kindsOf(traded.effects), ['read instructions', 'send trade']);
  assert.deepEqual(traded.effects.at(-1), {
    kind: 'send trade',
    quote: { ...IN_HAND, usableUntilMs: NOW + 30_000 },
    reference: LEG.reference,
    sell: 'USD',
    buy: 'MXN',
  });
  assert.ok(traded.result.kind === 'traded');
  assert.deepEqual(traded.result.traded, {
    tradeId: TRADE.id,
    createdAtMs: Date.parse(TRADE.createdAt),
    quoteId: QUOTE.id,
    sellAmount: '1000.00',
    buyAmount: '17250.00',
    quoted: { sellAmount: '1000.00', buyAmount: '17250.00' },
    status: 'EXECUTED',
  });
});

test('a leg fixed on its buy side reads what it sold from the other side of the record', () => {
  const leg = { ...LEG, amount: { side: 'buy', value: '17250.00', fixed: true } as const };
  const record = { ...TRADE, sellAmount: null, buyAmount: '17250.00', executedAmount: '1000.05' };
  const { result } = play(executeTradeSteps(context(), leg, QUOTED), { 'send trade': [done(record)] });
  assert.ok(result.kind === 'traded');
  assert.equal(result.traded.sellAmount, '1000.05');
  assert.equal(result.traded.buyAmount, '17250.00');
});

/** What makes a call not fresh, one thing at a time. */
const NOT_FRESH: readonly (readonly [string, Parameters<typeof context>[0], Partial<LegState>])[] = [
  ['another run made the plan', { plan: { madeFor: 'run-0' } }, {}],
  ['the attempt is not the first', { attempt: { number: 2 } }, {}],
  ['the plan is older than any restore takes', { plan: { madeAtMs: NOW - 30_001 } }, {}],
  ['the leg was sent before', {}, { sent: true }],
];

for (const [why, more, state] of NOT_FRESH) {
  test(`a trade is looked for first when ${why}, and adopted when it is there`, () => {
    const ctx = context(more);
    const adopted = trade({ 'scan trades': [seen(TRADE)] }, { ...QUOTED, ...state }, ctx);
    assert.deepEqual(kindsOf(adopted.effects), ['read instructions', 'scan trades']);
    assert.equal(adopted.result.kind, 'traded');
    const absent = trade({}, { ...QUOTED, ...state }, ctx);
    assert.deepEqual(kindsOf(absent.effects), ['read instructions', 'scan trades', 'send trade']);
    const halfRead = trade({ 'scan trades': [UNREADABLE] }, { ...QUOTED, ...state }, ctx);
    assert.deepEqual(kindsOf(halfRead.effects), ['read instructions', 'scan trades']);
    assert.equal(problemOf(halfRead.result), 'LOOKUP_INCOMPLETE');
  });
}

test('a leg that another run may have traded is in doubt, and gets no new quote before that is settled', () => {
  for (const more of [{ attempt: { runId: 'run-2' } }, { plan: { madeFor: 'run-0' } }]) {
    const { result, effects } = quote({}, NEW_LEG, context(more));
    assert.equal(named(result), 'wait: doubt');
    assert.ok((stateOf(result).doubt?.lastSendMs ?? 0) > NOW);
    assert.ok(!kindsOf(effects).includes('send quote'));
  }
});

/** Per class of reply to a first trade that no look finds: what follows, whether in doubt, whether the quote is kept. */
const AFTER: Readonly<Record<Exclude<ReplyClass, 'done'>, { step: string; doubt: boolean; quote: boolean }>> =
  {
    'wait, same key': { step: 'wait: service', doubt: true, quote: true },
    'check state, then retry': { step: 'wait: doubt', doubt: true, quote: true },
    'look up, then a new quote': { step: 'requote', doubt: false, quote: false },
    'ours, probably': { step: 'wait: doubt', doubt: true, quote: true },
    'wait for money': { step: 'not traded', doubt: false, quote: false },
    'the item is wrong': { step: 'not traded', doubt: false, quote: false },
    'pause the policy': { step: 'wait: configuration', doubt: false, quote: true },
    'pause everything': { step: 'wait: configuration', doubt: false, quote: true },
    unknown: { step: 'wait: doubt', doubt: true, quote: true },
  };

const CLASSES = Object.keys(AFTER) as (keyof typeof AFTER)[];

/** Every code of the interface that is in a class. */
function codesOf(replyClass: ReplyClass): readonly string[] {
  return Object.entries(DECISIONS).flatMap(([code, row]) => (row.class === replyClass ? [code] : []));
}

for (const replyClass of CLASSES) {
  const expected = AFTER[replyClass];
  const looks = !['wait, same key', 'pause the policy', 'pause everything'].includes(replyClass);

  test(`a trade answered with a code of "${replyClass}": ${expected.step}${looks ? ', after a look' : ''}`, () => {
    for (const code of codesOf(replyClass)) {
      const { result, effects } = trade({ 'send trade': [failed(code)] });
      assert.equal(named(result), expected.step, code);
      // A rate limit stands before everything: this send executed nothing.
      assert.equal(stateOf(result).doubt !== null, expected.doubt && code !== 'RATE_LIMIT_EXCEEDED', code);
      assert.equal(stateOf(result).quote !== null, expected.quote, code);
      assert.ok(stateOf(result).sent, code);
      assert.equal(kindsOf(effects).includes('scan trades'), looks, code);
      const found = trade({ 'send trade': [failed(code)], 'scan trades': [seen(TRADE)] });
      assert.equal(found.result.kind === 'traded', looks, code);
    }
  });

  test(`a trade in doubt answered with a code of "${replyClass}" ends nothing and gets no new quote`, () => {
    for (const code of codesOf(replyClass)) {
      const { result } = trade({ 'send trade': [failed(code)] }, DOUBTFUL);
      assert.equal(result.kind, 'wait', code);
      assert.ok(result.state.doubt !== null && result.state.doubt.lastSendMs >= NOW + 45_000, code);
      if (result.state.quote !== null) continue;
      const next = quote({}, result.state);
      assert.equal(named(next.result), 'wait: doubt', code);
      assert.ok(!kindsOf(next.effects).includes('send quote'), code);
    }
  });
}

/** Replies without a usable code. */
const ODD: readonly (readonly [string, Answer, string, boolean])[] = [
  ['no answer', NO_ANSWER, 'wait: doubt', true],
  ['an unknown code', failed('TRADE_SOMETHING_NEW'), 'wait: doubt', true],
  ['a request that never left', NOT_SENT, 'wait: service', false],
  ['the success of another quote', done({ ...TRADE, quoteId: 'qte_other' }), 'wait: doubt', true],
  ['the success of another amount', done({ ...TRADE, sellAmount: '999.00' }), 'wait: doubt', true],
  ['the success of another pair', done({ ...TRADE, buyCurrency: 'EUR' }), 'wait: doubt', true],
  ['the success of another reference', done({ ...TRADE, clientReferenceId: 'other' }), 'wait: doubt', true],
  [
    'a nonce that was used before',
    failed('AUTH_TOKEN_INVALID', { details: { reason: 'nonce_replay' } }),
    'wait: doubt',
    true,
  ],
];

for (const [what, answer, step, doubt] of ODD) {
  test(`a trade that got ${what}: ${step}${doubt ? ', in doubt' : ''}`, () => {
    const { result } = trade({ 'send trade': [answer] });
    assert.equal(named(result), step);
    assert.equal(stateOf(result).doubt !== null, doubt);
    assert.ok(stateOf(result).quote !== null);
  });
}

test('a success that leaves out an optional echo is our trade', () => {
  const { result } = trade({ 'send trade': [done({ ...TRADE, clientReferenceId: null })] });
  assert.equal(result.kind, 'traded');
});

test('a request that never left leaves no trace: it was not sent', () => {
  const { result } = trade({ 'send trade': [NOT_SENT] });
  assert.equal(stateOf(result).sent, false);
});

test('after a failed execution the record is fetched by the id that came with it', () => {
  const answer = failed('TRADE_EXECUTION_FAILED', { details: { resourceId: TRADE.id, timeoutMs: 3_000 } });
  const found = trade({ 'send trade': [answer], 'fetch trade': [done(TRADE)] });
  assert.equal(found.result.kind, 'traded');
  assert.ok(!kindsOf(found.effects).includes('scan trades'));
  // Another trade under that id is not ours, and its absence proves nothing.
  for (const fetched of [done({ ...TRADE, quoteId: 'qte_other' }), failed('TRADE_NOT_FOUND'), NO_ANSWER]) {
    const { result, effects } = trade({ 'send trade': [answer], 'fetch trade': [fetched] });
    assert.equal(named(result), 'wait: doubt');
    assert.ok(kindsOf(effects).includes('scan trades'));
    assert.ok(result.kind === 'wait' && result.wait.afterMs === 3_000);
  }
});

test('a failed execution without a time is left alone for ten seconds, and never longer than ten minutes', () => {
  const rows: readonly (readonly [unknown, number])[] = [
    [undefined, 10_000],
    ['5000', 10_000],
    [0, 1_000],
    [9e9, 600_000],
  ];
  for (const [timeoutMs, afterMs] of rows) {
    const { result } = trade({ 'send trade': [failed('INTERNAL_ERROR', { details: { timeoutMs } })] });
    assert.ok(result.kind === 'wait');
    assert.equal(result.wait.afterMs, afterMs);
  }
});

test('a failure that is replayed will never say more: the quote is dropped, the doubt stays', () => {
  const { result } = trade({
    'send trade': [failed('TRADE_EXECUTION_FAILED', { facts: { replayed: true } })],
  });
  assert.equal(named(result), 'wait: doubt');
  assert.equal(stateOf(result).quote, null);
  assert.equal(stateOf(result).phase.kind, 'open');
});

test('a quote in doubt that the folder of policies does not allow is asked for anew once time has ended the doubt', () => {
  const doubt = { lastSendMs: NOW - 200_000, absentAtMs: NOW - 60_000, under: null, why: 'no answer' };
  const old = { ...IN_HAND, usableUntilMs: NOW - 180_000 };
  const later = (notAllowed: 'NOT_ALLOWED' | 'OVER_CEILING', inHand: LegState['quote']) =>
    trade(
      { 'send trade': [{ kind: 'NOT_SENT', reason: 'it is not allowed', notAllowed }] },
      { ...DOUBTFUL, doubt, quote: inHand },
    ).result;
  // Also one that was asked for before the worker had a folder, which has no seal.
  for (const quoted of [old, { ...old, seal: 'a seal' }]) {
    const over = later('NOT_ALLOWED', quoted);
    assert.equal(over.kind, 'requote');
    const { doubt: left, quote: inHand, held } = stateOf(over);
    assert.deepEqual([left, inHand, held], [null, null, true]);
  }
  // A ceiling has room for it on another day.
  assert.equal(problemOf(later('OVER_CEILING', old)), 'OVER_CEILING');
});

test('a dead quote is not sent: nothing in doubt asks for a new one, doubt waits', () => {
  const dead = { ...QUOTED, quote: { ...IN_HAND, usableUntilMs: NOW + 400 } };
  const plain = trade({}, dead);
  assert.equal(plain.result.kind, 'requote');
  assert.deepEqual(kindsOf(plain.effects), ['read instructions', 'scan trades']);
  const doubtful = trade({}, { ...DOUBTFUL, quote: dead.quote });
  assert.equal(named(doubtful.result), 'wait: doubt');
  assert.equal(trade({ 'scan trades': [seen(TRADE)] }, dead).result.kind, 'traded');
});

test('doubt ends by time alone with an absent look after half of it and one at its end', () => {
  const settle = 120_000;
  const facts = { ...context().facts, settleDoubtMs: { trade: settle, withdrawal: settle } };
  const last = NOW;
  const at = (ms: number, state: LegState) =>
    // Looked at every few seconds: a longer gap would tell of a restored history.
    quote({}, { ...state, knownAtMs: last + ms - 20_000 }, context({ facts, nowMs: () => last + ms }));
  const begun: LegState = {
    ...DOUBTFUL,
    quote: null,
    doubt: { lastSendMs: last, absentAtMs: null, under: 'org/org-1/apiKey/1', why: 'no answer' },
  };
  const early = at(settle / 2 - 1, begun).result;
  assert.equal(named(early), 'wait: doubt');
  assert.equal(stateOf(early).doubt?.absentAtMs, null);
  assert.ok(early.kind === 'wait' && early.wait.afterMs === 1);
  const half = at(settle / 2, early.state).result;
  assert.equal(named(half), 'wait: doubt');
  assert.equal(stateOf(half).doubt?.absentAtMs, last + settle / 2);
  assert.equal(named(at(settle - 1, stateOf(half)).result), 'wait: doubt');
  // One look at the end is not two: the first must have been before.
  assert.equal(named(at(settle, begun).result), 'wait: doubt');
  const over = at(settle, stateOf(half)).result;
  assert.equal(over.kind, 'requote');
  assert.equal(over.state.doubt, null);
});

test('a reply after which only a person can go on waits for one once the doubt is over', () => {
  for (const code of ['TRADE_DUPLICATE_CLIENT_REFERENCE', 'QUOTE_ALREADY_CONSUMED', 'IDEMPOTENCY_MISMATCH']) {
    const first = trade({ 'send trade': [failed(code)] }).result;
    const facts = { ...context().facts, settleDoubtMs: { trade: 2_000, withdrawal: 2_000 } };
    const later = (ms: number) => context({ facts, nowMs: () => NOW + ms });
    const at = (ms: number, state: LegState) => ({ ...state, knownAtMs: NOW + ms - 1_000 });
    const half = trade({}, at(56_000, stateOf(first)), later(56_000));
    assert.equal(named(half.result), 'wait: doubt');
    const end = quote({}, at(57_500, stateOf(half.result)), later(57_500));
    assert.equal(named(end.result), 'wait: person', code);
    assert.equal(problemOf(end.result), code);
    for (const { effects } of [half, end])
      assert.ok(kindsOf(effects).every((kind) => kind === 'scan trades' || kind === 'read instructions'));
    // A record that appears after all stands above everything.
    assert.equal(quote({ 'scan trades': [seen(TRADE)] }, stateOf(end.result)).result.kind, 'traded');
  }
});

test('lack of money waits where the policy holds, and the next quote does not count', () => {
  const hold = context({ rules: { shortfall: 'hold' } });
  for (const code of ['TRADE_INSUFFICIENT_BALANCE', 'TRADE_CREDIT_LIMIT_EXCEEDED']) {
    const { result } = trade({ 'send trade': [failed(code)] }, QUOTED, hold);
    assert.equal(named(result), 'wait: money');
    assert.equal(stateOf(result).quote, null);
    const again = quote({}, stateOf(result), hold).result;
    assert.equal(again.kind, 'quoted');
    assert.equal(again.state.quotes, 1);
  }
});

test('too little of the sold currency is found before any quote', () => {
  const poor = done({
    aggregateUsd: '0',
    balances: [{ currency: 'USD', withdrawable: '999.99', total: '5000' }],
  });
  const none = done({ aggregateUsd: '0', balances: [] });
  for (const [balances, there] of [
    [poor, '999.99'],
    [none, '0'],
  ] as const) {
    const skipped = quote({ 'read balances': [balances] });
    assert.equal(problemOf(skipped.result), 'SHORTFALL');
    assert.equal(skipped.result.kind, 'not traded');
    assert.ok(!kindsOf(skipped.effects).includes('send quote'));
    const held = quote({ 'read balances': [balances] }, NEW_LEG, context({ rules: { shortfall: 'hold' } }));
    assert.equal(named(held.result), 'wait: money');
    assert.ok(held.result.kind === 'wait');
    assert.deepEqual(held.result.wait.short, { currency: 'USD', needed: '1000.00', there });
  }
});

/** What a leg that sells dollars at 17.25 pesos becomes by its guard, and by the reason that the policy gives for it. */
const FAR_GUARDS: readonly (readonly [
  string,
  { buyFactor: string; sellFactor: string },
  string | null,
  string,
])[] = [
  ['upside down', { buyFactor: '17', sellFactor: '1' }, null, 'GUARD_UNUSUAL'],
  ['upside down, on purpose', { buyFactor: '17', sellFactor: '1' }, 'a test', 'quoted'],
  ['ten times below', { buyFactor: '1', sellFactor: '1.725' }, null, 'GUARD_UNUSUAL'],
  ['nearly ten times below', { buyFactor: '1', sellFactor: '1.73' }, null, 'quoted'],
  ['near', { buyFactor: '1', sellFactor: '17.25' }, null, 'quoted'],
];

for (const [what, bound, unusualGuard, expected] of FAR_GUARDS)
  test(`given a guard that is ${what}, then the leg is ${expected}`, () => {
    const guard = { bound, text: 'not worse', staleAtMs: null, referenceRate: null };
    const rules = { unusualGuard };
    const { result } = play(requestQuoteSteps(context({ rules }), { ...LEG, guard }, NEW_LEG), {
      'send quote': [done({ ...QUOTE, quoteAmount: '17250.00' })],
    });
    assert.equal(result.kind === 'quoted' ? 'quoted' : problemOf(result), expected);
  });

/** A quote by what is odd about it, and the problem that ends the leg. */
const BAD_QUOTES: readonly (readonly [string, Answer, string])[] = [
  ['for another pair', done({ ...QUOTE, buyCurrency: 'EUR' }), 'QUOTE_DIFFERS'],
  ['for another amount', done({ ...QUOTE, sellAmount: '1000.01' }), 'QUOTE_DIFFERS'],
  ['without the side that was asked for', done({ ...QUOTE, sellAmount: null }), 'QUOTE_DIFFERS'],
  ['with another settlement window', done({ ...QUOTE, settlementWindow: 'T2' } as const), 'QUOTE_DIFFERS'],
  ['that was replayed', done(QUOTE, { replayed: true }), 'QUOTE_DIFFERS'],
  ['outside the guard', done({ ...QUOTE, quoteAmount: '16899.99' }), 'OUTSIDE_GUARD'],
  ['over a limit', done({ ...QUOTE, quoteAmount: '20000.01' }), 'OVER_LIMIT'],
];

for (const [what, answer, code] of BAD_QUOTES)
  test(`a quote ${what} is dropped and ends the leg, looked for once more`, () => {
    const guard = {
      bound: { buyFactor: '1', sellFactor: '16.90' },
      text: 'not worse',
      staleAtMs: null,
      referenceRate: null,
    };
    const asked = (quoted: Answer) =>
      play(requestQuoteSteps(context({ rules }), { ...LEG, guard }, NEW_LEG), { 'send quote': [quoted] });
    const rules = {
      limits: {
        perTrade: { value: '20000.00', currency: 'MXN' },
        perRun: null,
        perDay: null,
        perPayment: [],
        paidPerRun: [],
      },
    };
    const { result, effects } = asked(answer);
    assert.equal(result.kind, 'not traded');
    assert.equal(problemOf(result), code);
    assert.equal(kindsOf(effects).at(-1), 'scan trades');
    const limit = { ...QUOTE, quoteAmount: '20000.00' };
    assert.equal(asked(done(limit)).result.kind, 'quoted');
  });

test('a leg that its guard ends names the command, and another run in its place where its amount is fixed', () => {
  const guard = {
    bound: { buyFactor: '1', sellFactor: '16.90' },
    text: 'not worse',
    staleAtMs: null,
    referenceRate: null,
  };
  const adviceOf = (leg: Partial<typeof LEG>): string => {
    const steps = requestQuoteSteps(context(), { ...LEG, guard, ...leg }, NEW_LEG);
    const { result } = play(steps, { 'send quote': [done({ ...QUOTE, quoteAmount: '16899.99' })] });
    assert.ok(result.kind === 'not traded', result.kind);
    return result.problem.fix;
  };
  const run = runName(context().plan.run);
  const replay = `Wait for a better price, then type \`npx cambist replay ${run}\`. Or allow a worse price in the policy, and start a new run.`;
  assert.equal(
    adviceOf({}),
    `${replay} While nothing of this run is done, the new one takes its place: \`npx cambist run POLICY --id NEW --instead-of ${context().plan.run.id}\`.`,
  );
  assert.equal(adviceOf({ why: { kind: 'target', currency: 'USD' } }), replay);
});

test('a leg whose trade was found when the plan was made is never traded anew: a person decides', () => {
  const amount = { side: 'sell', value: '1000.00', fixed: false } as const;
  const { result, effects } = play(
    requestQuoteSteps(context(), { ...LEG, amount, why: { kind: 'found' } }, NEW_LEG),
  );
  assert.equal(result.kind === 'wait' ? result.wait.problem.code : result.kind, 'AMOUNT_FORGOTTEN');
  assert.ok(!kindsOf(effects).includes('send quote'));
});

test('a quote lives from just before it was asked for, as long as the service and the policy both grant', () => {
  const rows: readonly (readonly [Partial<typeof QUOTE>, number])[] = [
    [{}, 30_000],
    [{ expiresAt: '2026-11-21T15:00:10.000Z' }, 10_000],
    [{ expiresAt: '2026-11-21T16:00:00.000Z' }, 30_000],
    [{ expiresAt: null }, 30_000],
    // Another clock changes nothing.
    [{ createdAt: '2020-01-01T00:00:00.000Z', expiresAt: '2020-01-01T00:00:15.000Z' }, 15_000],
  ];
  for (const [more, lifeMs] of rows) {
    const { result } = quote({ 'send quote': [done({ ...QUOTE, ...more })] });
    assert.equal(stateOf(result).quote?.usableUntilMs, NOW + lifeMs);
  }
});

test('quotes are bounded in number; what never came, or was asked for too early, does not count', () => {
  const spent = quote({}, { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, sent: true, quotes: 3 });
  assert.equal(problemOf(spent.result), 'QUOTES_USED_UP');
  assert.ok(!kindsOf(spent.effects).includes('send quote'));
  for (const answer of [NO_ANSWER, NOT_SENT, failed('RATE_LIMIT_EXCEEDED'), failed('AUTH_FORBIDDEN_IP')])
    assert.equal(stateOf(quote({ 'send quote': [answer] }).result).quotes, 0);
});

test('whatever a quote is answered with, no money has moved and nothing is in doubt', () => {
  const steps: Readonly<Record<keyof typeof AFTER, string>> = {
    'wait, same key': 'wait: service',
    'check state, then retry': 'wait: service',
    'look up, then a new quote': 'wait: service',
    'ours, probably': 'wait: service',
    'wait for money': 'not traded',
    'the item is wrong': 'not traded',
    'pause the policy': 'wait: configuration',
    'pause everything': 'wait: configuration',
    unknown: 'wait: service',
  };
  for (const [code, row] of Object.entries(DECISIONS)) {
    const { result } = quote({ 'send quote': [failed(code)] });
    assert.equal(named(result), steps[row.class as keyof typeof steps], code);
    assert.equal(stateOf(result).doubt, null, code);
  }
});

test('a request that the service calls malformed is our bug while nothing else was accepted: it holds', () => {
  const alone = context({ othersAccepted: false });
  const answer = failed('VALIDATION_BODY_FAILED');
  assert.equal(named(quote({ 'send quote': [answer] }, NEW_LEG, alone).result), 'wait: configuration');
  assert.equal(named(trade({ 'send trade': [answer] }, QUOTED, alone).result), 'wait: configuration');
});

test('a cancelled leg is not sent; one that may have been sent is looked for until that is settled', () => {
  const words = [kept({ kind: 'cancel', atMs: NOW })];
  for (const { result, effects } of [
    quote({ 'read instructions': words }),
    trade({ 'read instructions': words }),
  ]) {
    assert.equal(result.kind, 'not traded');
    assert.equal(problemOf(result), 'CANCELLED');
    assert.ok(kindsOf(effects).every((kind) => !kind.startsWith('send')));
  }
  const doubtful = trade({ 'read instructions': words }, DOUBTFUL);
  assert.equal(named(doubtful.result), 'wait: doubt');
  assert.equal(
    trade({ 'read instructions': words, 'scan trades': [seen(TRADE)] }, DOUBTFUL).result.kind,
    'traded',
  );
  const taken = [kept({ kind: 'cancel', atMs: NOW }, { kind: 'go-on', item: null, atMs: NOW })];
  assert.equal(trade({ 'read instructions': taken }).result.kind, 'traded');
});

test('no trade leaves before its date begins or after it has ended', () => {
  const { sendWindows } = context().plan;
  const at = (nowMs: number) =>
    context({ nowMs: () => nowMs, plan: { madeAtMs: nowMs }, attempt: { startedAtMs: nowMs } });
  const rows: readonly (readonly [number, string, string | null])[] = [
    [sendWindows.opensAtMs - 1, 'wait: opening', 'NOT_YET_OPEN'],
    [sendWindows.opensAtMs, 'quoted', null],
    [sendWindows.tradesUntilMs, 'quoted', null],
    [sendWindows.tradesUntilMs + 1, 'not traded', 'WINDOW_PASSED'],
  ];
  for (const [nowMs, step, code] of rows) {
    const { result, effects } = quote({}, NEW_LEG, at(nowMs));
    assert.equal(named(result), step);
    assert.equal(problemOf(result), code);
    assert.equal(kindsOf(effects).includes('send quote'), step === 'quoted');
  }
  // What is found stands, whenever it is looked for.
  const late = context({ nowMs: () => sendWindows.tradesUntilMs + 1, attempt: { runId: 'run-2' } });
  assert.equal(quote({ 'scan trades': [seen(TRADE)] }, NEW_LEG, late).result.kind, 'traded');
});

test('a worker of another organisation or mode touches nothing, not even by a look', () => {
  for (const credentials of [
    { mode: 'LIVE', organisation: 'org-1', keyName: 'k' },
    { mode: 'SANDBOX', organisation: 'org-2', keyName: 'k' },
  ] as const) {
    const { result, effects } = trade({}, QUOTED, context({ credentials }));
    assert.equal(named(result), 'wait: configuration');
    assert.equal(problemOf(result), 'CREDENTIALS_DIFFER');
    assert.deepEqual(kindsOf(effects), ['read instructions']);
    // Nor may the key that it looks with be another organisation's: that one sees nothing, which proves nothing.
    const blind = trade({}, DOUBTFUL, context({ reader: credentials }));
    assert.equal(problemOf(blind.result), 'CREDENTIALS_DIFFER');
    assert.deepEqual(kindsOf(blind.effects), ['read instructions']);
  }
});

test('under another API key a trade is not sent, in doubt or not, before its key is named and lists have told', () => {
  const credentials = { mode: 'SANDBOX', organisation: 'org-1', keyName: 'org/org-1/apiKey/2' } as const;
  const doubtful = trade({}, DOUBTFUL, context({ credentials }));
  assert.equal(named(doubtful.result), 'wait: doubt');
  assert.ok(!kindsOf(doubtful.effects).includes('send trade'));
  assert.equal(named(trade({}, QUOTED, context({ credentials })).result), 'wait: doubt');
  const named2 = { kind: 'api key', keyName: credentials.keyName, atMs: NOW - 600_000 } as const;
  const script = { 'read instructions': [{ instructions: [], facts: [named2] }] };
  assert.equal(trade(script, QUOTED, context({ credentials })).result.kind, 'traded');
});

test('clocks more than ten seconds apart stop the trade, not the looks', () => {
  for (const [skewMs, step] of [
    [10_000, 'traded'],
    [-10_000, 'traded'],
    [10_001, 'wait: configuration'],
    [-10_001, 'wait: configuration'],
  ] as const) {
    const { result, effects } = trade({}, { ...QUOTED, sent: true }, context({ skewMs: () => skewMs }));
    assert.equal(named(result), step, `${skewMs}`);
    assert.ok(kindsOf(effects).includes('scan trades'));
  }
});

test('a record that contradicts the plan is never overwritten: a person decides', () => {
  const record = { ...TRADE, sellAmount: '999.00' };
  const steps: readonly { readonly result: LegStep; readonly effects: readonly Effect[] }[] = [
    quote({ 'scan trades': [seen(record)] }, NEW_LEG, context({ attempt: { runId: 'run-2' } })),
    trade({ 'scan trades': [seen(record)] }, DOUBTFUL),
  ];
  const reason: WaitReason = 'person';
  for (const { result, effects } of steps) {
    assert.equal(named(result), `wait: ${reason}`);
    assert.equal(problemOf(result), 'RECORD_DIFFERS');
    assert.ok(kindsOf(effects).every((kind) => !kind.startsWith('send')));
  }
});

test('an amount that was computed once and forgotten is not computed again', () => {
  const leg = { ...LEG, amount: null };
  const { result, effects } = play(requestQuoteSteps(context(), leg, NEW_LEG));
  assert.equal(named(result), 'wait: person');
  assert.ok(!kindsOf(effects).includes('send quote'));
});

test('reference rates that have become too old meanwhile end the leg before a quote', () => {
  const guard = {
    bound: { buyFactor: '1', sellFactor: '1' },
    text: 'rates',
    staleAtMs: NOW - 1,
    referenceRate: null,
  };
  const { result, effects } = play(requestQuoteSteps(context(), { ...LEG, guard }, NEW_LEG));
  assert.equal(problemOf(result), 'REFERENCE_TOO_OLD');
  assert.ok(!kindsOf(effects).includes('send quote'));
});

test('doubt does not end while the service says that the first send is still in work', () => {
  const facts = { ...context().facts, settleDoubtMs: { trade: 2_000, withdrawal: 2_000 } };
  const later = (ms: number) => context({ facts, nowMs: () => NOW + ms });
  const half = {
    state: { ...stateOf(trade({}, { ...DOUBTFUL, knownAtMs: NOW + 46_000 }, later(46_000)).result) },
  };
  const inWork = trade({ 'send trade': [failed('IDEMPOTENCY_IN_FLIGHT')] }, half.state, later(47_500));
  assert.equal(inWork.result.kind, 'wait');
  assert.equal(inWork.result.state.doubt?.lastSendMs, NOW + 47_500 + 55_000);
  // The dead quote once more, under the same key: refused afresh, it lets the looks count.
  const dead = failed('QUOTE_EXPIRED');
  const over = trade({ 'send trade': [dead] }, half.state, later(47_500));
  assert.equal(over.result.kind, 'requote');
  const booked = trade({ 'send trade': [done(TRADE)] }, half.state, later(47_500));
  assert.equal(booked.result.kind, 'traded');
});

const NAMED_TRADES: readonly (readonly [string, Answer, boolean])[] = [
  ['agrees and shows no reference', done({ ...TRADE, id: 'tde_9', clientReferenceId: null }), true],
  ['carries the leg’s own reference', done({ ...TRADE, id: 'tde_9' }), true],
  ['carries another reference', done({ ...TRADE, clientReferenceId: 'p.2026-11-21.other' }), false],
  ['sold another amount', done({ ...TRADE, clientReferenceId: null, sellAmount: '999.99' }), false],
  ['is of another pair', done({ ...TRADE, clientReferenceId: null, buyCurrency: 'BRL' }), false],
  ['is not to be found', failed('TRADE_NOT_FOUND'), false],
];
for (const [what, answer, adopted] of NAMED_TRADES)
  test(`a person names a trade that ${what}: ${adopted ? 'adopted' : 'asked again'}`, () => {
    const word = { kind: 'executed', item: LEG.id, recordId: 'tde_9', atMs: NOW } as const;
    for (const act of [trade, quote]) {
      const { result, effects } = act(
        { 'read instructions': [kept(word)], 'fetch trade': [answer] },
        DOUBTFUL,
      );
      assert.equal(named(result), adopted ? 'traded' : 'wait: person');
      if (!adopted) assert.equal(problemOf(result), 'DECISION_UNPROVEN');
      assert.ok(!kindsOf(effects).some((kind) => kind === 'send trade' || kind === 'send quote'));
    }
  });

test('a trade without a reference that another leg has, or that people have named for another one too, is adopted by neither', () => {
  const word = { kind: 'executed', item: LEG.id, recordId: 'tde_9', atMs: NOW } as const;
  const script = {
    'read instructions': [kept(word)],
    'fetch trade': [done({ ...TRADE, id: 'tde_9', clientReferenceId: null })],
    'scan trades': [seen<Trade>()],
  };
  for (const [more, end] of [
    [{ 'read claims': [{ claimed: ['tde_9'] }] }, 'wait: person'],
    [{ 'read words': [{ named: true }] }, 'wait: person'],
    [{ 'read words': [{ named: null }] }, 'wait: service'],
    [{}, 'traded'],
  ] as const) {
    const { result, effects } = trade({ ...script, ...more }, DOUBTFUL);
    assert.equal(named(result), end, JSON.stringify(more));
    assert.ok(!kindsOf(effects).includes('send trade'));
  }
});

test('after a reset or a new start a leg that was computed from balances is traded only while the balances of then ask for at least as much', () => {
  const leg = { ...LEG, why: { kind: 'target', currency: 'MXN' } } as const;
  const unread = { afterMs: 10_000, reason: 'outage', problem: unreadable('plan', 'balances') } as const;
  const steps = (more: Parameters<typeof context>[0], demand: string | null) =>
    play(requestQuoteSteps(context(more), leg, { ...NEW_LEG, knownIn: 'run-2', knownAtMs: NOW }), {
      'read demand': [demand === null ? { wait: unread } : { demand, takenBy: [], lacks: null }],
    });
  const fresh = play(requestQuoteSteps(context(), leg, NEW_LEG));
  assert.equal(fresh.result.kind, 'quoted');
  assert.ok(!kindsOf(fresh.effects).includes('read demand'));
  const reset = { attempt: { ...context().attempt, runId: 'run-2' } };
  for (const start of [reset, { ...reset, plan: { madeFor: 'run-0' } }]) {
    const { result, effects } = steps(start, '999.99');
    assert.equal(problemOf(result), 'BALANCES_CHANGED');
    assert.ok(kindsOf(effects).includes('scan trades') && !kindsOf(effects).includes('send quote'));
    const asked = steps(start, '1000');
    assert.equal(asked.result.kind, 'quoted');
    const kinds = kindsOf(asked.effects);
    assert.ok(kinds.indexOf('take turn') < kinds.indexOf('read demand'));
    const silent = steps(start, null).result;
    assert.equal(named(silent), 'wait: outage');
    assert.ok(silent.kind === 'wait' && silent.wait.problem.item === LEG.id, 'it names the leg');
  }
});

test('a leg that ends because another open run has reserved what it would trade names that run, and says how to try again', () => {
  const leg = { ...LEG, why: { kind: 'target', currency: 'MXN' } } as const;
  const reset = context({ attempt: { ...context().attempt, runId: 'run-2' } });
  const takenBy = [{ policy: 'q', id: '2026-11-21' }];
  const { result } = play(requestQuoteSteps(reset, leg, { ...NEW_LEG, knownIn: 'run-2', knownAtMs: NOW }), {
    'read demand': [{ demand: '0', takenBy, lacks: null }],
  });
  assert.ok(result.kind === 'not traded');
  const { code, message, fix } = result.problem;
  assert.equal(code, 'BALANCES_CHANGED');
  assert.match(
    message,
    /\. Now q\.2026-11-21 uses that money for a trade that has not settled yet, and so may still fail\. This leaves nothing of it\.$/,
  );
  assert.doesNotMatch(message, /asks for/);
  assert.match(fix, /npx cambist replay/);
});

test('a purchase that needs sales by the balances of now waits for the sale of its run, and ends when the run makes none any more', () => {
  const leg = { ...LEG, why: { kind: 'target', currency: 'MXN' } } as const;
  const reset = { ...context().attempt, runId: 'run-2' };
  const scripted = { 'read demand': [{ demand: '0', takenBy: [], lacks: 'sales' }] } as const;
  const begun = { ...NEW_LEG, knownIn: 'run-2', knownAtMs: NOW };
  const told = (more: Partial<Context>) =>
    play(requestQuoteSteps(context({ attempt: reset, ...more }), leg, begun), scripted).result;
  const waits = told({ sale: 'eur-usd-1' });
  assert.ok(waits.kind === 'wait');
  assert.deepEqual([waits.wait.reason, waits.wait.problem.code], ['sale', 'AFTER_SALES']);
  assert.match(waits.wait.problem.message, /that leg "eur-usd-1" brings/);
  const ends = told({});
  assert.ok(ends.kind === 'not traded');
  assert.match(
    ends.problem.message,
    /\. It needs USD that sales of the run would bring, .* The balances now pay for nothing of it/,
  );
});

test('a leg that is not fresh is quoted only when Temporal knows the runs of the policy that have traded, or a person lets it go on', () => {
  const stranger = (id: string): Trade => ({
    ...TRADE,
    id: 'tde_9',
    quoteId: 'qte_9',
    clientReferenceId: `p.${id}.usd-mxn-1`,
  });
  const held = besideLostRuns(
    { run: RUN, policyFile: 'p.yaml', isBatch: false, isPlanned: true },
    [{ policy: 'p', id: '2026-11-22-corrected' }],
    'lost-runs-abcdefghijkl',
  );
  assert.match(
    held.problem.fix,
    /it has taken the place of this run, cancel this one first, by `npx cambist cancel p\./,
  );
  const reset = context({ attempt: { ...context().attempt, runId: 'run-2' } });
  const asked = (
    at: Context,
    {
      leg = LEG,
      of = '2026-11-22-corrected',
      lostRuns = held,
    }: {
      readonly leg?: typeof LEG;
      readonly of?: string;
      readonly lostRuns?: typeof held | null;
    } = {},
  ) => {
    const known = { ...NEW_LEG, knownIn: 'run-2', knownAtMs: NOW };
    const { result, effects } = play(requestQuoteSteps(at, leg, known), {
      'scan trades': [seen(stranger(of))],
      'read lost runs': [{ lostRuns }],
    });
    return [
      named(result),
      kindsOf(effects).includes('read lost runs'),
      kindsOf(effects).includes('send quote'),
    ];
  };
  // Of fixed amounts too: the other run may have taken the place of this one.
  for (const leg of [LEG, { ...LEG, why: { kind: 'target', currency: 'MXN' } } as typeof LEG]) {
    assert.deepEqual(asked(reset, { leg }), ['wait: person', true, false]);
    assert.deepEqual(asked(reset, { leg, lostRuns: null }), ['quoted', true, true]);
    assert.deepEqual(asked(context(), { leg }), ['quoted', false, true]);
  }
  assert.deepEqual(asked(reset, { of: RUN.id }), ['traded', false, false]);
  // Something of this run was there when its plan was made: it was started again, and adopts what was done.
  const facts = { ...reset.facts, keyUsedSince: '2026-01-01' };
  const foundRecords = { ...reset, facts, plan: { ...reset.plan, foundRecords: true } };
  assert.deepEqual(asked(foundRecords), ['quoted', false, true]);
});

test('a leg that was computed from balances is quoted in the run’s turn only; who has it is told', () => {
  const leg = { ...LEG, why: { kind: 'target', currency: 'MXN' } } as const;
  const asked = (turn: Answer) => play(requestQuoteSteps(context(), leg, NEW_LEG), { 'take turn': [turn] });
  const others = asked({ turn: 'others', run: 'p.2026-11-21-b', before: 2 });
  assert.equal(named(others.result), 'wait: turn');
  assert.ok(others.result.kind === 'wait');
  assert.match(others.result.wait.problem.message, /^Run p\.2026-11-21-b trades now, and 2 more wait/);
  const silent = asked({ turn: 'silent' });
  assert.equal(named(silent.result), 'wait: outage');
  for (const { effects } of [others, silent]) assert.ok(!kindsOf(effects).includes('send quote'));
});

test('once the turn of its plan has lapsed every leg that was computed from balances is asked for anew, also when the run has traded since', () => {
  const target = { ...LEG, why: { kind: 'target', currency: 'MXN' } } as const;
  const all = { ...LEG, why: { kind: 'all above', available: '1000', keep: '0' } } as const;
  const asked = (of: typeof LEG | typeof target | typeof all, othersAccepted = false, demand = '0') =>
    play(requestQuoteSteps(context({ othersAccepted }), of, NEW_LEG), {
      'take turn': [
        { turn: 'ours', hasLapsed: true, others: [], gone: [], tradedAgoMs: null, tradedAtMs: null },
      ],
      'read demand': [{ demand, takenBy: [], lacks: null }],
    }).result;
  for (const othersAccepted of [false, true])
    for (const leg of [target, all]) {
      assert.equal(problemOf(asked(leg, othersAccepted)), 'BALANCES_CHANGED');
      assert.equal(asked(leg, othersAccepted, '1000').kind, 'quoted');
    }
  assert.equal(asked(LEG).kind, 'quoted');
});

test('a quote keeps the limits of the run and of the day with all that was traded before it', () => {
  const usd = (value: string) => ({ value, currency: 'USD' });
  const limits = { perTrade: null, perRun: usd('2000'), perDay: usd('3000'), perPayment: [], paidPerRun: [] };
  const target = { ...LEG, why: { kind: 'target', currency: 'MXN' } } as const;
  const asked = (inRun: string, day: Day, hasLapsed = false) =>
    play(requestQuoteSteps(context({ rules: { limits }, tradedSoFar: [usd(inRun)] }), target, NEW_LEG), {
      'take turn': [{ turn: 'ours', hasLapsed, others: [], gone: [], tradedAgoMs: null, tradedAtMs: null }],
      'read day': [day],
    });
  const onDate = (value: string) => ({ onDate: [usd(value)] });
  for (const hasLapsed of [false, true]) {
    const { result, effects } = asked('1000', onDate('1000'), hasLapsed);
    assert.ok(result.kind === 'quoted', JSON.stringify(result));
    assert.deepEqual(result.state.quote?.onDate, [usd('1000')]);
    // In the turn, and before the quote that is held against it.
    const kinds = kindsOf(effects);
    assert.ok(kinds.indexOf('take turn') < kinds.indexOf('read day'), kinds.join());
    assert.ok(kinds.indexOf('read day') < kinds.indexOf('send quote'), kinds.join());
    assert.equal(problemOf(asked('1000.01', onDate('0'), hasLapsed).result), 'OVER_LIMIT');
    assert.equal(problemOf(asked('1000', onDate('1000.01'), hasLapsed).result), 'OVER_LIMIT');
  }
  const problem: Problem = { code: 'RESERVATION_UNKNOWN', item: null, message: 'x', fix: 'y' };
  const untold = asked('0', { wait: { afterMs: 1, reason: 'doubt', problem } });
  assert.equal(problemOf(untold.result), 'RESERVATION_UNKNOWN');
  assert.ok(!kindsOf(untold.effects).includes('send quote'));
});

test('a trade that came out above the limit of the day is held against what the day had come to at its quote', () => {
  const usd = (value: string) => ({ value, currency: 'USD' });
  const limits = { perTrade: null, perRun: null, perDay: usd('3000'), perPayment: [], paidPerRun: [] };
  const traded = (onDate: string) => {
    const state = { ...QUOTED, quote: { ...IN_HAND, onDate: [usd(onDate)] } };
    const { result } = trade({}, state, context({ rules: { limits } }));
    assert.ok(result.kind === 'traded', JSON.stringify(result));
    return result.worse?.code ?? null;
  };
  assert.equal(traded('2000'), null);
  assert.equal(traded('2000.01'), 'EXECUTED_OVER_LIMIT');
});

test('a leg that the run does not want any more is looked up and ends, and nothing is asked for', () => {
  const unwanted = {
    code: 'LEG_NOT_TRADED',
    item: LEG.id,
    message: 'Its sale was not traded.',
    fix: 'See it.',
  } as const;
  const fresh = play(requestQuoteSteps(context({ unwanted }), LEG, NEW_LEG));
  assert.equal(problemOf(fresh.result), 'LEG_NOT_TRADED');
  const reset = { attempt: { ...context().attempt, runId: 'run-2' } };
  const found = play(requestQuoteSteps(context({ unwanted, ...reset }), LEG, NEW_LEG), {
    'scan trades': [{ records: [TRADE], complete: true, reason: null }],
  });
  assert.equal(found.result.kind, 'traded');
  for (const { effects } of [fresh, found]) assert.ok(!kindsOf(effects).includes('send quote'));
});

const BOUGHT = {
  ...LEG,
  amount: { side: 'buy', value: '16900', fixed: false },
  why: { kind: 'target', currency: 'MXN' },
  guard: { bound: { buyFactor: '1', sellFactor: '16.9' }, text: '', staleAtMs: null, referenceRate: null },
} as const;
const FUNDING = { ahead: '75', owed: '20000', wasThere: false };

/** A leg that buys 16900 MXN for 1000 USD at most; this is there, and what no other run has reserved of it. */
function funded(
  there: Readonly<Record<string, string>>,
  free: Readonly<Record<string, string>> = there,
  funding = FUNDING,
  more: Script = {},
) {
  const balances = Object.entries(there).map(([currency, value]) => ({
    currency,
    withdrawable: value,
    total: value,
  }));
  const script: Script = {
    'read balances': [done({ aggregateUsd: '0', balances })],
    'read free money': [{ free }],
    'send quote': [done({ ...QUOTE, sellAmount: null, buyAmount: '16900', quoteAmount: '1000' })],
    ...more,
  };
  return play(requestQuoteSteps(context({ funding, rules: { shortfall: 'hold' } }), BOUGHT, NEW_LEG), script);
}

test('where a batch waits for what a trade was to buy, nobody is sent to another run that would not pay it', () => {
  const lateMs = context().plan.sendWindows.tradesUntilMs + 1;
  const late = { nowMs: () => lateMs, plan: { madeAtMs: lateMs }, attempt: { startedAtMs: lateMs } };
  const stale = { ...BOUGHT, guard: { ...BOUGHT.guard, staleAtMs: NOW - 1 } };
  for (const [leg, at, code] of [
    [BOUGHT, late, 'WINDOW_PASSED'],
    [stale, {}, 'REFERENCE_TOO_OLD'],
  ] as const) {
    const fixes = [{}, { funding: FUNDING }].map((funding) => {
      const { result } = play(requestQuoteSteps(context({ ...at, ...funding }), leg, NEW_LEG));
      assert.ok(result.kind === 'not traded' && result.problem.code === code, JSON.stringify(result));
      return result.problem.fix;
    });
    assert.match(fixes[0] ?? '', /tart a new run/);
    assert.match(fixes[1] ?? '', /^Bring MXN in, .* or cancel it, and pay them by a new run\.$/);
  }
});

test('a leg that funds a batch waits for what it may cost, beside what comes before it in the plan', () => {
  const short = funded({ USD: '1074.99' });
  assert.equal(named(short.result), 'wait: money');
  assert.ok(short.result.kind === 'wait', 'it waits');
  assert.deepEqual(
    [short.result.wait.problem.code, short.result.wait.problem.message],
    [
      'SHORTFALL',
      'Short of 0.01 USD: the leg buys 16,900.00 MXN for 1,000.00 USD at most; 1,074.99 USD are there, of which 75.00 USD go first to what stands before it in the plan.',
    ],
  );
  assert.deepEqual(short.result.wait.short, { currency: 'USD', needed: '1075', there: '1074.99' });
  assert.equal(short.result.state.phase.kind, 'short');
  const kinds = kindsOf(short.effects);
  assert.ok(!kinds.includes('read free money') && !kinds.includes('send quote'), kinds.join());
  assert.equal(funded({ USD: '1075' }).result.kind, 'quoted');
});

test('what other runs have reserved is not there for it; where that cannot be told, it waits', () => {
  const short = funded({ USD: '5000' }, { USD: '1074.99' });
  assert.equal(named(short.result), 'wait: money');
  assert.ok(!kindsOf(short.effects).includes('send quote'), 'no quote is asked for');
  assert.ok(short.result.kind === 'wait', 'it waits');
  const reserved =
    /; 1,074\.99 USD are there \(and 3,925\.01 USD more, which other runs have reserved\), of which 75\.00 USD go first/;
  assert.match(short.result.wait.problem.message, reserved);
  const problem: Problem = { code: 'RESERVATION_UNKNOWN', item: null, message: 'x', fix: 'y' };
  const silent = funded({ USD: '5000' }, {}, FUNDING, {
    'read free money': [{ wait: { afterMs: 1, reason: 'doubt', problem } }],
  });
  assert.equal(problemOf(silent.result), 'RESERVATION_UNKNOWN');
});

test('it ends when what it buys has come in another way; what others have reserved of that does not count', () => {
  const { result, effects } = funded({ USD: '0', MXN: '20000' });
  assert.equal(problemOf(result), 'BALANCES_CHANGED');
  assert.ok(kindsOf(effects).includes('scan trades'), 'an end needs a lookup');
  const others = funded({ USD: '0', MXN: '20000' }, { USD: '0', MXN: '19999.99' });
  assert.equal(named(others.result), 'wait: money');
});

test('what was there when the plan was made needs no look, until the turn has lapsed or the service has refused', () => {
  const covered = { ...FUNDING, wasThere: true };
  const fresh = funded({ USD: '0' }, {}, covered);
  assert.equal(fresh.result.kind, 'quoted');
  assert.ok(!kindsOf(fresh.effects).includes('read balances'), 'no look');
  const lapsed = funded({ USD: '0' }, {}, covered, {
    'take turn': [
      { turn: 'ours', hasLapsed: true, others: [], gone: [], tradedAgoMs: null, tradedAtMs: null },
    ],
  });
  assert.equal(named(lapsed.result), 'wait: money');
});

test('a leg keeps quiet until the later of the moments at which it has said that it looks again', () => {
  const wait = (afterMs: number, reason: WaitReason = 'money') =>
    ({ afterMs, reason, problem: unreadable(LEG.id, 'balances') }) as const;
  const known: LegState = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW };
  const quiet = quietWhile(known, wait(100_000));
  assert.equal(quiet.quietUntilMs, NOW + 100_000);
  assert.equal(quietWhile(quiet, wait(15_000)).quietUntilMs, NOW + 100_000);
  assert.equal(quietWhile(quiet, wait(120_000)).quietUntilMs, NOW + 120_000);
  assert.equal(quietWhile(known, wait(900_000)).quietUntilMs, NOW + 180_000);
  for (const [state, reason] of [
    [known, 'halt'],
    [QUOTED, 'money'],
    [DOUBTFUL, 'money'],
  ] as const)
    assert.equal(quietWhile(state, wait(15_000, reason)).quietUntilMs, undefined);
});

test('a moment until which a leg keeps quiet counts only while it can be true', () => {
  const at = (quietUntilMs: number) => {
    const state = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW - 3_600_000, quietUntilMs };
    const ctx = context({ plan: { madeAtMs: NOW - 3_600_000 } });
    const { result } = play(requestQuoteSteps({ ...ctx, unwanted: unreadable(LEG.id, 'it') }, LEG, state));
    return [named(result), named(quote({}, state, ctx).result)];
  };
  assert.deepEqual(at(NOW - 29_000), ['not traded', 'quoted']);
  assert.deepEqual(at(NOW + 180_000), ['not traded', 'wait: doubt']);
  // Too long ago, or of a clock that was wrong.
  for (const ms of [-30_001, 190_001]) assert.deepEqual(at(NOW + ms), ['wait: doubt', 'wait: doubt']);
});
