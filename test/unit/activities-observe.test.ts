/** What a worker believes of a policy: it reads it with its own eyes, and carries out a plan for no other one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { observe } from '../../activities/observe.ts';
import type { Deps } from '../../activities/deps.ts';
import { MOST_PATIENT, readPlan } from '../../activities/read-plan.ts';
import { movesOf } from '../../domain/plan/moves.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { compilePlan } from '../../domain/plan/compile.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { isPlanAnswer } from '../../domain/run/answer-shapes.ts';
import type { PlanInput } from '../../domain/run/calls.ts';
import { inActivity, planInputOf, instructionsOf, page, worker } from '../support/activities.ts';
import { NOW, NO_ANSWER, RUN, done } from '../support/scripts.ts';
import { convertPolicy } from '../support/policies.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';

const POLICY = convertPolicy().replace('name: replaced', `name: ${RUN.policy}`);

/** Observes for a run with this policy; `requests` is what the service was asked, `more` what else the input has. */
async function observed(
  policyText: string,
  scripted: Parameters<typeof worker>[0] = {},
  more: object = {},
  given: Parameters<typeof worker>[1] = {},
) {
  const { deps, requests } = worker(scripted, {
    ...given,
    plans: {
      find: () => assert.fail('Nobody asks for it here.'),
      start: () => assert.fail('No plan is started here.'),
      read: () => assert.fail('No plan is read here.'),
      readEarlier: async () => null,
    },
  });
  const input = planInputOf(policyText);
  const answer = await inActivity({}, () =>
    observe(deps)({ ...input, originalPlanRunId: 'run-1', safeAtMs: null, ...more }),
  );
  return { answer, requests };
}

test('a policy that is too large is refused with its problem, before the service is asked for anything', async () => {
  const { answer, requests } = await observed(`${POLICY}# ${'-'.repeat(150_000)}\n`);
  assert.ok(answer.kind === 'refused');
  assert.deepEqual(
    answer.problems.map(({ code }) => code),
    ['POLICY_TOO_LARGE'],
  );
  assert.deepEqual(requests, []);
});

test('an input that Cambist did not make, or of the other mode, asks the service for nothing', async () => {
  for (const [more, code] of [
    [{ amount: '1234567.00' }, 'INPUT_INVALID'],
    [{ startedBy: 'ana\n12:00:00 payment supplier: PAID' }, 'INPUT_INVALID'],
    [{ shown: 'everything' }, 'INPUT_INVALID'],
    [{ policyFile: undefined }, 'INPUT_INVALID'],
    [{ run: { policy: 'p', id: '2026-11-21.supplier' } }, 'INPUT_INVALID'],
    [{ files: { 'rates.yaml': 'x'.repeat(500_000) } }, 'INPUT_INVALID'],
    [{ mode: 'LIVE' }, 'MODE_DIFFERS'],
  ] as const) {
    // One after the other.
    const { answer, requests } = await observed(POLICY, {}, more);
    const [problem] =
      answer.kind === 'wait' ? [answer.wait.problem] : answer.kind === 'refused' ? answer.problems : [];
    assert.equal(problem?.code, code, JSON.stringify(more).slice(0, 80));
    assert.deepEqual(requests, []);
  }
});

test('a plan that was reset asks what the Temporal run before it has made', async () => {
  const asked: unknown[] = [];
  const { deps } = worker(
    {},
    { plans: { ...worker().deps.plans, readEarlier: async (...of) => (asked.push(of[2]), null) } },
  );
  for (const originalPlanRunId of ['run-1', 'before'])
    await inActivity({ runId: 'run-1' }, () =>
      observe(deps)({ ...planInputOf(POLICY), originalPlanRunId, safeAtMs: null }),
    );
  assert.deepEqual(asked, [null, 'before']);
});

test('an account that the worker’s service file calls unusable is told as such', async () => {
  const { answer } = await observed(POLICY, {
    listWithdrawalAccounts: async () => page({ id: 'wac_7Hk2mQ9vT4xR', status: 'REJECTED', currency: 'MXN' }),
  });
  assert.ok(answer.kind === 'observed');
  assert.deepEqual(
    answer.observation.accounts.map(({ isUnusable }) => isUnusable),
    [true],
  );
});

test('the hash is of what the policy says, whatever hash came with the input', async () => {
  const { answer } = await observed(`# reviewed\n${POLICY}`);
  assert.ok(answer.kind === 'observed');
  assert.equal(answer.policyHash, policyHash(POLICY));
});

/** Sells all dollars above 500. */
const SELL_ALL = convertPolicy({ amount: '{ sell: all, keep: "500.00" }' }).replace('replaced', RUN.policy);

