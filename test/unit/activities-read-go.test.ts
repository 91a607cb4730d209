/** What a chunk hears of look-alikes with its go: what its plan has found, or what is there once it takes up more (M1, M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as immediate } from 'node:timers/promises';
import type { Deps } from '../../activities/deps.ts';
import { chunkMemory } from '../../activities/of-chunk.ts';
import { readGo } from '../../activities/read-go.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import type { PayoutRules } from '../../domain/policy.ts';
import type { ChunkInput } from '../../domain/run/calls.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { GoAnswer, GoCall } from '../../domain/run/calls.ts';
import type { Withdrawal } from '../../domain/service/records.ts';
import type { Kept } from '../../domain/people/instructions.ts';
import { hashOfChunk, hashOfTexts } from '../../language/batch/chunk-hash.ts';
import {
  GO,
  NO_OTHER_RUNS,
  chunksWith,
  inActivity,
  instructionsOf,
  page,
  worker,
} from '../support/activities.ts';
import { recorded } from '../support/instructions.ts';
import { NOW, RUN, WITHDRAWAL, context } from '../support/scripts.ts';

const PAYMENTS: readonly BatchPayment[] = [
  ['a', 'wac_1', 'MXN', '17250'],
  ['b', 'wac_2', 'MXN', '17250'],
];
const DAY_MS = 86_400_000;
const MADE_AT_MS = NOW - 60_000;

type Situation = {
  /** What the plan has found. */
  readonly alike?: string;
  /** When a record of somebody else was made that looks like the first payment, epoch milliseconds; null: there is none. */
  readonly atMs: number | null;
  /** The run was started again since its plan was made. */
  readonly isTakenUp?: boolean;
  readonly parallel?: number;
  readonly stopAfter?: PayoutRules['stopAfter'];
  readonly canary?: number | null;
  readonly asks?: Partial<GoCall>;
  readonly more?: Partial<Deps>;
};

let asked = 0;

async function goOf({
  alike,
  atMs,
  isTakenUp = false,
  parallel = 2,
  stopAfter = null,
  canary = null,
  asks = {},
  more = {},
}: Situation) {
  asked += 1;
  const chunk = {
    payments: PAYMENTS.length,
    hash: hashOfChunk(PAYMENTS),
    unpayable: null,
    ...(alike !== undefined && { alike }),
  };
  const batch = {
    payments: PAYMENTS.length,
    totals: [],
    payable: [],
    heldBy: [],
    chunks: [chunk],
    rules: { parallel, stopAfter, canary, dedupeMs: 30 * DAY_MS },
  };
  const policy = { name: RUN.policy, hash: '' };
  const head = { ...context().plan, madeFor: 'r1', madeAtMs: MADE_AT_MS };
  const plan: Plan = { ...head, policy, legs: [], payments: [], positions: [], batch };
  const record: Withdrawal = {
    ...WITHDRAWAL,
    id: 'wtd_9',
    tag: null,
    withdrawalAccountId: 'wac_1',
    createdAt: new Date(atMs ?? 0).toISOString(),
  };
  const service = { listWithdrawals: async () => (atMs === null ? page<Withdrawal>() : page(record)) };
  const never = () => Promise.reject(new Error('Nothing asks for this here.'));
  const { deps, sent } = worker(service, {
    chunks: chunksWith({
      readInput: async () => ({
        run: RUN,
        mode: 'SANDBOX',
        number: 1,
        payments: PAYMENTS,
        isFirst: true,
      }),
      readGo: async () => ({ ...GO, runId: isTakenUp ? `r2-${asked}` : 'r1', isFresh: !isTakenUp }),
    }),
    plans: {
      find: never,
      start: never,
      read: async () => ({ kind: 'plan', plan }),
      readEarlier: never,
    },
    claims: NO_OTHER_RUNS,
    ...more,
  });
  const runId = `chunk-${asked}`;
  const call = { mode: 'SANDBOX', run: RUN, number: 1, originalRunId: runId, isContinued: false } as const;
  const answer: GoAnswer = await inActivity({ runId }, () =>
    readGo(deps, chunkMemory(deps.clock))({ ...call, heard: null, isOpen: false, ...asks }),
  );
  assert.equal(answer.kind, 'go', JSON.stringify(answer));
  return {
    alike: answer.kind === 'go' ? (answer.alike ?? null) : null,
    named: answer.kind === 'go' ? (answer.alikeIds?.[0] ?? null) : null,
    callSize: answer.kind === 'go' ? answer.callSize : null,
    isFresh: answer.kind === 'go' && answer.isFresh,
    scans: sent('listWithdrawals').length,
  };
}

