/**
 * A run in the place of another one: when it may be planned, and that of two runs only one can ever send (M1). By a scripted
 * service, with what people said of the old run and its plan given.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstructionsMissing, type Deps } from '../../activities/deps.ts';
import { observe } from '../../activities/observe.ts';
import { readPlan } from '../../activities/read-plan.ts';
import { instructionsAbout, isCancelled, type Fact, type Kept } from '../../domain/people/instructions.ts';
import { SUPERSEDED, successorIn } from '../../domain/replacement.ts';
import { instructionOf, unionOf } from '../../domain/people/instruction-shape.ts';
import { compilePlan } from '../../domain/plan/compile.ts';
import { keptPlan, type Plan } from '../../domain/plan/plan.ts';
import { planOf } from '../../domain/plan/plan-shape.ts';
import type { Observed, PlanInput } from '../../domain/run/calls.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import type { Trade } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import { isTradeOfAnotherPlan, lookForTrade } from '../../domain/writes/lookups.ts';
import { inActivity, instructionsOf, page, planInputOf, worker } from '../support/activities.ts';
import { kept, type LooseRecorded } from '../support/instructions.ts';
import { convertPolicy } from '../support/policies.ts';
import { LEG, NOW, NO_ANSWER, RUN, TRADE, WITHDRAWAL, seen } from '../support/scripts.ts';

const named = (text: string): string => text.replace('name: replaced', `name: ${RUN.policy}`);
const FIRST = named(convertPolicy({ guard: '{ worst_rate: "99.00 MXN per USD" }' }));
const MENDED = named(convertPolicy({ guard: '{ worst_rate: "16.00 MXN per USD" }' }));
/** The run whose place is taken is `RUN`. */
const NEXT = { policy: RUN.policy, id: `${RUN.id}-b` };
const GIVEN_UP = { kind: 'superseded', id: SUPERSEDED, instead: NEXT.id } as const;
const SAFE_MS = 10_000 + 20_000 + 55_000 + 10_000 + DEFAULT_SERVICE_FACTS.settleDoubtMs.trade;

const nextInput = (more: Partial<PlanInput> = {}): PlanInput => ({
  ...planInputOf(MENDED),
  run: NEXT,
  insteadOf: RUN.id,
  ...more,
});

type Given = {
  /** What people said of the old run; null: it is missing. */
  readonly said?: Kept | null;
  readonly old?: Plan | null;
  readonly scripted?: Parameters<typeof worker>[0];
  readonly wallMs?: () => number;
  /** So far the service's clock is ahead. */
  readonly aheadMs?: number;
};

function workerWith({
  said = kept(GIVEN_UP),
  old = null,
  scripted = {},
  wallMs = () => NOW,
  aheadMs = 0,
}: Given) {
  const { deps } = worker(
    {
      pairs: async () => NO_ANSWER,
      listWithdrawalAccounts: async () => page({ id: 'wac_7Hk2mQ9vT4xR', status: 'LIVE', currency: 'MXN' }),
      ...scripted,
    },
    {
      clock: { wallMs, monotonicMs: () => 0 },
      plans: {
        start: () => assert.fail('No plan is started here.'),
        find: async () => ({ isMade: old !== null, hasFailed: false, input: null }),
        read: async () => (old === null ? { kind: 'waiting', waiting: null } : { kind: 'plan', plan: old }),
        readEarlier: async () => null,
      },
      instructions: {
        ...instructionsOf(),
        read: async (_mode, run) => {
          assert.equal(run.id, RUN.id);
          if (said === null) throw new InstructionsMissing();
          return said;
        },
      },
    },
  );
  return { ...deps, reader: withTime(deps.reader, () => wallMs() + aheadMs) };
}

/** The service, which tells this time. */
function withTime(reader: Deps['reader'], timeMs: () => number): Deps['reader'] {
  const timed = Object.entries(reader).map(([name, value]: [string, unknown]) => [
    name,
    typeof value !== 'function'
      ? value
      : async (asked: unknown) => {
          const reply = (await value(asked)) as Reply<unknown>;
          return reply.kind === 'DONE'
            ? { ...reply, facts: { ...reply.facts, serviceTimeMs: timeMs() } }
            : reply;
        },
  ]);
  return Object.fromEntries(timed) as Deps['reader'];
}

/** @param safeAtMs what an earlier call has said */
function observed(
  given: Given,
  safeAtMs: number | null = NOW,
  more: Partial<PlanInput> = {},
): Promise<Observed> {
  const deps = workerWith(given);
  return inActivity({}, () => observe(deps)({ ...nextInput(more), originalPlanRunId: 'plan-run', safeAtMs }));
}

