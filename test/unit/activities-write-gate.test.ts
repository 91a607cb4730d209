/** A worker with a folder of policies: an activity that somebody calls with arguments of his own sends what the folder allows (M4). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CeilingTally } from '../../activities/ceiling-tally.ts';
import { createWithdrawals } from '../../activities/create-withdrawals.ts';
import { executeTrade } from '../../activities/execute-trade.ts';
import { requestQuote } from '../../activities/request-quote.ts';
import { writeGate } from '../../activities/write-gate.ts';
import type { LegCall, Stopped } from '../../domain/run/calls.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import { NEW_LEG, type LegStep } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { loadCeilings } from '../../language/load-ceilings.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { sealerOf } from '../../service/quote-seal.ts';
import type { ApiKey } from '../../service/key.ts';
import { inActivity, page, worker, type Scripted } from '../support/activities.ts';
import { sells1000 } from '../support/policies.ts';
import { makeKey } from '../support/service-fixture.ts';
import {
  IN_HAND,
  LEG,
  NOW,
  NOT_SENT,
  NO_ANSWER,
  PAYMENT,
  QUOTE,
  TRADE,
  WITHDRAWAL,
  context,
  done,
  failed,
} from '../support/scripts.ts';

const POLICY = sells1000(
  `{ id: supplier, account: ${PAYMENT.account}, amount: { fixed: "17250.00" } }`,
  `{ id: rent, account: ${PAYMENT.account}, amount: rest, rounding: down }`,
);
/** Pays what the fixed payment leaves of what the trade brings. */
const RATES = {
  asOf: new Date(NOW).toISOString(),
  rates: [{ value: '17.25', currency: 'MXN', per: 'USD' }],
};
const RENT = { ...PAYMENT, id: 'rent', reference: 'p.2026-11-21.rent' };
const KEY = (await makeKey()).key;

/** Nobody loses patience. */
const NEVER = () => new Promise<never>(() => {});

/** Lists that show nothing. */
const EMPTY = { listTrades: async () => page<Trade>(), listWithdrawals: async () => page<Withdrawal>() };

/** A worker whose folder has these policies, as they stand when it asks. */
function gated(
  texts: () => readonly string[],
  {
    key = KEY,
    ceilings = () => null,
    listTrades = async () => page({ ...TRADE, executedAmount: '34500.00' }),
    sentEarlier = async () => false,
    ...scripted
  }: Scripted & {
    readonly key?: ApiKey;
    readonly ceilings?: () => string | null;
    readonly sentEarlier?: (key: string) => Promise<boolean>;
  } = {},
) {
  let ms = 0;
  const ceilingsNow = () => {
    const text = ceilings();
    if (text === null) return null;
    const loaded = loadCeilings(text, 'ceilings.yaml');
    assert.ok(loaded.ok);
    return loaded.ceilings;
  };
  const read = async () => ({
    policies: texts().map((text) => {
      const loaded = loadPolicy(text, 'p.yaml');
      assert.ok(loaded.ok, JSON.stringify(loaded));
      const { policy, hash } = loaded;
      return { policy, hash, destinations: null, referenceRates: RATES, before: null };
    }),
    ceilings: ceilingsNow(),
    approvals: null,
    troubles: [],
  });
  const clock = { wallMs: () => NOW + ms, monotonicMs: () => ms };
  const tally = new CeilingTally({ reader: EMPTY, facts: DEFAULT_SERVICE_FACTS, clock, wait: NEVER });
  const seal = sealerOf(key);
  const gate = writeGate({
    read,
    mode: 'SANDBOX',
    reader: { listTrades, balances: async () => balances() },
    facts: DEFAULT_SERVICE_FACTS,
    clock,
    seal,
    tally,
    approved: async () => null,
    sentEarlier,
  });
  const balances = async () =>
    done({
      aggregateUsd: '1',
      balances: ['USD', 'MXN'].map((currency) => ({ currency, withdrawable: '99999', total: '99999' })),
    });
  const createWithdrawal: Scripted['createWithdrawal'] = async ({ tag, amount }) =>
    done({ ...WITHDRAWAL, tag, withdrawalAmount: amount });
  return {
    ...worker({ balances, createWithdrawal, listTrades, ...scripted }, { gate }),
    passes: (more: number) => (ms += more),
  };
}

