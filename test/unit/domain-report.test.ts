/** The report: every planned item is in it, and paid, not paid and undecided add up to the plan (M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { add, sum } from '../../domain/money.ts';
import type { Payment, Plan } from '../../domain/plan/plan.ts';
import { RESTRAINTS, type Restraint } from '../../domain/plan/restraints.ts';
import { carry, takeOver } from '../../domain/run/carry.ts';
import {
  chunkPage,
  makeReport,
  readReport,
  reportPage,
  statusOf,
  seenAs,
  type ReportPage,
} from '../../domain/run/report.ts';
import { lookingIn, progressPage } from '../../domain/run/progress.ts';
import { addEvidence, adoptPlan, newRunState, type Evidence, type RunState } from '../../domain/run/state.ts';
import type { LegOutcome, PaymentOutcome } from '../../domain/run/items.ts';
import { isRefusedAgain, PROBLEMS, type Problem } from '../../domain/problems.ts';
import { Pauses } from '../../domain/run/pauses.ts';
import { DECISIONS } from '../../domain/service/reply-rules.ts';
import { adviceFor, adviceOf, moneyAdvice } from '../../domain/writes/step.ts';
import { detailsOf, endOf, unpaidLines } from '../../workflows/ui-texts.ts';
import type { WaitReason, Waiting } from '../../domain/waits.ts';
import { LEG, PAYMENT, RUN, context, failed } from '../support/scripts.ts';
import { TRADED_LEG, legAt, paymentAt } from '../support/stages.ts';

const PROBLEM: Problem = {
  code: 'RECORD_DIFFERS',
  item: 'supplier',
  message: 'Something is.',
  fix: 'Mend it.',
};
const CANCELLED: Problem = { ...PROBLEM, code: 'CANCELLED' };

function waiting(reason: WaitReason): Waiting {
  return { reason, problem: { ...PROBLEM, message: `Waits: ${reason}.` }, wakeAtMs: 0 };
}

function stateOf(payments: readonly Payment[]): RunState {
  const plan: Plan = {
    ...context().plan,
    positions: [],
    batch: null,
    policy: { name: 'p', hash: 'hash' },
    legs: [LEG],
    payments,
  };
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(state, plan);
  return state;
}

/** A run of one leg and one payment that ended like this. */
function ended(leg: LegOutcome, payment: PaymentOutcome, problem = PROBLEM): RunState {
  const state = stateOf([PAYMENT]);
  for (const record of state.legs) {
    const stage = legAt(leg, problem);
    record.stage = stage.kind === 'traded' ? { ...stage, settled: true } : stage;
  }
  for (const record of state.payments) record.stage = paymentAt(payment, problem);
  state.ended = true;
  return state;
}

test('a plan that was just adopted is reported whole, with everything pending', () => {
  const report = makeReport(stateOf([PAYMENT]));
  assert.deepEqual(report, {
    run: 'p.2026-11-21',
    workflowId: 'sandbox/p.2026-11-21',
    policy: { name: 'p', hash: 'hash' },
    zone: 'UTC',
    startedBy: null,
    startedAt: null,
    endedAt: null,
    resets: [],
    status: 'RUNNING',
    positions: [],
    legs: [
      {
        id: 'usd-mxn-1',
        reference: 'p.2026-11-21.usd-mxn-1',
        sell: 'USD',
        buy: 'MXN',
        why: 'fixed',
        planned: { side: 'sell', value: '1000.00' },
        guard: null,
        sellAmount: '1000.00',
        buyAmount: null,
        rate: null,
        cost: null,
        quoteId: null,
        tradeId: null,
        outcome: 'PENDING',
        settled: null,
        tradedAt: null,
      },
    ],
    payments: [
      {
        id: 'supplier',
        reference: 'p.2026-11-21.supplier',
        account: PAYMENT.account,
        currency: 'MXN',
        amount: '17250.00',
        withdrawalId: null,
        status: null,
        outcome: 'PENDING',
        sentAt: null,
        reason: null,
      },
    ],
    totals: [{ currency: 'MXN', planned: '17250', paid: '0', notPaid: '0', needsHuman: '0' }],
    problems: [],
    evidence: [],
  });
});

