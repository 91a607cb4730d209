/** A new run waits for a person where Temporal has lost other runs of its policy, before its plan is made (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstructionsMissing, type Deps } from '../../activities/deps.ts';
import { heldBesideNow, heldByLostRuns, noteRuns } from '../../activities/claims.ts';
import { observe } from '../../activities/observe.ts';
import { SeenRuns } from '../../domain/writes/lost-runs.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { RunName } from '../../domain/references.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import {
  NO_OTHER_RUNS,
  inActivity,
  instructionsOf,
  page,
  planInputOf,
  worker,
} from '../support/activities.ts';
import { convertPolicy } from '../support/policies.ts';
import { NOW, NO_ANSWER, RUN, TRADE, WITHDRAWAL, context } from '../support/scripts.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const OF = { mode: 'SANDBOX', run: RUN, policyFile: 'p.yaml' } as const;

const idOf = (daysAgo: number): string => new Date(NOW - daysAgo * DAY_MS).toISOString().slice(0, 10);
const trade = (id: string, ageMs: number, policy = RUN.policy): Trade => ({
  ...TRADE,
  id: `tde_${policy}_${id}`,
  clientReferenceId: `${policy}.${id}.usd-mxn-1`,
  createdAt: new Date(NOW - ageMs).toISOString(),
});
/** The runs of the last two days. */
const YESTERDAY = trade(idOf(1), DAY_MS);
const BEFORE = trade(idOf(2), 2 * DAY_MS);

type Given = {
  readonly trades?: readonly Trade[];
  readonly withdrawals?: readonly Withdrawal[];
  /** Ids of the runs that Temporal knows. */
  readonly known?: readonly string[];
  readonly keptForMs?: number;
  readonly instructions?: Deps['instructions'];
};

function given({ trades = [], withdrawals = [], known = [], keptForMs = 30 * DAY_MS, ...more }: Given) {
  const asked: RunName[] = [];
  const { deps, requests } = worker(
    { listTrades: async () => page(...trades), listWithdrawals: async () => page(...withdrawals) },
    {
      ...more,
      claims: {
        ...NO_OTHER_RUNS,
        unknown: async (_mode, runs) => {
          asked.push(...runs);
          return runs.filter(({ id }) => !known.includes(id));
        },
        keptForMs: async () => keptForMs,
      },
    },
  );
  return { deps, requests, asked };
}

/** What a run is held by; null: by nothing. */
async function heldBy(how: Given, ofBatch: SeenRuns | null = null) {
  const { deps } = given(how);
  return inActivity({}, () => heldByLostRuns(deps, OF, ofBatch));
}

test('runs of the policy that Temporal does not know hold a new one, and what it says names them', async () => {
  const held = await heldBy({ trades: [YESTERDAY, BEFORE] });
  assert.equal(held?.problem.code, 'OTHER_RUNS_LOST');
  assert.equal(held.reason, 'person');
  assert.match(held.problem.message, new RegExp(`: p\\.${idOf(1)}, p\\.${idOf(2)}\\. `));
});

test('nothing holds a run where all others are known, are of other policies, or there are none', async () => {
  const known = [idOf(1), idOf(2)];
  assert.equal(await heldBy({ trades: [YESTERDAY, BEFORE], known }), null);
  assert.equal(await heldBy({ trades: [trade(idOf(1), DAY_MS, 'p2'), trade(idOf(1), DAY_MS, 'q')] }), null);
  assert.equal(await heldBy({ trades: [{ ...YESTERDAY, clientReferenceId: null }] }), null);
  assert.equal(await heldBy({}), null);
});

test('what the namespace may have forgotten in order holds nobody', async () => {
  // It keeps a day: an hour of that is left for clocks and late sends.
  const aged = (ageMs: number, keptForMs: number) => heldBy({ trades: [trade(idOf(1), ageMs)], keptForMs });
  assert.notEqual(await aged(22 * HOUR_MS, DAY_MS), null);
  assert.equal(await aged(23 * HOUR_MS + 1, DAY_MS), null);
  assert.equal(await aged(22 * HOUR_MS, 0), null);
  // Nobody need know of what is older than a week, however long it keeps.
  assert.notEqual(await aged(6 * DAY_MS, 30 * DAY_MS), null);
  assert.equal(await aged(7 * DAY_MS + 1, 30 * DAY_MS), null);
});

test('a run that was lost itself goes on beside the others: it adopts what was done', async () => {
  assert.equal(await heldBy({ trades: [trade(RUN.id, HOUR_MS), YESTERDAY, BEFORE] }), null);
});

