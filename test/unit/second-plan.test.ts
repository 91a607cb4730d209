/**
 * The second plan of a run: when it may be made and from what, and that of two plans only one can ever send (M1). By a scripted
 * service, with what people said and the first plan given.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Deps } from '../../activities/deps.ts';
import { InstructionsMissing } from '../../activities/deps.ts';
import { Driver } from '../../activities/driver.ts';
import { observe } from '../../activities/observe.ts';
import { readPlan } from '../../activities/read-plan.ts';
import { readPlan as readPlanOfRun } from '../../domain/run/read-plan.ts';
import { newRunState } from '../../domain/run/state.ts';
import { secondPlanWindows } from '../../calendar/second-plan-window.ts';
import {
  isCancelled,
  replanIn,
  type Instruction,
  type Kept,
  type Recorded,
} from '../../domain/people/instructions.ts';
import { instructionOf } from '../../domain/people/instruction-shape.ts';
import { planContradicts } from '../../domain/plan/agrees.ts';
import { compilePlan } from '../../domain/plan/compile.ts';
import { headOf, keptPlan, type Plan } from '../../domain/plan/plan.ts';
import { planOf } from '../../domain/plan/plan-shape.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { PlanInput } from '../../domain/run/calls.ts';
import { isTradeOfAnotherPlan, lookForTrade } from '../../domain/writes/lookups.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';
import type { Observed } from '../../workflows/calls.ts';
import { inActivity, instructionsOf, page, planInputOf, worker } from '../support/activities.ts';
import { convertPolicy } from '../support/policies.ts';
import { LEG, NOW, NO_ANSWER, RUN, TRADE, WITHDRAWAL, seen } from '../support/scripts.ts';

const named = (text: string): string => text.replace('name: replaced', `name: ${RUN.policy}`);
const FIRST = named(convertPolicy({ guard: '{ worst_rate: "99.00 MXN per USD" }' }));
const SECOND = named(convertPolicy({ guard: '{ worst_rate: "16.00 MXN per USD" }' }));
const OTHER = named(convertPolicy({ guard: '{ worst_rate: "15.00 MXN per USD" }' }));
const hashOf = (text: string): string => policyHash(text) ?? '';

function said(
  ...instructions: readonly (Omit<Instruction, 'id' | 'by' | 'why'> & { atMs?: number })[]
): Kept {
  const recorded = instructions.map(
    ({ atMs = NOW, ...rest }, index) =>
      ({ id: `said-${index}`, by: 'ana', why: 'so', date: '2026-11-21', atMs, ...rest }) as Recorded,
  );
  return { instructions: recorded, facts: [] };
}

/** Long enough ago. */
const replanBy = (text: string, atMs = NOW - 600_000) =>
  ({ kind: 'replan', policyHash: hashOf(text), atMs }) as const;
const CANCEL = { kind: 'cancel' } as const;

/** A worker with a first plan, and what people said. */
function workerWith(given: {
  readonly kept: Kept | null;
  readonly first?: Plan | null;
  readonly second?: { readonly plan: Plan | null; readonly input: PlanInput };
  readonly scripted?: Parameters<typeof worker>[0];
}) {
  const { kept, first = null, second } = given;
  const started: PlanInput[] = [];
  const plans: Deps['plans'] = {
    start: async (input) => void started.push(input),
    isMade: async () => first !== null,
    readInput: async (_mode, _run, number) => (number === 2 ? (second?.input ?? null) : planInputOf(FIRST)),
    read: async (_mode, _run, _patience, number) => {
      const plan = number === 2 ? (second?.plan ?? null) : first;
      return plan === null ? { kind: 'waiting', waiting: null } : { kind: 'plan', plan };
    },
    readEarlier: async () => null,
  };
  const { deps, requests, sent } = worker(
    {
      pairs: async () => NO_ANSWER,
      listWithdrawalAccounts: async () => page({ id: 'wac_7Hk2mQ9vT4xR', status: 'LIVE', currency: 'MXN' }),
      ...given.scripted,
    },
    {
      plans,
      clock: { wallMs: () => NOW, monotonicMs: () => 0 },
      instructions: {
        ...instructionsOf(),
        open: async () => {},
        read: async () => {
          if (kept === null) throw new InstructionsMissing();
          return kept;
        },
      },
    },
  );
  return { deps, requests, sent, started };
}

