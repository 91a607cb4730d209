/** What calls of a chunk read once for all: what people said, its go, what it was started with (M1, M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWithdrawals } from '../../activities/create-withdrawals.ts';
import type { Deps } from '../../activities/deps.ts';
import { chunkMemory } from '../../activities/of-chunk.ts';
import { readGo } from '../../activities/read-go.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import { GO, chunksWith, inActivity, instructionsOf, worker } from '../support/activities.ts';
import { kept } from '../support/instructions.ts';
import { NOW, PAYMENT, RUN, WITHDRAWAL, context, done } from '../support/scripts.ts';

const PLAN = context().plan;
type How = {
  readonly runId?: string;
  /** The Temporal run that the plan was made for. */
  readonly madeFor?: string;
  readonly keyName?: string;
  readonly attempt?: number;
  readonly isOfChunk?: boolean;
  readonly isFirstTry?: boolean;
};

/** A worker that counts what it reads before the calls of a chunk send; its time passes by hand. */
function counting(go: Deps['chunks']['readGo'] = async () => GO) {
  const reads = { said: 0, goes: 0 };
  const payers: (string | null)[] = [];
  let monotonicMs = 0;
  let wallMs = NOW;
  const { deps, sent } = worker(
    { createWithdrawal: async ({ tag }) => done({ ...WITHDRAWAL, id: `wtd_${tag}`, tag }) },
    {
      clock: { wallMs: () => wallMs, monotonicMs: () => monotonicMs },
      instructions: {
        ...instructionsOf(),
        read: async () => {
          reads.said += 1;
          return kept();
        },
        note: async () => {},
      },
      chunks: chunksWith({
        readGo: async (...of) => {
          reads.goes += 1;
          return go(...of);
        },
      }),
    },
  );
  const pay = createWithdrawals(deps);
  let calls = 0;
  /** One call: the first of its payment, of a chunk that began afresh, unless it says otherwise. */
  const call = async (how: How = {}) => {
    const { runId = 'chunk-1', keyName = PLAN.credentials.keyName, attempt = 1 } = how;
    const { madeFor = runId, isOfChunk = true, isFirstTry = true } = how;
    calls += 1;
    const id = `payment-${calls}`;
    const payment = { ...PAYMENT, id, reference: `p.2026-11-21.${id}` };
    const wanted = { amount: '17250.00', ahead: '0', unwanted: null };
    const items = [{ payment, wanted, state: NEW_PAYMENT }];
    const plan = { ...PLAN, madeFor, credentials: { ...PLAN.credentials, keyName } };
    const ofChunk = { ...(isOfChunk && { chunk: 1 }), ...(isFirstTry && { isFirstTry: true as const }) };
    const asked = { plan, othersAccepted: false, twinIds: [], items, ...ofChunk };
    const answer = await inActivity({ runId, attempt, scheduledAtMs: wallMs }, () => pay(asked));
    payers.push(answer.runId);
    const step = answer.items[0]?.step;
    return step?.kind === 'wait' ? step.wait.problem.code : step?.kind;
  };
  const passes = (ms: number, wallPassesMs = ms): void => {
    monotonicMs += ms;
    wallMs += wallPassesMs;
  };
  return { call, passes, reads, payers, sent: () => sent('createWithdrawal').length };
}

test('calls of a chunk that begin within a second go by one read of what people said and of its go', async () => {
  const { call, passes, reads, sent } = counting();
  for (const afterMs of [0, 400, 400]) {
    passes(afterMs);
    assert.equal(await call(), 'accepted');
  }
  assert.deepEqual([reads, sent()], [{ said: 1, goes: 1 }, 3]);
  passes(400);
  assert.equal(await call(), 'accepted');
  assert.deepEqual(reads, { said: 2, goes: 2 });
});

test('whatever is not the first try of a chunk that began afresh reads for itself', async () => {
  const { call, reads } = counting();
  const others: readonly How[] = [
    { runId: 'chunk-1-after-a-reset', madeFor: 'chunk-1' },
    { madeFor: 'an earlier run' },
    { attempt: 2 },
    { isFirstTry: false },
    { isOfChunk: false },
  ];
  for (const other of others) {
    await call();
    const before = reads.said;
    await call(other);
    assert.equal(reads.said, before + 1, JSON.stringify(other));
  }
  assert.equal(reads.said, 1 + others.length);
});

test('what was read before a machine slept is read anew, though its monotonic clock stood still', async () => {
  const { call, passes, reads } = counting();
  await call();
  passes(400, 600_000);
  await call();
  assert.deepEqual(reads, { said: 2, goes: 2 });
});

test('a go that is missing is asked for by the next call again, and a call without one names nobody who pays', async () => {
  let isGiven = false;
  const { call, reads, payers, sent } = counting(async () => ({ ...GO, mayGo: isGiven }));
  assert.equal(await call(), 'CHUNK_WAITS');
  isGiven = true;
  assert.equal(await call(), 'accepted');
  assert.deepEqual([reads.goes, sent()], [2, 1]);
  assert.deepEqual(payers, [null, `${GO.runId}/chunk-1`]);
});

test('a call after one that noted a fact reads what is kept anew, whichever of them shares what it reads', async () => {
  for (const isFirstTry of [true, false]) {
    const { call, reads } = counting();
    await call();
    await call({ keyName: 'another key', isFirstTry });
    const before = reads.said;
    await call();
    assert.equal(reads.said, before + 1, String(isFirstTry));
  }
});

test('what a Temporal run of a chunk was started with is read once, and again where it was no input of ours', async () => {
  const payments: readonly BatchPayment[] = [['a', 'wac_1', 'MXN', '17250']];
  const inputs: string[] = [];
  let isOurs = true;
  const { deps } = worker(
    {},
    {
      chunks: chunksWith({
        readInput: async (_workflowId, runId = '') => {
          inputs.push(runId);
          return { run: RUN, mode: 'SANDBOX', number: isOurs ? 1 : 2, payments, isFirst: true };
        },
        readGo: async () => ({ ...GO, mayGo: false }),
      }),
    },
  );
  const ask = readGo(deps, chunkMemory(deps.clock));
  const kindOf = async (runId: string) => {
    const call = { mode: 'SANDBOX', run: RUN, number: 1, originalRunId: runId, isContinued: false } as const;
    return (await inActivity({ runId }, () => ask({ ...call, heard: null, isOpen: false }))).kind;
  };
  assert.deepEqual([await kindOf('r1'), await kindOf('r1'), await kindOf('r2')], ['wait', 'wait', 'wait']);
  assert.deepEqual(inputs, ['r1', 'r2']);
  isOurs = false;
  assert.deepEqual([await kindOf('r3'), await kindOf('r3')], ['refused', 'refused']);
  assert.deepEqual(inputs, ['r1', 'r2', 'r3', 'r3']);
});
