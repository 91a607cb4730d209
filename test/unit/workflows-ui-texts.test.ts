/** What the Temporal UI shows of a run: lines beside activities, and the current details. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Leg, Payment } from '../../domain/plan/plan.ts';
import { NEW_LEG, type LegState } from '../../domain/writes/leg-state.ts';
import type { LegCall, PaymentsCall, TradedCall } from '../../domain/run/calls.ts';
import type { Problem } from '../../domain/problems.ts';
import { newLeg, type PaymentStage } from '../../domain/run/items.ts';
import { Pauses } from '../../domain/run/pauses.ts';
import { newRecord, newRunState, type RunState } from '../../domain/run/state.ts';
import { safetyWaitText, waitingOf, type Waiting } from '../../domain/waits.ts';
import type { ChunkRecord, ChunkState } from '../../domain/run/chunk-state.ts';
import {
  asMarkdown,
  detailsOf as detailsWith,
  endOf,
  summaryOfPayments,
  summaryOfQuote,
  summaryOfTimer,
  summaryOfTrade,
  unpaidInBatch,
  unpaidLines,
} from '../../workflows/ui-texts.ts';
import { context, RUN, WHOLE_PLAN } from '../support/scripts.ts';

/** The details of a run that was started once. */
const detailsOf = (state: Parameters<typeof detailsWith>[0]): string => detailsWith(state, false, NOW_MS);
const NOW_MS = Date.parse('2026-11-21T12:00:00Z');

const PAYMENT: Payment = {
  id: 'supplier',
  reference: 'p.2026-11-21.supplier',
  account: 'wac_7Hk2mQ9vT4xR',
  currency: 'MXN',
  amount: { kind: 'fixed', value: '1018500' },
  dependsOn: null,
};

function legOf(amount: Leg['amount']): Leg {
  return {
    id: 'usd-mxn-1',
    reference: 'p.2026-11-21.usd-mxn-1',
    sell: 'USD',
    buy: 'MXN',
    amount,
    why: { kind: 'fixed' },
    guard: null,
    needsFromSales: '0',
  };
}

function tradeCallOf(amount: Leg['amount'], more: Partial<LegCall> = {}): LegCall {
  return { leg: legOf(amount), state: NEW_LEG, unwanted: null, ...more } as LegCall;
}

function stateOf(payments: readonly Payment[]): RunState {
  const state = newRunState({ policy: 'p', id: '2026-11-21' }, 'sandbox/p.2026-11-21', {
    name: 'p',
    hash: 'h',
  });
  state.payments = payments.map(newRecord);
  return state;
}

test('a trade says what is sold and bought, as far as that is fixed', () => {
  const cases: readonly (readonly [Leg['amount'], string])[] = [
    [{ side: 'sell', value: '1000', fixed: true }, 'Trade 1,000.00 USD → MXN'],
    [{ side: 'buy', value: '999.5', fixed: true }, 'Trade USD → 999.50 MXN'],
    [null, 'Trade USD → MXN'],
  ];
  for (const [amount, summary] of cases) assert.equal(summaryOfTrade(tradeCallOf(amount), false), summary);
});

test('a call for a quote says what it is for: a price, or only a look', () => {
  const amount = { side: 'sell', value: '1000', fixed: true } as const;
  const doubt = { lastSendMs: 1, absentAtMs: null, under: 'key', why: 'no answer' };
  const problem: Problem = { code: 'LEG_NOT_TRADED', item: 'usd-mxn-1', message: 'm', fix: 'f' };
  const said = (state: Partial<LegState>, more: Partial<LegCall> = {}, isCancelled = false): string =>
    summaryOfQuote(tradeCallOf(amount, { state: { ...NEW_LEG, ...state }, ...more }), isCancelled);
  const what = '1,000.00 USD → MXN';
  assert.equal(said({}), `Price for ${what}`);
  assert.equal(
    said({ phase: { kind: 'short', problem, available: null, atMs: 0 } as never }),
    `Price for ${what}`,
  );
  assert.equal(said({ doubt }), `Safety wait: look whether ${what} was traded`);
  assert.equal(said({ doubt }, {}, true), `Safety wait: look whether ${what} was traded`);
  const end = `Record ${what} as not traded, unless the service shows a trade`;
  assert.equal(said({}, {}, true), end);
  assert.equal(said({}, { unwanted: problem }), end);
  assert.equal(said({ phase: { kind: 'refused', problem } }), end);
  assert.equal(said({ phase: { kind: 'spent', problem } }), `Look whether ${what} was traded`);
  assert.equal(summaryOfTrade(tradeCallOf(amount), true), end);
  const traded = { leg: legOf(amount), traded: {} } as TradedCall;
  assert.equal(summaryOfQuote(traded, false), `See whether a person has accepted the trade of ${what}`);
});

