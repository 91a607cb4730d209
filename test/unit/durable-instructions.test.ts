/** What people said, as it is read from histories: what cannot be read may be a cancel, so that it stops what sends (M1). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError, type Client } from '@temporalio/client';
import { defaultDataConverter } from '@temporalio/common';
import type { Recorded } from '../../domain/people/instructions.ts';
import { sealedUnread } from '../../domain/unreadable.ts';
import {
  InstructionsUnreadable,
  readEarlierInstructions,
  readInstructions,
  readInstructionsToActBy,
} from '../../durable/instructions/read.ts';
import { keepInstruction } from '../../operations/decide/keep-instruction.ts';
import type { Place } from '../../operations/place.ts';
import { kept, recorded, said } from '../support/instructions.ts';
import { RUN } from '../support/scripts.ts';

const payloads = (...values: readonly unknown[]) => ({
  payloads: values.map((value) => defaultDataConverter.payloadConverter.toPayload(value)),
});
const STARTED = {
  eventId: 1,
  workflowExecutionStartedEventAttributes: { workflowType: { name: 'instructions' }, input: payloads({}) },
};
const accepted = (answer: unknown) => ({
  workflowExecutionUpdateCompletedEventAttributes: { outcome: { success: payloads(answer) } },
});
const tookOver = (page: unknown) => [
  { eventId: 5, activityTaskScheduledEventAttributes: { activityType: { name: 'takeOverInstructions' } } },
  { activityTaskCompletedEventAttributes: { scheduledEventId: 5, result: payloads(page) } },
];

/** A Temporal with these histories of the workflow that keeps the instructions, the newest last, and this answer to an update. */
function temporal(histories: readonly (readonly unknown[])[], answer: unknown = null): Client {
  const ids = histories.map((_events, index) => `run-${index + 1}`);
  const getHandle = (_id: string, runId = ids.at(-1)) => ({
    describe: async () => {
      if (runId === undefined) throw new WorkflowNotFoundError('none', 'instructions', undefined);
      return { runId, status: { name: 'RUNNING' }, type: 'instructions', raw: { workflowExtendedInfo: {} } };
    },
    fetchHistory: async () => ({ events: histories[ids.indexOf(runId ?? '')] }),
  });
  const list = () =>
    (async function* () {
      yield* ids.map((runId, index) => ({ runId, startTime: new Date(index) }));
    })();
  return {
    workflow: { getHandle, list, executeUpdateWithStart: async () => answer },
    workflowService: { describeTaskQueue: async () => ({ pollers: [] }) },
    withDeadline: (_deadline: number, work: () => unknown) => work(),
    options: {
      namespace: 'default',
      loadedDataConverter: { payloadCodecs: [], payloadConverter: defaultDataConverter.payloadConverter },
    },
  } as unknown as Client;
}
const of = (client: Client) => ({ client, mode: 'SANDBOX', run: RUN }) as const;

const [SAID] = kept({ kind: 'not executed', item: 'supplier' }).instructions;
assert.ok(SAID);
const CANCEL = { ...recorded({ kind: 'cancel' }), number: 100_001 };

for (const [what, answer] of [
  ['whose number is too high', CANCEL],
  ['of a kind that only a newer version knows', { ...SAID, kind: 'undo' }],
  ['of nobody', 'anything'],
] as const)
  test(`an answer ${what} is no answer that says nothing: whoever acts by the instructions hears that`, async () => {
    const client = temporal([[STARTED, accepted(SAID), accepted(answer), accepted([])]]);
    const isUnreadable = (error: unknown) =>
      error instanceof InstructionsUnreadable && error.kept.instructions[0]?.id === SAID.id;
    await assert.rejects(readInstructionsToActBy(of(client)), isUnreadable);
    await assert.rejects(readEarlierInstructions(of(client), 'run-1'), isUnreadable);
  });

test('a word whose key is not here yet is asked for again', async () => {
  const client = temporal([[STARTED, accepted(sealedUnread('k2'))]]);
  await assert.rejects(readInstructions(of(client)), /"k2"/);
});

test('a part of earlier words that the workflow did not take either takes the place of none of them', async () => {
  const page = { kept: { instructions: [], facts: [] }, next: null, all: 0, runId: 'run-2' };
  const readBy = async (answer: unknown) => {
    const client = temporal([
      [STARTED, accepted(SAID)],
      [STARTED, ...tookOver(answer)],
    ]);
    return (await readInstructions(of(client)))?.instructions.map(({ id }) => id);
  };
  assert.deepEqual(await readBy({ ...page, kept: { instructions: [CANCEL], facts: [] } }), [SAID.id]);
  assert.deepEqual(await readBy({ ...page, kept: { instructions: [SAID], facts: [] } }), [SAID.id]);
});

test('a command whose word is answered by what no worker of ours answers does not say that it is kept', async () => {
  const cancel = said({ kind: 'cancel' });
  const keep = (answer: unknown) => {
    const client = temporal([[STARTED]], answer);
    const place = { client, mode: 'SANDBOX', taskQueue: 'queue', namespace: 'default' } as unknown as Place;
    return keepInstruction(place, RUN, cancel, { seen: null });
  };
  const answered: Recorded = { ...cancel, atMs: 5, date: '1970-01-01', number: 7 };
  assert.equal(await keep(answered), 7);
  for (const odd of [{ unreadable: true }, { ...answered, number: 100_001 }, { ...answered, id: 'another' }])
    await assert.rejects(keep(odd), /no answer of a worker of this version/);
});