const TREASURY = `policy: 1
kind: rebalance
name: ${RUN.policy}
environment: sandbox
rebalance:
  base: { currency: USD }
  targets: { EUR: { min: "1.00" } }
guard: { worst_rate: ["0.90 EUR per USD"] }
limits: { per_day: "100.00 USD" }
`;

test('whoever plans with balances reads them in its turn, and what others have reserved before them; a fixed amount takes no turn to plan', async () => {
  const steps: string[] = [];
  let tradedAgoMs: number | null = null;
  let tradedAtMs: number | null = null;
  const reserved = [{ currency: 'USD', takes: '5', changes: '-5', isTold: true }];
  const turn = {
    ...worker().deps.turn,
    take: async () => {
      steps.push('turn');
      return {
        turn: 'ours',
        hasLapsed: false,
        others: ['q.2026-11-21'],
        gone: [],
        tradedAgoMs,
        tradedAtMs,
      } as const;
    },
    readReserved: async () => {
      steps.push('reserved');
      return { open: [{ run: { policy: 'q', id: '2026-11-21' }, reserved, legs: [] }], gone: [] };
    },
    giveBack: async () => void steps.push('given back'),
    reopen: async () => {},
  };
  const balances = async () => {
    steps.push('balances');
    return done({ aggregateUsd: '0', balances: [] });
  };
  for (const policyText of [TREASURY, SELL_ALL]) {
    // One after the other.
    const inTurn = await observed(policyText, { balances }, {}, { turn });
    assert.ok(inTurn.answer.kind === 'observed', JSON.stringify(inTurn.answer));
    assert.deepEqual(inTurn.answer.observation.reserved, reserved);
    assert.deepEqual(steps.splice(0), ['turn', 'reserved', 'balances']);
  }
  assert.ok((await observed(POLICY, { balances }, {}, { turn })).answer.kind === 'observed');
  assert.deepEqual(steps.splice(0), ['balances']);
  const away = await observed(TREASURY, { balances: async () => NO_ANSWER }, {}, { turn });
  assert.equal(away.answer.kind, 'wait');
  assert.deepEqual(steps.splice(0), ['turn', 'reserved', 'given back']);

  // Lists may lack what another run has just traded: it waits in its turn.
  tradedAgoMs = 59_000;
  const early = await observed(TREASURY, { balances }, {}, { turn });
  assert.ok(early.answer.kind === 'wait');
  assert.deepEqual([early.answer.wait.problem.code, early.answer.wait.afterMs], ['LISTS_MAY_LAG', 1_000]);
  assert.deepEqual(steps.splice(0), ['turn']);
  tradedAgoMs = 60_000;
  assert.equal((await observed(TREASURY, { balances }, {}, { turn })).answer.kind, 'observed');

  // Temporal's clock may have leapt: the worker's counts too.
  tradedAgoMs = 7_200_000;
  tradedAtMs = NOW;
  const leapt = await observed(TREASURY, { balances }, {}, { turn });
  assert.ok(leapt.answer.kind === 'wait');
  assert.equal(leapt.answer.wait.problem.code, 'LISTS_MAY_LAG');

  // A person has signalled a moment that never comes: nobody waits for it.
  tradedAtMs = NOW + 86_400_000;
  assert.equal((await observed(TREASURY, { balances }, {}, { turn })).answer.kind, 'observed');
});

test('what another open run of the policy may still trade on its date counts against the limit of a day', async () => {
  const usd = (most: string | null) => [{ reference: 'r', isTold: true, sides: [{ currency: 'USD', most }] }];
  const other = (policy: string, id: string, legs: ReturnType<typeof usd>) => ({
    run: { policy, id },
    reserved: [],
    legs,
  });
  const date = RUN.id.slice(0, 10);
  const counted = async (others: readonly ReturnType<typeof other>[]) => {
    const turn = {
      ...worker().deps.turn,
      readReserved: async () => ({ open: others, gone: [] }),
    };
    const { answer } = await observed(TREASURY, {}, {}, { turn });
    assert.ok(answer.kind === 'observed', JSON.stringify(answer));
    return answer.observation.tradedOnDate;
  };
  const mixed = [
    other(RUN.policy, `${date}-b`, usd('30')),
    other(RUN.policy, '2026-01-01', usd('7')),
    other('q', date, usd('8')),
  ];
  assert.deepEqual(await counted(mixed), [{ currency: 'USD', value: '30' }]);
  // What cannot be told leaves nothing of the limit.
  assert.deepEqual(await counted([other(RUN.policy, `${date}-b`, usd(null))]), [
    { currency: 'USD', value: '100.00' },
  ]);
});