test('one payment says whom it pays how much, several how many they are; neither is longer than Temporal takes', () => {
  const itemOf = (payment: Payment, amount: string | null, unwanted: Problem | null = null) => ({
    payment,
    wanted: { amount, unwanted },
  });
  const callOf = (...items: readonly unknown[]) => ({ items }) as unknown as PaymentsCall;
  assert.equal(
    summaryOfPayments(callOf(itemOf(PAYMENT, '1018500'))),
    'Pay supplier 1,018,500.00 MXN to wac_7Hk2mQ9vT4xR',
  );
  assert.equal(summaryOfPayments(callOf(itemOf(PAYMENT, null))), 'Pay supplier MXN to wac_7Hk2mQ9vT4xR');
  const two = [itemOf(PAYMENT, '1'), itemOf({ ...PAYMENT, id: 'other' }, '2')];
  assert.equal(summaryOfPayments(callOf(...two)), 'Pay 2 payments, supplier first');
  const [one] = two;
  assert.equal(summaryOfPayments(callOf(one), true), 'Record supplier as not paid, unless it was sent');
  const problem: Problem = { code: 'LEG_NOT_TRADED', item: 'supplier', message: 'm', fix: 'f' };
  const unwanted = itemOf(PAYMENT, '1', problem);
  assert.equal(summaryOfPayments(callOf(unwanted)), 'Record supplier as not paid, unless it was sent');
  assert.equal(summaryOfPayments(callOf(unwanted, one)), 'Pay 2 payments, supplier first');
  assert.equal(
    summaryOfPayments(callOf(unwanted, unwanted)),
    'Record 2 payments as not paid, unless they were sent, supplier first',
  );
  const long = itemOf({ ...PAYMENT, account: 'ü'.repeat(500) }, '1');
  assert.ok(Buffer.byteLength(summaryOfPayments(callOf(long))) <= 400);
});

test('the details have each item with its outcome, what is waited for with the next look, and the command to type', () => {
  const state = stateOf([PAYMENT]);
  const amount = { side: 'sell', value: '1000', fixed: true } as const;
  state.legs = [{ leg: legOf(amount), stage: newLeg(), waiting: null, isAtWork: false }];
  state.waiting = {
    reason: 'person',
    wakeAtMs: Date.parse('2026-11-21T20:37:37Z'),
    problem: {
      code: 'SHORTFALL',
      item: 'supplier',
      message: 'No money.',
      fix: 'Start it with --go-on ITEM.',
    },
  };
  const held = { ...state.waiting, sinceMs: Date.parse('2026-11-21T15:02:00Z') };
  state.waiting = {
    ...held,
    reason: 'doubt',
    problem: {
      ...held.problem,
      code: 'IN_DOUBT',
      fix: `It looks again: ${safetyWaitText(held.wakeAtMs, 0)}.`,
    },
    safeAtMs: held.wakeAtMs,
  };
  // Not when it looks next, which may be several times before.
  assert.ok(
    detailsOf(state).includes(
      '- `IN_DOUBT` supplier: No money. It looks again: safety wait until 2026-11-21 20:37:37 UTC, to be sure that nothing was sent before; nothing for you to do. Since 2026-11-21 15:02.\n',
    ),
    detailsOf(state),
  );
  state.waiting = held;
  assert.equal(
    detailsOf(state),
    [
      '**HELD**',
      '- `SHORTFALL` supplier: No money. Start it with `--go-on ITEM`. Since 2026-11-21 15:02 UTC. Looks again at 2026-11-21 20:37.',
      '',
      '| item | what | outcome |',
      '| - | - | - |',
      '| usd-mxn-1 | 1,000.00 USD → MXN | PENDING |',
      '| supplier | 1,018,500.00 MXN to wac_7Hk2mQ9vT4xR | PENDING |',
      '',
      'How it stands, and what to do:',
      '',
      '```sh',
      'npx cambist status p.2026-11-21',
      '```',
    ].join('\n'),
  );
});