test('a run that ended is called by what its items came to', () => {
  const rows: readonly (readonly [string, RunState])[] = [
    ['COMPLETED', ended('TRADED', 'PAID')],
    ['PARTIAL', ended('TRADED', 'NOT_PAID', PROBLEM)],
    ['FAILED', ended('NOT_TRADED', 'NOT_PAID', PROBLEM)],
    ['COMPLETED', { ...stateOf([]), legs: [], ended: true }],
  ];
  for (const [status, state] of rows) assert.equal(statusOf(state), status);
});

/** A rebalancing that has ended and that left one currency for this reason; `legs`: whether it traded others. */
function leftFor(restraint: Restraint | null, legs = false): RunState {
  const state = legs ? ended('TRADED', 'PAID') : { ...stateOf([]), legs: [], ended: true };
  const { plan } = state;
  assert.ok(plan !== null);
  const bounds = { target: null, low: null, high: '0', wanted: null };
  const position = { currency: 'EUR', withdrawable: '5', projected: null, ...bounds, traded: '0', restraint };
  return { ...state, plan: { ...plan, positions: [position] } };
}

test('a currency that a rebalancing has left is green only where the policy itself, or the size of a trade, says so', () => {
  const own: readonly (Restraint | null)[] = [
    ...([null, 'base', 'per_trade', 'per_run', 'per_day', 'min_trade', 'max_trades', 'never_sell'] as const),
    ...(['pair minimum', 'pair maximum', 'no worst rate'] as const),
  ];
  for (const restraint of [null, ...RESTRAINTS])
    for (const legs of [false, true]) {
      const { status, problems } = makeReport(leftFor(restraint, legs));
      const isOwn = own.includes(restraint);
      assert.equal(status, isOwn ? 'COMPLETED' : 'PARTIAL', String(restraint));
      const told = problems.map(({ code, item }) => `${code} ${item}`);
      assert.deepEqual(told, isOwn ? [] : ['TARGET_NOT_REACHED EUR'], String(restraint));
    }
  // While it goes on, nothing of this is told.
  const { plan, ...open } = leftFor('other run');
  assert.deepEqual(makeReport({ ...open, plan, ended: false }).problems, []);
});

test('a run of which something was cancelled is called so, also by a later start that only knows the words', () => {
  for (const cancelled of [true, false]) {
    const state = ended('NOT_TRADED', 'NOT_PAID', CANCELLED);
    state.cancelled = cancelled;
    assert.equal(statusOf(state), 'CANCELLED');
  }
  const late = ended('TRADED', 'PAID');
  late.cancelled = true;
  assert.equal(statusOf(late), 'COMPLETED');
});

test('a run is held by everything but the pace of the service, and says by what', () => {
  const holds: readonly WaitReason[] = ['money', 'doubt', 'configuration', 'opening', 'person'];
  for (const reason of holds) {
    const state = stateOf([PAYMENT]);
    for (const record of state.payments) record.waiting = waiting(reason);
    const report = makeReport(state);
    assert.equal(report.status, 'HELD', reason);
    assert.deepEqual(
      report.problems.map((problem) => problem.message),
      [`Waits: ${reason}.`],
    );
    assert.equal(report.payments[0]?.reason, `Waits: ${reason}.`);
  }
  const state = stateOf([PAYMENT]);
  for (const record of state.legs) record.waiting = waiting('service');
  assert.equal(makeReport(state).status, 'RUNNING');
  assert.deepEqual(makeReport(state).problems, []);
});

test('a run waits for a settlement in good time, and is held by a late one', () => {
  for (const [code, status] of [
    ['AWAITING_SETTLEMENT', 'RUNNING'],
    ['SETTLEMENT_LATE', 'HELD'],
    ['WITHDRAWAL_LATE', 'HELD'],
  ] as const) {
    const state = stateOf([PAYMENT]);
    const wait = waiting('settlement');
    for (const record of state.legs) record.waiting = { ...wait, problem: { ...wait.problem, code } };
    const report = makeReport(state);
    assert.equal(report.status, status, code);
    assert.deepEqual(
      report.problems.map((problem) => problem.code),
      [code],
    );
  }
});