async function observedSecond(
  text: string,
  given: Omit<Parameters<typeof workerWith>[0], 'kept'> & { readonly kept?: Kept },
): Promise<Observed> {
  const kept = given.kept ?? said(CANCEL, replanBy(text));
  const { deps } = workerWith({ ...given, kept });
  const input = { ...planInputOf(text), number: 2 } as const;
  return inActivity({}, () => observe(deps)({ ...input, originalPlanRunId: 'plan-run' }));
}

function compiled(text: string, observed: Observed, number?: 2): Plan {
  assert.ok(observed.kind === 'observed', JSON.stringify(observed));
  const result = compilePlan({
    ...observed,
    run: RUN,
    decimalsOf: () => 2,
    madeFor: 'run-1',
    ...(number !== undefined && { number }),
  });
  assert.ok(result.ok, JSON.stringify(result));
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok);
  assert.equal(planContradicts(result.plan, loaded.policy), null);
  return result.plan;
}

async function planned(text: string): Promise<Plan> {
  const { deps } = workerWith({ kept: said() });
  return compiled(
    text,
    await inActivity({}, () => observe(deps)({ ...planInputOf(text), originalPlanRunId: 'plan-run' })),
  );
}

const first = await planned(FIRST);

test('a cancel before a second plan is over with it, and one after it counts', () => {
  assert.equal(isCancelled(said(CANCEL, replanBy(SECOND)).instructions), false);
  assert.equal(isCancelled(said(CANCEL, replanBy(SECOND), CANCEL).instructions), true);
  assert.equal(replanIn(said(replanBy(SECOND), replanBy(OTHER)))?.policyHash, hashOf(OTHER));
  assert.equal(replanIn(said(CANCEL, { kind: 'go-on', item: null } as Instruction)), null);
});

test('the instruction names the policy by its hash, and nothing else passes', () => {
  const asked = { kind: 'replan', id: 'said-1', by: 'ana', why: 'so' };
  assert.ok(instructionOf({ ...asked, policyHash: hashOf(SECOND) }).ok);
  for (const hash of [undefined, '', 'x', hashOf(SECOND).slice(1), `${hashOf(SECOND)}\n`])
    assert.equal(instructionOf({ ...asked, policyHash: hash }).ok, false);
});

test('a first plan sends nothing once a second one was asked for, and a second one nothing that nobody asked for', async () => {
  const second = { ...first, number: 2 } as const;
  for (const [plan, kept, outcome] of [
    [first, said(), 'goes on'],
    [first, said(CANCEL), 'goes on'],
    [first, said(replanBy(SECOND)), 'REPLANNED'],
    [second, said(replanBy(SECOND)), 'goes on'],
    [second, said(), 'INSTRUCTIONS_MISSING'],
    [second, said(CANCEL), 'INSTRUCTIONS_MISSING'],
  ] as const) {
    const { deps } = workerWith({ kept });
    const told = await inActivity({}, async () => {
      const driver = await Driver.open(deps, { plan: headOf(plan), originalRunId: 'run-1' });
      return driver.stop().then(
        (stop) => stop?.problem.code ?? 'goes on',
        (error: { readonly type?: string }) => error.type,
      );
    });
    assert.equal(told, outcome);
  }
});

test('the second plan waits until nothing of the first can be under way, from the first time that it was asked for', async () => {
  const { trade } = DEFAULT_SERVICE_FACTS.settleDoubtMs;
  const safeMs = 10_000 + 20_000 + 55_000 + 10_000 + trade;
  const askedAgo = (ms: number) =>
    observedSecond(SECOND, {
      first,
      kept: said(CANCEL, replanBy(OTHER, NOW - ms), replanBy(SECOND, NOW)),
    });
  const early = await askedAgo(safeMs - 1);
  assert.ok(early.kind === 'wait');
  assert.equal(early.wait.problem.code, 'REPLAN_WAITS');
  assert.equal(early.wait.safeAtMs, NOW + 1);
  assert.equal((await askedAgo(safeMs)).kind, 'observed');
});

