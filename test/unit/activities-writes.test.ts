/** How a worker carries out what the steps ask for: keys, keys to write and to read with, deadlines, shared looks (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import { createWithdrawals } from '../../activities/create-withdrawals.ts';
import { clockSkew } from '../../activities/clock-skew.ts';
import { InstructionsMissing, type Deps } from '../../activities/deps.ts';
import { Driver } from '../../activities/driver.ts';
import { executeTrade } from '../../activities/execute-trade.ts';
import { turnGivenBack } from '../../activities/leg-calls.ts';
import { LARGEST_CALL } from '../../domain/batch.ts';
import { requestQuote } from '../../activities/request-quote.ts';
import { InstructionsPaused } from '../../durable/instructions/read.ts';
import { ask, type Steps } from '../../domain/writes/step.ts';
import type { Wait } from '../../domain/waits.ts';
import { makeProblem } from '../../domain/problems.ts';
import { NEW_LEG, tradedOf, type LegState } from '../../domain/writes/leg-state.ts';
import { NEW_PAYMENT, type PaymentStep } from '../../domain/writes/withdrawal.ts';
import type { TurnAnswer } from '../../domain/turn.ts';
import type { LegCall, PaymentsCall } from '../../domain/run/calls.ts';
import {
  GO,
  NO_OTHER_RUNS,
  chunksWith,
  OUR_TURN,
  client,
  inActivity,
  page,
  worker,
  instructionsOf,
  type AttemptInfo,
  type Request,
} from '../support/activities.ts';
import {
  IN_HAND,
  LEG,
  NOW,
  NO_ANSWER,
  PAYMENT,
  QUOTE,
  TRADE,
  WITHDRAWAL,
  context,
  done,
  failed,
  stateOf,
} from '../support/scripts.ts';
import { kept } from '../support/instructions.ts';

const HEAD = { plan: context().plan };
const QUOTED: LegState = {
  ...NEW_LEG,
  knownIn: 'run-1',
  knownAtMs: NOW,
  quote: IN_HAND,
};
const LEG_CALL: LegCall = {
  ...HEAD,
  leg: LEG,
  state: QUOTED,
  othersAccepted: false,
  tradedSoFar: [],
  unwanted: null,
  follows: 'none',
};
const SECOND = { ...PAYMENT, id: 'second', reference: 'p.2026-11-21.second', account: 'wac_Second' };
const WANTED = { amount: '17250.00', ahead: '0', unwanted: null };
const callOf = (...payments: readonly (typeof PAYMENT)[]): PaymentsCall => ({
  ...HEAD,
  items: payments.map((payment) => ({ payment, wanted: WANTED, state: NEW_PAYMENT })),
  othersAccepted: false,
  twinIds: [],
});

/** SHA-256 of `9:cambist-17:SANDBOX5:org-111:withdrawals21:p.2026-11-21.supplier`, by another program. */
const PAYMENT_KEY = '41755e485ff933ac13b9df3a482178bc96eeb350cc4377c8edc58147ff5487da';
/** SHA-256 of `9:cambist-17:SANDBOX5:org-16:trades22:p.2026-11-21.usd-mxn-15:qte_1`. */
const TRADE_KEY = '32a906d0153177b38df8d2969a7ec0fd104f0715b3c7913ac07fe46ee9ff1d2d';

/** Every kind of attempt that may send the same item. */
const ATTEMPTS: readonly AttemptInfo[] = [
  {},
  { attempt: 2 },
  { runId: 'run-2' },
  { runId: 'run-3', attempt: 7 },
];

test('a payment is sent under one key, whichever run, attempt and moment sends it', async () => {
  const keys = new Set<unknown>();
  for (const [index, attempt] of ATTEMPTS.entries()) {
    const wallMs = () => NOW + index * 1_000;
    const { deps, sent } = worker({}, { clock: { wallMs, monotonicMs: () => index } });
    await inActivity({ ...attempt, scheduledAtMs: wallMs() }, () => createWithdrawals(deps)(callOf(PAYMENT)));
    for (const request of sent('createWithdrawal')) keys.add(JSON.stringify(request));
  }
  assert.deepEqual(
    [...keys],
    [
      JSON.stringify({
        account: PAYMENT.account,
        currency: 'MXN',
        amount: '17250.00',
        tag: PAYMENT.reference,
        idempotencyKey: PAYMENT_KEY,
      }),
    ],
  );
});