const HEAD = { plan: context().plan };
const LEG_CALL: LegCall = {
  ...HEAD,
  leg: LEG,
  state: NEW_LEG,
  othersAccepted: false,
  tradedSoFar: [],
  unwanted: null,
  follows: 'none',
};

async function pays(deps: ReturnType<typeof gated>['deps'], payment: typeof PAYMENT, amount = '17250.00') {
  const items = [{ payment, wanted: { amount, ahead: '0', unwanted: null }, state: NEW_PAYMENT }];
  const call = { ...HEAD, items, othersAccepted: false, twinIds: [] };
  const answer = await inActivity({}, () => createWithdrawals(deps)(call));
  return answer.items[0]?.step;
}

function assertNotAllowed(
  step: LegStep | { readonly kind: string } | undefined,
  why: RegExp,
  code = 'NOT_ALLOWED',
): void {
  assert.ok(step !== undefined && 'wait' in step, JSON.stringify(step));
  const { wait } = step;
  assert.deepEqual([wait.problem.code, wait.reason, wait.afterMs], [code, 'configuration', 60_000]);
  assert.match(wait.problem.message, why);
}

test('a payment of the policy is sent; one to another account, or of another amount, waits, and no byte of it leaves', async () => {
  const { deps, sent } = gated(() => [POLICY]);
  assert.equal((await pays(deps, PAYMENT))?.kind, 'accepted');
  assertNotAllowed(
    await pays(deps, { ...PAYMENT, account: 'wac_Strangers' }),
    /pays "supplier" to another account/,
  );
  const more = { ...PAYMENT, amount: { kind: 'fixed', value: '600000.00' } } as const;
  assertNotAllowed(await pays(deps, more, '600000.00'), /not 600,?000\.00 MXN/);
  assert.equal(sent('createWithdrawal').length, 1);
});

test('what the folder does not allow goes on once it does, and the folder is read again within seconds', async () => {
  let texts: readonly string[] = [];
  const { deps, passes } = gated(() => texts);
  assertNotAllowed(await pays(deps, PAYMENT), /has no policy "p"/);
  texts = [POLICY];
  passes(1_001);
  assert.equal((await pays(deps, PAYMENT))?.kind, 'accepted');
  texts = [];
  passes(1_001);
  assertNotAllowed(await pays(deps, RENT), /has no policy "p"/);
});

test('a quote of another amount or pair is not asked for; one of the policy is, and a worker with the same key trades it', async () => {
  const { deps, sent } = gated(() => [POLICY]);
  const dear = { ...LEG, amount: { side: 'sell', value: '50000.00', fixed: true } } as const;
  const quoteOf = async (leg: LegCall['leg']) =>
    (await inActivity({}, () => requestQuote(deps)({ ...LEG_CALL, leg }))).step;
  assertNotAllowed(await quoteOf(dear), /sells 1,?000\.00 USD/);
  assertNotAllowed(await quoteOf({ ...LEG, buy: 'EUR' }), /does not sell USD for EUR/);
  assert.equal(sent('createQuote').length, 0);
  const quoted = await quoteOf(LEG);
  assert.ok(quoted.kind === 'quoted');
  const other = gated(() => [POLICY]);
  const traded = await inActivity({}, () => executeTrade(other.deps)({ ...LEG_CALL, state: quoted.state }));
  assert.equal(traded.step.kind, 'traded');
});

test('a quote that no worker of this key has asked for, or that was changed on the way, is not traded', async () => {
  const { deps, sent } = gated(() => [POLICY]);
  const quoted = (await inActivity({}, () => requestQuote(deps)(LEG_CALL))).step;
  assert.ok(quoted.kind === 'quoted' && quoted.state.quote !== null);
  const { quote } = quoted.state;
  const forged = [
    IN_HAND,
    { ...IN_HAND, seal: 'no seal' },
    { ...quote, id: 'qte_2' },
    { ...quote, buyAmount: '999999.00' },
  ];
  for (const each of forged) {
    // One after the other.
    const call = { ...LEG_CALL, state: { ...quoted.state, quote: each } };
    const { step } = await inActivity({}, () => executeTrade(deps)(call));
    assertNotAllowed(step, /was not asked for with this worker’s API key, or was changed/);
  }
  const others = gated(() => [POLICY], { key: (await makeKey()).key });
  const { step } = await inActivity({}, () =>
    executeTrade(others.deps)({ ...LEG_CALL, state: quoted.state }),
  );
  assertNotAllowed(step, /was not asked for/);
  assert.equal(sent('createTrade').length, 0);
});