test('the rate of a leg is what it bought by what it sold', () => {
  const state = ended('TRADED', 'PAID');
  for (const record of state.legs)
    record.stage = {
      ...TRADED_LEG,
      traded: { ...TRADED_LEG.traded, sellAmount: '3', buyAmount: '1.0000000001' },
    };
  const [leg] = makeReport(state).legs;
  assert.equal(leg?.rate, '0.333333333367');
  assert.equal(leg?.buyAmount, '1.0000000001');
});

test('evidence keeps the first fifty calls and the newest fifty', () => {
  const state = stateOf([PAYMENT]);
  const call = (index: number): Evidence => ({
    at: `${index}`,
    item: 'supplier',
    call: 'send withdrawal',
    result: 'success',
    traceId: null,
    replayed: null,
    quote: null,
  });
  for (const [from, count] of [
    [0, 75],
    [75, 50],
    [125, 75],
  ] as const)
    addEvidence(
      state,
      Array.from({ length: count }, (_, index) => call(from + index)),
    );
  const kept = (from: number): readonly string[] =>
    Array.from({ length: 50 }, (_, index) => String(from + index));
  assert.deepEqual(
    state.evidence.map(({ at }) => at),
    [...kept(0), ...kept(150)],
  );
});

test('the totals tell apart what is paid, what is not, and what a person must decide', () => {
  const amounts = { first: '1.10', second: '2.20', third: '4.40', fourth: '8.80' };
  const state = stateOf(
    Object.entries(amounts).map(([id, value]) => ({ ...PAYMENT, id, amount: { kind: 'fixed', value } })),
  );
  const outcomes: readonly PaymentOutcome[] = ['PAID', 'NOT_PAID', 'NEEDS_HUMAN', 'PENDING'];
  for (const [index, record] of state.payments.entries())
    record.stage = paymentAt(outcomes[index] ?? 'PENDING', PROBLEM);
  assert.deepEqual(makeReport(state).totals, [
    { currency: 'MXN', planned: '16.5', paid: '1.1', notPaid: '2.2', needsHuman: '4.4' },
  ]);
});

test('whatever the outcomes, paid, not paid, undecided and pending add up to the plan, per currency', () => {
  const outcome = fc.constantFrom<PaymentOutcome>('PAID', 'NOT_PAID', 'NEEDS_HUMAN', 'PENDING');
  const amount = fc
    .tuple(fc.bigInt(0n, 10n ** 20n), fc.integer({ min: 0, max: 99_999_999 }))
    .map(([whole, part]) => `${whole}.${String(part).padStart(8, '0')}`);
  const item = fc.record({ currency: fc.constantFrom('MXN', 'EUR', 'USDC'), amount, outcome });
  fc.assert(
    fc.property(fc.array(item, { maxLength: 30 }), (items) => {
      const state = stateOf(
        items.map(({ currency, amount: value }, index) => ({
          ...PAYMENT,
          id: `inv-${index}`,
          currency,
          amount: { kind: 'fixed', value },
        })),
      );
      for (const [index, record] of state.payments.entries())
        record.stage = paymentAt(items[index]?.outcome ?? 'PENDING', PROBLEM);
      const report = makeReport(state);
      assert.equal(report.payments.length, items.length);
      for (const total of report.totals) {
        const pending = sum(
          items.flatMap((each) =>
            each.currency === total.currency && each.outcome === 'PENDING' ? [each.amount] : [],
          ),
        );
        assert.equal(sum([total.paid, total.notPaid, total.needsHuman, pending]), total.planned);
      }
      assert.equal(
        report.totals.map((total) => total.planned).reduce(add, '0'),
        sum(items.map((each) => each.amount)),
      );
    }),
    { numRuns: 200, seed: 1 },
  );
});

test('the same state gives the same bytes', () => {
  const once = makeReport(ended('TRADED', 'NOT_PAID', PROBLEM));
  assert.equal(JSON.stringify(once), JSON.stringify(makeReport(ended('TRADED', 'NOT_PAID', PROBLEM))));
});

const SEEN_PAID_MS = Date.parse('2026-11-21T15:32:10.000Z');