test('a trade is sent under one key as long as its quote is the same, and under another with the next quote', async () => {
  const keysOf = async (quoteId: string) => {
    const keys = new Set<unknown>();
    for (const attempt of ATTEMPTS) {
      const { deps, sent } = worker();
      const quote = { ...QUOTED.quote, id: quoteId } as LegState['quote'];
      const call = { ...LEG_CALL, state: { ...QUOTED, quote, knownIn: attempt.runId ?? 'run-1' } };
      await inActivity(attempt, () => executeTrade(deps)(call));
      for (const request of sent('createTrade'))
        keys.add((request as { idempotencyKey: string }).idempotencyKey);
    }
    return [...keys];
  };
  assert.deepEqual(await keysOf('qte_1'), [TRADE_KEY]);
  const next = await keysOf('qte_2');
  assert.equal(next.length, 1);
  assert.notDeepEqual(next, await keysOf('qte_1'));
});

const RICH = done({
  aggregateUsd: '5000',
  balances: [{ currency: 'USD', withdrawable: '5000', total: '5000' }],
});

test('a quote is asked for under a fresh key each time: it moves no money, and a dead one must not come back', async () => {
  const { deps, sent } = worker({ balances: async () => RICH });
  for (let time = 0; time < 2; time += 1)
    await inActivity({}, () => requestQuote(deps)({ ...LEG_CALL, state: NEW_LEG }));
  const keys = sent('createQuote').map((request) => (request as { idempotencyKey: string }).idempotencyKey);
  assert.equal(new Set(keys).size, 2);
});

/** A machine that stands still while it reads what people said. */
function standsStill(later: Partial<Deps['clock']>, then: () => void): Pick<Deps, 'clock' | 'instructions'> {
  let clock: Deps['clock'] = { wallMs: () => NOW, monotonicMs: () => 0 };
  const read = async () => {
    clock = { ...clock, ...later };
    then();
    return kept();
  };
  return {
    clock: { wallMs: () => clock.wallMs(), monotonicMs: () => clock.monotonicMs() },
    instructions: { ...instructionsOf(), read },
  };
}

for (const [what, later, isGivenUp] of [
  ['its time is over on the wall clock', { wallMs: () => NOW + 20_001 }, false],
  ['its time is over on the monotonic clock', { monotonicMs: () => 20_001 }, false],
  ['Temporal has given it up', {}, true],
] as const)
  test(`an attempt sends nothing once ${what}`, async () => {
    for (const act of [
      async (deps: Deps) => (await createWithdrawals(deps)(callOf(PAYMENT))).items[0]?.step.kind,
      async (deps: Deps) => (await executeTrade(deps)(LEG_CALL)).step.kind,
    ]) {
      const givenUp = new AbortController();
      const { deps, sent } = worker(
        {},
        standsStill(later, () => isGivenUp && givenUp.abort()),
      );
      const kind = await inActivity({ signal: givenUp.signal }, () => act(deps));
      assert.equal(kind, 'wait');
      assert.deepEqual([...sent('createWithdrawal'), ...sent('createTrade')], []);
    }
  });

test('an attempt that reached its worker late asks first whether it still counts', async () => {
  const { deps, requests } = worker({}, { isCurrentAttempt: async () => false });
  const late = { scheduledAtMs: NOW - 5_001 };
  await assert.rejects(
    inActivity(late, () => createWithdrawals(deps)(callOf(PAYMENT))),
    { type: 'SUPERSEDED' },
  );
  await assert.rejects(
    inActivity(late, () => executeTrade(deps)(LEG_CALL)),
    { type: 'SUPERSEDED' },
  );
  assert.deepEqual(requests, []);
});