test('a price that the plan of a stranger would take, and the folder does not, is not traded; its quote is not counted', async () => {
  const dear = done({ ...QUOTE, quoteAmount: '100.00' });
  const { deps, sent } = gated(() => [POLICY], { createQuote: async () => dear });
  const quoted = (await inActivity({}, () => requestQuote(deps)(LEG_CALL))).step;
  assert.ok(quoted.kind === 'quoted');
  const { step } = await inActivity({}, () => executeTrade(deps)({ ...LEG_CALL, state: quoted.state }));
  assertNotAllowed(step, /does not allow the price/);
  assert.ok(step.kind === 'wait' && step.state.held);
  assert.equal(sent('createTrade').length, 0);
});

/** Another quote of the same leg. */
const ANOTHER = { ...IN_HAND, id: 'qte_2' };

function sealedBy(key: ApiKey, quote: typeof IN_HAND): typeof IN_HAND & { readonly seal: string } {
  const facts = [quote.id, LEG.reference, LEG.sell, LEG.buy, quote.sellAmount, quote.buyAmount];
  return { ...quote, seal: sealerOf(key)(facts) };
}

/** Trades the leg by a quote that a worker of the key has asked for. */
async function tradesBy(
  deps: ReturnType<typeof gated>['deps'],
  quote: typeof IN_HAND,
): Promise<LegStep | Stopped> {
  const quoted = (await inActivity({}, () => requestQuote(deps)(LEG_CALL))).step;
  assert.ok(quoted.kind === 'quoted');
  const state = { ...quoted.state, quote: sealedBy(KEY, quote) };
  return (await inActivity({}, () => executeTrade(deps)({ ...LEG_CALL, state }))).step;
}

test('a leg that the service shows as traded by another quote, or that was just traded here, is not traded once more', async () => {
  let shown: readonly Trade[] = [{ ...TRADE, id: 'tde_9', quoteId: 'qte_9' }];
  const { deps, sent, passes } = gated(() => [POLICY], {
    listTrades: async () => page(...shown),
  });
  assertNotAllowed(await tradesBy(deps, IN_HAND), /p\.2026-11-21\.\S+ was traded already, as tde_9/);
  shown = [];
  const traded = await tradesBy(deps, IN_HAND);
  assert.ok('kind' in traded && traded.kind === 'traded');
  // The list does not show it yet.
  assertNotAllowed(await tradesBy(deps, ANOTHER), /may just have been traded by quote qte_1/);
  assert.equal(sent('createTrade').length, 1);
  passes(3_600_000);
  shown = [TRADE];
  assertNotAllowed(await tradesBy(deps, ANOTHER), /was traded already, as tde_1/);
});

test('the same quote once more, refused or never sent, does not free its leg for another quote', async () => {
  const again = [failed('QUOTE_ALREADY_CONSUMED'), NOT_SENT, failed('TRADE_DISABLED')];
  for (const first of [NO_ANSWER, done(TRADE)])
    for (const second of again) {
      const { deps, sent } = gated(() => [POLICY], {
        listTrades: async () => page<Trade>(),
        createTrade: answers<Awaited<ReturnType<NonNullable<Scripted['createTrade']>>>>(first, second),
      });
      // One after the other.
      await tradesBy(deps, IN_HAND);
      await tradesBy(deps, IN_HAND);
      assertNotAllowed(await tradesBy(deps, ANOTHER), /may just have been traded by quote qte_1/);
      assert.equal(sent('createTrade').length, 2);
    }
});

