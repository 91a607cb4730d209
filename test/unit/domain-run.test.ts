/** The course of a run, driven without Temporal: what it knows at its start, and what it waits for. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { movesOf } from '../../domain/plan/moves.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { reservationIn } from '../../domain/run/reserves.ts';
import { shownWaits, makeReport, statusOf } from '../../domain/run/report.ts';
import { adoptPlan, newRunState } from '../../domain/run/state.ts';
import type { ChunkState } from '../../domain/run/chunk-state.ts';
import { newLeg, newPayment } from '../../domain/run/items.ts';
import { holdsOf, recordIn, rivalry } from '../../domain/run/claims.ts';
import { takeOver, type Carried } from '../../domain/run/carry.ts';
import { Run } from '../../domain/run/run.ts';
import { RunRefused, HistoryIsLong, StepFailed, type Ports } from '../../domain/run/ports.ts';
import type {
  LegCall,
  Settlement,
  TradedCall,
  WithdrawalsCall,
  RunInput,
  LegAnswer,
} from '../../domain/run/calls.ts';
import { makeProblem, PROBLEMS, type Problem } from '../../domain/problems.ts';
import type { Wait } from '../../domain/waits.ts';
import { NEW_LEG, type LegState } from '../../domain/writes/leg-state.ts';
import { executeTradeSteps, requestQuoteSteps } from '../../domain/writes/trade.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { IN_HAND, LEG, NOW, PAYMENT, RUN, context, play } from '../support/scripts.ts';
import { TRADED_LEG } from '../support/stages.ts';
import {
  tradeWith,
  withRecords,
  type ToldPorts,
  type ToldSettlement,
  type ToldWithdrawals,
} from '../support/told-records.ts';

const POLICY = { name: 'p', text: 'policy: 1', hash: 'hash' };
const PLAN: Plan = {
  ...context().plan,
  positions: [],
  batch: null,
  policy: POLICY,
  rules: context({ rules: { settle: { until: 'status', lateAfterMs: null } } }).plan.rules,
  legs: [LEG],
  payments: [{ ...PAYMENT, dependsOn: LEG.id }],
};
const INPUT: RunInput = {
  run: RUN,
  mode: 'SANDBOX',
  policyText: POLICY.text,
  policyHash: POLICY.hash,
  policyFile: 'p.yaml',
  files: {},
  startedBy: 'ana',
};
const TRADED = {
  tradeId: 'tde_1',
  createdAtMs: NOW,
  quoted: null,
  quoteId: 'qte_1',
  sellAmount: '1000',
  buyAmount: '17250',
  status: 'LOCKED',
};

/** What is known of the writes of a leg that is not traded yet. */
function knownOf(call: LegCall | TradedCall): LegState {
  assert.ok('state' in call, 'The leg is traded.');
  return call.state;
}

/** A world in which the leg was traded and will never settle, and the payment was cancelled before it was sent. */
function ports(more: Partial<ToldPorts>): Ports {
  return withRecords({
    readPlan: async () => ({ kind: 'plan', plan: PLAN }),
    readChunks: () => assert.fail('There is no batch.'),
    requestQuote: async () => ({
      step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
      evidence: [],
      runId: 'run-1',
    }),
    executeTrade: () => Promise.reject(new Error('There is no quote to trade.')),
    createWithdrawals: async ({ items }) => ({
      items: items.map(({ payment: { id } }) => ({
        id,
        step: {
          kind: 'not paid',
          state: NEW_PAYMENT,
          problem: { code: 'CANCELLED', item: id, message: 'It was cancelled.', fix: '--go-on' },
        },
      })),
      evidence: [],
      runId: 'run-1',
    }),
    awaitWithdrawals: () => assert.fail('Nothing was accepted.'),
    confirmOutcomes: () => assert.fail('Nothing was handed on.'),
    recordInstruction: () => Promise.reject(new Error('The word is there already.')),
    awaitSettlement: ({ isAwaited }) => ({
      answer: Promise.resolve(
        isAwaited === true ? { kind: 'news', status: 'LOCKED', isUnknown: false } : { kind: 'cancelled' },
      ),
      giveUp: () => assert.fail('The poll has ended by itself.'),
    }),
    waitUntil: async (holds) => {
      // What goes on beside it takes a few turns; after that whoever waits would wait for ever.
      for (let turns = 0; turns < 50 && !holds(); turns += 1) await nextTurn();
      assert.ok(holds(), 'it waits for what never comes');
      return true;
    },
    nowMs: () => NOW,
    historyIsLong: () => false,
    tellRun: async () => ({ runId: 'run-1' }),
    runId: 'run-1',
    tellEnd: async () => {},
    originalRunId: 'run-1',
    firstRunId: 'run-1',
    show: () => {},
    ...more,
  });
}

test('a run that was cancelled and then reset waits for no settlement, and sends nothing more', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  await new Run(INPUT, state, ports({})).complete();
  const report = makeReport(state);
  assert.equal(report.status, 'CANCELLED');
  assert.equal(report.legs[0]?.outcome, 'TRADED');
  assert.equal(report.legs[0].settled, null);
  assert.equal(report.payments[0]?.outcome, 'NOT_PAID');
});

test('a run whose plan was refused says that it was not started, and that nothing was sent', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const readPlan: Ports['readPlan'] = async () => ({
    kind: 'refused',
    problems: [makeProblem('PLAN_ACCOUNT_MISSING', 'supplier')],
  });
  await assert.rejects(() => new Run(INPUT, state, ports({ readPlan })).complete(), {
    code: 'PLAN_REFUSED',
    message: 'Not started: no plan could be made. Nothing was sent.',
  });
});

test('a run whose plan was refused names what helps: a corrected policy with --go-on, other payments with another --id', async () => {
  const fixesOf = async (
    input: RunInput,
    ...codes: readonly Problem['code'][]
  ): Promise<readonly string[]> => {
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
    const problems = codes.map((code): Problem => ({ code, item: null, message: 'm', fix: 'Mend it.' }));
    const readPlan: Ports['readPlan'] = async () => ({ kind: 'refused', problems });
    const end = await new Run(input, state, ports({ readPlan })).complete().catch((error: unknown) => error);
    assert.ok(end instanceof RunRefused);
    return end.problems.map(({ fix }) => fix);
  };
  const wayOn =
    'Mend it. Where you change the policy or a file that it names, type `npx cambist run POLICY --id 2026-11-21 --go-on`: a reset plans by the old text.';
  assert.deepEqual(await fixesOf(INPUT, 'PLAN_OVER_LIMIT'), [wayOn]);
  // It is said once, and what the problem itself advises can be typed.
  const own = PROBLEMS.PLAN_ACCOUNT_UNUSABLE.advice;
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const unusable = [makeProblem('PLAN_ACCOUNT_UNUSABLE', 'supplier')];
  const readPlan: Ports['readPlan'] = async () => ({ kind: 'refused', problems: unusable });
  await assert.rejects(new Run(INPUT, state, ports({ readPlan })).complete(), (error) => {
    assert.ok(error instanceof RunRefused && own.includes('`npx cambist replay RUN`'));
    assert.ok(error.problems[0]?.fix.includes('`npx cambist replay p.2026-11-21`'));
    return true;
  });
  assert.deepEqual(await fixesOf(INPUT, 'PLAN_ACCOUNT_MISSING', 'PLAN_REFERENCE_TOO_OLD'), [
    'Mend it.',
    wayOn,
  ]);
  const batch = { payments: 1, totals: [], chunks: [] };
  assert.deepEqual(await fixesOf({ ...INPUT, batch }, 'PLAN_DESTINATION_UNKNOWN'), [
    `${wayOn} A corrected file of payments needs another --id.`,
  ]);
  // No text of the policy helps.
  assert.deepEqual(await fixesOf(INPUT, 'PLAN_WINDOW_PASSED'), ['Mend it.']);
});

test('a run that was cancelled before there was a plan, and then reset, ends without one', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const readPlan: Ports['readPlan'] = async () => ({ kind: 'cancelled' });
  await assert.rejects(() => new Run(INPUT, state, ports({ readPlan })).complete(), { code: 'CANCELLED' });
  assert.equal(makeReport(state).status, 'CANCELLED');
});

/** Carries a plan out in a world in which its leg brings 17250 and settles; what the steps are told not to send. */
async function unwantedOf(plan: Plan): Promise<readonly (readonly [id: string, code: string | null])[]> {
  const asked: (readonly [string, string | null])[] = [];
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan }),
    awaitSettlement: () => ({
      answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
      giveUp: () => {},
    }),
  });
  const createWithdrawals: Ports['createWithdrawals'] = (call) => {
    asked.push(
      ...call.items.map(({ payment, wanted }) => [payment.id, wanted.unwanted?.code ?? null] as const),
    );
    return world.createWithdrawals(call);
  };
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  await new Run(INPUT, state, { ...world, createWithdrawals }).complete();
  return asked;
}

const LIMITS = { perTrade: null, perRun: null, perDay: null, perPayment: [], paidPerRun: [] };
const PROCEEDS = { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 } as const;

test('proceeds are held against the limits of payments once they are known, and not sent above them', async () => {
  const payments = [{ ...PAYMENT, amount: PROCEEDS, dependsOn: LEG.id }];
  for (const [limits, code] of [
    [{ ...LIMITS, perPayment: [{ value: '17249.99', currency: 'MXN' }] }, 'OVER_LIMIT'],
    [{ ...LIMITS, paidPerRun: [{ value: '17249.99', currency: 'MXN' }] }, 'OVER_LIMIT'],
    [{ ...LIMITS, perPayment: [{ value: '17250', currency: 'MXN' }] }, null],
    [null, null],
  ] as const)
    assert.deepEqual(await unwantedOf({ ...PLAN, rules: { ...PLAN.rules, limits }, payments }), [
      [PAYMENT.id, code],
    ]);
});

test('payments of one run are added up in the order of the plan, and those above the limit together are not sent', async () => {
  const payments = ['first', 'second', 'third'].map((id) => ({
    ...PAYMENT,
    id,
    amount: { kind: 'fixed', value: '100.00' } as const,
    dependsOn: LEG.id,
  }));
  const limits = { ...LIMITS, paidPerRun: [{ value: '200.00', currency: 'MXN' }] };
  assert.deepEqual(await unwantedOf({ ...PLAN, rules: { ...PLAN.rules, limits }, payments }), [
    ['first', null],
    ['second', null],
    ['third', 'OVER_LIMIT'],
  ]);
});

test('a payment whose leg is not in the plan, because nothing was there to sell, is not sent but looked up', async () => {
  const payments = [{ ...PAYMENT, dependsOn: LEG.id }];
  assert.deepEqual(await unwantedOf({ ...PLAN, legs: [], payments }), [[PAYMENT.id, 'LEG_NOT_TRADED']]);
});

test('the chunks of a batch know histories that follow one another as one run, as fresh as the first, and a reset as another', () => {
  const names: string[] = [];
  const fresh: boolean[] = [];
  const goOn = (runId: string, originalRunId: string, carried: Carried | null): Carried => {
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
    const run = new Run(INPUT, state, ports({ runId, originalRunId }), carried);
    adoptPlan(state, { ...PLAN, madeFor: 'run-1', foundRecords: false });
    const go = run.goFor(1);
    names.push(go.runId);
    fresh.push(go.isFresh);
    return run.handOn();
  };
  const first = goOn('run-1', 'run-1', null);
  const second = goOn('run-2', 'run-2', first);
  goOn('run-3', 'run-3', second);
  const reset = goOn('run-4', 'run-2', first);
  goOn('run-5', 'run-5', reset);
  assert.deepEqual(names, ['run-1', 'run-1', 'run-1', 'run-4', 'run-4']);
  assert.deepEqual(fresh, [true, true, true, false, false]);
});