test('payments that look at the same moment share one look, and a later look is made anew', async () => {
  let pages = 0;
  const { deps, sent } = worker({
    createWithdrawal: async () => NO_ANSWER,
    // What was booked without an answer shows in the second look.
    listWithdrawals: async () => {
      pages += 1;
      const second = {
        ...WITHDRAWAL,
        id: 'wtd_2',
        withdrawalAccountId: SECOND.account,
        tag: SECOND.reference,
      };
      return pages === 1 ? page() : page(WITHDRAWAL, second);
    },
  });
  const answer = await inActivity({ attempt: 2 }, () => createWithdrawals(deps)(callOf(PAYMENT, SECOND)));
  assert.deepEqual(
    answer.items.map(({ id, step }) => [
      id,
      step.kind === 'accepted' ? step.accepted.withdrawalId : step.kind,
    ]),
    [
      ['supplier', 'wtd_1'],
      ['second', 'wtd_2'],
    ],
  );
  assert.equal(sent('createWithdrawal').length, 2);
  assert.equal(pages, 2);
});

test('the payments of a call share one look, however few of them may be sent side by side', async () => {
  let pages = 0;
  let underWay = 0;
  let most = 0;
  let sends = 0;
  const { deps } = worker({
    createWithdrawal: async ({ tag }) => {
      underWay += 1;
      most = Math.max(most, underWay);
      await new Promise(setImmediate);
      underWay -= 1;
      sends += 1;
      return done({ ...WITHDRAWAL, id: `wtd_${sends}`, tag });
    },
    listWithdrawals: async () => {
      pages += 1;
      return page();
    },
  });
  const payments = Array.from({ length: 25 }, (_, index) => ({
    ...PAYMENT,
    id: `payment-${index}`,
    reference: `p.2026-11-21.payment-${index}`,
  }));
  await inActivity({ attempt: 2 }, () => createWithdrawals(deps)({ ...callOf(...payments), sideBySide: 2 }));
  assert.deepEqual([sends, most, pages], [25, 2, 1]);
});

test('what the largest call asks and answers fits a payload, also when it has waited, whatever the service says', async () => {
  const figures = [
    ...['requiredAmount', 'availableAmount', 'outstandingAmount', 'requestedAmount', 'limitAmount'],
    ...['minimumAmount', 'usedAmount', 'maxDecimals', 'currency', 'pair', 'expiredAt', 'consumedAt'],
    ...['status', 'reason'],
  ];
  const details = Object.fromEntries(figures.map((name) => [name, '9'.repeat(40)]));
  const facts = { traceId: 't'.repeat(200) };
  const payments = Array.from({ length: LARGEST_CALL }, (_, index) => {
    const id = `p-${index}-`.padEnd(64, 'z');
    return {
      ...PAYMENT,
      id,
      account: 'wac_'.padEnd(40, 'a'),
      reference: `${'p'.repeat(40)}.2026-11-21.${id}`,
    };
  });
  const twinIds = Array.from({ length: 450 }, (_, index) => `wtd_GVKK9mcGadvqjq8TViDA5${index}`);
  for (const reply of [
    failed('WITHDRAWAL_INSUFFICIENT_BALANCE', { facts, details }),
    failed('WITHDRAWAL_INITIATION_FAILED', { facts: { ...facts, replayed: true }, details }),
  ]) {
    const { deps } = worker({ createWithdrawal: async () => reply, listWithdrawals: async () => page() });
    let call: PaymentsCall = { ...callOf(...payments), sideBySide: 8, twinIds };
    for (let times = 1; times <= 3; times += 1) {
      const answer = await inActivity({}, () => createWithdrawals(deps)(call));
      for (const said of [call, answer]) {
        const bytes = Buffer.byteLength(JSON.stringify(said));
        assert.ok(bytes <= 131_072, `${bytes} bytes`);
      }
      const items = call.items.map((item, index) => {
        const step = answer.items[index]?.step;
        return step?.kind === 'wait' ? { ...item, state: step.state } : item;
      });
      call = { ...call, items };
    }
  }
});