test('when the run saw a payment paid stands in the evidence alone', () => {
  const before = ended('TRADED', 'PAID');
  const after = ended('TRADED', 'PAID');
  const [record] = before.payments;
  assert.ok(record?.stage.kind === 'paid');
  record.stage.accepted.paidAtMs = SEEN_PAID_MS;
  const { evidence, ...told } = makeReport(before);
  const { evidence: _later, ...toldLater } = makeReport(after);
  assert.deepEqual(told, toldLater);
  assert.deepEqual([...seenAs('paid', { evidence }).values()], [new Date(SEEN_PAID_MS).toISOString()]);
});

function many(count: number): RunState {
  return stateOf(
    Array.from({ length: count }, (_, index) => ({
      ...PAYMENT,
      id: `inv-${index}`,
      reference: `p.2026-11-21.inv-${index}`,
    })),
  );
}

/** All parts of a report, in order. */
function partsOf(state: RunState): readonly ReportPage[] {
  const parts: ReportPage[] = [];
  for (let next: number | null = 0; next !== null;) {
    const part: ReportPage = reportPage(state, next);
    parts.push(part);
    ({ next } = part);
  }
  return parts;
}

test('a run that has gone on in a new history, and has not read its payments yet, is asked again for a later part', () => {
  assert.equal(reportPage(many(0), 0).next, null);
  assert.throws(() => reportPage(many(0), 325), /ask again/);
});

test('a part of a report is far below what Temporal carries, and payments without problems are many in one', () => {
  const paid = many(500);
  for (const [index, record] of paid.payments.entries()) {
    record.stage = paymentAt('PAID', PROBLEM);
    record.traceId = `trace-${index}`;
  }
  const unpaid = many(500);
  const long = { ...PROBLEM, message: 'ü'.repeat(500), fix: 'x'.repeat(500) };
  for (const record of unpaid.payments) record.stage = paymentAt('NOT_PAID', long);
  for (const [state, most] of [
    [paid, 3],
    [unpaid, 50],
  ] as const) {
    const parts = partsOf(state);
    assert.ok(parts.length <= most, `${parts.length} parts`);
    for (const part of parts) assert.ok(Buffer.byteLength(JSON.stringify(part)) < 120_000);
    assert.deepEqual(
      parts.flatMap(({ report }) => report.payments.map(({ id }) => id)),
      state.payments.map(({ payment }) => payment.id),
    );
    assert.deepEqual(
      parts.flatMap(({ traceIds }) => traceIds),
      state.payments.map(({ traceId }) => traceId),
    );
  }
});

test('a chunk of 500 payments that are paid is told in one part, and says of each what a report of a run does', async () => {
  const state = many(500);
  for (const [index, record] of state.payments.entries()) {
    record.stage = paymentAt('PAID', PROBLEM);
    assert.ok(record.stage.kind === 'paid');
    record.stage.accepted.paidAtMs = SEEN_PAID_MS + index;
    record.traceId = `${index}-`.padEnd(32, 't');
  }
  // Paid again under another reference.
  const [first] = state.payments;
  assert.ok(first?.stage.kind === 'paid', 'the first payment is paid');
  first.stage = { ...first.stage, accepted: { ...first.stage.accepted, reference: 'p.2026-11-21.inv-0~2' } };
  const page = chunkPage(state, 0);
  assert.deepEqual([page.next, page.rows?.length], [null, 500]);
  assert.ok(Buffer.byteLength(JSON.stringify(page)) < 120_000, 'more than Temporal likes to carry');
  const head: ReportPage = { report: makeReport(stateOf([])), traceIds: [], next: null, chunks: 1 };
  const told = async (part: ReportPage) =>
    readReport(
      () => Promise.resolve(head),
      () => () => Promise.resolve(part),
    );
  assert.deepEqual(await told(page), await told({ ...page, report: makeReport(state) }));
  assert.deepEqual(await told(page), { ...makeReport(stateOf([])), ...(await told(page)) });
  const { payments, evidence } = await told(page);
  assert.deepEqual(payments, makeReport(state).payments);
  assert.deepEqual(evidence, makeReport(state).evidence);
  assert.equal(seenAs('paid', { evidence }).get('inv-499'), new Date(SEEN_PAID_MS + 499).toISOString());
});