test('why a leg was not traded stands once in the report, however many payments depend on it', async () => {
  const payments = ['first', 'second', 'third'].map((id) => ({ ...PAYMENT, id, dependsOn: LEG.id }));
  for (const [why, code, message] of [
    ['OUTSIDE_GUARD', 'LEG_NOT_TRADED', 'Leg "usd-mxn-1" brought no MXN.'],
    ['CANCELLED', 'CANCELLED', 'Leg "usd-mxn-1" brought no MXN: the run was cancelled.'],
  ] as const) {
    const problem: Problem = { code: why, item: LEG.id, message: 'A long story.', fix: 'A long advice.' };
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
    const world = ports({
      readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, payments } }),
      requestQuote: async () => ({
        step: { kind: 'not traded', state: NEW_LEG, problem },
        evidence: [],
        runId: 'run-1',
      }),
      createWithdrawals: async ({ items }) => ({
        items: items.map(({ payment: { id }, wanted: { unwanted } }) => {
          assert.ok(unwanted !== null);
          return { id, step: { kind: 'not paid', state: NEW_PAYMENT, problem: unwanted } };
        }),
        evidence: [],
        runId: 'run-1',
      }),
    });
    await new Run(INPUT, state, world).complete();
    assert.deepEqual(makeReport(state).problems, [
      problem,
      ...payments.map(({ id }) => ({ code, item: id, message, fix: PROBLEMS.LEG_NOT_TRADED.advice })),
    ]);
  }
});

const SHORT: Problem = { code: 'SHORTFALL', item: 'late', message: 'Money is missing.', fix: 'Wait.' };

test('a call knows the records of payments of the same amount that went before, so that none of them is taken twice', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const payments = Object.entries({ first: '100.00', other: '200.00', again: '100', last: '100.0' }).map(
    ([id, value]) => ({ ...PAYMENT, id, dependsOn: null, amount: { kind: 'fixed', value } as const }),
  );
  const known: Record<string, readonly string[]> = {};
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, legs: [], payments } }),
    createWithdrawals: async ({ items, twinIds }) => ({
      items: items.map(({ payment: { id, reference }, wanted: { amount } }) => {
        known[id] = twinIds;
        const accepted = {
          withdrawalId: `wtd_${id}`,
          createdAtMs: NOW,
          reference,
          status: 'PENDING',
          amount: amount ?? '',
        };
        return { id, step: { kind: 'accepted', accepted } };
      }),
      evidence: [],
      runId: 'run-1',
    }),
    awaitWithdrawals: ({ items }) => ({
      answer: Promise.resolve({
        ended: items.map(({ id }) => ({ id, status: 'COMPLETED', paid: true, isUnknown: false })),
        wait: null,
        runId: 'run-1',
        hasToldEnd: false,
      }),
      giveUp: () => {},
    }),
  });
  await new Run(INPUT, state, world).complete();
  assert.deepEqual(known, { first: [], other: [], again: ['wtd_first'], last: ['wtd_first', 'wtd_again'] });
});

test('payments are followed together once all are sent, and one that is accepted later joins at once', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const payments = ['first', 'second', 'late'].map((id) => ({ ...PAYMENT, id, dependsOn: null }));
  const asked: (readonly string[])[] = [];
  let refusals = 2;
  let now = NOW;
  const accept: Ports['createWithdrawals'] = async ({ items }) => ({
    items: items.map(({ payment: { id, reference } }) => {
      const isLate = id === 'late' && (refusals -= 1) >= 0;
      return {
        id,
        step: isLate
          ? { kind: 'wait', state: NEW_PAYMENT, wait: { afterMs: 15_000, reason: 'money', problem: SHORT } }
          : {
              kind: 'accepted',
              accepted: {
                withdrawalId: `wtd_${id}`,
                createdAtMs: NOW,
                reference,
                status: 'PENDING',
                amount: '17250.00',
              },
            },
      };
    }),
    evidence: [],
    runId: 'run-1',
  });
  const follow: ToldPorts['awaitWithdrawals'] = ({ items }) => {
    asked.push(items.map(({ id }) => id));
    const ended = items.map(({ id }) => ({ id, status: 'COMPLETED', paid: true, isUnknown: false }));
    if (items.length === 3)
      return {
        answer: Promise.resolve({ ended, wait: null, runId: 'run-1', hasToldEnd: false }),
        giveUp: () => {},
      };
    let refuse = (_error: Error): void => {};
    const answer = new Promise<never>((_resolve, reject) => {
      refuse = reject;
    });
    return { answer, giveUp: () => refuse(new Error('given up')) };
  };
  const base = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, legs: [], payments } }),
    createWithdrawals: accept,
    awaitWithdrawals: follow,
    nowMs: () => now,
  });
  const waitUntil: Ports['waitUntil'] = async (holds, timeoutMs) => {
    if (timeoutMs === undefined) return base.waitUntil(holds);
    for (let turns = 0; turns < 20; turns += 1) await nextTurn();
    now += timeoutMs;
    return holds();
  };
  await new Run(INPUT, state, { ...base, waitUntil }).complete();
  assert.deepEqual(
    makeReport(state).payments.map(({ outcome }) => outcome),
    ['PAID', 'PAID', 'PAID'],
  );
  assert.deepEqual(asked, [
    ['first', 'second'],
    ['first', 'second', 'late'],
  ]);
});

test('a run that only follows what was accepted leaves a history that has grown long', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  let polls = 0;
  const world = ports({
    readPlan: async () => ({
      kind: 'plan',
      plan: { ...PLAN, legs: [], payments: [{ ...PAYMENT, dependsOn: null }] },
    }),
    createWithdrawals: async ({ items }) => ({
      items: items.map(({ payment: { id, reference } }) => ({
        id,
        step: {
          kind: 'accepted',
          accepted: {
            withdrawalId: 'wtd_1',
            createdAtMs: NOW,
            reference,
            status: 'PENDING',
            amount: '17250.00',
          },
        },
      })),
      evidence: [],
      runId: 'run-1',
    }),
    awaitWithdrawals: () => {
      polls += 1;
      return {
        answer: Promise.resolve({ ended: [], wait: null, runId: 'run-1', hasToldEnd: false }),
        giveUp: () => {},
      };
    },
    historyIsLong: () => polls > 0,
  });
  await assert.rejects(() => new Run(INPUT, state, world).complete(), HistoryIsLong);
  assert.equal(polls, 1);
});

test('a plan that moves anything else than what a person was shown is not carried out', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: PLAN }),
    requestQuote: () => assert.fail('Nothing is to be sent.'),
  });
  const input = { ...INPUT, shown: movesOf({ ...PLAN, payments: [] }) };
  await assert.rejects(() => new Run(input, state, world).complete(), { code: 'PLAN_NOT_AS_SHOWN' });
  const asShown = { ...INPUT, shown: movesOf(PLAN) };
  const going = ports({
    readPlan: async () => ({ kind: 'plan', plan: PLAN }),
    requestQuote: () => Promise.reject(new Error('it goes on')),
  });
  await assert.rejects(() => new Run(asShown, state, going).complete(), /it goes on/);
});

test('a plan that was made from another policy is not carried out', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const world = ports({
    readPlan: async () => ({ kind: 'other policy', planned: 'hash', given: 'another' }),
    requestQuote: () => assert.fail('Nothing is to be sent.'),
  });
  await assert.rejects(() => new Run(INPUT, state, world).complete(), { code: 'POLICY_CHANGED' });
});

test('a cancel by Temporal’s own button is kept as an instruction, once, before anything is sent', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const kept: string[] = [];
  const world = ports({
    recordInstruction: async ({ instruction }) => void kept.push(instruction.kind),
    requestQuote: async () => {
      kept.push('quote');
      return {
        step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
  });
  const course = new Run(INPUT, state, world);
  course.cancel();
  await course.complete();
  assert.deepEqual(kept, ['cancel', 'quote']);
  assert.equal(makeReport(state).payments[0]?.outcome, 'NOT_PAID');
});

/** What a history hands on, and what the next one knows of the items by it. */
function goneOn(
  known: (state: ReturnType<typeof newRunState>) => void,
  {
    runId = 'run-1',
    firstRunId = 'run-1',
    change,
  }: {
    readonly runId?: string;
    readonly firstRunId?: string;
    readonly change?: (carried: Carried) => Carried;
  } = {},
): ReturnType<typeof newRunState> {
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, PLAN);
  known(before);
  const carried = new Run(INPUT, before, ports({ originalRunId: 'run-1', runId })).handOn();
  const after = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(after, PLAN);
  assert.ok(
    takeOver(after, change === undefined ? carried : change(carried), { originalRunId: 'run-3', firstRunId }),
  );
  return after;
}

test('a run that was reset hands on as its own only what it has learned since: the run before may have sent more', () => {
  const knownTo = (knownIn: string) => {
    const { payments } = goneOn(
      (state) => {
        for (const record of state.payments)
          record.stage = { ...newPayment(), state: { ...NEW_PAYMENT, knownIn } };
      },
      { runId: 'run-2' },
    );
    return payments.map(({ stage }) => 'state' in stage && stage.state.knownIn);
  };
  assert.deepEqual(knownTo('run-1'), ['run-1']);
  assert.deepEqual(knownTo('run-2'), ['run-3']);
});

test('what a failed call may have sent is not known to the history that goes on', () => {
  const after = goneOn((state) => {
    const forgotten = { knownIn: null, sent: true };
    for (const record of state.legs) record.stage = { ...newLeg(), state: { ...NEW_LEG, ...forgotten } };
    for (const record of state.payments)
      record.stage = { ...newPayment(), state: { ...NEW_PAYMENT, ...forgotten } };
  });
  for (const { stage } of [...after.legs, ...after.payments]) {
    assert.ok('state' in stage);
    assert.deepEqual([stage.state.knownIn, stage.state.sent], [null, true]);
  }
});

test('that a leg was not traded is known only in histories that began with the run for which the plan was made', () => {
  const known = (firstRunId: string) => {
    const after = goneOn(
      ({ legs }) => {
        for (const record of legs)
          record.stage = { ...newLeg(), state: { ...NEW_LEG, knownIn: 'run-1', quotes: 1 } };
      },
      { firstRunId },
    );
    return after.legs.map(({ stage }) => 'state' in stage && [stage.state.knownIn, stage.state.sent]);
  };
  assert.deepEqual(known(PLAN.madeFor), [['run-3', false]]);
  assert.deepEqual(known('of somebody else'), [[null, true]]);
});

test('doubt about a payment goes on in the next history', () => {
  const doubt = { lastSendMs: NOW, absentAtMs: null, under: 'key', why: 'no answer' };
  const { payments } = goneOn((state) => {
    for (const record of state.payments)
      record.stage = { ...newPayment(), state: { ...NEW_PAYMENT, knownIn: 'run-1', sent: true, doubt } };
  });
  for (const { stage } of payments) assert.deepEqual('state' in stage && stage.state.doubt, doubt);
});

test('before the service shows a trade that was handed on, other runs are told that the leg has it', () => {
  const after = goneOn(({ legs }) => {
    for (const record of legs) record.stage = TRADED_LEG;
  });
  assert.deepEqual(
    after.legs.map(({ stage }) => stage.kind),
    ['handed on'],
  );
  const holds = holdsOf(after, { runId: 'run-3', heard: null, isFirst: false }, null);
  assert.equal(rivalry(holds, { isOpen: true, isOnly: true }, LEG.id), 'has');
  assert.equal(recordIn(holds, LEG.id), TRADED_LEG.traded.tradeId);
});

// Whoever may write to Temporal can end a run and hand on to the next one what he likes.

test('what is handed on says neither which generation of a payment is sent, nor which records count for it', () => {
  const forged = {
    generation: 5,
    closedIds: ['wtd_9'],
    heard: { id: 'decided', sinceMs: 0 },
    askedIn: 'run-3',
  };
  const { payments } = goneOn(() => {}, {
    change: (carried) => ({
      ...carried,
      payments: [{ id: PAYMENT.id, kind: 'unsent', state: { ...forged, knownIn: carried.runId } }],
    }),
  });
  for (const { stage } of payments) {
    assert.ok(stage.kind === 'unsent');
    const { generation, closedIds, heard, askedIn } = stage.state;
    assert.deepEqual(
      { generation, closedIds, heard, askedIn },
      { generation: 1, closedIds: [], heard: null, askedIn: null },
    );
  }
});

test('a quote that was handed on is not traded: another one is asked for after a lookup', async () => {
  const { legs } = goneOn(() => {}, {
    change: (carried) => ({
      ...carried,
      legs: [
        {
          id: LEG.id,
          kind: 'converting',
          state: {
            knownIn: carried.runId,
            knownAtMs: NOW,
            quote: { ...IN_HAND, usableUntilMs: NOW + 60_000 },
          },
          needsHuman: false,
        },
      ],
    }),
  });
  const [record] = legs;
  assert.ok(record?.stage.kind === 'converting');
  const at = context({ attempt: { runId: 'run-3' } });
  const { result, effects } = play(executeTradeSteps(at, LEG, record.stage.state), {
    'scan trades': [{ records: [], complete: true, reason: null }],
  });
  assert.ok(!effects.some(({ kind }) => kind === 'send trade'), JSON.stringify(result));
});