test('a person lets it go by the list that it shows; one more lost run asks again', async () => {
  const first = await heldBy({ trades: [YESTERDAY] });
  const name = /--go-on (lost-runs-[\w-]{12})`/.exec(first?.problem.fix ?? '')?.[1];
  assert.ok(name !== undefined);
  const instructions = instructionsOf({ kind: 'go-on', item: name });
  assert.equal(await heldBy({ trades: [YESTERDAY], instructions }), null);
  const again = await heldBy({ trades: [YESTERDAY, BEFORE], instructions });
  assert.equal(again?.problem.code, 'OTHER_RUNS_LOST');
  assert.ok(!again.problem.fix.includes(name));
  const missing = {
    ...instructions,
    read: () => Promise.reject(new InstructionsMissing()),
  };
  assert.notEqual(await heldBy({ trades: [YESTERDAY], instructions: missing }), null);
});

test('Temporal is asked about a few of the newest runs only, and about none where there is none', async () => {
  const many = Array.from({ length: 80 }, (_, index) => trade(`2026-11-20-${index}`, DAY_MS + index));
  const busy = given({ trades: many, known: many.map((_, index) => `2026-11-20-${index}`) });
  assert.equal(await inActivity({}, () => heldByLostRuns(busy.deps, OF, null)), null);
  assert.deepEqual(
    busy.asked.map(({ id }) => id),
    Array.from({ length: 50 }, (_, index) => `2026-11-20-${index}`),
  );
  const { deps } = worker({}, { claims: { ...NO_OTHER_RUNS, keptForMs: () => assert.fail('asked') } });
  assert.equal(await inActivity({}, () => heldByLostRuns(deps, OF, null)), null);
});

test('a batch sees the runs whose withdrawals the list shows, and its own', async () => {
  const paid = (id: string): Withdrawal => ({
    ...WITHDRAWAL,
    id: `wtd_${id}`,
    tag: `${RUN.policy}.${id}.inv-1~2`,
    createdAt: new Date(NOW - DAY_MS).toISOString(),
  });
  const seenIn = async (...withdrawals: readonly Withdrawal[]) => {
    const { deps } = given({ withdrawals });
    const seen = new SeenRuns(RUN);
    assert.equal(await inActivity({}, () => noteRuns(deps, seen, NOW - 30 * DAY_MS)), null);
    return seen;
  };
  const held = await heldBy({}, await seenIn(paid(idOf(1))));
  assert.match(held?.problem.message ?? '', new RegExp(`: p\\.${idOf(1)}\\. `));
  assert.equal(await heldBy({}, await seenIn(paid(idOf(1)), paid(RUN.id))), null);
  assert.equal(await heldBy({}, await seenIn({ ...paid(idOf(1)), tag: null })), null);
});

test('a list that cannot be read is waited for, and so is a Temporal that cannot be asked', async () => {
  const { deps } = worker({ listTrades: async () => NO_ANSWER });
  const held = await inActivity({}, () => heldByLostRuns(deps, OF, null));
  assert.equal(held?.reason, 'outage');
  const { deps: unlisted } = worker({ listWithdrawals: async () => NO_ANSWER });
  const unseen = await inActivity({}, () => noteRuns(unlisted, new SeenRuns(RUN), 0));
  assert.equal(unseen?.wait.problem.code, 'LOOKUP_INCOMPLETE');
  for (const silent of ['unknown', 'keptForMs'] as const) {
    const away = given({ trades: [YESTERDAY] });
    const claims = { ...away.deps.claims, [silent]: () => Promise.reject(new Error('away')) };
    // The activity is tried again.
    await assert.rejects(
      inActivity({}, () => heldByLostRuns({ ...away.deps, claims }, OF, null)),
      /away/,
    );
  }
});

test('a held run reads no balance, and gives back the turn that it had; one whose plan is made is asked nothing', async () => {
  const { deps, requests } = given({ trades: [YESTERDAY] });
  const observedWith = (policyText: string, earlier: Plan | null, back: RunName[]) => {
    const plans = { ...deps.plans, readEarlier: async () => earlier };
    const turn = { ...deps.turn, giveBack: async (run: RunName) => void back.push(run) };
    const input = { ...planInputOf(policyText), originalPlanRunId: 'run-1', safeAtMs: null };
    return inActivity({}, () => observe({ ...deps, plans, turn })(input));
  };
  for (const [amount, gaveBack] of [
    ['{ sell: "1000.00" }', []],
    ['{ sell: all, keep: "500.00" }', [RUN]],
  ] as const) {
    const back: RunName[] = [];
    const policyText = convertPolicy({ amount }).replace('replaced', RUN.policy);
    // One after the other.
    const held = await observedWith(policyText, null, back);
    assert.equal(held.kind === 'wait' ? held.wait.problem.code : held.kind, 'OTHER_RUNS_LOST');
    assert.deepEqual(back, gaveBack);
    assert.deepEqual(
      requests.splice(0).map(({ operation }) => operation),
      ['listTrades'],
    );
    const plan = { ...context().plan, run: RUN, payments: [] } as unknown as Plan;
    assert.equal((await observedWith(policyText, plan, back)).kind, 'made');
    assert.deepEqual(requests, []);
  }
});

test('a run whose plan is older than the loss is held by what a lookup has shown, unless a person lets it go', async () => {
  const seen = new SeenRuns(RUN);
  for (const { clientReferenceId, createdAt } of [
    YESTERDAY,
    { ...TRADE, clientReferenceId: `${RUN.policy}.${RUN.id}.usd-mxn-1` },
  ])
    seen.note(clientReferenceId, createdAt);
  const input = { ...planInputOf(convertPolicy()), run: RUN };
  const held = async (how: Given) => {
    const { deps } = given(how);
    const plans = { ...deps.plans, find: async () => ({ isMade: true, hasFailed: false, input }) };
    return heldBesideNow({ ...deps, plans }, OF, seen);
  };
  const lost = await held({});
  assert.equal(lost?.problem.code, 'OTHER_RUNS_LOST');
  assert.equal(await held({ known: [idOf(1)] }), null);
  assert.equal(await held({ keptForMs: HOUR_MS }), null);
  const [, name = ''] = /--go-on (lost-runs-[\w-]{12})/.exec(lost.problem.fix) ?? [];
  assert.equal(await held({ instructions: instructionsOf({ kind: 'go-on', item: name }) }), null);
});
