/** A chunk that somebody starts like an earlier one brings the input of that one, and is not the first for that. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { defaultDataConverter } from '@temporalio/common';
import { keptPlan } from '../../domain/plan/plan.ts';
import { chunksOf, runThatTells } from '../../durable/batches/chunks.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { RUN, context } from '../support/scripts.ts';

const ID = 'sandbox/p.2026-11-21';
const CHUNK = `${ID}/chunk-0001`;
const INPUT = {
  run: RUN,
  mode: 'SANDBOX',
  number: 1,
  payments: [['inv-1', 'wac_1', 'MXN', '5']],
  isFirst: true,
};
const PLAN = keptPlan({
  ...context().plan,
  positions: [],
  batch: null,
  policy: { name: 'p', hash: 'hash' },
  legs: [],
  payments: [],
});

/** Of each Temporal run, newest first: the one with which its histories began. */
type Histories = Readonly<Record<string, string>>;

type More = { readonly isPlanGone?: boolean; readonly hasRead?: boolean };

/**
 * A Temporal in which a batch has ended, and its chunk has these Temporal runs. `isPlanGone`: it has no plan of the batch.
 * `hasRead`: the chunk has read it.
 */
function temporalOf(histories: Histories, { isPlanGone = false, hasRead = false }: More = {}): Client {
  const runIds = Object.keys(histories);
  const [newest = 'c1'] = runIds;
  const shownOf = (workflowId: string) => ({
    workflowId,
    runId: workflowId === CHUNK ? newest : workflowId,
    type: { [ID]: 'run', [`${ID}/plan`]: 'plan' }[workflowId] ?? 'chunk',
    status: { name: 'COMPLETED' },
  });
  const infos = runIds.map((runId, index) => ({
    workflowId: CHUNK,
    runId,
    startTime: new Date(9_000 - index),
  }));
  const { payloadConverter } = defaultDataConverter;
  return {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    withAbortSignal: (_signal: AbortSignal, ask: () => Promise<unknown>) => ask(),
    options: { namespace: 'default', loadedDataConverter: { payloadCodecs: [], payloadConverter } },
    workflow: {
      async *list({ query }: { readonly query: string }) {
        if (query === `WorkflowId = '${CHUNK}'`) yield* infos;
      },
      getHandle: (workflowId: string) => ({
        describe: async () => {
          if (isPlanGone && workflowId === `${ID}/plan`)
            throw new WorkflowNotFoundError('deleted', workflowId, undefined);
          return shownOf(workflowId);
        },
        result: async () => PLAN,
        query: async () => ({ runId: newest, heard: null, isFirst: true, hasPlan: hasRead, items: [] }),
      }),
    },
    workflowService: {
      getWorkflowExecutionHistory: async ({
        execution,
      }: {
        readonly execution: { readonly runId: string };
      }) => {
        const started = {
          workflowType: { name: 'chunk' },
          input: { payloads: [payloadConverter.toPayload(INPUT)] },
          firstExecutionRunId: histories[execution.runId],
        };
        return { history: { events: [{ workflowExecutionStartedEventAttributes: started }] } };
      },
    },
  } as unknown as Client;
}

const CASES: readonly (readonly [what: string, histories: Histories, isFirst: boolean])[] = [
  ['the only one', { c1: 'c1' }, true],
  ['one that goes on in a new history', { c2: 'c1', c1: 'c1' }, true],
  ['one that the list does not show yet', {}, true],
  ['one that was started like the first', { c2: 'c2', c1: 'c1' }, false],
  ['one that goes on after it was started like the first', { c3: 'c2', c2: 'c2', c1: 'c1' }, false],
];
for (const [what, histories, isFirst] of CASES)
  test(`${what} is ${isFirst ? 'the first' : 'not the first'}`, async () => {
    const [newest = 'c1'] = Object.keys(histories);
    const input = await chunksOf(temporalOf(histories), 'queue').readInput(CHUNK, newest);
    assert.deepEqual(input, { ...INPUT, isFirst });
  });

test('a batch that has ended holds what a chunk had that was started again, and has not taken it up', async () => {
  const suspect = { run: RUN, number: 1, names: ['inv-1'] };
  for (const [what, histories, isFirst] of CASES) {
    const { held, silent } = await claimsOf(temporalOf(histories)).holders('SANDBOX', [suspect]);
    assert.deepEqual([held.has('inv-1'), silent], [!isFirst, null], what);
  }
});

test('where Temporal has deleted the plan of a batch, a chunk that has read it still holds its payments', async () => {
  const suspect = { run: RUN, number: 1, names: ['inv-1'] };
  const again = { c2: 'c2', c1: 'c1' };
  for (const hasRead of [true, false]) {
    const { holders } = claimsOf(temporalOf(again, { isPlanGone: true, hasRead }));
    const { held, silent } = await holders('SANDBOX', [suspect]);
    assert.deepEqual([held.has('inv-1'), silent], [hasRead, null]);
  }
});

/** A chunk with these Temporal runs, the first one first: how each stands, and the go that it has heard. */
function chunkWith(runs: readonly (readonly [status: string, heard: string | null])[]): Client {
  const infos = runs.map(([name, heard], index) => ({
    workflowId: CHUNK,
    runId: `c${index + 1}`,
    type: 'chunk',
    status: { name },
    startTime: new Date(index),
    heard,
  }));
  return {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: {
      async *list() {
        yield* infos.toReversed();
      },
      getHandle: (_workflowId: string, runId?: string) => ({
        describe: async () => infos.at(-1),
        query: async () => infos.find((info) => info.runId === runId),
      }),
    },
  } as unknown as Client;
}

for (const [what, runs, tells] of [
  [
    'is open',
    [
      ['COMPLETED', 'r1/c1'],
      ['RUNNING', null],
    ],
    undefined,
  ],
  [
    'has ended by itself',
    [
      ['COMPLETED', 'r1/c1'],
      ['COMPLETED', null],
    ],
    undefined,
  ],
  [
    'was terminated after it had a go',
    [
      ['COMPLETED', 'r1/c1'],
      ['TERMINATED', 'r2/c2'],
    ],
    'c2',
  ],
  [
    'was terminated before it had a go',
    [
      ['COMPLETED', 'r1/c1'],
      ['TERMINATED', null],
    ],
    'c1',
  ],
  [
    'was terminated as a new history',
    [
      ['CONTINUED_AS_NEW', 'r1/c1'],
      ['TERMINATED', null],
    ],
    'c1',
  ],
  ['was terminated, and none had a go', [['TERMINATED', null]], undefined],
] as const)
  test(`the newest Temporal run of a chunk ${what}: ${tells ?? 'the newest'} tells of its payments`, async () => {
    assert.equal(await runThatTells(chunkWith(runs), CHUNK), tells);
  });