const BEFORE_MS = MADE_AT_MS - DAY_MS;
const CASES: readonly (readonly [what: string, situation: Situation, alike: string | null, scans: number])[] =
  [
    ['nothing looked alike: no list is read', { atMs: BEFORE_MS }, null, 0],
    ['all is approved since the plan: no list is read', { alike: 'a.', atMs: BEFORE_MS }, 'a.', 0],
    ['what the plan has found is looked at again', { alike: 'l.', atMs: BEFORE_MS }, 'l.', 1],
    ['what is gone holds nobody', { alike: 'l.', atMs: null }, '..', 1],
    ['taken up once more, it is held as before', { alike: 'l.', atMs: BEFORE_MS, isTakenUp: true }, 'l.', 1],
    ['so is what was not listed when it was planned', { atMs: BEFORE_MS, isTakenUp: true }, 'l.', 1],
    [
      'and in every later history of a chunk that was reset',
      { atMs: BEFORE_MS, asks: { isContinued: true, wasReset: true } },
      'l.',
      1,
    ],
    [
      'while a chunk that only goes on in a new history looks for nothing new',
      { atMs: BEFORE_MS, asks: { isContinued: true } },
      null,
      0,
    ],
    ['what was made since the plan its own key answers for', { atMs: NOW, isTakenUp: true }, '..', 1],
    [
      'a moment before the plan its own key answers too, since clocks differ',
      { atMs: MADE_AT_MS - 9_000, isTakenUp: true },
      '..',
      1,
    ],
    [
      'but not for what the plan has seen',
      { alike: 'l.', atMs: MADE_AT_MS - 9_000, isTakenUp: true },
      'l.',
      1,
    ],
    [
      'what a run of ours accounts for holds nobody',
      {
        alike: 'l.',
        atMs: BEFORE_MS,
        more: {
          claims: {
            ...NO_OTHER_RUNS,
            whose: async () => [{ recordId: 'wtd_9', by: { kind: 'item', run: 'q.1', item: 'a' } }],
            rival: () => Promise.reject(new Error()),
          },
        },
      },
      '..',
      1,
    ],
  ];
for (const [what, situation, alike, scans] of CASES)
  test(what, async () => {
    const told = await goOf(situation);
    assert.equal(told.alike, alike);
    assert.equal(told.named, alike === 'l.' ? 'wtd_9' : null);
    assert.equal(told.scans, scans);
  });

test('an approval of look-alikes that people must sign and have not holds the payment as before', async () => {
  const groups = [`1.0.${hashOfTexts([hashOfTexts(['wtd_9'])])}`];
  const list = recorded({
    kind: 'go-on',
    item: 'look-alikes-abcdefghijkl',
    takesBack: null,
    lookAlikes: { sinceMs: BEFORE_MS - DAY_MS, untilMs: BEFORE_MS, perGroup: 1, groups },
  });
  const alike = async (unsigned: Kept['unsigned']) => {
    const words = { instructions: [list], facts: [], ...(unsigned !== undefined && { unsigned }) };
    const instructions = { ...instructionsOf(), read: async () => words };
    return (await goOf({ alike: 'l.', atMs: BEFORE_MS, more: { instructions } })).alike;
  };
  assert.equal(await alike(undefined), 'a.');
  assert.equal(await alike({ [list.id]: 'ben has not signed.' }), 'l.');
});

test('a call is smaller where payments leave one by one, and where a rule may stop them', async () => {
  const stopAfter = { failed: 3, ratioPercent: null, sameCode: null };
  const sizeOf = async (more: Partial<Situation>) => (await goOf({ atMs: null, ...more })).callSize;
  assert.equal(await sizeOf({ parallel: 2 }), 36);
  assert.equal(await sizeOf({ parallel: 1 }), 25);
  assert.equal(await sizeOf({ parallel: 2, stopAfter }), 25);
  assert.equal(await sizeOf({ parallel: 2, canary: 40 }), 25);
});

test('only a chunk that its run has never known is fresh', async () => {
  const isFresh = async (more: Partial<Situation>) => (await goOf({ atMs: null, ...more })).isFresh;
  assert.equal(await isFresh({}), true);
  assert.equal(await isFresh({ isTakenUp: true }), false);
  assert.equal(await isFresh({ asks: { isContinued: true } }), false);
  assert.equal(await isFresh({ asks: { originalRunId: 'another' } }), false);
});

const FIRST_CHUNK: ChunkInput = { run: RUN, mode: 'SANDBOX', number: 1, payments: PAYMENTS, isFirst: true };

/** A worker that is asked by a chunk whose run has ended. `more`: what else it is to Temporal. */
function depsOfEnded(more: Partial<Deps['chunks']>): Deps {
  const { deps } = worker(
    {},
    { chunks: chunksWith({ readInput: async () => FIRST_CHUNK, readGo: async () => 'over', ...more }) },
  );
  return deps;
}

