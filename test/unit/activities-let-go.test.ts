/** Payments of a batch that its plan has ended: which were never let go, and what is noted before a chunk hears that one may leave (M1, M3). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { InstructionsMissing, type Deps } from '../../activities/deps.ts';
import { chunkMemory } from '../../activities/of-chunk.ts';
import { readGo } from '../../activities/read-go.ts';
import type { BatchPayment } from '../../domain/batch.ts';
import type { Fact } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { GoAnswer } from '../../domain/run/calls.ts';
import { InstructionsPaused } from '../../durable/instructions/read.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { GO, NO_OTHER_RUNS, chunksWith, inActivity, page, worker } from '../support/activities.ts';
import { RUN, context } from '../support/scripts.ts';

const PAYMENTS: readonly BatchPayment[] = [
  ['a', 'wac_1', 'MXN', '100'],
  ['b', 'wac_2', 'MXN', '100'],
  ['c', 'wac_3', 'MXN', '100'],
];

type Situation = {
  /** What the plan has against each payment. */
  readonly planned?: string;
  /** Accounts that are not good now. */
  readonly bad?: readonly string[];
  readonly isTakenUp?: boolean;
  readonly foundRecords?: boolean;
  readonly facts?: readonly Fact[];
  readonly instructions?: Partial<Deps['instructions']>;
};

let asked = 0;

/** What a chunk hears, and what is noted before. */
async function goOf({
  planned = '.uu',
  bad = [],
  isTakenUp = true,
  foundRecords = false,
  facts = [],
  instructions = {},
}: Situation): Promise<{ readonly answer: GoAnswer; readonly noted: readonly Fact[] }> {
  asked += 1;
  const noted: Fact[] = [];
  const chunk = { payments: 3, hash: hashOfChunk(PAYMENTS), unpayable: planned };
  const rules = { parallel: 1, stopAfter: null, canary: null, dedupeMs: 86_400_000 };
  const batch = { payments: 3, totals: [], payable: [], heldBy: [], chunks: [chunk], rules };
  const head = { ...context().plan, madeFor: 'r1', foundRecords };
  const policy = { name: RUN.policy, hash: '' };
  const plan: Plan = { ...head, policy, legs: [], payments: [], positions: [], batch };
  const never = () => Promise.reject(new Error('Nothing asks for this here.'));
  const accounts = PAYMENTS.map(([, id]) => ({
    id,
    status: bad.includes(id) ? 'UNVERIFIED' : 'VERIFIED',
    currency: 'MXN',
  }));
  const input = { run: RUN, mode: 'SANDBOX', number: 1, payments: PAYMENTS, isFirst: true } as const;
  const { deps } = worker(
    { listWithdrawals: async () => page(), listWithdrawalAccounts: async () => page(...accounts) },
    {
      chunks: chunksWith({
        readInput: async () => input,
        readGo: async () => ({ ...GO, runId: isTakenUp ? `r2-${asked}` : 'r1', isFresh: !isTakenUp }),
      }),
      plans: { find: never, start: never, read: async () => ({ kind: 'plan', plan }), readEarlier: never },
      claims: NO_OTHER_RUNS,
      instructions: {
        read: async () => ({ instructions: [], facts }),
        note: async (_mode, _run, added, ofChunk) => {
          assert.equal(ofChunk, undefined, 'it is noted with the run, whose instructions cannot be missed');
          noted.push(...added);
        },
        record: never,
        end: never,
        readEarlier: never,
        open: never,
        ...instructions,
      },
    },
  );
  const runId = `chunk-${asked}`;
  const call = { mode: 'SANDBOX', run: RUN, number: 1, originalRunId: runId, isContinued: false } as const;
  const ask = () => readGo(deps, chunkMemory(deps.clock))({ ...call, heard: null, isOpen: false });
  return { answer: await inActivity({ runId }, ask), noted };
}

const letGo = (...places: number[]) => ({ kind: 'let go', chunk: 1, places }) as const;

const ROWS: readonly (readonly [
  what: string,
  situation: Situation,
  unpayable: string,
  neverSent: readonly number[] | undefined,
  noted: readonly Fact[],
])[] = [
  ['in the run that the plan was made for', { isTakenUp: false }, '.uu', [1, 2], []],
  ['taken up, and as bad as before', { bad: ['wac_2', 'wac_3'] }, '.uu', [1, 2], []],
  ['taken up, and one of them is mended', { bad: ['wac_3'] }, '..u', [2], [letGo(1)]],
  ['taken up, and both are mended', {}, '...', [], [letGo(1, 2)]],
  ['one was let go before', { bad: ['wac_3'], facts: [letGo(1)] }, '..u', [2], []],
  ['one was let go, and is bad again', { bad: ['wac_2', 'wac_3'], facts: [letGo(1)] }, '.uu', [2], []],
  [
    'one of another chunk was let go',
    { bad: ['wac_2', 'wac_3'], facts: [{ ...letGo(1), chunk: 2 }] },
    '.uu',
    [1, 2],
    [],
  ],
  ['the plan was made anew of what was found', { bad: ['wac_3'], foundRecords: true }, '..u', undefined, []],
];

for (const [what, situation, unpayable, neverSent, noted] of ROWS)
  test(`payments that the plan has ended: ${what}`, async () => {
    const told = await goOf(situation);
    assert.ok(told.answer.kind === 'go');
    assert.equal(told.answer.unpayable, unpayable);
    assert.deepEqual(told.answer.neverSent, neverSent);
    assert.deepEqual(told.noted, noted);
  });

test('a payment is not let go while that cannot be noted, and nothing is proven while the instructions cannot be read', async () => {
  const fails = (why: Error) => async (): Promise<never> => {
    throw why;
  };
  for (const [instructions, code] of [
    [{ note: fails(new Error('away')) }, 'INSTRUCTIONS_AWAY'],
    [{ read: fails(new InstructionsMissing('gone')) }, 'INSTRUCTIONS_MISSING'],
    [
      { read: fails(new InstructionsPaused('r/instructions', { instructions: [], facts: [] })) },
      'INSTRUCTIONS_PAUSED',
    ],
  ] as const) {
    const { answer } = await goOf({ bad: ['wac_3'], instructions });
    assert.equal(answer.kind === 'wait' && answer.wait.problem.code, code);
  }
  const { answer } = await goOf({
    bad: ['wac_2', 'wac_3'],
    instructions: { read: fails(new InstructionsMissing('gone')) },
  });
  assert.ok(answer.kind === 'go' && answer.neverSent === undefined);
});