test('the second plan has a leg of its own number, keeps the names of its payments, and is never fresh', async () => {
  const plan = compiled(SECOND, await observedSecond(SECOND, { first }), 2);
  assert.deepEqual(
    [plan.number, plan.madeFor, plan.legs.map(({ reference }) => reference)],
    [2, 'nobody', ['p.2026-11-21.usd-mxn-2']],
  );
  assert.deepEqual(
    plan.payments.map(({ reference, dependsOn }) => [reference, dependsOn]),
    [['p.2026-11-21.supplier', 'usd-mxn-2']],
  );
  assert.ok(planOf(keptPlan(plan)).ok);
  assert.equal(planOf({ ...keptPlan(plan), madeFor: 'run-1' }).ok, false);
  assert.equal(planOf({ ...keptPlan(plan), number: 3 }).ok, false);
});

test('what goes on with the first plan is read by a start with either policy', async () => {
  const trade = { ...TRADE, clientReferenceId: 'p.2026-11-21.usd-mxn-1' };
  const observed = await observedSecond(SECOND, { first, scripted: { listTrades: async () => page(trade) } });
  assert.ok(observed.kind === 'made');
  const read = planOf(observed.plan);
  assert.ok(read.ok);
  const input = { ...planInputOf(SECOND), number: 2 } as const;
  for (const text of [FIRST, SECOND]) {
    const { deps } = workerWith({
      kept: said(CANCEL, replanBy(SECOND)),
      first,
      second: { plan: read.value, input },
    });
    const { askedBy: _askedBy, ...asked } = planInputOf(text);
    // One after the other.
    const answer = await inActivity({}, () => readPlan(deps)(asked));
    assert.equal(answer.kind, 'plan', JSON.stringify(answer));
  }
});

test('what goes on with the first plan is carried out for nobody who asked for another one', async () => {
  const plan = { ...first, number: 2, madeFor: 'nobody' } as const;
  const read = (text: string) => {
    const input = planInputOf(text);
    const ports = {
      readPlan: async () => ({ kind: 'plan', plan: keptPlan(plan) }),
      historyIsLong: () => false,
      originalRunId: 'run-1',
    };
    const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: '' });
    const run = { input, state, ports, pauses: { asked: 0 } } as unknown as Parameters<
      typeof readPlanOfRun
    >[0];
    return readPlanOfRun(run);
  };
  assert.equal((await read(FIRST)).number, 2);
  await assert.rejects(read(SECOND), { code: 'PLAN_NOT_AS_SHOWN' });
});

test('what was traded after all is carried on by the first plan, and by nothing of the second', async () => {
  const trade = { ...TRADE, clientReferenceId: 'p.2026-11-21.usd-mxn-1' };
  const made = await observedSecond(SECOND, { first, scripted: { listTrades: async () => page(trade) } });
  assert.ok(made.kind === 'made');
  assert.deepEqual(made.plan, { ...keptPlan(first), number: 2, madeFor: 'nobody' });
  const read = planOf(made.plan);
  const loaded = loadPolicy(FIRST, 'p.yaml');
  assert.ok(read.ok && loaded.ok);
  assert.equal(planContradicts(read.value, loaded.policy), null);
});

test('its own trade is found where its plan was lost, and it is made again as it was', async () => {
  const trade = { ...TRADE, clientReferenceId: 'p.2026-11-21.usd-mxn-2' };
  const again = compiled(
    SECOND,
    await observedSecond(SECOND, { first, scripted: { listTrades: async () => page(trade) } }),
    2,
  );
  assert.deepEqual(
    again.legs.map(({ id }) => id),
    ['usd-mxn-2'],
  );
  assert.equal(again.foundRecords, true);
});