test('a record is one payment only, be it taken by another one of the call or of a call before it', async () => {
  const twin = { ...PAYMENT, id: 'twin', reference: 'p.2026-11-21.twin' };
  const answered = async (call: PaymentsCall) => {
    const { deps } = worker({ createWithdrawal: async () => done({ ...WITHDRAWAL, tag: null }) });
    const { items } = await inActivity({}, () => createWithdrawals(deps)(call));
    return items.map(({ step }) => (step.kind === 'wait' ? step.wait.problem.code : step.kind));
  };
  assert.deepEqual(await answered(callOf(PAYMENT)), ['accepted']);
  assert.deepEqual(await answered(callOf(PAYMENT, twin)), ['accepted', 'RECORD_TAKEN']);
  assert.deepEqual(await answered({ ...callOf(twin), twinIds: [WITHDRAWAL.id] }), ['RECORD_TAKEN']);
});

test('the payments of one call share one read of the balances and of what people have said', async () => {
  let reads = 0;
  const short = failed('WITHDRAWAL_INSUFFICIENT_BALANCE');
  const { deps, sent } = worker(
    { createWithdrawal: async () => short },
    {
      instructions: {
        ...instructionsOf(),
        read: async () => {
          reads += 1;
          return kept();
        },
      },
    },
  );
  const payments = Array.from({ length: 25 }, (_, index) => ({
    ...PAYMENT,
    id: `payment-${index}`,
    reference: `p.2026-11-21.payment-${index}`,
  }));
  const call = callOf(...payments);
  const held = { ...call, plan: { ...call.plan, rules: { ...call.plan.rules, shortfall: 'hold' as const } } };
  const first = await inActivity({}, () => createWithdrawals(deps)(held));
  assert.equal(reads, 1);
  const again = first.items.map(({ id, step }) => ({
    payment: payments.find((payment) => payment.id === id) ?? PAYMENT,
    wanted: WANTED,
    state: stateOf(step),
  }));
  const before = sent('balances').length;
  await inActivity({}, () => createWithdrawals(deps)({ ...held, items: again }));
  assert.equal(reads, 2);
  assert.equal(sent('balances').length - before, 1);
});

test('a read that is too old for the payments of a call is made anew, and so is one that failed', async () => {
  let reads = 0;
  let monotonicMs = 0;
  const { deps } = worker(
    { createWithdrawal: async () => NO_ANSWER },
    {
      clock: { wallMs: () => NOW, monotonicMs: () => monotonicMs },
      instructions: {
        ...instructionsOf(),
        read: async () => {
          reads += 1;
          if (reads === 2) throw new Error('Temporal is away');
          return kept();
        },
      },
    },
  );
  const driver = await inActivity({}, () => Driver.open(deps, HEAD));
  const wait: Wait = { afterMs: 1, reason: 'service', problem: makeProblem('HALTED', PAYMENT.id) };
  function* reading(): Steps<PaymentStep> {
    yield* ask<'read instructions'>({ kind: 'read instructions' });
    return { kind: 'wait', state: NEW_PAYMENT, wait };
  }
  const readInstructions = () => inActivity({}, () => driver.run('supplier', reading()));
  await readInstructions();
  monotonicMs = 5_000;
  await readInstructions();
  assert.equal(reads, 1);
  monotonicMs = 5_001;
  await assert.rejects(readInstructions());
  await readInstructions();
  assert.equal(reads, 3);
});

test('what Temporal does not answer before a call has sent anything leaves no payment in doubt, and one lost answer no trace', async () => {
  const outcomes = async (lost: number) => {
    let reads = 0;
    let sends = 0;
    const { deps } = worker(
      {
        createWithdrawal: async () => {
          sends += 1;
          return NO_ANSWER;
        },
      },
      {
        instructions: {
          ...instructionsOf(),
          read: async () => {
            reads += 1;
            if (reads <= lost) throw new Error('Temporal is away');
            return kept();
          },
        },
      },
    );
    const paying = inActivity({}, () => createWithdrawals(deps)(callOf(PAYMENT)));
    const answer = await paying.catch(() => null);
    return { step: answer?.items[0]?.step, sends };
  };
  const { step, sends } = await outcomes(Number.POSITIVE_INFINITY);
  assert.ok(step?.kind === 'wait', 'the call has failed');
  assert.equal(step.wait.problem.code, 'ACTIVITY_FAILED');
  assert.equal(step.state.doubt, null);
  assert.equal(sends, 0);
  assert.equal((await outcomes(1)).sends, 1);
});