test('a quote that was refused, or that never left, leaves its leg to another one', async () => {
  for (const first of [failed('QUOTE_EXPIRED'), NOT_SENT, failed('RATE_LIMIT_EXCEEDED')]) {
    const { deps } = gated(() => [POLICY], {
      listTrades: async () => page<Trade>(),
      createTrade: answers<Awaited<ReturnType<NonNullable<Scripted['createTrade']>>>>(
        first,
        done({ ...TRADE, quoteId: ANOTHER.id }),
      ),
    });
    // One after the other.
    await tradesBy(deps, IN_HAND);
    const { kind } = await tradesBy(deps, ANOTHER);
    assert.equal(kind, 'traded');
  }
});

test('while the list of trades is not read to its end, no leg is traded, and its quote is not counted', async () => {
  let isReadable = true;
  const { deps, sent } = gated(() => [POLICY], {
    listTrades: async () => (isReadable ? page<Trade>() : NO_ANSWER),
  });
  const quoted = (await inActivity({}, () => requestQuote(deps)(LEG_CALL))).step;
  assert.ok(quoted.kind === 'quoted');
  isReadable = false;
  // The lookup of the steps has been answered before.
  const open = { ...deps, reader: { ...deps.reader, listTrades: async () => page<Trade>() } };
  const { step } = await inActivity({}, () => executeTrade(open)({ ...LEG_CALL, state: quoted.state }));
  assert.ok(step.kind === 'wait');
  assert.deepEqual([step.wait.problem.code, step.wait.reason], ['TRADES_UNREAD', 'outage']);
  assert.ok(step.state.held);
  assert.equal(sent('createTrade').length, 0);
});

test('of two quotes of a leg that are traded at the same moment, one leaves', async () => {
  const { deps, sent } = gated(() => [POLICY], { listTrades: async () => page<Trade>() });
  const quoted = (await inActivity({}, () => requestQuote(deps)(LEG_CALL))).step;
  assert.ok(quoted.kind === 'quoted');
  const steps = ['qte_1', 'qte_2'].map(async (id) => {
    const state = { ...quoted.state, quote: sealedBy(KEY, { ...IN_HAND, id }) };
    return (await inActivity({}, () => executeTrade(deps)({ ...LEG_CALL, state }))).step;
  });
  await Promise.all(steps);
  assert.equal(sent('createTrade').length, 1);
});

test('what a replaced version of the policy has traded is paid, though the policy converts another pair now', async () => {
  const before = POLICY;
  const now = POLICY.replace('sell: USD', 'sell: EUR').replace('17.25 MXN per USD', '17.25 MXN per EUR');
  const { deps, sent } = gated(() => [now, before]);
  await pays(deps, RENT);
  assert.equal(sent('createWithdrawal').length, 1);
});

test('no leg of another run than that of the call is traded, since halts and instructions are read for that one', async () => {
  const { deps, sent } = gated(() => [POLICY]);
  for (const run of ['p.2026-11-20', 'q.2026-11-21']) {
    // One after the other.
    const leg = { ...LEG, reference: `${run}.usd-mxn-1` };
    const quoted = await inActivity({}, () => requestQuote(deps)({ ...LEG_CALL, leg }));
    assert.match(JSON.stringify(quoted.step), /is no reference of run p\.2026-11-21/);
    const state = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quotes: 1, quote: IN_HAND };
    const traded = await inActivity({}, () => executeTrade(deps)({ ...LEG_CALL, leg, state }));
    assert.match(JSON.stringify(traded.step), /is no reference of run p\.2026-11-21/);
  }
  assert.deepEqual([sent('createQuote').length, sent('createTrade').length], [0, 0]);
});

const CEILINGS = `ceilings: 1
workers: 1
paid: { per_day: ["17250.00 MXN"] }
traded: { per_day: ["1000.00 USD"] }
`;

test('a quote of a bought amount is asked for, and its trade made, under a ceiling of what it sells', async () => {
  const bought = POLICY.replace('{ sell: "1000.00" }', '{ buy: "17250.00" }').replace(/^.*id: rent.*\n/m, '');
  const leg = { ...LEG, amount: { side: 'buy', value: '17250.00', fixed: true } } as const;
  const reply = done({ ...QUOTE, sellAmount: null, buyAmount: '17250.00', quoteAmount: '1000.00' });
  const trade = done({ ...TRADE, sellAmount: null, buyAmount: '17250.00', executedAmount: '1000.00' });
  const { deps, passes } = gated(() => [bought], {
    ceilings: () => CEILINGS,
    createQuote: async () => reply,
    createTrade: async () => trade,
  });
  passes(600_000);
  const quoted = (await inActivity({}, () => requestQuote(deps)({ ...LEG_CALL, leg }))).step;
  assert.ok(quoted.kind === 'quoted', JSON.stringify(quoted));
  const call = { ...LEG_CALL, leg, state: quoted.state };
  const { step } = await inActivity({}, () => executeTrade(deps)(call));
  assert.equal(step.kind, 'traded', JSON.stringify(step));
});