test('an amount that was handed on counts neither for a payment nor for a trade: the plan and the service say it', async () => {
  const payments = [
    { ...PAYMENT, id: 'fixed', reference: 'p.2026-11-21.fixed', dependsOn: LEG.id },
    {
      ...PAYMENT,
      id: 'rest',
      reference: 'p.2026-11-21.rest',
      dependsOn: LEG.id,
      amount: { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 },
    },
  ] as const;
  const plan: Plan = { ...PLAN, payments };
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, plan);
  const carried = new Run(INPUT, before, ports({})).handOn();
  const forgedSides = { sellAmount: '1', buyAmount: '999999' };
  const forged = {
    ...carried,
    legs: [
      {
        ...TRADED,
        ...forgedSides,
        id: LEG.id,
        kind: 'traded',
        atMs: NOW,
        traded: { ...TRADED, ...forgedSides },
        worse: null,
        settled: true,
      },
    ],
    payments: payments.map(({ id }) => ({ id, kind: 'unsent', amount: '999999', state: {} })),
  } as unknown as Carried;
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const judged: string[] = [];
  const sent: (string | null)[] = [];
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan }),
    firstRunId: 'of somebody else',
    confirmOutcomes: async () => ({ kind: 'shown', trades: [TRADED], withdrawals: [] }),
    requestQuote: async (call) => {
      if ('traded' in call) judged.push(call.traded.buyAmount);
      return {
        step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
    awaitSettlement: () => ({
      answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
      giveUp: () => assert.fail('The poll has ended by itself.'),
    }),
    createWithdrawals: async (call) => {
      sent.push(...call.items.map(({ wanted }) => wanted.amount));
      return ports({}).createWithdrawals(call);
    },
  });
  await new Run(INPUT, state, world, forged).complete();
  // Whether it came out worse than planned is judged by what the service says, and not by what was handed on.
  assert.deepEqual(judged, [TRADED.buyAmount]);
  assert.deepEqual(sent, ['17250.00', '17250']);
});

test('a payment that gets the same contradicted record again is told to a person before it is followed once more', async () => {
  const plan: Plan = { ...PLAN, legs: [], payments: [{ ...PAYMENT, dependsOn: null }] };
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  let sends = 0;
  const told = new Set<string>();
  const stop = new Error('A person is told.');
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan }),
    createWithdrawals: async ({ items }) => {
      sends += 1;
      if (sends > 5) throw new Error('It is sent again and again.');
      return {
        items: items.map(({ payment: { id, reference } }) => ({
          id,
          step: {
            kind: 'accepted' as const,
            accepted: {
              withdrawalId: 'wtd_1',
              createdAtMs: NOW,
              reference,
              status: 'PENDING',
              amount: '17250.00',
            },
          },
        })),
        evidence: [],
        runId: 'run-1',
      };
    },
    awaitWithdrawals: ({ items }) => ({
      answer: Promise.resolve({
        ended: items.map(({ id }) => ({
          id,
          record: {
            id: 'wtd_1',
            currency: 'MXN',
            withdrawalAmount: '17249.00',
            status: 'COMPLETED',
            withdrawalAccountId: PAYMENT.account,
            tag: null,
          },
          paid: true,
          isUnknown: false,
        })),
        wait: null,
        runId: 'run-1',
        hasToldEnd: false,
      }),
      giveUp: () => {},
    }),
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs === 600_000) throw stop;
      return timeoutMs === undefined ? patient(holds) : new Promise(() => {});
    },
    show: () => {
      for (const { problem } of shownWaits(state)) told.add(problem.code);
    },
  });
  await assert.rejects(new Run(INPUT, state, world).complete());
  assert.equal(sends, 2);
  assert.ok(told.has('RECORD_DIFFERS'));
});

test('a call that was answered in its place, “not traded” or “not paid”, ends nothing that the service shows as done', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const problem = { ...SHORT, code: 'OUTSIDE_GUARD', item: LEG.id } as const;
  const asked: (readonly string[])[] = [];
  let typed = 1;
  const sides: unknown[] = [];
  const world = ports({
    requestQuote: async (call) => {
      sides.push('state' in call && call.state.sent);
      if (typed > 0) {
        typed -= 1;
        return { step: { kind: 'not traded', state: NEW_LEG, problem }, evidence: [], runId: 'run-1' };
      }
      return {
        step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
    tellRun: async (undone) => {
      asked.push([...(undone?.legs ?? []), ...(undone?.payments ?? []).map(({ reference }) => reference)]);
      return { runId: 'run-1', done: [LEG.reference] };
    },
  });
  await new Run(INPUT, state, world).complete();
  // The leg is looked up anew, as one that may have been traded; and its payment is asked about once more.
  assert.deepEqual(sides, [false, true]);
  const { legs, payments } = makeReport(state);
  assert.deepEqual([legs[0]?.outcome, payments[0]?.outcome], ['TRADED', 'NOT_PAID']);
  // What the service shows again and again is taken up once.
  assert.deepEqual(asked, [[LEG.reference, PAYMENT.reference], [PAYMENT.reference]]);
});

test('while a trade that was handed on is not read again, what its proceeds pay is not known to others', () => {
  const proceeds = { kind: 'proceeds', leg: LEG.id, rounding: 'down', decimals: 2 } as const;
  const plan: Plan = { ...PLAN, payments: [{ ...PAYMENT, amount: proceeds, dependsOn: LEG.id }] };
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, plan);
  for (const record of before.legs) record.stage = { ...TRADED_LEG, traded: TRADED, settled: true };
  for (const record of before.payments) {
    record.amount = '17250.00';
    record.stage = { ...newPayment(), state: { ...NEW_PAYMENT, knownIn: 'run-1', knownAtMs: NOW } };
  }
  assert.deepEqual(
    reservationIn(before, 'run-1')?.reserved.map(({ takes, isTold }) => [takes, isTold]),
    [['17250', true]],
  );
  const carried = new Run(INPUT, before, ports({})).handOn();
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(state, plan);
  assert.ok(takeOver(state, carried, { originalRunId: 'run-2', firstRunId: 'run-1' }));
  assert.deepEqual(
    reservationIn(state, 'run-2')?.reserved.map(({ isTold }) => isTold),
    [false],
  );
});

test('a trade that was handed on is under way and its amounts are not known, until the service shows it', async () => {
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, PLAN);
  for (const record of before.legs) record.stage = { ...TRADED_LEG, settled: true };
  const carried = new Run(INPUT, before, ports({})).handOn();
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const shownLeg = (): unknown => {
    const [leg] = makeReport(state).legs;
    return [leg?.outcome, leg?.sellAmount, leg?.buyAmount, leg?.settled, leg?.rate, leg?.tradeId];
  };
  const record = { ...tradeWith('LOCKED'), id: 'tde_1', sellAmount: '1000', executedAmount: '17251' };
  const shownTrade = { kind: 'news', record, isUnknown: false } as const;
  const told: unknown[] = [];
  const world = ports({
    confirmOutcomes: async () => {
      told.push(shownLeg());
      // A history that hands on what it has not read yet loses nothing of it.
      assert.deepEqual(course.handOn().legs, carried.legs);
      return { kind: 'shown', trades: [{ ...TRADED, buyAmount: '17251' }], withdrawals: [] };
    },
    awaitSettlement: ({ isAwaited }) => ({
      answer: Promise.resolve(isAwaited === true ? shownTrade : { kind: 'cancelled' }),
      giveUp: () => assert.fail('The poll has ended by itself.'),
    }),
  });
  const course: Run = new Run(INPUT, state, world, carried);
  await course.complete();
  assert.deepEqual(told, [['PENDING', null, null, null, null, 'tde_1']]);
  // A poll reads it once more before what it has brought is paid on.
  assert.deepEqual(shownLeg(), ['TRADED', '1000', '17251', null, '17.251', 'tde_1']);
});

test('a record that was handed on for two payments counts for one of them', async () => {
  const payments = ['first', 'second'].map((id) => ({
    ...PAYMENT,
    id,
    reference: `p.2026-11-21.${id}`,
    dependsOn: null,
  }));
  const plan: Plan = { ...PLAN, legs: [], payments };
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, plan);
  const accepted = {
    withdrawalId: 'wtd_1',
    createdAtMs: NOW,
    reference: 'p.2026-11-21.first',
    status: 'COMPLETED',
    atMs: NOW,
  };
  for (const record of before.payments) record.stage = { kind: 'paid', accepted };
  const carried = new Run(INPUT, before, ports({})).handOn();
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const sent: string[] = [];
  const shown = {
    withdrawalId: 'wtd_1',
    createdAtMs: NOW,
    reference: 'p.2026-11-21.first',
    status: 'COMPLETED',
    amount: '17250.00',
    isPaid: true,
  };
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan }),
    confirmOutcomes: async () => ({ kind: 'shown', trades: [], withdrawals: [shown, shown] }),
    createWithdrawals: async (call) => {
      sent.push(...call.items.map(({ payment }) => payment.id));
      return ports({}).createWithdrawals(call);
    },
    awaitWithdrawals: ({ items }) => ({
      answer: Promise.resolve({
        ended: items.map(({ id }) => ({ id, status: 'COMPLETED', paid: true, isUnknown: false })),
        wait: null,
        runId: 'run-1',
        hasToldEnd: false,
      }),
      giveUp: () => {},
    }),
    waitUntil: patient,
  });
  await new Run(INPUT, state, world, carried).complete();
  assert.deepEqual(sent, ['second']);
  assert.deepEqual(
    makeReport(state).payments.map(({ outcome }) => outcome),
    ['PAID', 'NOT_PAID'],
  );
});

test('which payment is sent next does not depend on the clock, which a replay may see otherwise', async () => {
  const payments = ['first', 'second', 'third'].map((id) => ({ ...PAYMENT, id, dependsOn: null }));
  const CANCELLED: Problem = { code: 'CANCELLED', item: null, message: 'It was cancelled.', fix: '--go-on' };
  /** What the run asks for when the clock moves so far between two looks at it; each payment waits once. */
  const asks = async (clockStepMs: number): Promise<readonly string[]> => {
    const asked: string[] = [];
    const waited = new Set<string>();
    let now = NOW;
    const world = ports({
      readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, legs: [], payments } }),
      nowMs: () => (now += clockStepMs),
      createWithdrawals: async ({ items }) => ({
        items: items.map(({ payment: { id } }) => {
          asked.push(id);
          const afterMs = 1_000 * (payments.length - payments.findIndex((payment) => payment.id === id));
          if (waited.has(id))
            return { id, step: { kind: 'not paid', state: NEW_PAYMENT, problem: CANCELLED } } as const;
          waited.add(id);
          return {
            id,
            step: { kind: 'wait', state: NEW_PAYMENT, wait: { afterMs, reason: 'money', problem: SHORT } },
          } as const;
        }),
        evidence: [],
        runId: 'run-1',
      }),
    });
    const waitUntil: Ports['waitUntil'] = async (holds, timeoutMs) => {
      if (timeoutMs === undefined) return world.waitUntil(holds);
      asked.push('timer');
      assert.ok(asked.length < 20, `it waits for ever: ${asked.join(', ')}`);
      await nextTurn();
      return holds();
    };
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
    await new Run(INPUT, state, { ...world, waitUntil }).complete();
    return asked;
  };
  const expected = ['first', 'second', 'third', 'timer', 'third', 'timer', 'second', 'timer', 'first'];
  for (const clockStepMs of [0, 400, 100_000]) assert.deepEqual(await asks(clockStepMs), expected);
});

/** A world in which one payment is accepted and then followed by these answers; the last one stays. */
function following(answers: readonly ToldWithdrawals[], more: Partial<ToldPorts> = {}) {
  const asked: WithdrawalsCall[] = [];
  const shown: string[] = [];
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const world = ports({
    readPlan: async () => ({
      kind: 'plan',
      plan: { ...PLAN, legs: [], payments: [{ ...PAYMENT, dependsOn: null }] },
    }),
    createWithdrawals: async ({ items }) => ({
      items: items.map(({ payment: { id, reference } }) => ({
        id,
        step: {
          kind: 'accepted',
          accepted: { withdrawalId: 'wtd_1', createdAtMs: NOW, reference, status: 'ODD', amount: '17250.00' },
        },
      })),
      evidence: [],
      runId: 'run-1',
    }),
    awaitWithdrawals: (call) => {
      const answer = answers[asked.length];
      asked.push(call);
      assert.ok(answer !== undefined, 'It is asked for more than there is.');
      return { answer: Promise.resolve(answer), giveUp: () => {} };
    },
    show: () => {
      const [waiting] = shownWaits(state);
      const now = waiting === undefined ? statusOf(state) : waiting.problem.code;
      if (shown.at(-1) !== now) shown.push(now);
    },
    ...more,
  });
  return { course: new Run(INPUT, state, world), state, asked, shown };
}
const told = (status: string, paid: boolean | null, isUnknown: boolean): ToldWithdrawals => ({
  ended: [{ id: PAYMENT.id, status, paid, isUnknown }],
  wait: null,
  runId: 'run-1',
  hasToldEnd: false,
});

