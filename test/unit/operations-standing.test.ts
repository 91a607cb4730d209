/** How a batch stands is asked once, and of one that is completed not at all: its result has it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from '@temporalio/client';
import type { ChunkCounts, ChunkRecord, Unpaid } from '../../domain/run/chunk-state.ts';
import { progressPage, runPage, type RunPage } from '../../domain/run/progress.ts';
import { newRunState, type RunState } from '../../domain/run/state.ts';
import type { Place } from '../../operations/place.ts';
import type { RunFacts } from '../../operations/follow/runs.ts';
import { standingOf } from '../../operations/follow/standing.ts';
import { reportQuery } from '../../workflows/names.ts';

const RUN = { policy: 'p', id: '2026-11-21' };
const COUNTS = { planned: 3, accepted: 3, paid: 3, notPaid: 0, needsHuman: 0, open: 0, sent: 3, waiting: 0 };

/** A batch of one chunk that has ended. */
function batchWith(counts: ChunkCounts, unpaid: readonly Unpaid[] = []): RunState {
  const state = newRunState(RUN, 'sandbox/p.2026-11-21', { name: 'p', hash: 'hash' });
  const standing = { number: 1, heard: 'run-1/1', isSending: false, counts, totals: [], waits: [], unpaid };
  const chunk: ChunkRecord = {
    number: 1,
    planned: { payments: 3, hash: 'hash', unpayable: null },
    mayGo: true,
    toldOf: 0,
    state: { ...standing, refusals: { refused: 0, sent: 3, inARow: null } },
    isClosed: true,
    waiting: null,
  };
  state.chunks = [chunk];
  state.knownAs = 'run-1';
  state.ended = true;
  return state;
}

function factsOf(temporalStatus: 'COMPLETED' | 'FAILED'): RunFacts {
  return {
    run: RUN,
    workflowId: 'sandbox/p.2026-11-21',
    temporalRunId: 'run-1',
    taskQueue: 'queue',
    temporalStatus,
    isOpen: false,
    startedAtMs: 0,
    closedAtMs: 1,
    state: temporalStatus,
    isUntaken: false,
    hasOddMemo: false,
    missingKey: null,
  };
}

/** A Temporal with one run; `asked` has the names of the questions to it. */
function placeWith({ result, page, state }: { result?: RunPage; page?: RunPage; state: RunState }) {
  const asked: string[] = [];
  const handle = {
    result: () => Promise.resolve(result),
    query: ({ name }: { readonly name: string }) => {
      asked.push(name);
      return Promise.resolve(name === reportQuery.name ? page : progressPage(state, 0, false));
    },
  };
  const client = {
    withDeadline: (_deadline: number, ask: () => Promise<unknown>) => ask(),
    workflow: { getHandle: () => handle },
  } as unknown as Client;
  const place: Place = {
    client,
    connection: null as never,
    namespace: 'default',
    address: '127.0.0.1:7233',
    mode: 'SANDBOX',
    taskQueue: 'queue',
    uiUrl: null,
    say: () => {},
  };
  return { place, asked };
}

test('how a completed batch stands is in its result, so that no worker is asked', async () => {
  const state = batchWith(COUNTS);
  const { place, asked } = placeWith({ result: runPage(state, 0, false), state });
  const standing = await standingOf(place, factsOf('COMPLETED'), Date.now);
  assert.equal(standing.kind, 'told');
  assert.deepEqual(standing.progress, progressPage(state, 0, false).progress);
  assert.deepEqual(standing.progress.batch?.counts, COUNTS);
  assert.deepEqual(asked, []);
});

test('a batch that failed is asked one question', async () => {
  const state = batchWith({ ...COUNTS, accepted: 2, paid: 2, notPaid: 1 }, [
    { code: 'ACCOUNT_NOT_FOUND', payments: 1 },
  ]);
  const { place, asked } = placeWith({ page: runPage(state, 0, false), state });
  const standing = await standingOf(place, factsOf('FAILED'), Date.now);
  assert.equal(standing.kind, 'told');
  assert.equal(standing.progress.batch?.counts.notPaid, 1);
  assert.deepEqual(
    standing.report.problems.map(({ code }) => code),
    ['ACCOUNT_NOT_FOUND'],
  );
  assert.deepEqual(asked, [reportQuery.name]);
});
