/** How a plan that cannot be made yet waits: when it looks at the service again, and what it shows meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeptPlan } from '../../domain/plan/plan.ts';
import { makePlan, type PlanPorts } from '../../domain/run/make-plan.ts';
import { Pauses } from '../../domain/run/pauses.ts';
import { HistoryIsLong, StepFailed } from '../../domain/run/ports.ts';
import type { Wait, Waiting } from '../../domain/waits.ts';
import { planInputOf } from '../support/activities.ts';
import { RUN } from '../support/scripts.ts';

const PLAN = {} as KeptPlan;
const AWAY: Wait = {
  afterMs: 5_000,
  reason: 'outage',
  problem: { code: 'NOT_SENT', item: null, message: 'No connection.', fix: 'Wait.' },
};

/** Makes a plan; the first looks end like this, and the next one finds the plan. */
async function made(stops: readonly (Wait | Error)[], { isLong = false, wokenInLook = -1 } = {}) {
  const state: { waiting: Waiting | null } = { waiting: null };
  const seen = { pausesMs: [] as number[], shown: [] as unknown[], safeAtMs: [] as unknown[] };
  const ports: PlanPorts = {
    observe: async (safeAtMs) => {
      const stop = stops[seen.safeAtMs.length];
      if (seen.safeAtMs.length === wokenInLook) pauses.wake();
      seen.safeAtMs.push(safeAtMs);
      if (stop instanceof Error) throw stop;
      return stop === undefined ? { kind: 'made', plan: PLAN } : { kind: 'wait', wait: stop };
    },
    giveTurnBack: () => assert.fail('It has no turn.'),
    waitUntil: async (holds, timeoutMs = 0) => {
      if (!holds()) seen.pausesMs.push(timeoutMs);
      return holds();
    },
    nowMs: () => 1_000,
    historyIsLong: () => isLong,
    show: () => void seen.shown.push(state.waiting?.problem.code ?? null),
  };
  const pauses = new Pauses(ports, RUN);
  assert.equal(await makePlan(planInputOf(''), ports, pauses, state), PLAN);
  return seen;
}

test('a plan looks at a service that is away ever later, but every minute; for its turn it asks at once', async () => {
  const turn: Wait = { ...AWAY, reason: 'turn', afterMs: 1_000 };
  const { pausesMs } = await made([AWAY, AWAY, AWAY, AWAY, AWAY, turn, turn, new StepFailed('observe')]);
  assert.deepEqual(pausesMs, [5_000, 10_000, 20_000, 40_000, 60_000, 1_000, 1_000, 60_000]);
});

test('it shows why it waits while it looks again, and nothing any more once it is made', async () => {
  const { shown } = await made([AWAY, AWAY, new StepFailed('observe')]);
  assert.deepEqual(shown, ['NOT_SENT', 'NOT_SENT', 'ACTIVITY_FAILED', null]);
});

test('whoever wakes it, also in the middle of a look, has it look again at once', async () => {
  const { pausesMs } = await made([AWAY, AWAY, AWAY], { wokenInLook: 1 });
  assert.deepEqual(pausesMs, [5_000, 20_000]);
});

test('each look is told what an earlier one has said of the safety wait, also after a look that failed', async () => {
  const { safeAtMs } = await made([AWAY, { ...AWAY, safeAtMs: 7 }, new StepFailed('observe')]);
  assert.deepEqual(safeAtMs, [null, null, 7, 7]);
});

test('after a long wait it goes on in a new history, and a fault of ours is no wait', async () => {
  await assert.rejects(() => made([AWAY], { isLong: true }), HistoryIsLong);
  await assert.rejects(() => made([new RangeError('a fault')]), RangeError);
});