const NOT_ANY_MORE: readonly (readonly [what: string, more: Partial<Situation>, code: string])[] = [
  ['Temporal is away', { error: new Error('14 UNAVAILABLE') }, 'ACTIVITY_FAILED'],
  ['the instructions are missing', { error: new InstructionsMissing() }, 'INSTRUCTIONS_MISSING'],
  [
    'the instructions are paused',
    { error: new InstructionsPaused('p/instructions', kept()) },
    'INSTRUCTIONS_PAUSED',
  ],
  ['the go is taken back', { mayGo: false }, 'CHUNK_WAITS'],
];
type Situation = { readonly error: Error | null; readonly mayGo: boolean };

for (const [what, more, code] of NOT_ANY_MORE)
  test(`${what} just before one payment of a call leaves: it waits with its reason, and the call ends after the others`, async () => {
    const { error, mayGo }: Situation = { error: null, mayGo: true, ...more };
    const service = gate();
    let monotonicMs = 0;
    let reads = 0;
    const { deps, sent } = worker(
      {
        createWithdrawal: async () => {
          await service.opened;
          return done({
            ...WITHDRAWAL,
            id: 'wtd_2',
            withdrawalAccountId: SECOND.account,
            tag: SECOND.reference,
          });
        },
      },
      {
        clock: { wallMs: () => NOW, monotonicMs: () => monotonicMs },
        instructions: {
          ...instructionsOf(),
          read: async () => {
            reads += 1;
            if (reads === 2 && error !== null) throw error;
            return kept();
          },
        },
        chunks: chunksWith({ readGo: async () => ({ ...GO, mayGo: reads !== 2 || mayGo }) }),
        // What was read of the instructions is too old by then, so that it is read again.
        tell: (event) => {
          const isSending = event.kind === 'reached' && event.point === 'before send withdrawal';
          if (isSending && monotonicMs === 0) monotonicMs = 6_000;
        },
      },
    );
    let hasEnded = false;
    const call = { ...callOf(PAYMENT, SECOND), chunk: 1, sideBySide: 1 };
    const paying = inActivity({}, () => createWithdrawals(deps)(call))
      .catch(() => null)
      .finally(() => {
        hasEnded = true;
      });
    await eventuallySent(() => sent('createWithdrawal').length === 1);
    assert.equal(hasEnded, false, 'the second payment is under way');
    service.open();
    const answer = await paying;
    assert.ok(answer !== null, 'the call has failed');
    const [first, second] = answer.items;
    assert.ok(first?.step.kind === 'wait');
    assert.equal(first.step.wait.problem.code, code);
    assert.equal(first.step.wait.problem.item, PAYMENT.id);
    assert.deepEqual(
      [first.step.state.sent, first.step.state.knownIn],
      [true, null],
      'it looks before it sends',
    );
    assert.equal(second?.step.kind, 'accepted');
  });

test('a call that is given up fails only when its last payment has ended', async () => {
  const service = gate();
  const given = new AbortController();
  const ended: string[] = [];
  const { deps, sent } = worker({
    createWithdrawal: async ({ account }) => {
      if (account === PAYMENT.account) {
        given.abort();
        throw new Error('a fault of the program');
      }
      await service.opened;
      ended.push('second');
      return done(WITHDRAWAL);
    },
  });
  const { signal } = given;
  const paying = inActivity({ signal }, () => createWithdrawals(deps)(callOf(SECOND, PAYMENT))).catch(() =>
    ended.push('call'),
  );
  await eventuallySent(() => sent('createWithdrawal').length === 2);
  service.open();
  await paying;
  assert.deepEqual(ended, ['second', 'call']);
});