function compiled(observation: Observed, more: Pick<PlanInput, 'run' | 'insteadOf'>): Plan {
  assert.ok(observation.kind === 'observed', JSON.stringify(observation));
  const result = compilePlan({ ...observation, ...more, decimalsOf: () => 2, madeFor: 'run-1' });
  assert.ok(result.ok, JSON.stringify(result));
  return result.plan;
}

const old = await (async (): Promise<Plan> => {
  const deps = workerWith({});
  const input = { ...planInputOf(FIRST), originalPlanRunId: 'plan-run', safeAtMs: null };
  return compiled(await inActivity({}, () => observe(deps)(input)), { run: RUN });
})();

function refusedWith(answer: Observed): readonly [string, string] {
  assert.ok(answer.kind === 'refused', JSON.stringify(answer));
  const [problem] = answer.problems;
  return [problem?.code ?? '', problem?.message ?? ''];
}

test('nothing that people say takes it back that another run has taken the place of this one', () => {
  const goOn = { kind: 'go-on', item: null } as const;
  const payAgain = { kind: 'pay again', item: 'supplier', follows: 1, recordId: null } as const;
  for (const said of [kept(GIVEN_UP), kept(GIVEN_UP, goOn), kept(goOn, GIVEN_UP, payAgain, goOn)]) {
    assert.equal(isCancelled(said.instructions), true);
    const about = instructionsAbout(said, 'supplier');
    assert.deepEqual([about.cancelled, about.successor], [true, NEXT.id]);
  }
});

test('of two runs that are put in one place the first keeps it', () => {
  const other = { ...GIVEN_UP, instead: `${RUN.id}-c` };
  const both = unionOf([kept(GIVEN_UP), kept(other)]);
  assert.equal(successorIn(both.instructions), NEXT.id);
  assert.equal(both.instructions.length, 1);
  for (const wrong of [
    { id: 'another' },
    { instead: undefined },
    { instead: '' },
    { instead: 'p.2026-11-21' },
    { more: true },
  ])
    assert.equal(instructionOf({ by: 'ana', why: 'so', ...GIVEN_UP, ...wrong }).ok, false);
  assert.ok(instructionOf({ by: 'ana', why: 'so', ...GIVEN_UP }).ok);
});

test('it is planned once nothing of the old run can arrive any more, counted from when a worker first saw that it is given up', async () => {
  const first = await observed({ old }, null);
  assert.ok(first.kind === 'wait', JSON.stringify(first));
  const { problem, safeAtMs, reason } = first.wait;
  assert.deepEqual([problem.code, safeAtMs, reason], ['INSTEAD_WAITS', NOW + SAFE_MS, 'doubt']);
  const endMs = NOW + SAFE_MS;
  const early = await observed({ old, wallMs: () => endMs - 1 }, endMs);
  assert.equal(early.kind === 'wait' ? early.wait.safeAtMs : early.kind, endMs);
  assert.equal((await observed({ old, wallMs: () => endMs }, endMs)).kind, 'observed');
});

test('a look that began before the wait was over makes no plan, however late it ends', async () => {
  let nowMs = NOW;
  const frozen = {
    listTrades: async () => {
      // The worker stands still while the list is on its way.
      nowMs = NOW + 2 * SAFE_MS;
      return page<Trade>();
    },
  };
  const late = await observed({ old, scripted: frozen, wallMs: () => nowMs }, NOW + SAFE_MS);
  assert.equal(late.kind === 'wait' ? late.wait.problem.code : late.kind, 'INSTEAD_WAITS');
});

test('what was executed of the old run, or may have been, is for a person', async () => {
  const facts = (fact: Fact): Kept => ({ ...kept(GIVEN_UP), facts: [fact] });
  const after = (...more: readonly LooseRecorded[]): Kept => kept(GIVEN_UP, ...more);
  const tagged = { ...WITHDRAWAL, tag: 'p.2026-11-21.supplier' };
  const traded = { ...TRADE, clientReferenceId: 'p.2026-11-21.usd-mxn-1' };
  for (const [given, what] of [
    [{ scripted: { listTrades: async () => page(traded) } }, new RegExp(`trade ${TRADE.id}`)],
    [{ scripted: { listWithdrawals: async () => page(tagged) } }, new RegExp(`withdrawal ${WITHDRAWAL.id}`)],
    [{ said: facts({ kind: 'opened', item: 'usd-mxn-1', generation: 2, atMs: 1 }) }, /"usd-mxn-1" was sent/],
    [{ said: after({ kind: 'executed', item: 'usd-mxn-1', recordId: 'tde_9' }) }, /"executed"/],
    [{ said: after({ kind: 'accept', item: 'usd-mxn-1', recordId: 'tde_9' }) }, /"accept"/],
  ] as const)
    // Whether the wait is over or not.
    for (const safeAtMs of [null, NOW]) {
      // One after the other.
      const [code, message] = refusedWith(await observed({ old, ...given }, safeAtMs));
      assert.equal(code, 'INSTEAD_FOUND');
      assert.match(message, what);
    }
  const ofOthers = { ...TRADE, clientReferenceId: 'p.2026-11-21-c.usd-mxn-1' };
  const others = await observed({ old, scripted: { listTrades: async () => page(ofOthers) } });
  assert.equal(others.kind, 'observed');
});