test('a chunk that was reset starts its ended run again, unless it has heard of that end and nothing is open', async () => {
  const answerOf = async (what: {
    originalRunId: string;
    heard: string | null;
    isOpen: boolean;
    isContinued?: true;
    wasReset?: true;
  }) => {
    let reopened = 0;
    const deps = depsOfEnded({
      reopenRun: async () => {
        reopened += 1;
        return true;
      },
    });
    const call = { mode: 'SANDBOX', run: RUN, number: 1, isContinued: false, ...what } as const;
    const { kind } = await inActivity({ runId: 'c2' }, () => readGo(deps, chunkMemory(deps.clock))(call));
    assert.equal(kind, reopened === 1 ? 'reopened' : 'over');
    return kind;
  };
  const cases: readonly (readonly [originalRunId: string, heard: string | null, isOpen: boolean])[] = [
    ['c1', null, false],
    ['c1', 'r1/c1', false],
    ['c1', 'r1/c2', true],
    ['c1', 'r1/c2', false],
    ['c2', 'r1/c2', true],
  ];
  const kinds: string[] = [];
  for (const [originalRunId, heard, isOpen] of cases)
    kinds.push(await answerOf({ originalRunId, heard, isOpen }));
  assert.deepEqual(kinds, ['reopened', 'reopened', 'reopened', 'over', 'over']);
  // It was reset, and went on in a new history before its run could hear what is open.
  const goneOn = { originalRunId: 'c2', heard: null, isContinued: true } as const;
  assert.equal(await answerOf({ ...goneOn, isOpen: true, wasReset: true }), 'reopened');
  assert.equal(await answerOf({ ...goneOn, isOpen: false, wasReset: true }), 'over');
  // No run has ended while something was open: something else was handed on to this history.
  assert.equal(await answerOf({ ...goneOn, isOpen: true }), 'reopened');
  assert.equal(await answerOf({ ...goneOn, isOpen: false }), 'over');
  assert.equal(await answerOf({ ...goneOn, heard: '/c2', isOpen: true }), 'over');
});

test('a chunk that was started again starts its ended run again, and one that is the first does not', async () => {
  const answerOf = async (isFirst: boolean, isContinued = false): Promise<string> => {
    const deps = depsOfEnded({
      readInput: async () => ({ ...FIRST_CHUNK, isFirst }),
      reopenRun: async () => true,
    });
    const call = {
      mode: 'SANDBOX',
      run: RUN,
      number: 1,
      originalRunId: 'c2',
      heard: null,
      isOpen: false,
    } as const;
    const ask = () => readGo(deps, chunkMemory(deps.clock))({ ...call, isContinued });
    return (await inActivity({ runId: 'c2' }, ask)).kind;
  };
  assert.equal(await answerOf(false), 'reopened');
  assert.equal(await answerOf(true), 'over');
  // Its first history has asked.
  assert.equal(await answerOf(false, true), 'over');
});

test('a chunk that was reset while its run is about to end asks for a minute in one attempt, and starts it again once it has ended', async () => {
  let endsAfter = 9;
  let looks = 0;
  const deps = depsOfEnded({
    reopenRun: async () => {
      looks += 1;
      return looks > endsAfter;
    },
  });
  const slept: number[] = [];
  const ask = () =>
    inActivity({ runId: 'c2', slept }, () =>
      readGo(
        deps,
        chunkMemory(deps.clock),
      )({
        mode: 'SANDBOX',
        run: RUN,
        number: 1,
        originalRunId: 'c1',
        isContinued: false,
        heard: null,
        isOpen: false,
      }),
    );
  const sleptMs = () => slept.splice(0).reduce((sum, ms) => sum + ms, 0);
  assert.equal((await ask()).kind, 'reopened');
  assert.equal(sleptMs(), 9_000);
  endsAfter = 1_000;
  await assert.rejects(ask(), { type: 'NOT_YET', nextRetryDelay: 1_000 });
  assert.equal(sleptMs(), 59_000);
});

test('the chunks of a large batch that ask their run at once ask it a few at a time, and all are answered', async () => {
  let atOnce = 0;
  let most = 0;
  const deps = depsOfEnded({
    readInput: async (_workflowId, runId) => ({ ...FIRST_CHUNK, number: Number(runId) }),
    readGo: async () => {
      atOnce += 1;
      most = Math.max(most, atOnce);
      await immediate();
      atOnce -= 1;
      return 'over';
    },
  });
  const activity = readGo(deps, chunkMemory(deps.clock));
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, index) => {
      const runId = String(index + 1);
      const call = { mode: 'SANDBOX', run: RUN, number: index + 1, originalRunId: runId } as const;
      const rest = { isContinued: false, heard: null, isOpen: false };
      return inActivity({ runId }, () => activity({ ...call, ...rest }));
    }),
  );
  assert.deepEqual(new Set(answers.map(({ kind }) => kind)), new Set(['over']));
  assert.equal(most, 4);
});