test('what ended undone says in one sentence what is done, and what to do about the rest', () => {
  const endedBy = (code: Problem['code']): PaymentStage => ({
    kind: 'not paid',
    endedIn: 'r1',
    problem: { code, item: 'supplier', message: 'Not registered.', fix: 'Register it.' },
  });
  const refused = endedBy('ACCOUNT_MISSING');
  const paid: PaymentStage = {
    kind: 'paid',
    accepted: { withdrawalId: 'wtd_1', createdAtMs: 0, reference: 'r', atMs: 0, status: 'COMPLETED' },
  };
  const endedWith = (...stages: readonly PaymentStage[]): RunState => {
    const state = stateOf(stages.map((_, index) => ({ ...PAYMENT, id: `p-${index}` })));
    for (const [index, record] of state.payments.entries()) record.stage = stages[index] ?? refused;
    return Object.assign(state, { ended: true });
  };
  const reset =
    'Mend the cause, then type `npx cambist replay p.2026-11-21`, or press Reset and choose any event: what is not done is tried again, nothing is traded or paid twice. The whole report: `npx cambist report p.2026-11-21`.';
  assert.equal(endOf(endedWith(refused)), `Ended: nothing was traded or paid of 1 item. ${reset}`);
  assert.equal(endOf(endedWith(refused, paid)), `Ended: 1 of 2 items is done, the others are not. ${reset}`);
  assert.equal(
    endOf(endedWith(endedBy('OVER_LIMIT'), paid)),
    'Ended: 1 of 2 items is done, the others are not. A reset would end in the same way: the report says beside each problem what helps. The whole report: `npx cambist report p.2026-11-21`.',
  );
  assert.ok(endOf(endedWith(endedBy('OVER_LIMIT'), refused)).endsWith(reset), 'one of them may go on');
  const left = endedWith(paid);
  const position = { currency: 'EUR', withdrawable: '5', projected: null, traded: '0' };
  const bounds = { target: null, low: null, high: '0', wanted: null, restraint: 'other run' } as const;
  const none = { batch: null, policy: left.policy, legs: [], payments: [] };
  left.plan = { ...context().plan, ...none, positions: [{ ...position, ...bounds }] };
  assert.match(
    endOf(left),
    /^Ended: every trade of the plan is made, and not every currency is at its target\. .* under another id /,
  );
  assert.equal(
    endOf(endedWith(endedBy('CANCELLED'), paid)),
    'Cancelled: 1 of 2 items is done, the others are not. What was cancelled is not sent until a person types `npx cambist run POLICY --id 2026-11-21 --go-on`; where another run has taken its place, it never is. The whole report: `npx cambist report p.2026-11-21`.',
  );
  const details = detailsOf(endedWith(refused, paid));
  assert.match(details, /^\*\*PARTIAL\*\*\n\nEnded: 1 of 2 items is done/);
  assert.match(details, /\n- `ACCOUNT_MISSING` supplier: Not registered\. Register it\.\n/);
});

test('a batch says with which codes payments have ended unpaid, how many each, and what to do; the run need not have ended', () => {
  const chunkOf = (number: number, notPaid: number, unpaid: ChunkState['unpaid']): ChunkRecord => {
    const counts = {
      planned: 500,
      accepted: 0,
      paid: 0,
      notPaid,
      needsHuman: 0,
      open: 500 - notPaid,
      sent: 0,
      waiting: 0,
    };
    const refusals = { refused: 0, sent: 0, inARow: null };
    const state = {
      number,
      heard: 'r1/c',
      isSending: false,
      counts,
      totals: [],
      waits: [],
      refusals,
      unpaid,
    };
    const planned = { payments: 500, hash: 'h', unpayable: null };
    return { number, planned, mayGo: true, toldOf: 0, state, isClosed: false, waiting: null };
  };
  const MISSING = { code: 'ACCOUNT_MISSING', payments: 7 };
  const state = stateOf([]);
  state.stopped = { code: 'BATCH_STOPPED', item: null, message: 'The batch was stopped: why.', fix: 'f' };
  state.chunks = [
    chunkOf(1, 8, [{ code: 'WITHDRAWAL_ACCOUNT_NOT_LIVE', payments: 1 }, MISSING]),
    chunkOf(2, 99, [MISSING, { code: 'BATCH_STOPPED', payments: 92 }]),
  ];
  const lines = [
    '- `BATCH_STOPPED` 92 payments: The batch was stopped: why. See why payments were refused, and mend it. Then type `npx cambist replay p.2026-11-21`, or reset the run.',
    '- `ACCOUNT_MISSING` 14 payments: The service does not know the withdrawal account of a payment. Register the account at the service, then type `npx cambist replay p.2026-11-21`, or reset the run.',
    '- `WITHDRAWAL_ACCOUNT_NOT_LIVE` 1 payment: The service says: the account is not in use. Mend the cause at the service (the account, the pair or its limits), then type `npx cambist replay p.2026-11-21`, or reset the run. If a payment is then refused as before: `npx cambist run POLICY --go-on ITEM`.',
    '- All of them, one by one: `npx cambist report p.2026-11-21`.',
  ].join('\n');
  assert.ok(detailsOf(state).includes(`\n${lines}\n`), detailsOf(state));
  state.ended = true;
  assert.ok(detailsOf(state).includes(`\n${lines}\n`), detailsOf(state));
  assert.equal(unpaidInBatch(state).length, 4);
});