test('ceilings that are new in the folder wait until the lists show what has left without them', async () => {
  for (const before of [null, 'ceilings: 1\nunbounded: true\n']) {
    let ceilings = before;
    const { deps, passes, sent } = gated(() => [POLICY], { ceilings: () => ceilings });
    passes(600_000);
    // One after the other.
    assert.equal((await pays(deps, PAYMENT))?.kind, 'accepted');
    ceilings = CEILINGS;
    passes(1_001);
    assertNotAllowed(await pays(deps, RENT), /has just begun to count/, 'CEILING_UNKNOWN');
    passes(600_000);
    assert.equal((await pays(deps, RENT))?.kind, 'accepted');
    assert.equal(sent('createWithdrawal').length, 2);
  }
});

/** Answers one after the other; the last one counts from then on. */
function answers<T>(...replies: readonly [T, ...T[]]): () => Promise<T> {
  let nth = 0;
  return async () => replies[Math.min(nth++, replies.length - 1)] ?? replies[0];
}

test('what may have been executed is sent again under its key after the folder has changed, and nothing else of it', async () => {
  let texts: readonly string[] = [POLICY];
  const { deps, passes, sent } = gated(() => texts, {
    createWithdrawal: answers(NO_ANSWER, done(WITHDRAWAL)),
  });
  assert.equal((await pays(deps, PAYMENT))?.kind, 'wait');
  texts = [];
  passes(1_001);
  const more = { ...PAYMENT, amount: { kind: 'fixed', value: '17250.01' } } as const;
  assertNotAllowed(await pays(deps, more, '17250.01'), /has no policy "p"/);
  assertNotAllowed(await pays(deps, { ...PAYMENT, account: 'wac_Strangers' }), /has no policy "p"/);
  assertNotAllowed(await pays(deps, RENT), /has no policy "p"/);
  assert.equal((await pays(deps, PAYMENT))?.kind, 'accepted');
  assert.equal(sent('createWithdrawal').length, 2);
});

test('a payment that the service has judged and refused, or that never left, waits for the folder as a new one', async () => {
  const short = failed('WITHDRAWAL_INSUFFICIENT_BALANCE', {});
  const limited = failed('RATE_LIMIT_EXCEEDED', {});
  for (const reply of [short, limited]) {
    let texts: readonly string[] = [POLICY];
    const { deps, passes } = gated(() => texts, { createWithdrawal: async () => reply });
    // One after the other.
    await pays(deps, PAYMENT);
    texts = [];
    passes(1_001);
    assertNotAllowed(await pays(deps, PAYMENT), /has no policy "p"/);
  }
});

test('what the journal of a worker before shows as sent passes, also above a ceiling that is not known yet, and counts', async () => {
  const key = '["paid","p.2026-11-21.supplier","' + PAYMENT.account + '","17250 MXN"]';
  const { deps, passes } = gated(() => [POLICY], {
    ceilings: () => CEILINGS,
    sentEarlier: async (asked) => asked === key,
  });
  assert.equal((await pays(deps, PAYMENT))?.kind, 'accepted');
  passes(600_000);
  assertNotAllowed(await pays(deps, RENT), /left of the ceiling/, 'OVER_CEILING');
});