test('no second plan is made that nobody asked for, by another policy, without a first plan, or beside a record that was named', async () => {
  const rebalance = { ...first, positions: [{}] } as unknown as Plan;
  const executed = { kind: 'executed', item: 'usd-mxn-1', recordId: 'tde_9' } as const;
  for (const [given, why] of [
    [{ first, kept: said() }, /Nobody has asked/],
    [{ first, kept: said(CANCEL) }, /Nobody has asked/],
    [{ first, kept: said(replanBy(SECOND), CANCEL) }, /was cancelled/],
    [{ first, kept: said(replanBy(OTHER)) }, /by another policy/],
    [{ first: null }, /no first plan/],
    [{ first: rebalance }, /Only a run that converts/],
    [{ first: { ...first, zone: 'Asia/Tokyo' } }, /counts dates in/],
    [{ first, kept: said(executed, replanBy(SECOND)) }, /Somebody has decided, or named a record/],
    [
      {
        first,
        kept: {
          ...said(replanBy(SECOND)),
          facts: [{ kind: 'record', item: 'usd-mxn-1', recordId: 'tde_9' }],
        },
      },
      /Somebody has decided, or named a record/,
    ],
    [
      {
        first,
        scripted: { listWithdrawals: async () => page({ ...WITHDRAWAL, tag: 'p.2026-11-21.supplier' }) },
      },
      /a payment of this run, and no trade/,
    ],
  ] as const) {
    const answer = await observedSecond(SECOND, given);
    assert.ok(answer.kind === 'refused', JSON.stringify(answer));
    assert.deepEqual(
      answer.problems.map(({ code }) => code),
      ['REPLAN_REFUSED'],
    );
    assert.match(answer.problems[0]?.message ?? '', why);
  }
});

test('a second plan names its amount: what is left of a balance changes until it is made', async () => {
  const all = named(convertPolicy({ amount: '{ sell: all, keep: "1.00" }' }));
  const answer = await observedSecond(all, { first });
  assert.ok(answer.kind === 'refused');
  assert.match(answer.problems[0]?.message ?? '', /names the amount/);
});

test('lists that cannot be read make no second plan', async () => {
  for (const operation of ['listTrades', 'listWithdrawals'] as const)
    assert.equal(
      (await observedSecond(SECOND, { first, scripted: { [operation]: async () => NO_ANSWER } })).kind,
      'wait',
    );
});

test('it trades on the date on which it was asked for, and pays within the window of the run', () => {
  const loaded = loadPolicy(SECOND, 'p.yaml');
  assert.ok(loaded.ok && loaded.policy.kind === 'convert');
  const { sendWindows, why } = secondPlanWindows(first, loaded.policy, NOW + 2 * 86_400_000);
  assert.equal(why, null);
  assert.equal(sendWindows.tradesUntilMs, Date.parse('2026-11-24T02:00:00Z'));
  assert.equal(sendWindows.withdrawalsUntilMs, first.sendWindows.withdrawalsUntilMs);
  assert.equal(sendWindows.opensAtMs, first.sendWindows.opensAtMs);
  assert.match(secondPlanWindows(first, loaded.policy, NOW + 5 * 86_400_000).why ?? '', /too late/);
  const { perTrade = null, perRun = null, paidPerRun = [], perPayment = [] } = loaded.policy.limits ?? {};
  const limits = { perTrade, perRun, paidPerRun, perPayment, perDay: { value: '1', currency: 'USD' } };
  const daily = { ...loaded.policy, limits } as typeof loaded.policy;
  assert.equal(secondPlanWindows(first, daily, NOW).why, null);
  assert.match(secondPlanWindows(first, daily, NOW + 86_400_000).why ?? '', /limit of a day/);
});