test('a batch whose run was reset says that it is looking, and one that waits for money what all of it lacks', () => {
  const counts = {
    planned: 500,
    accepted: 9,
    paid: 9,
    notPaid: 0,
    needsHuman: 0,
    open: 491,
    sent: 9,
    waiting: 0,
  };
  const refusals = { refused: 0, sent: 0, inARow: null };
  const problem = { code: 'SHORTFALL', item: 'inv-9', message: 'One payment.', fix: 'f' } as const;
  const waits = [{ reason: 'money', problem, wakeAtMs: 0 } as const];
  const poor = { code: 'SHORTFALL', reason: 'money', currency: 'EUR', payments: 40, value: '70' } as const;
  const told = { isSending: false, counts, totals: [], refusals, unpaid: [], waits };
  const planned = { payments: 500, hash: 'h', unpayable: null };
  const rest = { planned, mayGo: true, toldOf: 0, isClosed: false, waiting: null };
  const state = stateOf([]);
  state.knownAs = 'r2';
  state.chunks = [
    {
      ...rest,
      number: 1,
      state: { ...told, number: 1, heard: 'r2/c', held: [{ ...poor, there: '8' }], unseen: 3 },
    },
    { ...rest, number: 2, state: { ...told, number: 2, heard: 'r1/c', held: [{ ...poor, there: '8' }] } },
    { ...rest, number: 3, state: null },
  ];
  const details = detailsWith(state, true, NOW_MS);
  assert.match(details, /\| 1500 payments: looking, 1003 of 1500 to be looked up; 18 accepted, 18 paid,/);
  assert.match(
    details,
    /- `SHORTFALL` Short of 132\.00 EUR \(80 payments wait; 140\.00 EUR are needed, 8\.00 EUR are there\)\./,
  );
  assert.doesNotMatch(details, /One payment/);
  assert.doesNotMatch(detailsWith({ ...state, chunks: state.chunks.slice(1) }, false, NOW_MS), /looking/);
});

test('a run that is cancelled and has not ended says so beside its state', () => {
  const state = stateOf([PAYMENT]);
  state.cancelled = true;
  assert.match(detailsOf(state), /^\*\*RUNNING\*\*, being cancelled: what is under way ends first\. /);
  state.ended = true;
  assert.doesNotMatch(detailsOf(state), /being cancelled/);
});

test('of very many codes the most frequent are told', () => {
  const unpaid = Array.from({ length: 400 }, (_, index) => ({ code: `CODE_${index}`, payments: 1 }));
  const lines = unpaidLines(RUN, unpaid, 400);
  assert.equal(lines.length, 9);
  assert.equal(lines.at(-1), '392 more payments are not paid.');
  assert.deepEqual(unpaidLines(RUN, [], 400), []);
});

test('the details of many items are a page, and say how many more there are', () => {
  const details = detailsOf(
    stateOf(Array.from({ length: 500 }, (_, index) => ({ ...PAYMENT, id: `p-${index}` }))),
  );
  assert.ok(Buffer.byteLength(details) < 4_000);
  assert.match(details, /And 480 more items; the report shows all of them\./);
});

test('commands and options stay as they are typed', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['Start the run with --go-on to carry it out.', 'Start the run with `--go-on` to carry it out.'],
    ['See `npx cambist report` for each.', 'See `npx cambist report` for each.'],
    [
      'Type npx cambist status p.2026-11-21, then wait.',
      'Type `npx cambist status p.2026-11-21`, then wait.',
    ],
  ];
  for (const [text, markdown] of cases) assert.equal(asMarkdown(text), markdown);
});