test('what a trade has brought is paid as the service’s own record of it says, whatever the run says', async () => {
  const record = { ...TRADE, executedAmount: '17300.55' };
  let trades: readonly Trade[] = [];
  let isReadable = true;
  const { deps, sent } = gated(() => [POLICY], {
    listTrades: async () => (isReadable ? page(...trades) : NO_ANSWER),
  });
  assertNotAllowed(
    await pays(deps, RENT, '50.55'),
    /what trade "usd-mxn-1" has brought, and the service shows no/,
  );
  const others: readonly Trade[] = [
    { ...record, clientReferenceId: 'p.2026-11-20.usd-mxn-1' },
    { ...record, clientReferenceId: null },
    { ...record, buyCurrency: 'EUR' },
    { ...record, status: 'FAILED' },
  ];
  for (const other of others) {
    trades = [other];
    // One after the other.
    assertNotAllowed(await pays(deps, RENT, '50.55'), /the service shows no such trade/);
  }
  trades = [record];
  assertNotAllowed(await pays(deps, RENT, '50.56'), /pays "rent" 50\.55 MXN, not 50\.56 MXN/);
  isReadable = false;
  const unread = await pays(deps, RENT, '50.55');
  assert.ok(unread !== undefined && 'wait' in unread);
  const { wait } = unread;
  assert.deepEqual([wait.problem.code, wait.reason, wait.afterMs], ['TRADES_UNREAD', 'outage', 20_000]);
  isReadable = true;
  assert.equal((await pays(deps, RENT, '50.55'))?.kind, 'accepted');
  assert.equal(sent('createWithdrawal').length, 1);
});

test('what another workflow than one of the run asks for is refused before anything is read', async () => {
  let read = 0;
  const listTrades = async () => {
    read += 1;
    return page<Trade>();
  };
  const { deps, sent } = gated(() => [POLICY], { listTrades });
  for (const workflowId of ['his', 'sandbox/p.2026-11-22', 'sandbox/p.2026-11-22/chunk-1', 'p.2026-11-21'])
    // One after the other.
    await assert.rejects(
      inActivity({ workflowId }, () => requestQuote(deps)(LEG_CALL)),
      { type: 'NOT_ALLOWED', nonRetryable: true },
    );
  assert.deepEqual([read, sent('createQuote').length], [0, 0]);
  const ofChunk = { workflowId: 'sandbox/p.2026-11-21/chunk-1' };
  assert.equal((await inActivity(ofChunk, () => requestQuote(deps)(LEG_CALL))).step.kind, 'quoted');
});

const REBALANCE = `policy: 1
kind: rebalance
name: p
environment: sandbox
rebalance: { base: { currency: USD }, targets: { MXN: { min: "100999.00" } } }
quote: { settlement: T0 }
guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 25bps }
`;

test('a leg of a rebalancing that would lead past its target, as balances and trades under way stand now, is not quoted', async () => {
  let trades: readonly Trade[] = [];
  const { deps, sent } = gated(() => [REBALANCE], { listTrades: async () => page(...trades) });
  const quoteOf = async (value: string) => {
    const leg: LegCall['leg'] = { ...LEG, amount: { side: 'buy', value, fixed: false } };
    return (await inActivity({}, () => requestQuote(deps)({ ...LEG_CALL, leg }))).step;
  };
  assertNotAllowed(
    await quoteOf('1000.01'),
    /buys MXN up to 100,?999\.00 MXN at most, and 99,?999\.00 MXN is/,
  );
  const bought = { ...TRADE, clientReferenceId: 'q.2026-11-21.usd-mxn-1', executedAmount: '0.01' };
  trades = [bought];
  assertNotAllowed(await quoteOf('1000.00'), /99,?999\.01 MXN is there or on its way/);
  assert.equal(sent('createQuote').length, 0);
  trades = [{ ...bought, status: 'SETTLED' }];
  await quoteOf('1000.00');
  assert.equal(sent('createQuote').length, 1);
});

test('before a trade of a rebalancing the gate reads the list of trades once, for its leg and for what is on its way', async () => {
  let read = 0;
  const listTrades = async () => {
    read += 1;
    return page<Trade>();
  };
  const { deps } = gated(() => [REBALANCE], { listTrades });
  const leg: LegCall['leg'] = { ...LEG, amount: { side: 'buy', value: '1000.00', fixed: false } };
  const state = { ...NEW_LEG, knownIn: 'run-1', knownAtMs: NOW, quotes: 1, quote: sealedBy(KEY, IN_HAND) };
  const looked = { ...deps, reader: { ...deps.reader, listTrades: async () => page<Trade>() } };
  await inActivity({}, () => executeTrade(looked)({ ...LEG_CALL, leg, state }));
  assert.equal(read, 1);
});