test('a payment with a status in no list holds the run, which says which and where to declare it, and then goes on', async () => {
  let held: Problem | undefined;
  const { course, state, asked, shown } = following(
    [
      told('ODD', null, true),
      told('ODDER', null, true),
      told('PENDING', null, false),
      told('COMPLETED', true, false),
    ],
    {},
  );
  const show = course.ports.show.bind(course.ports);
  course.ports.show = () => {
    held ??= shownWaits(state)[0]?.problem;
    show();
  };
  await course.complete();
  assert.deepEqual(held, {
    code: 'STATUS_UNKNOWN',
    item: PAYMENT.id,
    message: 'The service says "ODD" of withdrawal wtd_1, and Cambist does not know what that status means.',
    fix: 'Write it into `withdrawal_statuses` (paid, failed or pending) of the service file (CAMBIST_SERVICE_FILE) and start the workers again; the run then goes on by itself.',
  });
  assert.deepEqual(shown, ['RUNNING', 'STATUS_UNKNOWN', 'RUNNING', 'COMPLETED']);
  assert.deepEqual(
    asked.map(({ items }) => items.map(({ status, isUnknown }) => [status, isUnknown])),
    [[['ODD', false]], [['ODD', true]], [['ODDER', true]], [['PENDING', false]]],
  );
});

test('an accepted payment without a terminal status is late after a day by a timer, says so, and is followed on', async () => {
  const timers: number[] = [];
  let answered = (_answer: ToldWithdrawals): void => {};
  const { course, state, shown } = following([], {
    awaitWithdrawals: () => ({
      answer: new Promise((resolve) => {
        answered = resolve;
      }),
      giveUp: () => {},
    }),
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs !== undefined) {
        timers.push(timeoutMs);
        for (let turns = 0; turns < 5; turns += 1) await nextTurn();
        return false;
      }
      for (let turns = 0; turns < 50 && !holds(); turns += 1) {
        if (shown.includes('WITHDRAWAL_LATE')) answered(told('COMPLETED', true, false));
        await nextTurn();
      }
      assert.ok(holds(), 'it waits for what never comes');
      return true;
    },
  });
  await course.complete();
  assert.deepEqual(timers, [86_400_000]);
  assert.deepEqual(shown, ['RUNNING', 'WITHDRAWAL_LATE', 'RUNNING', 'COMPLETED']);
  assert.equal(makeReport(state).payments[0]?.outcome, 'PAID');
});

test('polls that are stopped again and again are asked for ever later', async () => {
  const away: Wait = {
    afterMs: 60_000,
    reason: 'outage',
    problem: { code: 'NO_ANSWER', item: null, message: 'It is away.', fix: 'Wait.' },
  };
  const stopped: ToldWithdrawals = { ended: [], wait: away, runId: 'run-1', hasToldEnd: false };
  const pauses: number[] = [];
  const { course } = following(
    [
      stopped,
      stopped,
      stopped,
      stopped,
      stopped,
      told('PENDING', null, false),
      stopped,
      told('COMPLETED', true, false),
    ],
    {
      waitUntil: async (holds, timeoutMs) => {
        if (timeoutMs !== undefined && timeoutMs !== 86_400_000) {
          pauses.push(timeoutMs);
          return false;
        }
        for (let turns = 0; turns < 100 && !holds(); turns += 1) await nextTurn();
        assert.ok(holds(), 'it waits for what never comes');
        return true;
      },
    },
  );
  await course.complete();
  assert.deepEqual(pauses, [60_000, 120_000, 240_000, 480_000, 600_000, 60_000]);
});

test('a poll that tells of another trade tells nothing: the trade of the leg is asked for again', async () => {
  const answers: Settlement[] = [
    { kind: 'failed', record: { ...tradeWith('FAILED'), id: 'tde_others' } },
    { kind: 'settled', record: tradeWith('SETTLED') },
  ];
  let polls = 0;
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, payments: [] } }),
    awaitSettlement: () => {
      const answer = answers[polls] ?? assert.fail('It is asked for more than there is.');
      polls += 1;
      return { answer: Promise.resolve(answer), giveUp: () => {} };
    },
    waitUntil: patient,
  });
  await new Run(INPUT, state, world).complete();
  assert.equal(makeReport(state).status, 'COMPLETED');
});

test('a trade with a status in no list holds the run, and a settlement that takes too long says so', async () => {
  const answers: ToldSettlement[] = [
    { kind: 'news', status: 'ODD', isUnknown: true },
    { kind: 'news', status: 'LOCKED', isUnknown: false },
    { kind: 'settled', status: 'SETTLED' },
  ];
  const asked: (string | null)[] = [];
  const timers: number[] = [];
  const shown: string[] = [];
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, payments: [] } }),
    awaitSettlement: (call) => {
      asked.push(call.unknownStatus);
      const answer = answers[asked.length - 1] ?? assert.fail('It is asked for more than there is.');
      // The last poll takes so long that the timer comes first.
      const isLast = answers.length === asked.length;
      const settled = isLast
        ? nextTurn()
            .then(() => nextTurn())
            .then(() => answer)
        : Promise.resolve(answer);
      return { answer: settled, giveUp: () => {} };
    },
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs !== undefined) {
        timers.push(timeoutMs);
        if (asked.length < answers.length) await nextTurn();
        return holds();
      }
      for (let turns = 0; turns < 50 && !holds(); turns += 1) await nextTurn();
      assert.ok(holds(), 'it waits for what never comes');
      return true;
    },
    show: () => {
      const code = shownWaits(state)[0]?.problem.code ?? statusOf(state);
      if (shown.at(-1) !== code) shown.push(code);
    },
  });
  await new Run(INPUT, state, world).complete();
  assert.deepEqual(asked, [null, 'ODD', null]);
  assert.deepEqual(shown.slice(shown.indexOf('STATUS_UNKNOWN')), [
    'STATUS_UNKNOWN',
    'AWAITING_SETTLEMENT',
    'SETTLEMENT_LATE',
    'COMPLETED',
  ]);
  assert.ok(timers.every((ms) => ms === 21_600_000));
});

test('a settlement that goes on in a new history is late by when its leg was traded', async () => {
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, { ...PLAN, payments: [] });
  for (const record of before.legs) record.stage = { ...TRADED_LEG, settled: null };
  const carried = new Run(INPUT, before, ports({})).handOn();
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const timers: number[] = [];
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, payments: [] } }),
    confirmOutcomes: async () => ({ kind: 'shown', trades: [TRADED], withdrawals: [] }),
    awaitSettlement: () => ({
      answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
      giveUp: () => {},
    }),
    nowMs: () => NOW + 5 * 3_600_000,
    waitUntil: (holds, timeoutMs) => {
      if (timeoutMs !== undefined) timers.push(timeoutMs);
      return patient(holds);
    },
  });
  await new Run(INPUT, state, world, carried).complete();
  assert.deepEqual(timers, [3_600_000]);
});

async function patient(holds: () => boolean): Promise<boolean> {
  for (let turns = 0; turns < 2_000 && !holds(); turns += 1) await nextTurn();
  assert.ok(holds(), 'it waits for what never comes');
  return true;
}

test('a leg that was stopped at a second attempt is gone on with as one that may have been sent', async () => {
  for (const mayHaveSent of [false, true]) {
    const given: unknown[] = [];
    const problem = {
      code: 'INSTRUCTIONS_MISSING',
      item: LEG.id,
      message: 'They are gone.',
      fix: 'Look.',
    } as const;
    const wait = { afterMs: 1_000, reason: 'person', problem } as const;
    const world = ports({
      requestQuote: async (call) => ({
        step: { kind: 'quoted', state: { ...knownOf(call), quote: IN_HAND, knownIn: 'run-1' } },
        evidence: [],
        runId: 'run-1',
      }),
      executeTrade: async (call) => {
        given.push([call.state.knownIn, call.state.sent]);
        const step: LegAnswer['step'] =
          given.length === 1
            ? { kind: 'stopped', wait, mayHaveSent }
            : { kind: 'traded', traded: TRADED, worse: null, isHeld: false };
        return { step, evidence: [], runId: 'run-1' };
      },
      awaitSettlement: () => ({
        answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
        giveUp: () => {},
      }),
      waitUntil: async (holds, timeoutMs) => {
        if (timeoutMs === undefined) return patient(holds);
        return holds();
      },
    });
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
    await new Run(INPUT, state, world).complete();
    assert.deepEqual(given, [['run-1', false], mayHaveSent ? [null, true] : ['run-1', false]]);
  }
});

test('a step that fails at all its attempts is told, tried again ever later, and may have sent what it was given', async () => {
  const pauses: number[] = [];
  const shown = new Set<string>();
  const given: unknown[] = [];
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const times = (count: number) => () => (count -= 1) >= 0;
  const [planFails, tradeFails, payFails] = [times(1), times(2), times(3)];
  const failing = () => Promise.reject(new StepFailed('executeTrade: Error, ENOSPC, driver.ts:1'));
  const quote = { id: 'qte_1', sellAmount: '1000', buyAmount: '17250', usableUntilMs: NOW, probed: false };
  const base = ports({});
  const world = ports({
    readPlan: async (input) => (planFails() ? failing() : base.readPlan(input)),
    requestQuote: async (call) => ({
      step: { kind: 'quoted', state: { ...knownOf(call), quote, knownIn: 'run-1' } },
      evidence: [],
      runId: 'run-1',
    }),
    executeTrade: async (call) => {
      given.push([call.state.knownIn, call.state.sent]);
      if (tradeFails()) return failing();
      return {
        step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
    awaitSettlement: () => ({
      answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
      giveUp: () => {},
    }),
    createWithdrawals: async (call) => {
      given.push(call.items.map((item) => [item.state.knownIn, item.state.sent]));
      return payFails() ? failing() : base.createWithdrawals(call);
    },
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs === undefined) return patient(holds);
      for (let turns = 0; turns < 20 && !holds(); turns += 1) await nextTurn();
      if (!holds()) pauses.push(timeoutMs);
      return holds();
    },
    show: () => {
      for (const { problem } of shownWaits(state)) shown.add(`${problem.code} ${problem.item ?? 'run'}`);
    },
  });
  await new Run(INPUT, state, world).complete();
  assert.deepEqual(
    [...shown],
    [
      'ACTIVITY_FAILED run',
      `ACTIVITY_FAILED ${LEG.id}`,
      'AWAITING_SETTLEMENT usd-mxn-1',
      `ACTIVITY_FAILED ${PAYMENT.id}`,
    ],
  );
  assert.deepEqual(pauses, [60_000, 60_000, 120_000, 60_000, 120_000, 240_000]);
  assert.deepEqual(given, [
    ['run-1', false],
    [null, true],
    [null, true],
    [[null, false]],
    [[null, true]],
    [[null, true]],
    [[null, true]],
  ]);
});