test('no plan is made in a place that nobody gave to this run, of a run without a plan, or of a batch', async () => {
  const other = { ...GIVEN_UP, instead: `${RUN.id}-c` };
  for (const [given, why] of [
    [{ said: kept() }, /no record that this run takes the place/],
    [{ said: kept({ kind: 'cancel' }) }, /no record that this run takes the place/],
    [{ said: null }, /no record that this run takes the place/],
    [{ said: kept(other) }, /Another run takes the place of p.2026-11-21: 2026-11-21-c/],
    [{ old: null }, /no plan of p.2026-11-21/],
    [{ old: { ...old, batch: {} } as Plan }, /pays a batch/],
  ] as const) {
    // One after the other.
    const [code, message] = refusedWith(await observed({ old, ...given }));
    assert.equal(code, 'INSTEAD_REFUSED');
    assert.match(message, why);
  }
});

test('lists that cannot be read, or a clock that is wrong, make no plan', async () => {
  for (const operation of ['listTrades', 'listWithdrawals'] as const)
    assert.equal((await observed({ old, scripted: { [operation]: async () => NO_ANSWER } })).kind, 'wait');
  const skewed = await observed({ old, aheadMs: 3_600_000 }, null);
  assert.deepEqual(skewed.kind === 'wait' && [skewed.wait.problem.code, skewed.wait.safeAtMs], [
    'CLOCK_SKEW',
    undefined,
  ]);
});

test('an input names another run of the policy, by its id alone, and never a batch', async () => {
  const batch = { payments: 1, totals: [], chunks: [] } as unknown as NonNullable<PlanInput['batch']>;
  for (const more of [
    { insteadOf: NEXT.id },
    { insteadOf: 'p.2026-11-21' },
    { insteadOf: '' },
    { insteadOf: RUN.id, batch },
  ])
    assert.equal(refusedWith(await observed({ old }, NOW, more))[0], 'INPUT_INVALID');
});

test('its items have names of its own, and its plan says whose place it has', async () => {
  const plan = compiled(await observed({ old }), { run: NEXT, insteadOf: RUN.id });
  assert.deepEqual(
    [
      plan.insteadOf,
      plan.legs.map(({ reference }) => reference),
      plan.payments.map(({ reference }) => reference),
    ],
    [RUN.id, ['p.2026-11-21-b.usd-mxn-1'], ['p.2026-11-21-b.supplier']],
  );
  assert.ok(planOf(keptPlan(plan)).ok);
  assert.equal(planOf({ ...keptPlan(plan), insteadOf: 2 }).ok, false);
});

test('a start that names another place than the plan, or than the one that is being made, carries out nothing', async () => {
  const plan = compiled(await observed({ old }), { run: NEXT, insteadOf: RUN.id });
  const { insteadOf: _place, ...ofItsOwn } = plan;
  const answerTo = (asked: PlanInput, made: Plan, begun: PlanInput | null) => {
    const plans: Deps['plans'] = {
      find: async () => ({ isMade: true, hasFailed: false, input: begun }),
      start: async () => {
        assert.equal(begun?.insteadOf ?? asked.insteadOf, asked.insteadOf);
        return null;
      },
      read: async () => ({ kind: 'plan', plan: made }),
      readEarlier: () => assert.fail('No earlier plan is asked for here.'),
    };
    const { deps } = worker({}, { plans, instructions: { ...instructionsOf(), open: async () => {} } });
    const { askedBy: _askedBy, ...input } = asked;
    return inActivity({}, () => readPlan(deps)(input));
  };
  const asked = nextInput();
  const { insteadOf: _none, ...without } = asked;
  assert.equal((await answerTo(asked, plan, asked)).kind, 'plan');
  assert.equal((await answerTo(without, ofItsOwn, without)).kind, 'plan');
  for (const [start, made, begun] of [
    [without, plan, null],
    [asked, ofItsOwn, null],
    [without, plan, asked],
    [asked, ofItsOwn, without],
    [{ ...asked, insteadOf: `${RUN.id}-c` }, plan, asked],
  ] as const) {
    // One after the other.
    const answer = await answerTo(start, made, begun);
    assert.ok(answer.kind === 'refused', answer.kind);
    assert.equal(answer.problems[0]?.code, 'INSTEAD_REFUSED');
  }
});

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