test('of the trace ids as many are handed on as fit below what Temporal carries, those of short ones all', () => {
  for (const [length, expected] of [
    [32, 500],
    [200, 200],
  ] as const) {
    const state = many(500);
    const traceIds = state.payments.map((_, index) => `${index}-`.padEnd(length, 't'));
    for (const [index, record] of state.payments.entries()) {
      record.stage = paymentAt('PAID', PROBLEM);
      record.traceId = traceIds[index] ?? null;
    }
    const carried = carry(state, { runId: 'run-1', knownAs: 'run-1' });
    assert.ok(Buffer.byteLength(JSON.stringify(carried)) < 128 * 1_024);
    const after = many(500);
    assert.ok(takeOver(after, carried, { originalRunId: 'run-2', firstRunId: 'run-1' }));
    const handedOn = after.payments.map(({ traceId }) => traceId);
    const known = handedOn.filter((traceId) => traceId !== null);
    assert.deepEqual(known, traceIds.slice(0, known.length));
    assert.ok(known.length >= expected, `${known.length} of ${length} characters each`);
  }
});

test('chunks are read side by side, and told in their order; one that Temporal has lost is left out', async () => {
  const head: ReportPage = { report: makeReport(stateOf([])), traceIds: [], next: null, chunks: 20 };
  let underWay = 0;
  let most = 0;
  const report = await readReport(
    () => Promise.resolve(head),
    (number) => async () => {
      underWay += 1;
      most = Math.max(most, underWay);
      // The later ones answer first.
      for (let turn = 20 - number; turn >= 0; turn -= 1) await Promise.resolve();
      underWay -= 1;
      if (number === 7) return null;
      const payment = { ...PAYMENT, id: `of-${number}` };
      return { report: makeReport(stateOf([payment])), traceIds: [null], next: null, chunks: 0 };
    },
  );
  assert.ok(most > 1 && most <= 10, `${most} side by side`);
  assert.deepEqual(
    report.payments.map(({ id }) => id),
    Array.from({ length: 20 }, (_, index) => index + 1).flatMap((number) =>
      number === 7 ? [] : `of-${number}`,
    ),
  );
});

test('the totals of a batch are those of its payments, also where its run has not heard yet of what was paid', async () => {
  const head = makeReport(stateOf([]));
  const total = { currency: 'MXN', planned: '20', paid: '0', notPaid: '0', needsHuman: '0' };
  const told = [total, { ...total, currency: 'USD', planned: '5' }];
  const payment = (id: string, currency: string, amount: string) =>
    reportOfOne({ ...PAYMENT, id, currency, amount: { kind: 'fixed', value: amount } });
  const totalsFor = async (amounts: readonly string[]) => {
    const page = (report: ReportPage['report'], chunks: number): ReportPage => ({
      report,
      traceIds: [],
      next: null,
      chunks,
    });
    const ofChunk = [payment('c', 'USD', '5'), ...amounts.map((amount) => payment(amount, 'MXN', amount))];
    const report = await readReport(
      () => Promise.resolve(page({ ...head, totals: told }, 1)),
      () => () => Promise.resolve(page({ ...head, payments: ofChunk }, 0)),
    );
    return report.totals;
  };
  assert.deepEqual(await totalsFor(['15', '5.00']), [
    { ...total, paid: '20' },
    { ...total, currency: 'USD', planned: '5', paid: '5' },
  ]);
  // A chunk that is lost leaves payments out: what the run was told is more.
  assert.deepEqual(await totalsFor(['15']), told);
});

/** A payment that is paid, as it is reported. */
function reportOfOne(payment: typeof PAYMENT) {
  const state = stateOf([payment]);
  for (const record of state.payments) record.stage = paymentAt('PAID', PROBLEM);
  return makeReport(state).payments[0] ?? assert.fail('There is no payment.');
}