/** Of the euros and dollars of the treasury, a share of what both are worth together. */
const SHARES = TREASURY.replace('min: "1.00"', 'share: 10%, band: 1%').replace(
  /guard: .*/,
  'guard: { reference: { file: rates.yaml, max_age: 30h }, worst_cost: 25bps }',
);

test('what another run may take of a currency that the plan counts, and nobody can tell how much, is waited for', async () => {
  const asked = async (currency: string, policyText = SELL_ALL) => {
    const reserved = [
      { currency, takes: '0', changes: '0', isTold: false, untoldSinceMs: Date.UTC(2026, 10, 21, 9, 5) },
    ];
    const given: string[] = [];
    const turn = {
      ...worker().deps.turn,
      readReserved: async () => ({
        open: [{ run: { policy: 'q', id: '2026-11-21' }, reserved, legs: [] }],
        gone: [],
      }),
      giveBack: async () => void given.push('back'),
    };
    return { ...(await observed(policyText, {}, {}, { turn })), given };
  };
  const { answer, requests, given } = await asked('USD');
  assert.ok(answer.kind === 'wait', JSON.stringify(answer));
  assert.deepEqual([answer.wait.reason, answer.wait.problem.code], ['doubt', 'RESERVATION_UNKNOWN']);
  assert.equal(
    answer.wait.problem.message,
    'Run q.2026-11-21 may still take USD, and it is not known yet how much; it waits since 2026-11-21 09:05 UTC.',
  );
  assert.deepEqual(given, ['back']);
  // Whose trades the list shows is all that it has looked at.
  assert.deepEqual(
    requests.map(({ operation }) => operation),
    ['listTrades'],
  );
  assert.equal((await asked('MXN')).answer.kind, 'observed');
  // A rebalancing counts the currencies that it brings to a target; the base only where a share refers to it.
  for (const [currency, policyText, kind] of [
    ['EUR', TREASURY, 'wait'],
    ['USD', TREASURY, 'observed'],
    ['USD', SHARES, 'wait'],
    ['GBP', SHARES, 'observed'],
  ] as const)
    assert.equal((await asked(currency, policyText)).answer.kind, kind, `${currency} of ${policyText}`);
});

test('shortly before nothing may be traded any more, a rebalancing leaves what another run may still take, and plans the rest', async () => {
  const reserved = [{ currency: 'EUR', takes: '0', changes: '0', isTold: false }];
  const turn = {
    ...worker().deps.turn,
    readReserved: async () => ({
      open: [{ run: { policy: 'q', id: '2026-11-21' }, reserved, legs: [] }],
      gone: [],
    }),
  };
  const waitsAt = async (at: string) => {
    const clock = { ...worker().deps.clock, wallMs: () => Date.parse(at) };
    const { answer } = await observed(TREASURY, {}, {}, { turn, clock });
    return answer.kind === 'wait' && answer.wait.problem.code === 'RESERVATION_UNKNOWN';
  };
  assert.equal(await waitsAt('2026-11-22T01:44:59Z'), true);
  assert.equal(await waitsAt('2026-11-22T01:45:01Z'), false);
});

test('while another run has the turn nothing is read, and whose turn it is is told', async () => {
  const turn = {
    ...worker().deps.turn,
    take: async () => ({ turn: 'others', run: 'q.2026-11-21', before: 0 }) as const,
    readReserved: () => assert.fail('Nothing is read.'),
    giveBack: () => assert.fail('It has no turn.'),
    reopen: () => assert.fail('Nothing was reset.'),
  };
  const { answer, requests } = await observed(TREASURY, {}, {}, { turn });
  assert.ok(answer.kind === 'wait');
  assert.equal(answer.wait.reason, 'turn');
  assert.match(answer.wait.problem.message, /q\.2026-11-21/);
  assert.deepEqual(requests, []);
});

/** The plan that is made of `POLICY`. */
async function planned(policyText = POLICY, more: object = {}): Promise<Plan> {
  const scripted = {
    // What cannot be read proves nothing.
    pairs: async () => NO_ANSWER,
    listWithdrawalAccounts: async () => page({ id: 'wac_7Hk2mQ9vT4xR', status: 'LIVE', currency: 'MXN' }),
  };
  const { answer } = await observed(policyText, scripted, more);
  assert.ok(answer.kind === 'observed');
  const result = compilePlan({ ...answer, run: RUN, decimalsOf: () => 2, batch: null, madeFor: 'run-1' });
  assert.ok(result.ok, JSON.stringify(result));
  return result.plan;
}