/** A state of payments of 1,018,500 MXN each, of which the first ones wait so. */
function waitingFor(...reasons: readonly Waiting['reason'][]): RunState {
  const state = stateOf(reasons.map((_reason, index) => ({ ...PAYMENT, id: `inv-${index}` })));
  for (const [index, reason] of reasons.entries()) {
    const record = state.payments[index];
    const problem: Problem = {
      code: CODES[reason],
      item: `inv-${index}`,
      message: 'wac_7Hk2mQ9vT4xR',
      fix: '',
    };
    if (record !== undefined) record.waiting = { reason, problem, wakeAtMs: 1 };
  }
  return state;
}

const CODES: Readonly<Record<Waiting['reason'], Problem['code']>> = {
  halt: 'HALTED',
  person: 'RECORD_DIFFERS',
  approval: 'AWAITING_APPROVAL',
  configuration: 'STATUS_UNKNOWN',
  outage: 'ACTIVITY_FAILED',
  money: 'SHORTFALL',
  doubt: 'IN_DOUBT',
  settlement: 'AWAITING_SETTLEMENT',
  turn: 'TURN_OF_ANOTHER',
  sale: 'AFTER_SALES',
  opening: 'WINDOW_PASSED',
  service: 'PLANNING',
};

test('beside the timers of a held workflow stands for what it is held, with sums and without accounts', () => {
  const cases: readonly (readonly [RunState, string])[] = [
    [waitingFor('money'), 'HELD: inv-0 waits for 1,018,500.00 MXN. Why'],
    [waitingFor('money', 'money', 'money'), 'HELD: 3 payments wait for 3,055,500.00 MXN. Why'],
    [waitingFor('person'), 'HELD: inv-0 waits for a person (RECORD_DIFFERS). Why'],
    [
      waitingFor('money', 'person', 'money'),
      'HELD: inv-1 waits for a person (RECORD_DIFFERS); 2 more wait. Why',
    ],
    [waitingFor('settlement'), 'Why'],
    [waitingFor('service'), 'Why'],
    [stateOf([PAYMENT]), 'Why'],
  ];
  for (const [state, summary] of cases) assert.equal(summaryOfTimer(state, 'Why', NOW_MS), summary);
  assert.ok(Buffer.byteLength(summaryOfTimer(waitingFor('person'), 'x'.repeat(500), NOW_MS)) <= 400);
});

test('texts of a run have the times of its policy, with their dates, and name the zone once', () => {
  const state = stateOf([PAYMENT]);
  const safeAtMs = NOW_MS + 12 * 3_600_000;
  const beside = (): string => summaryOfTimer(state, `leg: ${safetyWaitText(safeAtMs, NOW_MS)}`, NOW_MS);
  // Before there is a plan, no zone is known.
  assert.match(beside(), /safety wait until 2026-11-22 00:00 UTC, /);
  state.plan = { ...WHOLE_PLAN, zone: 'America/Mexico_City' };
  assert.match(beside(), /safety wait until 2026-11-21 18:00 America\/Mexico_City, /);
  state.waiting = {
    reason: 'money',
    wakeAtMs: safeAtMs,
    sinceMs: NOW_MS,
    problem: { code: 'SHORTFALL', item: null, message: 'It says "until 10:00:00 UTC".', fix: '' },
  };
  assert.match(
    detailsOf(state),
    /It says "until 10:00:00 UTC"\.\s+Since 2026-11-21 06:00 America\/Mexico_City\. Looks again at 2026-11-21 18:00\./,
  );
});

test('the run of a batch says for what the payments of its chunks wait, all of them together', () => {
  const state = stateOf([]);
  const chunkOf = (number: number, payments: number, value: string): ChunkRecord => {
    const [record] = waitingFor('money').payments;
    assert.ok(record !== undefined && record.waiting !== null);
    const held = [
      { code: 'SHORTFALL', reason: 'money', currency: 'GBP', payments, value, there: '12.00' },
    ] as const;
    const chunkState: ChunkState = {
      number,
      heard: 'r1/c',
      isSending: false,
      counts: {
        planned: 500,
        accepted: 0,
        paid: 0,
        notPaid: 0,
        needsHuman: 0,
        open: 500,
        sent: 0,
        waiting: payments,
      },
      totals: [],
      waits: [record.waiting],
      refusals: { refused: 0, sent: 0, inARow: null },
      unpaid: [],
      held,
    };
    const planned = { payments: 500, hash: 'h', unpayable: null };
    return { number, planned, mayGo: true, toldOf: 0, state: chunkState, isClosed: false, waiting: null };
  };
  state.chunks = [chunkOf(1, 50, '69000.01'), chunkOf(2, 4, '334.70')];
  assert.equal(
    summaryOfTimer(state, 'Then it reads all open chunks', NOW_MS),
    'HELD: 54 payments wait for 69,334.71 GBP. Then it reads all open chunks',
  );
});