test('a run that was reset says of what an earlier one may have done that it is looking, until it has looked', () => {
  const state = stateOf([PAYMENT]);
  const steps = (isAgain: boolean): readonly string[] =>
    progressPage(state, 0, isAgain).progress.items.map(({ step }) => step);
  assert.deepEqual(steps(false), ['made', 'quoting', 'to be sent']);
  assert.deepEqual(steps(true), ['made', 'looking whether it was traded', 'to be sent']);
  for (const { stage } of state.payments) if (stage.kind === 'unsent') stage.release = { unwanted: null };
  assert.deepEqual(steps(true), ['made', 'looking whether it was traded', 'looking whether it was sent']);
  assert.equal(lookingIn(progressPage(state, 0, true).progress), 2);
  for (const { stage } of [...state.legs, ...state.payments]) {
    assert.ok(stage.kind === 'converting' || stage.kind === 'unsent');
    Object.assign(stage, { state: { ...stage.state, knownIn: 'r2' } });
  }
  assert.deepEqual(steps(true), ['made', 'quoting', 'to be sent']);
});

test('every advice that a known run shows has its name, and its item’s, in the commands', () => {
  const codes = [...Object.keys(PROBLEMS), ...Object.keys(DECISIONS)] as (keyof typeof PROBLEMS)[];
  const placeholder = /`npx cambist [^`]*\b(RUN|ITEM|OLD)\b/;
  let named = 0;
  for (const code of codes) {
    const problem: Problem = { code, item: 'supplier', message: 'It is so.', fix: adviceOf(code) };
    if (placeholder.test(problem.fix)) named += 1;
    const state = ended('TRADED', 'NOT_PAID', problem);
    state.refusals = [problem];
    state.waiting = null;
    const pauses = new Pauses({ waitUntil: async () => false, nowMs: () => 0, show: () => {} }, RUN);
    pauses.note(state, { reason: 'person', afterMs: 0, problem });
    const texts = [
      ...makeReport(state).problems.map(({ fix }) => fix),
      ...progressPage(state, 0, false).progress.items.map((item) => item.waiting?.problem.fix ?? ''),
      detailsOf(state, false, 0),
      endOf(state),
    ];
    for (const text of texts) assert.doesNotMatch(text, placeholder, code);
    // It tells of several payments, each of which is an ITEM.
    for (const line of unpaidLines(RUN, [{ code, payments: 2 }], 2))
      assert.doesNotMatch(line, /\b(RUN|OLD)\b/);
  }
  assert.ok(named > 5, `${named} advices name a run`);
});

test('where the same run ends in the same way whenever it is tried again, no advice says to try it again', () => {
  const codes = (Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[]).filter((code) =>
    isRefusedAgain([{ code }]),
  );
  assert.ok(
    codes.includes('OVER_LIMIT') && codes.includes('GUARD_UNUSUAL') && !codes.includes('OUTSIDE_GUARD'),
  );
  for (const code of codes) assert.doesNotMatch(adviceOf(code), /cambist replay|reset the run|--go-on/, code);
  // What only follows from such an end changes nothing.
  assert.ok(isRefusedAgain([{ code: 'GUARD_UNUSUAL' }, { code: 'LEG_NOT_TRADED' }]));
  assert.ok(!isRefusedAgain([{ code: 'OVER_LIMIT' }, { code: 'SHORTFALL' }]));
  assert.ok(!isRefusedAgain([]));
});

test('what the policy does by itself is not explained to a run that has the rule', () => {
  assert.equal(moneyAdvice({ shortfall: 'hold' }, 'USD'), 'Bring USD in; the run then goes on by itself.');
  assert.match(moneyAdvice({ shortfall: 'skip' }, 'USD'), /`shortfall: hold`/);
});

test('a limit of the service that is used up is never answered with: bring money in', () => {
  for (const code of ['TRADE_PAIR_VOLUME_LIMIT_REACHED', 'TRADE_CREDIT_LIMIT_EXCEEDED']) {
    const advices = [
      adviceOf(code),
      ...(['hold', 'skip'] as const).map((shortfall) => adviceFor(failed(code), { shortfall })),
    ];
    for (const advice of advices)
      assert.match(advice, /^Wait until the service allows more, or ask its operator/);
  }
  const lacking = failed('TRADE_INSUFFICIENT_BALANCE');
  assert.equal(adviceFor(lacking, { shortfall: 'hold' }), 'Bring money in; the run then goes on by itself.');
});