test('a call that somebody has ended is made again: polls wait with a reason, and a payment may have been sent', async () => {
  const shown = new Set<string>();
  const given: unknown[] = [];
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const ended = { settlement: 0, payment: 0, poll: 0 };
  const endedOnce = (call: keyof typeof ended): boolean => (ended[call] += 1) === 1;
  const failure = () => new StepFailed('somebody has ended it');
  const world = ports({
    awaitSettlement: () => ({
      answer: endedOnce('settlement')
        ? Promise.reject(failure())
        : Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
      giveUp: () => {},
    }),
    createWithdrawals: async ({ items }) => {
      given.push(items.map((item) => [item.state.knownIn, item.state.sent]));
      // What somebody has typed has the shape of an answer, and leaves the payment out.
      if (endedOnce('payment')) return { items: [], evidence: [], runId: 'run-1' };
      const accepted = {
        withdrawalId: 'wtd_1',
        createdAtMs: NOW,
        reference: PAYMENT.reference,
        status: 'PENDING',
        amount: '17250',
      };
      return {
        items: items.map(({ payment: { id } }) => ({ id, step: { kind: 'accepted', accepted } })),
        evidence: [],
        runId: 'run-1',
      };
    },
    awaitWithdrawals: ({ items }) => ({
      answer: endedOnce('poll')
        ? Promise.reject(failure())
        : Promise.resolve({
            ended: items.map(({ id }) => ({ id, status: 'COMPLETED', paid: true, isUnknown: false })),
            wait: null,
            runId: 'run-1',
            hasToldEnd: false,
          }),
      giveUp: () => {},
    }),
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs === undefined) return patient(holds);
      for (let turns = 0; turns < 20 && !holds(); turns += 1) await nextTurn();
      return holds();
    },
    show: () => {
      for (const { problem } of shownWaits(state)) shown.add(`${problem.code} ${problem.item ?? 'run'}`);
    },
  });
  await assert.doesNotReject(new Run(INPUT, state, world).complete());
  assert.equal(makeReport(state).status, 'COMPLETED');
  assert.deepEqual(ended, { settlement: 2, payment: 2, poll: 2 });
  assert.deepEqual(given, [[[null, false]], [[null, true]]]);
  const failed = [...shown].filter((line) => line.startsWith('ACTIVITY_FAILED'));
  assert.deepEqual(failed, [
    `ACTIVITY_FAILED ${LEG.id}`,
    `ACTIVITY_FAILED ${PAYMENT.id}`,
    'ACTIVITY_FAILED run',
  ]);
});

test('an end of the question whether what was handed on is there is told, and it is asked again', async () => {
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, PLAN);
  for (const record of before.legs) record.stage = { ...TRADED_LEG, settled: true };
  const carried = new Run(INPUT, before, ports({})).handOn();
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const shown = new Set<string>();
  let asked = 0;
  const world = ports({
    confirmOutcomes: async () => {
      asked += 1;
      if (asked === 1) throw new StepFailed('somebody has ended it');
      return { kind: 'shown', trades: [TRADED], withdrawals: [] };
    },
    waitUntil: async (holds, timeoutMs) => (timeoutMs === undefined ? patient(holds) : holds()),
    show: () => {
      for (const { problem } of shownWaits(state)) shown.add(problem.code);
    },
  });
  await new Run(INPUT, state, world, carried).complete();
  assert.equal(asked, 2);
  assert.ok(shown.has('ACTIVITY_FAILED'));
});

test('a cancel that cannot be kept is told, and kept before anything else happens', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const done: string[] = [];
  let failures = 2;
  const world = ports({
    recordInstruction: async () => {
      if ((failures -= 1) >= 0) throw new StepFailed('recordInstruction: Error');
      done.push('kept');
    },
    requestQuote: async () => {
      done.push('quote');
      return {
        step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs === undefined) return patient(holds);
      for (let turns = 0; turns < 20 && !holds(); turns += 1) await nextTurn();
      done.push(shownWaits(state)[0]?.problem.code ?? 'nothing');
      return holds();
    },
  });
  const course = new Run(INPUT, state, world);
  course.cancel();
  await course.complete();
  assert.deepEqual(done.slice(0, 4), ['ACTIVITY_FAILED', 'ACTIVITY_FAILED', 'kept', 'quote']);
});

test('a plan that waits for long is asked for ever later', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const pauses: number[] = [];
  const base = ports({});
  const world = ports({
    readPlan: async (input) =>
      pauses.length < 7 ? { kind: 'waiting', waiting: null } : base.readPlan(input),
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs === undefined || pauses.length === 7) return patient(holds);
      pauses.push(timeoutMs);
      return holds();
    },
  });
  await new Run(INPUT, state, world).complete();
  assert.deepEqual(pauses, [2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
});

test('what waits for money asks for ever later, at most every five minutes, and soon again once money comes', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const payments = ['first', 'second'].map((id) => ({ ...PAYMENT, id, dependsOn: null }));
  const pauses: number[] = [];
  let calls = 0;
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, legs: [], payments } }),
    createWithdrawals: async (call) => {
      calls += 1;
      const items = call.items.map(({ payment: { id, reference } }) => {
        const accepted = {
          withdrawalId: `wtd_${id}`,
          createdAtMs: NOW,
          reference,
          amount: '17250.00',
          status: 'PENDING',
        };
        const isPaid = (id === 'first' && pauses.length === 7) || pauses.length === 9;
        return isPaid
          ? ({ id, step: { kind: 'accepted', accepted } } as const)
          : ({
              id,
              step: {
                kind: 'wait',
                state: NEW_PAYMENT,
                wait: { afterMs: 15_000, reason: 'money', problem: SHORT },
              },
            } as const);
      });
      return { items, evidence: [], runId: 'run-1' };
    },
    awaitWithdrawals: ({ items }) => {
      const ended = items.map(({ id }) => ({ id, status: 'COMPLETED', paid: true, isUnknown: false }));
      return {
        answer: Promise.resolve({ ended, wait: null, runId: 'run-1', hasToldEnd: false }),
        giveUp: () => {},
      };
    },
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs === undefined) return patient(holds);
      if (timeoutMs > 3_600_000) return patient(holds);
      pauses.push(timeoutMs);
      for (let turns = 0; turns < 5; turns += 1) await nextTurn();
      return false;
    },
  });
  await new Run(INPUT, state, world).complete();
  assert.deepEqual(pauses, [15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000, 15_000, 30_000]);
  assert.equal(calls, 2 + pauses.length, 'one for each at first, then one for all that wait');
});

test('what the service puts off again and again, and a plan that nobody makes, is shown after a minute', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const busy: Problem = { code: 'RATE_LIMIT_EXCEEDED', item: LEG.id, message: 'Too many.', fix: 'Wait.' };
  const shown: string[] = [];
  let [plans, quotes] = [7, 70];
  const base = ports({});
  const world = ports({
    readPlan: async (input) =>
      (plans -= 1) >= 0 ? { kind: 'waiting', waiting: null } : base.readPlan(input),
    requestQuote: async (call) =>
      (quotes -= 1) >= 0
        ? {
            step: {
              kind: 'wait',
              state: NEW_LEG,
              wait: { afterMs: 1_000, reason: 'service', problem: busy },
            },
            evidence: [],
            runId: 'run-1',
          }
        : base.requestQuote(call),
    waitUntil: async (holds, timeoutMs) => {
      if (timeoutMs === undefined) return patient(holds);
      const [waiting] = shownWaits(state);
      shown.push(waiting?.problem.code ?? statusOf(state));
      return holds();
    },
  });
  await new Run(INPUT, state, world).complete();
  const counts = [...new Set(shown)].map((name) => [name, shown.filter((other) => other === name).length]);
  assert.deepEqual(shown.slice(0, 7), [
    ...Array.from({ length: 5 }, () => 'RUNNING'),
    'PLANNING',
    'PLANNING',
  ]);
  assert.deepEqual(
    counts.find(([name]) => name === busy.code),
    [busy.code, 10],
  );
});

/** A Temporal run whose leg and payment end undone in `run-1`, as its history says, and are done in any other. */
function undoneIn1(more: Partial<ToldPorts>): {
  readonly world: Ports;
  readonly asked: string[];
  inRun: (runId: string) => void;
} {
  const asked: string[] = [];
  let runId = 'run-1';
  const problem: Problem = { code: 'OUTSIDE_GUARD', item: LEG.id, message: 'x', fix: 'y' };
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: PLAN }),
    requestQuote: async () => {
      asked.push(`quote in ${runId}`);
      const step =
        runId === 'run-1'
          ? ({ kind: 'not traded', state: NEW_LEG, problem } as const)
          : ({ kind: 'traded', traded: TRADED, worse: null, isHeld: false } as const);
      return { step, evidence: [], runId };
    },
    awaitSettlement: () => ({
      answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
      giveUp: () => {},
    }),
    createWithdrawals: async ({ items }) => ({
      items: items.map(({ payment: { id, reference }, wanted: { unwanted } }) => {
        asked.push(`${id} in ${runId}`);
        const accepted = {
          withdrawalId: 'wtd_1',
          createdAtMs: NOW,
          reference,
          status: 'COMPLETED',
          amount: '17250.00',
        };
        return {
          id,
          step:
            unwanted === null
              ? ({ kind: 'accepted', accepted } as const)
              : ({ kind: 'not paid', state: NEW_PAYMENT, problem: unwanted } as const),
        };
      }),
      evidence: [],
      runId,
    }),
    awaitWithdrawals: ({ items }) => ({
      answer: Promise.resolve({
        ended: items.map(({ id }) => ({ id, status: 'COMPLETED', paid: true, isUnknown: false })),
        wait: null,
        runId,
        hasToldEnd: false,
      }),
      giveUp: () => {},
    }),
    tellRun: async () => {
      asked.push(`told ${runId}`);
      return { runId };
    },
    ...more,
  });
  return { world, asked, inRun: (id) => (runId = id) };
}

test('a run that was reset after it had failed takes up once more what is not done', async () => {
  const { world, asked, inRun } = undoneIn1({});
  const tellRun: Ports['tellRun'] = (undone) => {
    // What was decided before the reset is history; whoever asks now is another Temporal run.
    inRun('run-2');
    return world.tellRun(undone);
  };
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  await new Run(INPUT, state, { ...world, tellRun }).complete();
  assert.deepEqual(asked, [
    'quote in run-1',
    `${PAYMENT.id} in run-1`,
    'told run-2',
    'quote in run-2',
    `${PAYMENT.id} in run-2`,
  ]);
  assert.equal(makeReport(state).status, 'COMPLETED');
});

test('a reset that has kept the answer which run it is asks once more; where nothing was reset that answer counts', async () => {
  for (const [runId, answers, isTakenUp] of [
    ['run-2', ['run-1', 'run-2'], true],
    ['run-1', ['run-1'], false],
  ] as const) {
    const { world, asked, inRun } = undoneIn1({});
    const left = [...answers];
    const tellRun: Ports['tellRun'] = (undone) => {
      inRun(left.shift() ?? 'none is left');
      return world.tellRun(undone);
    };
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
    await new Run(INPUT, state, { ...world, tellRun, runId, originalRunId: 'run-1' }).complete();
    assert.deepEqual(
      asked.filter((what) => what.startsWith('told')),
      answers.map((answer) => `told ${answer}`),
    );
    assert.equal(makeReport(state).status === 'COMPLETED', isTakenUp);
  }
});

/** Refused a plan as often as there are refusals, then given one; asked last of all in these Temporal runs. */
function refusedIn(runs: readonly string[], refusals: number) {
  const asked: string[] = [];
  const problem: Problem = { code: 'PLAN_ACCOUNT_UNUSABLE', item: 'supplier', message: 'm', fix: 'f' };
  const { world } = undoneIn1({
    readPlan: async () => {
      asked.push('plan');
      const isRefused = asked.filter((what) => what === 'plan').length <= refusals;
      return isRefused ? { kind: 'refused', problems: [problem] } : { kind: 'plan', plan: PLAN };
    },
    tellEnd: async () => void asked.push('told the end'),
    tellRun: async () => {
      const runId = runs[asked.filter((what) => what.startsWith('in ')).length] ?? 'run-1';
      asked.push(`in ${runId}`);
      return { runId };
    },
  });
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  return { asked, state, run: new Run(INPUT, state, world) };
}

test('a run that is refused a plan asks which run it is, last of all, and ends in the one that was refused', async () => {
  const { asked, run, state } = refusedIn(['run-1'], 9);
  await assert.rejects(run.complete(), RunRefused);
  assert.deepEqual(asked, ['plan', 'told the end', 'in run-1']);
  assert.equal(makeReport(state).status, 'FAILED');
});

test('a reset of a run that was refused a plan asks for it once more, whatever the event', async () => {
  const still = refusedIn(['run-2', 'run-2'], 9);
  await assert.rejects(still.run.complete(), RunRefused);
  assert.deepEqual(still.asked, ['plan', 'told the end', 'in run-2', 'plan', 'told the end', 'in run-2']);
  const mended = refusedIn(['run-2', 'run-3'], 2);
  await mended.run.complete();
  assert.deepEqual(mended.asked.slice(0, 7), [
    'plan',
    'told the end',
    'in run-2',
    'plan',
    'told the end',
    'in run-3',
    'plan',
  ]);
  assert.deepEqual(mended.state.refusals, []);
});