/** Reads the plan of a run that was planned with `POLICY`, for a start with this text. */
async function planFor(
  policyText: string,
  change: (plan: Plan) => Plan = (plan) => plan,
  more: object = {},
  others: Partial<Deps> = {},
  runId = 'run-1',
  begun: object | null = null,
) {
  const plan = change(await planned());
  const { hash } = plan.policy;
  const { deps } = worker(
    {},
    {
      ...others,
      instructions: { ...instructionsOf(), open: async () => {} },
      plans: {
        find: async () =>
          begun === null ? null : { isMade: true, hasFailed: false, input: begun as PlanInput },
        start: async () => null,
        read: async () => ({ kind: 'plan', plan }),
        readEarlier: () => assert.fail('No earlier plan is asked for here.'),
      },
    },
  );
  // The hash of the input is that of the plan, so that only what the worker computes can tell them apart.
  const { askedBy: _askedBy, ...input } = planInputOf(policyText);
  return inActivity({ runId }, () => readPlan(deps)({ ...input, policyHash: hash, ...more }));
}

test('no plan is read for an input that Cambist did not make, or of the other mode', async () => {
  const asIs = (plan: Plan): Plan => plan;
  const strange = await planFor(POLICY, asIs, { amount: '1234567.00' });
  assert.ok(strange.kind === 'refused');
  assert.deepEqual(
    strange.problems.map(({ code }) => code),
    ['INPUT_INVALID'],
  );
  const live = await planFor(POLICY, asIs, { mode: 'LIVE' });
  assert.equal(live.kind === 'waiting' ? live.waiting?.problem.code : live.kind, 'MODE_DIFFERS');
  // The run takes no answer of another shape, and could not say what it waits for.
  assert.ok(isPlanAnswer(live));
});

test('only so many calls of a worker wait for a plan that is being made; the others look once', async () => {
  const patience: number[] = [];
  let areAsked = (): void => {};
  const allAsked = new Promise<void>((resolve) => (areAsked = resolve));
  const { deps } = worker(
    {},
    {
      instructions: { ...instructionsOf(), open: async () => {} },
      plans: {
        find: async () => null,
        start: async () => null,
        read: async (_mode, _run, patienceMs) => {
          if (patience.push(patienceMs) === MOST_PATIENT + 3) areAsked();
          // All of them are asked before the first is answered.
          await allAsked;
          return { kind: 'waiting', waiting: null };
        },
        readEarlier: () => assert.fail('No earlier plan is asked for here.'),
      },
    },
  );
  const { askedBy: _askedBy, ...input } = planInputOf(POLICY);
  const asks = Array.from({ length: MOST_PATIENT + 3 }, () => inActivity({}, () => readPlan(deps)(input)));
  for (const { kind } of await Promise.all(asks)) assert.equal(kind, 'waiting');
  assert.deepEqual(
    [...new Set(patience)].map((ms) => [ms > 0, patience.filter((one) => one === ms).length]),
    [
      [true, MOST_PATIENT],
      [false, 3],
    ],
  );
  // Whoever asks after them waits again.
  await inActivity({}, () => readPlan(deps)(input));
  assert.ok((patience.at(-1) ?? 0) > 0);
});

test('a plan that is not what a person was shown leaves its turn to others, if nothing of it can have been sent', async () => {
  const plan = await planned(TREASURY);
  const told = async (more: object, runId = 'run-1'): Promise<readonly string[]> => {
    const heard: string[] = [];
    const turn = {
      ...worker().deps.turn,
      take: () => assert.fail('Nobody asks for a turn here.'),
      giveBack: async (_run: unknown, tradedAtMs: number | null) =>
        void heard.push(`back, ${tradedAtMs !== null}`),
      reopen: async () => void heard.push('reopened'),
      readReserved: () => assert.fail('Nobody plans here.'),
    };
    assert.equal((await planFor(TREASURY, () => plan, more, { turn }, runId)).kind, 'plan');
    return heard;
  };
  const shown = movesOf(plan);
  assert.deepEqual(await told({}), []);
  assert.deepEqual(await told({ shown }), []);
  assert.deepEqual(await told({ shown: ['something else'] }), ['back, false']);
  // Made for an earlier start, which may have sent some of it.
  assert.deepEqual(await told({ shown: ['something else'], forRun: 'run-2' }, 'run-2'), ['reopened']);
});

test('a plan counts for a policy that differs in comments and white space, and for no other one', async () => {
  for (const text of [POLICY, `# reviewed\n${POLICY}\n`, POLICY.replace('kind: ', 'kind:   ')])
    assert.equal((await planFor(text)).kind, 'plan');
  for (const text of [
    POLICY.replace('1000.00', '1000.01'),
    '',
    'not a policy',
    `${POLICY}# ${'x'.repeat(65_536)}`,
  ])
    assert.equal((await planFor(text)).kind, 'other policy', text.slice(0, 20));
});