/** Holds up whoever waits for it, until it opens. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

async function eventuallySent(isSent: () => boolean): Promise<void> {
  for (let turn = 0; turn < 100 && !isSent(); turn += 1) await immediate();
  assert.ok(isSent());
  await immediate();
}

test('the steps know the worker’s own keys, its clock and which API key it has: nothing is sent by those of others', async () => {
  const named: unknown[] = [];
  const instructions = {
    ...instructionsOf(),
    note: async (...[, , facts]: Parameters<Deps['instructions']['note']>) => void named.push(...facts),
  };
  const requests: Request[] = [];
  const ours = client(requests);
  const foreign = client(requests, { organisation: 'org-2' });
  const another = { ...ours, keyName: 'org/org-1/apiKey/2' };
  const apart = client(requests, {
    balances: async () => done({ aggregateUsd: '1', balances: [] }, { serviceTimeMs: NOW + 60_000 }),
  });
  for (const [what, more, skewMs, code] of [
    ['the key of another organisation', { service: foreign }, 0, 'CREDENTIALS_DIFFER'],
    ['a read key of another organisation', { reader: foreign }, 0, 'CREDENTIALS_DIFFER'],
    ['another API key', { service: another }, 0, 'API_KEY_CHANGED'],
    ['a clock that is wrong', { reader: apart }, 60_000, 'CLOCK_SKEW'],
  ] as const) {
    const { deps } = worker({}, { service: ours, reader: ours, instructions, ...more });
    clockSkew.tell(skewMs);
    // One after the other.
    const payment = await inActivity({}, () => createWithdrawals(deps)(callOf(PAYMENT)));
    // See above.
    const leg = await inActivity({}, () => executeTrade(deps)(LEG_CALL));
    clockSkew.tell(0);
    for (const step of [payment.items[0]?.step, leg.step])
      assert.equal(step?.kind === 'wait' ? step.wait.problem.code : step?.kind, code, what);
    assert.ok(!requests.some(({ operation }) => operation.startsWith('create')), what);
  }
  assert.deepEqual(named[0], { kind: 'api key', keyName: another.keyName, atMs: NOW });
});

test('a record that another run of ours accounts for holds up no end of a payment', async () => {
  for (const [theirs, kind] of [
    [[WITHDRAWAL.id], 'not paid'],
    [[], 'wait'],
  ] as const) {
    const { deps } = worker(
      {
        createWithdrawal: async () => failed('WITHDRAWAL_ADDRESS_NOT_VERIFIED'),
        listWithdrawals: async () => page({ ...WITHDRAWAL, tag: null }),
      },
      {
        claims: {
          ...NO_OTHER_RUNS,
          whose: async () =>
            theirs.map((recordId) => ({ recordId, by: { kind: 'item', run: 'q.1', item: 'a' } })),
        },
      },
    );
    // One after the other.
    const { items } = await inActivity({}, () => createWithdrawals(deps)(callOf(PAYMENT)));
    assert.equal(items[0]?.step.kind, kind);
  }
});

test('the worker’s key writes, the read key looks', async () => {
  const [written, read]: [Request[], Request[]] = [[], []];
  const { deps } = worker({}, { service: client(written), reader: client(read) });
  await inActivity({ attempt: 2 }, () => createWithdrawals(deps)(callOf(PAYMENT)));
  await inActivity({ attempt: 2 }, () => executeTrade(deps)(LEG_CALL));
  const operationsOf = (requests: readonly Request[]) => requests.map(({ operation }) => operation);
  assert.deepEqual(operationsOf(written), ['createWithdrawal', 'createTrade']);
  assert.deepEqual(operationsOf(read), ['listWithdrawals', 'listTrades']);
});

test('a list that could not be read to its end is no look: a trade that may have been sent is not sent', async () => {
  const { deps, sent } = worker({ listTrades: async () => NO_ANSWER });
  const { step } = await inActivity({ attempt: 2 }, () => executeTrade(deps)(LEG_CALL));
  assert.equal(step.kind, 'wait');
  assert.deepEqual(sent('createTrade'), []);
});

test('a trade that is in the list is adopted by the attempt that looks', async () => {
  const { deps, sent } = worker({ listTrades: async () => page(TRADE) });
  const { step } = await inActivity({ runId: 'run-2' }, () => executeTrade(deps)(LEG_CALL));
  assert.equal(step.kind, 'traded');
  assert.deepEqual(sent('createTrade'), []);
});

test('a record of which the answer by its id shows only a part is not adopted', async () => {
  const record = { id: WITHDRAWAL.id, status: 'COMPLETED', currency: 'MXN' };
  const { deps } = worker({
    createWithdrawal: async () =>
      failed('WITHDRAWAL_INITIATION_FAILED', { details: { resourceId: WITHDRAWAL.id } }),
    withdrawal: async () => done({ kind: 'PARTIAL', record }),
  });
  const { items } = await inActivity({}, () => createWithdrawals(deps)(callOf(PAYMENT)));
  assert.equal(items[0]?.step.kind, 'wait');
});

/** Only a rebalancing trades in a turn. */
const TARGET_CALL: LegCall = { ...LEG_CALL, leg: { ...LEG, why: { kind: 'target', currency: 'MXN' } } };