/** A batch of one chunk with one payment. */
const BATCH_OF_ONE = {
  payments: 1,
  totals: [{ currency: 'MXN', value: '10' }],
  payable: [{ currency: 'MXN', value: '10' }],
  heldBy: [],
  chunks: [{ payments: 1, hash: 'hash', unpayable: null }],
  rules: { parallel: 1, stopAfter: null, canary: null, dedupeMs: 0 },
};

test('a batch that was stopped and is reset at its very end tries again, as after every reset', async () => {
  const stopAfter = { failed: 1, ratioPercent: null, sameCode: null };
  const batch = { ...BATCH_OF_ONE, rules: { ...BATCH_OF_ONE.rules, stopAfter } };
  const plan: Plan = { ...PLAN, legs: [], payments: [], batch };
  let runId = 'run-1';
  const stops: (string | undefined)[] = [];
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const none = { planned: 1, accepted: 0, paid: 0, notPaid: 0, needsHuman: 0, open: 0, sent: 0, waiting: 0 };
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan }),
    readChunks: async ({ read, isEnding }) => {
      if (!isEnding) stops.push(run.goFor(1).stopped?.code);
      // In the first run its payment is refused, in the second one it is paid.
      const isRefused = runId === 'run-1';
      const standing: ChunkState = {
        number: 1,
        heard: `${runId}/c1`,
        isSending: false,
        counts: { ...none, ...(isRefused ? { notPaid: 1 } : { accepted: 1, paid: 1 }) },
        totals: [],
        waits: [],
        refusals: { refused: isRefused ? 1 : 0, sent: 1, inARow: null },
        unpaid: [],
      };
      return { chunks: read.map((number) => ({ number, state: standing, isClosed: false })), runId };
    },
    tellRun: async () => ({ runId: (runId = 'run-2') }),
  });
  const run = new Run(INPUT, state, world);
  await run.complete();
  assert.deepEqual(stops, [undefined, undefined]);
  assert.equal(state.stopped, null);
});

test('a reset that a batch learns of while it reads its chunks for the last time takes up a leg that is carried out', async () => {
  const plan: Plan = { ...PLAN, payments: [], batch: BATCH_OF_ONE };
  let runId = 'run-1';
  let reads = 0;
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const counts = {
    planned: 1,
    accepted: 1,
    paid: 1,
    notPaid: 0,
    needsHuman: 0,
    open: 0,
    sent: 0,
    waiting: 0,
  };
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan }),
    readChunks: async ({ read, isEnding }) => {
      reads += isEnding ? 0 : 1;
      // The chunk has news once more, so that it is read although nothing is open any more.
      if (reads === 1) run.noteNews(1);
      if (reads === 2 && runId === 'run-1') {
        for (let turns = 0; turns < 20; turns += 1) await nextTurn();
        assert.ok(run.isOver());
        runId = 'run-2';
      }
      const standing: ChunkState = {
        number: 1,
        heard: `${runId}/c1`,
        isSending: false,
        counts,
        totals: [],
        waits: [],
        refusals: { refused: 0, sent: 1, inARow: null },
        unpaid: [],
      };
      return { chunks: read.map((number) => ({ number, state: standing, isClosed: false })), runId };
    },
    requestQuote: async ({ leg }) => {
      const code = 'OUTSIDE_GUARD' as const;
      const problem: Problem = { code, item: leg.id, message: 'It costs too much.', fix: 'Wait.' };
      return runId === 'run-1'
        ? { step: { kind: 'not traded', state: NEW_LEG, problem }, evidence: [], runId }
        : { step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false }, evidence: [], runId };
    },
    awaitSettlement: () => ({
      answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }),
      giveUp: () => {},
    }),
    tellRun: async () => ({ runId }),
  });
  const run = new Run(INPUT, state, world);
  await run.complete();
  assert.equal(makeReport(state).legs[0]?.outcome, 'TRADED');
});

test('a run that ends with something undone asks once which run it is, last of all', async () => {
  const { world, asked } = undoneIn1({});
  const tellEnd: Ports['tellEnd'] = async () => void asked.push('told the end');
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  await new Run(INPUT, state, { ...world, tellEnd }).complete();
  assert.deepEqual(asked, ['quote in run-1', `${PAYMENT.id} in run-1`, 'told the end', 'told run-1']);
  assert.equal(makeReport(state).status, 'FAILED');
});

test('a run of which the last poll has told the end does not tell it again', async () => {
  for (const hasToldEnd of [false, true]) {
    let times = 0;
    const { course, asked } = following([{ ...told('COMPLETED', true, false), hasToldEnd }], {
      tellEnd: async () => void (times += 1),
    });
    await course.complete();
    assert.deepEqual(
      asked.map(({ isLast }) => isLast),
      [true],
    );
    assert.equal(times, hasToldEnd ? 0 : 1);
  }
});

test('a payment that an earlier Temporal run has ended is taken up while others are still followed', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const payments = ['first', 'second'].map((id) => ({ ...PAYMENT, id, dependsOn: null }));
  const problem: Problem = { code: 'WITHDRAWAL_ADDRESS_NOT_VERIFIED', item: 'first', message: 'x', fix: 'y' };
  const asked: string[] = [];
  let runId = 'run-1';
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, legs: [], payments } }),
    createWithdrawals: async ({ items }) => ({
      items: items.map(({ payment: { id, reference } }) => {
        asked.push(`${id} in ${runId}`);
        const accepted = {
          withdrawalId: `wtd_${id}`,
          createdAtMs: NOW,
          reference,
          status: 'PENDING',
          amount: '17250.00',
        };
        return id === 'first' && runId === 'run-1'
          ? { id, step: { kind: 'not paid', state: NEW_PAYMENT, problem } as const }
          : { id, step: { kind: 'accepted', accepted } as const };
      }),
      evidence: [],
      runId,
    }),
    awaitWithdrawals: ({ items, undoneIn }) => {
      asked.push(`poll, undone in ${undoneIn.join()}`);
      runId = 'run-2';
      const ended =
        undoneIn.length > 0
          ? []
          : items.map(({ id }) => ({ id, status: 'COMPLETED', paid: true, isUnknown: false }));
      const answer = Promise.resolve({ ended, wait: null, runId, hasToldEnd: false });
      return { answer, giveUp: () => {} };
    },
  });
  await new Run(INPUT, state, world).complete();
  const writes = asked.filter((what) => !what.startsWith('poll'));
  assert.deepEqual(writes, ['first in run-1', 'second in run-1', 'first in run-2']);
  assert.ok(asked.includes('poll, undone in run-1'));
  assert.equal(asked.at(-1), 'poll, undone in ');
  assert.equal(makeReport(state).status, 'COMPLETED');
});

test('a trade that came out worse than planned holds its payments for a person, and is green only once accepted', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const worse: Problem = { code: 'EXECUTED_OUTSIDE_GUARD', item: LEG.id, message: 'worse', fix: 'accept it' };
  const seen: string[] = [];
  let asks = 0;
  const { world, inRun } = undoneIn1({
    requestQuote: async () => {
      asks += 1;
      const isAccepted = asks === 3;
      return {
        step: {
          kind: 'traded',
          traded: TRADED,
          worse: isAccepted ? null : worse,
          isHeld: !isAccepted,
        },
        evidence: [],
        runId: 'run-1',
      };
    },
  });
  inRun('run-2');
  const waitUntil: Ports['waitUntil'] = async (holds, timeoutMs) => {
    if (timeoutMs === undefined) return world.waitUntil(holds);
    const { legs, payments, status } = makeReport(state);
    if (asks < 3) seen.push(`${legs[0]?.outcome} ${payments[0]?.outcome} ${status}`);
    await nextTurn();
    return holds();
  };
  await new Run(INPUT, state, { ...world, waitUntil }).complete();
  assert.deepEqual(seen, ['TRADED NEEDS_HUMAN HELD', 'TRADED NEEDS_HUMAN HELD']);
  assert.equal(makeReport(state).status, 'COMPLETED');
});

test('a trade that came out worse than planned is never green when the run is cancelled instead', () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(state, { ...PLAN, payments: [] });
  const [leg] = state.legs;
  assert.ok(leg !== undefined);
  leg.stage = { ...TRADED_LEG, worse: { problem: SHORT, isHeld: false } };
  state.ended = true;
  assert.equal(makeReport(state).status, 'FAILED');
});

test('a payment that failed and is taken up once more is late by its own acceptance', async () => {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const payments = ['first', 'second'].map((id) => ({ ...PAYMENT, id, dependsOn: null }));
  const sent: string[] = [];
  let polls = 0;
  let isLate = false;
  let ring = (): void => {};
  const late = new Promise<void>((resolve) => {
    ring = resolve;
  });
  const saidLate = new Set<string | null>();
  const world = ports({
    readPlan: async () => ({ kind: 'plan', plan: { ...PLAN, legs: [], payments } }),
    createWithdrawals: async ({ items }) => ({
      items: items.map(({ payment: { id, reference } }) => {
        sent.push(id);
        const accepted = {
          withdrawalId: `wtd_${sent.length}`,
          createdAtMs: NOW,
          reference,
          status: 'PENDING',
          amount: '17250.00',
        };
        return { id, step: { kind: 'accepted', accepted } as const };
      }),
      evidence: [],
      runId: sent.length > 2 ? 'run-2' : 'run-1',
    }),
    awaitWithdrawals: ({ items }) => {
      polls += 1;
      const poll = polls;
      const answer = async (): Promise<ToldWithdrawals> => {
        // The first fails at once; a reset takes it up once more; all are paid in the end.
        if (poll > 2) {
          await late;
          for (let turns = 0; turns < 20; turns += 1) await nextTurn();
        }
        const ended = items.flatMap(({ id }) =>
          poll === 1 && id === 'first'
            ? [{ id, status: 'RETURNED', paid: false, isUnknown: false }]
            : poll > 2
              ? [{ id, status: 'COMPLETED', paid: true, isUnknown: false }]
              : [],
        );
        return { ended, wait: null, runId: poll === 1 ? 'run-1' : 'run-2', hasToldEnd: false };
      };
      return { answer: answer(), giveUp: () => {} };
    },
    waitUntil: async (holds, timeoutMs) => {
      for (;;) {
        if (holds()) return true;
        if (timeoutMs !== undefined && sent.length === 3 && !isLate) {
          isLate = true;
          ring();
          return false;
        }
        await nextTurn();
      }
    },
    show: () => {
      const { problems } = makeReport(state);
      for (const { code, item } of problems) if (code === 'WITHDRAWAL_LATE') saidLate.add(item);
    },
  });
  await new Run(INPUT, state, world).complete();
  assert.deepEqual(sent, ['first', 'second', 'first']);
  assert.deepEqual([...saidLate], ['second']);
});

test('a leg whose handed-on trade the service does not show is never traded again by itself: a person decides', async () => {
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, PLAN);
  for (const record of before.legs) record.stage = TRADED_LEG;
  const carried = new Run(INPUT, before, ports({})).handOn();
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  let known: LegState | null = null;
  const stop = new Error('It is asked about.');
  const world = ports({
    confirmOutcomes: async () => ({ kind: 'shown', trades: [], withdrawals: [] }),
    requestQuote: (call) => {
      known = knownOf(call);
      return Promise.reject(stop);
    },
    waitUntil: async (holds) => (holds() ? true : Promise.reject(stop)),
  });
  await assert.rejects(new Run(INPUT, state, world, carried).complete());
  assert.ok(known !== null);
  // Hours later, when no doubt lasts any more.
  const absent = { records: [], complete: true, reason: null };
  for (let leg: LegState = known, asked = 0; asked < 3; asked += 1) {
    const nowMs = () => NOW + asked * 3_600_000;
    const { result, effects } = play(requestQuoteSteps({ ...context({}), nowMs }, LEG, leg), {
      'scan trades': [absent, absent, absent],
    });
    assert.ok(!effects.some(({ kind }) => kind === 'send quote' || kind === 'send trade'));
    assert.ok(result.kind === 'wait');
    leg = result.state;
    if (asked === 2)
      assert.deepEqual([result.wait.reason, result.wait.problem.code], ['person', 'RECORD_DIFFERS']);
  }
});