test('beside the timer of a safety wait stands its end, at each look the same', async () => {
  const beside: (string | undefined)[] = [];
  const nowMs = Date.parse('2026-11-21T20:35:00Z');
  const safeAtMs = Date.parse('2026-11-21T20:37:37Z');
  const pauses = new Pauses(
    {
      waitUntil: (_condition, _timeoutMs, why) => {
        beside.push(why);
        return Promise.resolve(false);
      },
      nowMs: () => nowMs,
      show: () => {},
    },
    RUN,
  );
  const waiter: { waiting: Waiting | null } = { waiting: null };
  const problem: Problem = { code: 'IN_DOUBT', item: 'usd-mxn-1', message: 'm', fix: 'f' };
  await pauses.pause(waiter, { afterMs: 10_000, reason: 'doubt', problem, safeAtMs }, 0);
  await pauses.pause(waiter, { afterMs: 9_000, reason: 'doubt', problem }, 0);
  assert.deepEqual(beside, [
    'usd-mxn-1: safety wait until 20:37:37 UTC, to be sure that nothing was sent before; nothing for you to do',
    'Looks again for usd-mxn-1: IN_DOUBT',
  ]);
  assert.deepEqual(waiter.waiting, { reason: 'doubt', problem, wakeAtMs: nowMs + 9_000, sinceMs: nowMs });
});

test('what waits says since when it waits for this, however often it has looked', () => {
  const problem: Problem = { code: 'SHORTFALL', item: 'supplier', message: 'm', fix: 'f' };
  const wait = { afterMs: 1_000, reason: 'money', problem } as const;
  const first = waitingOf(wait, 5_000, null);
  const again = waitingOf({ ...wait, afterMs: 2_000 }, 6_000, first);
  assert.deepEqual([again.sinceMs, again.wakeAtMs], [5_000, 8_000]);
  const other = { ...wait, problem: { ...problem, code: 'IN_DOUBT' } } as const;
  assert.equal(waitingOf(other, 8_000, again).sinceMs, 8_000);
  // Of one that an earlier history may have waited for, nobody knows the beginning.
  const { sinceMs: _, ...old } = first;
  assert.equal(waitingOf(wait, 9_000, old).sinceMs, undefined);
  // Whoever knows it says it.
  assert.equal(waitingOf({ ...wait, sinceMs: 1_000 }, 9_000, first).sinceMs, 1_000);
});

test('what looks, and then waits for the same again, has waited all the time; what waits for it once more does not', async () => {
  let nowMs = 0;
  const ports = {
    waitUntil: async (_condition: () => boolean, timeoutMs = 0) => {
      nowMs += timeoutMs;
      return false;
    },
    nowMs: () => nowMs,
    show: () => {},
  };
  const problem: Problem = { code: 'ACTIVITY_FAILED', item: null, message: 'm', fix: 'f' };
  const wait = { afterMs: 600_000, reason: 'outage', problem } as const;
  const sinceOf = async (pauses: Pauses, lookMs: number): Promise<readonly (number | undefined)[]> => {
    const waiter: { waiting: Waiting | null } = { waiting: null };
    const since: (number | undefined)[] = [];
    for (let looks = 0; looks < 3; looks += 1) {
      await pauses.pause(waiter, wait, 0);
      since.push(waiter.waiting?.sinceMs);
      pauses.goesOn(waiter);
      nowMs += lookMs;
    }
    return since;
  };
  assert.deepEqual(await sinceOf(new Pauses(ports, RUN), 60_000), [0, 0, 0]);
  nowMs = 0;
  assert.deepEqual(await sinceOf(new Pauses(ports, RUN), 900_000), [0, 1_500_000, 3_000_000]);
  nowMs = 0;
  const inherited = undefined;
  assert.deepEqual(await sinceOf(new Pauses(ports, RUN, true), 60_000), [inherited, inherited, inherited]);
  nowMs = 0;
  assert.deepEqual(await sinceOf(new Pauses(ports, RUN, true), 900_000), [inherited, 1_500_000, 3_000_000]);
});