/** What the calls of a leg say to the turn: each time it is given back, whether something may have been traded in it. */
function turnTold(deps: ReturnType<typeof worker>['deps']) {
  const told: boolean[] = [];
  const giveBack = async (_run: unknown, tradedAtMs: number | null) => void told.push(tradedAtMs !== null);
  return { told, deps: { ...deps, turn: { ...deps.turn, giveBack } } };
}

test('a leg gives the turn of its run back unless it, or another leg, goes on at once', async () => {
  const given = async (
    call: Partial<LegCall>,
    scripted: Parameters<typeof worker>[0],
    answer: TurnAnswer = OUR_TURN,
  ) => {
    const { told, deps } = turnTold(worker({ balances: async () => RICH, ...scripted }).deps);
    const turn = { ...deps.turn, take: async () => answer };
    await inActivity({}, () => requestQuote({ ...deps, turn })({ ...TARGET_CALL, state: NEW_LEG, ...call }));
    return told;
  };
  const refused = { createQuote: async () => failed('TRADE_PAIR_NOT_SUPPORTED') };
  const held = { createQuote: async () => failed('TRADE_DISABLED') };
  assert.deepEqual(await given({}, { createQuote: async () => done(QUOTE) }), []);
  assert.deepEqual(await given({}, refused), [false]);
  assert.deepEqual(await given({ tradedSoFar: [{ value: '1', currency: 'USD' }] }, refused), [true]);
  assert.deepEqual(await given({ follows: 'at once' }, refused), []);
  assert.deepEqual(await given({ follows: 'when done' }, refused), []);
  // Whoever needs it waits with it.
  assert.deepEqual(await given({ follows: 'when done' }, held), [false]);
  assert.deepEqual(await given({ follows: 'at once' }, held), []);
  const afterSale = makeProblem('AFTER_SALES', LEG.id, { message: '' });
  const step = {
    kind: 'wait',
    state: NEW_LEG,
    wait: { afterMs: 1, reason: 'sale', problem: afterSale },
  } as const;
  assert.deepEqual(turnGivenBack(TARGET_CALL, step), { mayHaveTraded: false });
  // Who gives back what it has not would lose its place in the line.
  const others = { turn: 'others', run: 'p.2026-11-21-b', before: 0 } as const;
  assert.deepEqual(await given({}, {}, others), []);
});

test('while lists may lack what another run has traded, a leg of old balances waits in its turn, which it keeps', async () => {
  const { told, deps } = turnTold(worker({ balances: async () => RICH }).deps);
  const take = async () =>
    ({ turn: 'ours', hasLapsed: true, others: [], gone: [], tradedAgoMs: 1_000, tradedAtMs: null }) as const;
  const call = { ...TARGET_CALL, state: NEW_LEG };
  const { step } = await inActivity({}, () => requestQuote({ ...deps, turn: { ...deps.turn, take } })(call));
  assert.ok(step.kind === 'wait');
  assert.deepEqual([step.wait.reason, step.wait.problem.code], ['turn', 'LISTS_MAY_LAG']);
  assert.deepEqual(told, []);
});