test('a trade that waited for a person, and that the service shows no more, holds nothing once its leg is not traded', async () => {
  const worse = { problem: SHORT, isHeld: true };
  const before = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  adoptPlan(before, PLAN);
  for (const record of before.legs) record.stage = { ...TRADED_LEG, worse };
  const carried = new Run(INPUT, before, ports({})).handOn();
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const asked: string[] = [];
  const world = ports({
    confirmOutcomes: async () => ({ kind: 'shown', trades: [], withdrawals: [] }),
    requestQuote: async (call) => {
      asked.push('state' in call ? 'quote' : 'acceptance');
      const problem = { ...SHORT, code: 'OUTSIDE_GUARD', item: LEG.id } as const;
      return { step: { kind: 'not traded', state: NEW_LEG, problem }, evidence: [], runId: 'run-1' };
    },
  });
  await new Run(INPUT, state, world, carried).complete();
  assert.deepEqual(asked, ['quote']);
  const { legs, payments } = makeReport(state);
  assert.deepEqual([legs[0]?.outcome, payments[0]?.outcome], ['NOT_TRADED', 'NOT_PAID']);
});

test('a wake-up that comes while a call is under way ends the wait that follows it, as one that comes later does', async () => {
  const commandsOf = async (isEarly: boolean): Promise<readonly string[]> => {
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
    const commands: string[] = [];
    const base = ports({});
    const world = ports({
      requestQuote: async (call) => {
        commands.push('requestQuote');
        if (commands.length > 2) return base.requestQuote(call);
        if (isEarly) course.wake();
        return {
          step: { kind: 'wait', state: NEW_LEG, wait: { afterMs: 15_000, reason: 'money', problem: SHORT } },
          evidence: [],
          runId: 'run-1',
        };
      },
      waitUntil: async (holds, timeoutMs) => {
        if (timeoutMs === undefined) return patient(holds);
        if (!isEarly && commands.length < 2) course.wake();
        commands.push(holds() ? 'woken' : 'timer');
        return holds();
      },
    });
    const course: Run = new Run(INPUT, state, world);
    await course.complete();
    return commands;
  };
  const later = await commandsOf(false);
  assert.deepEqual(later.slice(0, 3), ['requestQuote', 'woken', 'requestQuote']);
  assert.deepEqual(await commandsOf(true), later);
});

const LEGS = ['first', 'second', 'third'].map((id) => ({ ...LEG, id, reference: `p.2026-11-21.${id}` }));
const THREE: Plan = {
  ...PLAN,
  legs: LEGS,
  payments: LEGS.map(({ id }) => ({
    ...PAYMENT,
    id: `pay-${id}`,
    amount: { ...PROCEEDS, leg: id },
    dependsOn: id,
  })),
};

/**
 * A world of three legs in which all goes well but what `more` says. Whoever waits by a timer waits until `isHealed`;
 * `asked` is what was asked for, in order.
 */