test('a run reads the plan that people asked for, whichever policy it was started with', async () => {
  const second = {
    ...first,
    number: 2,
    madeFor: 'nobody',
    policy: { ...first.policy, hash: hashOf(SECOND) },
  } as Plan;
  const asked = { ...planInputOf(SECOND), number: 2 } as const;
  const kept = said(CANCEL, replanBy(SECOND));
  const answerOf = async (text: string, given: Parameters<typeof workerWith>[0]) => {
    const { deps, started } = workerWith(given);
    const { askedBy: _askedBy, ...input } = planInputOf(text);
    const answer = await inActivity({}, () => readPlan(deps)(input));
    return { answer, started };
  };
  const made = { plan: await secondFrom(second), input: asked };
  for (const text of [FIRST, SECOND]) {
    // One after the other.
    const { answer } = await answerOf(text, { kept, first, second: made });
    assert.ok(answer.kind === 'plan', JSON.stringify(answer));
    assert.equal(answer.plan.number, 2);
  }
  const unfinished = await answerOf(FIRST, { kept, first });
  assert.deepEqual(
    unfinished.answer.kind === 'refused' ? unfinished.answer.problems.map(({ code }) => code) : [],
    ['REPLAN_UNFINISHED'],
  );
  assert.deepEqual(unfinished.started, []);
  const begun = await answerOf(SECOND, { kept, first });
  assert.equal(begun.answer.kind, 'waiting');
  assert.deepEqual(
    begun.started.map(({ number, policyText }) => [number, policyText]),
    [[2, SECOND]],
  );
  // Somebody asked for another one before, and that was made first: it is carried out for nobody who confirmed the last one.
  const twice = said(CANCEL, replanBy(SECOND), CANCEL, replanBy(OTHER));
  for (const [text, kind] of [
    [OTHER, 'other policy'],
    [SECOND, 'plan'],
    [FIRST, 'plan'],
  ] as const)
    assert.equal((await answerOf(text, { kept: twice, first, second: made })).answer.kind, kind, text);
  // What stands in its place is by no policy that anybody asked for.
  const forged = await answerOf(SECOND, { kept: said(CANCEL, replanBy(OTHER)), first, second: made });
  assert.equal(forged.answer.kind, 'other policy');
  const fresh = { ...made, plan: { ...made.plan, number: undefined } as unknown as Plan };
  assert.equal((await answerOf(SECOND, { kept, first, second: fresh })).answer.kind, 'refused');
  // What asked for it is missing: nothing goes back to the first one.
  for (const text of [FIRST, SECOND]) {
    const { answer } = await answerOf(text, { kept: said(CANCEL), first, second: made });
    assert.ok(answer.kind === 'refused');
    assert.deepEqual(
      answer.problems.map(({ code }) => code),
      ['INSTRUCTIONS_MISSING'],
    );
  }
  // A second plan that was begun and never made counts for nothing.
  const begunOnly = { plan: null, input: asked };
  const { answer: ofFirst } = await answerOf(FIRST, { kept: said(CANCEL), first, second: begunOnly });
  assert.ok(ofFirst.kind === 'plan');
  assert.equal(ofFirst.plan.number, undefined);
  // Temporal has lost the first plan since.
  const alone = await answerOf(SECOND, { kept, first: null, second: made });
  assert.equal(alone.answer.kind, 'plan', JSON.stringify(alone.answer));
});

/** As it would be made from the second policy. */
async function secondFrom(of: Plan): Promise<Plan> {
  const plan = compiled(SECOND, await observedSecond(SECOND, { first }), 2);
  assert.equal(plan.policy.hash, of.policy.hash);
  return plan;
}

test('a trade under the run’s name that is of no leg of the plan leaves a leg unproven, and its own trade is found beside it', () => {
  const of = (name: string) => ({
    ...TRADE,
    id: `tde_${name}`,
    quoteId: 'qte_other',
    clientReferenceId: `p.2026-11-21.${name}`,
  });
  const isStray = (trade: typeof TRADE): boolean => isTradeOfAnotherPlan(RUN, [LEG.reference], trade);
  const known = { quoteId: null, namedId: null, isStray };
  assert.equal(lookForTrade(LEG, known, seen(of('usd-mxn-2'))).kind, 'unproven');
  assert.equal(lookForTrade(LEG, known, seen(of('usd-mxn-2'), of('usd-mxn-1'))).kind, 'found');
  assert.equal(
    lookForTrade(LEG, known, seen({ ...of('x'), clientReferenceId: 'p.2026-11-21-b.usd-mxn-1' })).kind,
    'absent',
  );
  assert.equal(lookForTrade(LEG, known, seen({ ...of('x'), clientReferenceId: null })).kind, 'absent');
});