test('a trade that is done gives the turn of its run back unless another leg follows', async () => {
  for (const follows of ['none', 'when done', 'at once'] as const) {
    const { told, deps } = turnTold(worker({ createTrade: async () => done(TRADE) }).deps);
    // One after the other.
    const { step } = await inActivity({}, () => executeTrade(deps)({ ...TARGET_CALL, follows }));
    assert.equal(step.kind, 'traded');
    assert.deepEqual(told, follows === 'none' ? [true] : []);
  }
});

test('a leg that needs no turn takes none, and tells when it has traded', async () => {
  const quoted = turnTold(worker({ balances: async () => RICH }).deps);
  const take = () => assert.fail('It needs no turn.');
  const turn = { ...quoted.deps.turn, take };
  await inActivity({}, () => requestQuote({ ...quoted.deps, turn })({ ...LEG_CALL, state: NEW_LEG }));
  assert.deepEqual(quoted.told, []);
  const traded = turnTold(worker({ createTrade: async () => done(TRADE) }).deps);
  await inActivity({}, () => executeTrade(traded.deps)({ ...LEG_CALL, follows: 'at once' }));
  assert.deepEqual(traded.told, [true]);
});

test('a trade that came out above a limit of the run, with what its other legs have traded, is held until a person accepts it', async () => {
  const { deps } = worker();
  const { plan, leg } = LEG_CALL;
  const perRun = { value: '1500', currency: 'USD' };
  const limits = { perTrade: null, perRun, perDay: null, perPayment: [], paidPerRun: [] };
  const asked = (sold: string) =>
    inActivity({}, () =>
      requestQuote(deps)({
        plan: { ...plan, rules: { ...plan.rules, limits } },
        leg,
        tradedSoFar: [{ value: sold, currency: 'USD' }],
        traded: tradedOf(TRADE, null),
      }),
    );
  for (const [sold, isHeld] of [
    ['500', false],
    ['500.01', true],
  ] as const) {
    const { step } = await asked(sold);
    assert.ok(step.kind === 'traded', JSON.stringify(step));
    assert.equal(step.isHeld, isHeld, sold);
  }
});

test('a worker goes by the refusals that it has received itself, and one that has received none asks the service by the keys below', async () => {
  const refused = failed('WITHDRAWAL_INSUFFICIENT_BALANCE', { facts: { replayed: true } });
  const tagOf = (asked: unknown): string => (asked as { readonly tag: string }).tag;
  // Whoever may write the history of a run says that the payment has come to its third generation.
  const opened = [2, 3].map((generation) => ({
    kind: 'opened' as const,
    item: PAYMENT.id,
    generation,
    atMs: NOW,
  }));
  const state = {
    ...NEW_PAYMENT,
    generation: 3,
    knownIn: 'run-1',
    knownAtMs: NOW,
    walkedIn: 'run-1',
    sent: true,
  };
  const call = { ...callOf(), items: [{ payment: PAYMENT, wanted: WANTED, state }] };
  const more = { instructions: { ...instructionsOf(), read: async () => ({ ...kept(), facts: opened }) } };
  const [first, second, third] = ['', '~2', '~3'].map((suffix) => `${PAYMENT.reference}${suffix}`);

  const refusing = worker(
    { createWithdrawal: async ({ tag }) => (tag === third ? NO_ANSWER : refused) },
    more,
  );
  for (const _ of [1, 2])
    // One after the other.
    await inActivity({}, () => createWithdrawals(refusing.deps)(call));
  assert.deepEqual(refusing.sent('createWithdrawal').map(tagOf), [first, second, third, third]);

  const paid = worker({ createWithdrawal: async () => done({ ...WITHDRAWAL, tag: first ?? null }) }, more);
  const { items } = await inActivity({}, () => createWithdrawals(paid.deps)(call));
  assert.equal(items[0]?.step.kind, 'accepted');
  assert.deepEqual(paid.sent('createWithdrawal').map(tagOf), [first]);
});