function threeLegs(more: (asked: string[]) => Partial<ToldPorts>) {
  const asked: string[] = [];
  const base: Partial<ToldPorts> = {
    readPlan: async () => ({ kind: 'plan', plan: THREE }),
    requestQuote: async ({ leg }) => {
      asked.push(`convert ${leg.id}`);
      const traded = { ...TRADED, tradeId: `tde_${leg.id}` };
      return {
        step: { kind: 'traded', traded, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
    awaitSettlement: ({ leg }) => {
      asked.push(`settle ${leg}`);
      return { answer: Promise.resolve({ kind: 'settled', status: 'SETTLED' }), giveUp: () => {} };
    },
    createWithdrawals: async ({ items }) => ({
      items: items.map(({ payment: { id, reference }, wanted: { unwanted } }) => {
        asked.push(`${unwanted === null ? 'pay' : 'look for'} ${id}`);
        const accepted = {
          withdrawalId: `wtd_${id}`,
          createdAtMs: NOW,
          reference,
          status: 'PENDING',
          amount: '17250',
        };
        return unwanted === null
          ? { id, step: { kind: 'accepted', accepted } as const }
          : { id, step: { kind: 'not paid', state: NEW_PAYMENT, problem: unwanted } as const };
      }),
      evidence: [],
      runId: 'run-1',
    }),
    awaitWithdrawals: ({ items }) => {
      const ended = items.flatMap(({ id, paid }) => {
        if (paid) return [];
        asked.push(`${id} is paid`);
        return [{ id, status: 'COMPLETED', paid: true, isUnknown: false }];
      });
      let giveUp = (): void => {};
      const answer = new Promise<ToldWithdrawals>((resolve, reject) => {
        if (ended.length > 0) resolve({ ended, wait: null, runId: 'run-1', hasToldEnd: false });
        giveUp = () => reject(new Error('given up'));
      });
      return { answer, giveUp: () => giveUp() };
    },
    waitUntil: patientFor(() => asked.includes('pay-third is paid')),
  };
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const world = ports({ ...base, ...more(asked) });
  return { state, asked, world, run: new Run(INPUT, state, world) };
}

/** Time passes only once `isHealed`: until then a timer fires for nobody. */
function patientFor(isHealed: () => boolean): Ports['waitUntil'] {
  return async (holds, timeoutMs) => {
    for (let turns = 0; turns < 2_000; turns += 1) {
      if (holds()) return true;
      if (timeoutMs !== undefined && timeoutMs < 3_600_000 && isHealed()) return false;
      await nextTurn();
    }
    assert.fail('it waits for what never comes');
  };
}

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await nextTurn();
}

const before = (asked: readonly string[], one: string, other: string): void => {
  assert.ok(asked.includes(one) && asked.includes(other), `${one} and ${other} in ${asked.join(', ')}`);
  assert.ok(asked.indexOf(one) < asked.indexOf(other), `${one} before ${other} in ${asked.join(', ')}`);
};

test('three legs: one that waits for money lets the others convert, settle and pay, and goes its own way later', async () => {
  let isShort = true;
  const { run, state, asked } = threeLegs((seen) => ({
    requestQuote: async (call) => {
      const { leg } = call;
      seen.push(`convert ${leg.id}`);
      const wait = { afterMs: 15_000, reason: 'money', problem: { ...SHORT, item: leg.id } } as const;
      const isWaiting = leg.id === 'first' && isShort;
      if (isWaiting) isShort = false;
      const traded = { ...TRADED, tradeId: `tde_${leg.id}` };
      return {
        step: isWaiting
          ? { kind: 'wait', state: knownOf(call), wait }
          : { kind: 'traded', traded, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
  }));
  await run.complete();
  assert.equal(makeReport(state).status, 'COMPLETED');
  assert.equal(asked.filter((what) => what === 'convert first').length, 2);
  before(asked, 'pay-second is paid', 'settle first');
  before(asked, 'pay-third is paid', 'pay pay-first');
});

test('three legs: one that does not settle blocks its own payment alone', async () => {
  const { run, state, asked } = threeLegs((seen) => ({
    awaitSettlement: ({ leg }) => {
      seen.push(`settle ${leg}`);
      const settled = { kind: 'settled', status: 'SETTLED' } as const;
      const answer = (async () => {
        if (leg === 'second') await until(() => seen.includes('pay-third is paid'));
        return settled;
      })();
      return { answer, giveUp: () => {} };
    },
  }));
  await run.complete();
  assert.equal(makeReport(state).status, 'COMPLETED');
  before(asked, 'pay-first is paid', 'pay pay-second');
  before(asked, 'pay-third is paid', 'pay pay-second');
});

test('three legs convert in the order of the plan, since one may sell what another one buys', async () => {
  const { run, asked } = threeLegs(() => ({}));
  await run.complete();
  assert.deepEqual(
    asked.filter((what) => what.startsWith('convert')),
    ['convert first', 'convert second', 'convert third'],
  );
});

test('three legs: the payment of one that was not traded is only looked for, and the others are paid', async () => {
  const { run, state, asked } = threeLegs((seen) => ({
    requestQuote: async (call) => {
      const { leg } = call;
      seen.push(`convert ${leg.id}`);
      const problem: Problem = { code: 'OUTSIDE_GUARD', item: leg.id, message: 'x', fix: 'y' };
      return {
        step:
          leg.id === 'second'
            ? { kind: 'not traded', state: knownOf(call), problem }
            : { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
  }));
  await run.complete();
  assert.equal(makeReport(state).status, 'PARTIAL');
  assert.ok(asked.includes('look for pay-second'));
  assert.deepEqual(
    makeReport(state).payments.map(({ outcome }) => outcome),
    ['PAID', 'NOT_PAID', 'PAID'],
  );
});

test('three legs: a sum limit counts payments in the order of the plan, whichever leg comes first', async () => {
  for (const slow of ['none', 'first', 'second', 'third']) {
    const { run, state, asked } = threeLegs((seen) => ({
      readPlan: async () => ({
        kind: 'plan',
        plan: {
          ...THREE,
          rules: { ...THREE.rules, limits: { ...LIMITS, paidPerRun: [{ value: '40000', currency: 'MXN' }] } },
        },
      }),
      awaitSettlement: ({ leg }) => ({
        answer: (async () => {
          if (leg === slow) for (let turns = 0; turns < 200; turns += 1) await nextTurn();
          return { kind: 'settled', status: 'SETTLED' } as const;
        })(),
        giveUp: () => {},
      }),
      waitUntil: patientFor(() => seen.length > 100),
    }));
    await run.complete();
    assert.deepEqual(
      makeReport(state).payments.map(({ outcome }) => outcome),
      ['PAID', 'PAID', 'NOT_PAID'],
      `slow is ${slow}: ${asked.join(', ')}`,
    );
  }
});

test('three legs: what another Temporal run has ended is taken up while a leg waits for its settlement', async () => {
  let runId = 'run-1';
  const { run, state, asked } = threeLegs((seen) => ({
    requestQuote: async (call) => {
      const { leg } = call;
      seen.push(`convert ${leg.id} in ${runId}`);
      const problem: Problem = { code: 'OUTSIDE_GUARD', item: leg.id, message: 'x', fix: 'y' };
      return {
        step:
          leg.id === 'second' && runId === 'run-1'
            ? { kind: 'not traded', state: knownOf(call), problem }
            : { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId,
      };
    },
    awaitSettlement: ({ leg, undoneIn }) => {
      const answer = (async () => {
        if (undoneIn.includes('run-1')) {
          runId = 'run-2';
          return { kind: 'other run', runId } as const;
        }
        if (leg === 'third') await until(() => seen.includes('pay-second is paid'));
        return { kind: 'settled', status: 'SETTLED' } as const;
      })();
      return { answer, giveUp: () => {} };
    },
  }));
  await run.complete();
  assert.equal(makeReport(state).status, 'COMPLETED', asked.join(', '));
  before(asked, 'convert second in run-2', 'pay-third is paid');
});

test('a long history is left only when no leg is in the middle of a call that writes', async () => {
  let isLong = false;
  let open = 0;
  const { run, asked } = threeLegs((seen) => ({
    historyIsLong: () => isLong,
    requestQuote: async (call) => {
      const { leg } = call;
      open += 1;
      seen.push(`convert ${leg.id}`);
      const wait = { afterMs: 15_000, reason: 'money', problem: { ...SHORT, item: leg.id } } as const;
      if (leg.id === 'first') {
        open -= 1;
        return { step: { kind: 'wait', state: knownOf(call), wait }, evidence: [], runId: 'run-1' };
      }
      isLong = true;
      for (let turns = 0; turns < 50; turns += 1) await nextTurn();
      open -= 1;
      seen.push(`traded ${leg.id}`);
      return {
        step: { kind: 'traded', traded: TRADED, worse: null, isHeld: false },
        evidence: [],
        runId: 'run-1',
      };
    },
    waitUntil: patientFor(() => isLong),
  }));
  await assert.rejects(() => run.complete(), HistoryIsLong);
  assert.equal(open, 0);
  assert.ok(asked.includes('traded second'));
  assert.equal(run.handOn().legs.find(({ id }) => id === 'second')?.kind, 'traded');
});

/** Three legs of which the first sells for what the last one needs. */
const FEEDING = {
  ...THREE,
  payments: [],
  legs: THREE.legs.map((leg, index) => ({
    ...leg,
    ...[{ buy: 'USD', sell: 'EUR' }, {}, { needsFromSales: '1000' }][index],
  })),
};

test('a purchase that needs what a sale brings waits for it, and one that does not goes on', async () => {
  let isShort = true;
  const { run, asked } = threeLegs((seen) => ({
    readPlan: async () => ({ kind: 'plan', plan: FEEDING }),
    requestQuote: async (call) => {
      const { leg } = call;
      seen.push(`convert ${leg.id}${'follows' in call ? `, then ${call.follows}` : ''}`);
      const wait = { afterMs: 15_000, reason: 'money', problem: { ...SHORT, item: leg.id } } as const;
      const isWaiting = leg.id === 'first' && isShort;
      if (isWaiting) isShort = false;
      const step = isWaiting
        ? ({ kind: 'wait', state: knownOf(call), wait } as const)
        : ({ kind: 'traded', traded: TRADED, worse: null, isHeld: false } as const);
      return { step, evidence: [], runId: 'run-1' };
    },
    waitUntil: patientFor(() => seen.some((what) => what.startsWith('convert second'))),
  }));
  await run.complete();
  assert.deepEqual(
    asked.filter((what) => what.startsWith('convert')),
    [
      'convert first, then at once',
      'convert second, then none',
      'convert first, then when done',
      'convert third, then none',
    ],
  );
});

test('a purchase goes as soon as the sales that were traded have brought what it needs, and not with less', async () => {
  for (const [needs, ends, outcome] of [
    ['17250', 'waits', 'TRADED'],
    ['17250.01', 'waits', 'PENDING'],
    ['17250.01', 'fails', 'NOT_TRADED'],
  ] as const) {
    const sells = { buy: 'USD', sell: 'EUR' };
    const legs = FEEDING.legs.map((leg, index) => ({
      ...leg,
      ...[sells, sells, { needsFromSales: needs }][index],
    }));
    let isHealed = ends === 'fails';
    const { run, state } = threeLegs(() => ({
      readPlan: async () => ({ kind: 'plan', plan: { ...FEEDING, legs } }),
      requestQuote: async (call) => {
        const { id } = call.leg;
        const problem = 'unwanted' in call ? call.unwanted : null;
        const outside: Problem = { code: 'OUTSIDE_GUARD', item: id, message: 'x', fix: 'y' };
        const wait = { afterMs: 15_000, reason: 'money', problem: { ...SHORT, item: id } } as const;
        const step =
          id === 'first' && !isHealed
            ? ({ kind: 'wait', state: knownOf(call), wait } as const)
            : id === 'first' && ends === 'fails'
              ? ({ kind: 'not traded', state: NEW_LEG, problem: outside } as const)
              : problem === null
                ? ({ kind: 'traded', traded: TRADED, worse: null, isHeld: false } as const)
                : ({ kind: 'not traded', state: NEW_LEG, problem } as const);
        return { step, evidence: [], runId: 'run-1' };
      },
      waitUntil: patientFor(() => isHealed),
    }));
    const ended = run.complete();
    for (let turns = 0; turns < 200; turns += 1) await nextTurn();
    const [first, second, third] = makeReport(state).legs.map((leg) => leg.outcome);
    assert.deepEqual(
      [first, second, third],
      [ends === 'waits' ? 'PENDING' : 'NOT_TRADED', 'TRADED', outcome],
      needs,
    );
    isHealed = true;
    await ended;
  }
});

test('after a trade that came out worse than planned no further leg is traded before a person accepts it', async () => {
  let isAccepted = false;
  const { run, state, asked } = threeLegs((seen) => ({
    readPlan: async () => ({ kind: 'plan', plan: { ...THREE, payments: [] } }),
    requestQuote: async (call) => {
      seen.push(`convert ${call.leg.id}`);
      const problem: Problem = { code: 'EXECUTED_OUTSIDE_GUARD', item: 'first', message: 'x', fix: 'y' };
      const worse = call.leg.id === 'first' && !isAccepted ? problem : null;
      if ('traded' in call) {
        assert.deepEqual(
          makeReport(state)
            .problems.map(({ code }) => code)
            .toSorted(),
          ['AFTER_WORSE_TRADE', 'AFTER_WORSE_TRADE', 'EXECUTED_OUTSIDE_GUARD'],
        );
        isAccepted = true;
      }
      const step = { kind: 'traded', traded: TRADED, worse, isHeld: worse !== null } as const;
      return { step, evidence: [], runId: 'run-1' };
    },
    waitUntil: patientFor(() => state.legs.every(({ waiting }) => waiting !== null)),
  }));
  await run.complete();
  assert.deepEqual(
    asked.filter((what) => what.startsWith('convert')),
    ['convert first', 'convert first', 'convert first', 'convert second', 'convert third'],
  );
  assert.equal(makeReport(state).status, 'COMPLETED');
});

test('a leg that waited when another one came out worse than planned is not traded before a person accepts that', async () => {
  let isAccepted = false;
  let questions = 0;
  const { run, state, asked } = threeLegs((seen) => ({
    readPlan: async () => ({ kind: 'plan', plan: { ...THREE, payments: [] } }),
    requestQuote: async (call) => {
      const { id } = call.leg;
      await nextTurn();
      if ('traded' in call) isAccepted = (questions += 1) === 5;
      seen.push(`convert ${id}${isAccepted ? ' after all' : ''}`);
      const wait = { afterMs: 15_000, reason: 'money', problem: { ...SHORT, item: id } } as const;
      if (id === 'first' && !isAccepted)
        return { step: { kind: 'wait', state: knownOf(call), wait }, evidence: [], runId: 'run-1' };
      const problem: Problem = { code: 'EXECUTED_OUTSIDE_GUARD', item: id, message: 'x', fix: 'y' };
      const worse = id === 'second' && !isAccepted ? problem : null;
      const step = { kind: 'traded', traded: TRADED, worse, isHeld: worse !== null } as const;
      return { step, evidence: [], runId: 'run-1' };
    },
    waitUntil: patientFor(() => seen.includes('convert second')),
  }));
  await run.complete();
  assert.deepEqual(asked.filter((what) => /convert (?:first|third)/.test(what)).toSorted(), [
    'convert first',
    'convert first after all',
    'convert third after all',
  ]);
  assert.equal(makeReport(state).status, 'COMPLETED');
});

test('a purchase whose sale was not traded is not traded either: nothing else may pay for it', async () => {
  const unwanted: Record<string, string | null> = {};
  const { run, state } = threeLegs(() => ({
    readPlan: async () => ({ kind: 'plan', plan: FEEDING }),
    requestQuote: async (call) => {
      const { id } = call.leg;
      assert.ok('unwanted' in call);
      unwanted[id] = call.unwanted?.code ?? null;
      const outside: Problem = { code: 'OUTSIDE_GUARD', item: id, message: 'x', fix: 'y' };
      const problem = id === 'first' ? outside : call.unwanted;
      const step =
        problem === null
          ? ({ kind: 'traded', traded: TRADED, worse: null, isHeld: false } as const)
          : ({ kind: 'not traded', state: NEW_LEG, problem } as const);
      return { step, evidence: [], runId: 'run-1' };
    },
  }));
  await run.complete();
  assert.deepEqual(unwanted, { first: null, second: null, third: 'LEG_NOT_TRADED' });
  assert.deepEqual(
    makeReport(state).legs.map(({ outcome }) => outcome),
    ['NOT_TRADED', 'TRADED', 'NOT_TRADED'],
  );
});

test('a purchase whose sale brought too little, and was accepted so, is not traded: the base keeps its minimum', async () => {
  const legs = FEEDING.legs.map((leg, index) => ({
    ...leg,
    ...[{}, {}, { needsFromSales: '17250.01' }][index],
  }));
  const { run, state } = threeLegs(() => ({
    readPlan: async () => ({ kind: 'plan', plan: { ...FEEDING, legs } }),
    requestQuote: async (call) => {
      assert.ok('unwanted' in call);
      const step =
        call.unwanted === null
          ? ({ kind: 'traded', traded: TRADED, worse: null, isHeld: false } as const)
          : ({ kind: 'not traded', state: NEW_LEG, problem: call.unwanted } as const);
      return { step, evidence: [], runId: 'run-1' };
    },
  }));
  await run.complete();
  const report = makeReport(state);
  assert.deepEqual(
    report.legs.map(({ outcome }) => outcome),
    ['TRADED', 'TRADED', 'NOT_TRADED'],
  );
  assert.deepEqual(
    report.problems.map(({ code, message }) => `${code}: ${message}`),
    [
      'LEG_NOT_TRADED: Leg "third" needs 17,250.01 USD from the sales before it, which brought 17,250.00 USD.',
    ],
  );
});

test('a purchase waits until a poll has read the trade of its sale, which tells it at once', async () => {
  const { run, asked } = threeLegs((seen) => ({
    readPlan: async () => ({ kind: 'plan', plan: FEEDING }),
    awaitSettlement: ({ leg, isAwaited }) => {
      seen.push(`poll ${leg}${isAwaited === true ? ', awaited' : ''}`);
      const status = isAwaited === true ? 'LOCKED' : 'SETTLED';
      const news =
        isAwaited === true ? { kind: 'news' as const, isUnknown: false } : { kind: 'settled' as const };
      return { answer: Promise.resolve({ ...news, status }), giveUp: () => {} };
    },
  }));
  await run.complete();
  before(asked, 'poll first, awaited', 'convert third');
  assert.ok(asked.includes('poll first') && !asked.includes('poll third, awaited'));
});

test('a purchase whose sale will never settle is not traded: what it was to bring does not come', async () => {
  const { run, state } = threeLegs((seen) => ({
    readPlan: async () => ({ kind: 'plan', plan: FEEDING }),
    requestQuote: async (call) => {
      assert.ok('unwanted' in call);
      const { id } = call.leg;
      const wait = { afterMs: 15_000, reason: 'money', problem: { ...SHORT, item: id } } as const;
      const step =
        call.unwanted !== null
          ? ({ kind: 'not traded', state: NEW_LEG, problem: call.unwanted } as const)
          : id === 'third' && !seen.includes('settled first')
            ? ({ kind: 'wait', state: knownOf(call), wait } as const)
            : ({ kind: 'traded', traded: TRADED, worse: null, isHeld: false } as const);
      seen.push(`convert ${id}`);
      return { step, evidence: [], runId: 'run-1' };
    },
    awaitSettlement: ({ leg, isAwaited }) => {
      const answer = (async () => {
        if (isAwaited === true) return { kind: 'news', status: 'LOCKED', isUnknown: false } as const;
        await until(() => seen.includes('convert third'));
        seen.push(`settled ${leg}`);
        return leg === 'first'
          ? ({ kind: 'failed', status: 'FAILED' } as const)
          : ({ kind: 'settled', status: 'SETTLED' } as const);
      })();
      return { answer, giveUp: () => {} };
    },
    waitUntil: patientFor(() => seen.includes('settled first')),
  }));
  await run.complete();
  assert.deepEqual(
    makeReport(state).legs.map(({ outcome }) => outcome),
    ['TRADED', 'TRADED', 'NOT_TRADED'],
  );
});

test('legs are quoted and traded one at a time, also one that waited; what may be traded counts against the limits', async () => {
  let isWaiting = true;
  let atOnce = 0;
  const most: number[] = [];
  const counted: Record<string, readonly unknown[]> = {};
  const { run } = threeLegs((seen) => ({
    readPlan: async () => ({ kind: 'plan', plan: { ...THREE, payments: [] } }),
    requestQuote: async (call) => {
      const { id } = call.leg;
      assert.ok('tradedSoFar' in call);
      counted[id] ??= call.tradedSoFar;
      seen.push(id);
      atOnce += 1;
      most.push(atOnce);
      for (let turns = 0; turns < 10; turns += 1) await nextTurn();
      atOnce -= 1;
      const doubt = { lastSendMs: NOW, absentAtMs: null, under: null, why: 'no answer' };
      const wait = { afterMs: 15_000, reason: 'doubt', problem: { ...SHORT, item: id } } as const;
      const step =
        id === 'first' && isWaiting
          ? ({ kind: 'wait', state: { ...knownOf(call), quote: IN_HAND, doubt }, wait } as const)
          : ({ kind: 'traded', traded: TRADED, worse: null, isHeld: false } as const);
      isWaiting = false;
      return { step, evidence: [], runId: 'run-1' };
    },
    executeTrade: async (call) => ({
      step: { kind: 'requote', state: { ...call.state, quote: null, doubt: null } },
      evidence: [],
      runId: 'run-1',
    }),
    waitUntil: patientFor(() => seen.includes('second')),
  }));
  await run.complete();
  assert.equal(Math.max(...most), 1);
  const [leg] = LEGS;
  assert.deepEqual(counted['second'], [
    { currency: leg?.sell, value: '1000' },
    { currency: leg?.buy, value: '17250' },
  ]);
});