test('a plan that says otherwise than its policy, or is another run’s, is not carried out', async () => {
  const [payment] = (await planned()).payments;
  assert.ok(payment !== undefined);
  const changes: readonly ((plan: Plan) => Plan)[] = [
    (plan) => ({ ...plan, payments: [{ ...payment, account: 'wac_Another' }] }),
    (plan) => ({ ...plan, payments: [{ ...payment, amount: { kind: 'fixed', value: '1234567.00' } }] }),
    (plan) => ({ ...plan, legs: plan.legs.map((leg) => ({ ...leg, sell: 'EUR' })) }),
    (plan) => ({ ...plan, run: { ...plan.run, id: '2026-11-22' } }),
    (plan) => ({ ...plan, credentials: { ...plan.credentials, mode: 'LIVE' } }),
  ];
  for (const [index, change] of changes.entries()) {
    const answer = await planFor(POLICY, change);
    assert.ok(answer.kind === 'refused', String(index));
    assert.equal(answer.problems[0]?.code, 'PLAN_CONTRADICTS_POLICY');
  }
});

test('a price bound by reference rates is held against the rates with which the run was planned', async () => {
  const ratesOf = (rate: string) => ({
    'rates.yaml': `as_of: ${new Date(NOW).toISOString()}\nrates: ["${rate} MXN per USD"]\n`,
  });
  const text = convertPolicy({
    guard: '{ reference: { file: rates.yaml, max_age: 30h }, worst_cost: 50bps }',
  }).replace('replaced', RUN.policy);
  const files = ratesOf('17.25');
  const plan = await planned(text, { files });
  const codeFor = async (
    change: (plan: Plan) => Plan,
    more: object,
    begun: object | null = null,
    runId = 'run-1',
  ) => {
    const answer = await planFor(text, () => change(plan), more, {}, runId, begun);
    return answer.kind === 'refused' ? answer.problems[0]?.code : answer.kind;
  };
  const asIs = (one: Plan): Plan => one;
  const looser = (one: Plan): Plan => ({
    ...one,
    legs: one.legs.map((leg) => ({
      ...leg,
      guard: leg.guard && { ...leg.guard, bound: { buyFactor: '1', sellFactor: '1' } },
    })),
  });
  assert.equal(await codeFor(asIs, { files }), 'plan');
  assert.equal(await codeFor(looser, { files }), 'PLAN_CONTRADICTS_POLICY');
  // Rates that another program has put beside the plan do not count for the run that it says it was made for.
  const begun = { ...planInputOf(text), files: ratesOf('1') };
  const forged = await planned(text, { files: begun.files });
  assert.equal(await codeFor(() => forged, { files }, begun), 'PLAN_CONTRADICTS_POLICY');
  // A later start has other rates, or none.
  const later = { forRun: 'run-2', files: ratesOf('99') };
  assert.equal(await codeFor(asIs, later, { ...begun, files }, 'run-2'), 'plan');
  assert.equal(await codeFor(looser, later, { ...begun, files }, 'run-2'), 'PLAN_CONTRADICTS_POLICY');
  // After a refused plan, the plan was made for the Temporal run of the reset, whose own rates count.
  const afterRefusal = { forRun: 'run-0', files };
  assert.equal(await codeFor(asIs, afterRefusal, { ...begun, files: ratesOf('99') }), 'plan');
});

test('the turn hears of every run that takes money without one, and of a rebalancing that was reset or started again', async () => {
  const treasury = await planned(TREASURY);
  const heard = async (policyText: string, runId: string, forRun: string) => {
    const reopened: string[] = [];
    const turn = {
      ...worker({}).deps.turn,
      reopen: async (run: RunName) => void reopened.push(runName(run)),
    };
    const asIs = (plan: Plan): Plan => (policyText === TREASURY ? treasury : plan);
    const answer = await planFor(policyText, asIs, { forRun }, { turn }, runId);
    assert.equal(answer.kind, 'plan');
    return reopened;
  };
  assert.deepEqual(await heard(POLICY, 'run-1', 'run-1'), [runName(RUN)]);
  assert.deepEqual(await heard(TREASURY, 'run-1', 'run-1'), []);
  // A reset keeps the id of its first run.
  assert.deepEqual(await heard(TREASURY, 'run-2', 'run-1'), [runName(RUN)]);
  assert.deepEqual(await heard(TREASURY, 'run-2', 'run-2'), [runName(RUN)]);
});
