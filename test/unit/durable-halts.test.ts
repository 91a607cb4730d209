/** Reading the record of halts from Temporal: what counts as "nothing is halted", and what is no answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError, WorkflowNotFoundError, type Client } from '@temporalio/client';
import { defaultDataConverter } from '@temporalio/common';
import { beginsWith, haltsAfter } from '../../domain/halt.ts';
import { haltsOf, readHalts } from '../../durable/halts/read.ts';
import { puttingBack, say } from '../../durable/halts/say.ts';
import { halt, resume } from '../../operations/halt/switch.ts';

const payloads = (value: unknown) => ({ payloads: [defaultDataConverter.payloadConverter.toPayload(value)] });
const SAID = { scope: { policy: null, currency: null }, by: 'ana', why: 'wrong accounts' };
const AT_MS = 1_795_413_539_636;
const eventTime = { seconds: 1_795_413_539, nanos: 636_000_000 };
const HALT = { ...SAID, atMs: AT_MS };
const startedWith = (carried: unknown) => ({
  eventTime,
  workflowExecutionStartedEventAttributes: { input: payloads(carried) },
});
const started = startedWith([]);
const signaled = (signalName: string) => ({
  eventTime,
  workflowExecutionSignaledEventAttributes: {
    signalName,
    input: payloads(signalName === 'resume' ? { ...SAID, haltAtMs: AT_MS } : SAID),
  },
});
const terminated = {
  eventTime,
  workflowExecutionTerminatedEventAttributes: { identity: 'ben@laptop', reason: 'tidying up' },
};

type Workflow = { readonly runId: string; readonly events: readonly unknown[] };
const isEnded = ({ events }: Workflow): boolean => events.at(-1) === terminated;
const none = (): never => {
  throw new WorkflowNotFoundError('none', 'sandbox/halt', undefined);
};

/**
 * Temporal, as far as the record of halts asks it: the workflows that have had its id, the newest last. `isCurrent`: whether
 * it knows the newest by the id alone. `reads` counts the histories that were read.
 */
class Told {
  workflows: readonly Workflow[] = [];
  error: Error | null = null;
  isListed = true;
  areListsAway = false;
  readonly asked = { describes: 0, lists: 0, reads: 0 };
  readonly said: unknown[] = [];
  /** Why the newest workflow takes no signal; null: it takes it. */
  refuses: Error | null = null;

  get client(): Client {
    const getHandle = (_id: string, runId?: string) => ({
      signal: async (signal: string, one: unknown) => {
        if (this.refuses !== null) throw this.refuses;
        if (isEnded(this.workflows.at(-1) ?? none())) none();
        this.said.push({ signal, signalArgs: [one] });
      },
      terminate: async (reason: string) => void this.said.push({ terminated: reason }),
      describe: async () => {
        this.asked.describes += 1;
        if (this.error !== null) throw this.error;
        const newest = this.workflows.at(-1) ?? none();
        return {
          runId: newest.runId,
          historyLength: newest.events.length,
          status: { name: isEnded(newest) ? 'TERMINATED' : 'RUNNING' },
        };
      },
      fetchHistory: async () => {
        this.asked.reads += 1;
        return { events: (this.workflows.find((each) => each.runId === runId) ?? none()).events };
      },
    });
    const list = () => {
      this.asked.lists += 1;
      if (this.areListsAway) throw new Error('14 UNAVAILABLE');
      const listed = this.isListed ? this.workflows : [];
      return (async function* () {
        yield* listed.map(({ runId }, index) => ({ runId, startTime: new Date(index) }));
      })();
    };
    const keep = async (_type: string, options: object) => void this.said.push(options);
    return {
      workflow: { getHandle, list, start: keep, signalWithStart: keep },
      withDeadline: <T>(_deadline: number, work: () => T) => work(),
      options: {
        loadedDataConverter: { payloadCodecs: [], payloadConverter: defaultDataConverter.payloadConverter },
      },
    } as unknown as Client;
  }

  get of() {
    return { client: this.client, mode: 'SANDBOX' } as const;
  }
}

function temporal(...workflows: readonly Workflow[]) {
  const told = new Told();
  told.workflows = workflows;
  const record = haltsOf(told.of);
  return { told, record, read: async () => haltsAfter((await record()).words) };
}

test('nothing is halted where Temporal says that there is no record', async () => {
  const { read, told } = temporal();
  assert.deepEqual(await read(), []);
  assert.deepEqual(await read(), []);
  assert.deepEqual(told.asked, { describes: 2, lists: 1, reads: 0 });
});

test('whatever else goes wrong is no answer', async () => {
  const { read, told } = temporal({ runId: 'a', events: [started, signaled('halt')] });
  told.error = new Error('14 UNAVAILABLE');
  await assert.rejects(read(), /UNAVAILABLE/);
  told.error = null;
  assert.equal((await read()).length, 1);
  told.error = new Error('4 DEADLINE_EXCEEDED');
  await assert.rejects(read(), /DEADLINE/);
});

test('what was said counts from when Temporal took it, and an unchanged record is not read again', async () => {
  const { read, record, told } = temporal({ runId: 'a', events: [started, signaled('halt')] });
  assert.deepEqual(await read(), [HALT]);
  assert.equal(await record(), await record());
  assert.deepEqual(told.asked, { describes: 3, lists: 1, reads: 1 });
  told.workflows = [{ runId: 'a', events: [started, signaled('halt'), signaled('resume')] }];
  assert.deepEqual(await read(), []);
  assert.deepEqual(told.asked, { describes: 4, lists: 1, reads: 2 });
});

test('a record that somebody has ended still halts what stood in it, and tells who ended it', async () => {
  const { read, record } = temporal({ runId: 'a', events: [started, signaled('halt'), terminated] });
  assert.deepEqual(await read(), [HALT]);
  const { isOpen, ended } = await record();
  assert.deepEqual([isOpen, ended], [false, { by: 'ben@laptop', why: 'tidying up', atMs: AT_MS }]);
});

test('a record that somebody has started again empty still halts what stood before, also for whoever reads it first', async () => {
  const ended = { runId: 'a', events: [started, signaled('halt'), terminated] };
  const anew = { runId: 'b', events: [started] };
  const { read, record, told } = temporal(ended, anew);
  assert.deepEqual(await read(), [HALT]);
  assert.equal((await record()).ended?.by, 'ben@laptop');
  assert.deepEqual((await record()).runIds, ['a', 'b']);
  // What has ended does not change, and is not read again.
  told.workflows = [ended, { ...anew, events: [started, signaled('resume')] }];
  assert.deepEqual(await read(), []);
  assert.equal(told.asked.reads, 3);
});

test('a workflow that the list does not show yet belongs to the record all the same', async () => {
  const { record, told } = temporal({ runId: 'a', events: [started, signaled('halt')] });
  told.isListed = false;
  assert.deepEqual((await record()).runIds, ['a']);
  told.workflows = [
    { runId: 'a', events: [started, signaled('halt'), terminated] },
    { runId: 'b', events: [started] },
  ];
  assert.deepEqual((await record()).runIds, ['a', 'b']);
});

test('where Temporal cannot list, a worker that begins reads nothing, one that knows the record goes on, and people can halt', async () => {
  const workflow = { runId: 'a', events: [started, signaled('halt')] };
  const { told, read, record } = temporal(workflow);
  told.areListsAway = true;
  await assert.rejects(read(), /UNAVAILABLE/);
  const asTold = await readHalts(told.of).catch(() => null);
  assert.deepEqual(asTold?.runIds, ['a']);
  told.areListsAway = false;
  await record();
  told.areListsAway = true;
  told.workflows = [{ ...workflow, events: [...workflow.events, signaled('resume')] }];
  assert.deepEqual(await read(), []);
});

test('a workflow that was deleted is no part of the record', async () => {
  const { record, told } = temporal({ runId: 'a', events: [started, signaled('halt')] });
  await record();
  told.workflows = [];
  assert.deepEqual((await record()).runIds, []);
  told.workflows = [{ runId: 'b', events: [started] }];
  const { runIds, words } = await record();
  assert.deepEqual([runIds, words], [['b'], []]);
});

test('a halt that stood when the record was begun stands in it, and one that cannot be read is of everything', async () => {
  assert.deepEqual(
    haltsAfter((await temporal({ runId: 'a', events: [startedWith([HALT])] }).record()).words),
    [HALT],
  );
  const [odd] = haltsAfter(
    (await readHalts(temporal({ runId: 'a', events: [startedWith('odd')] }).told.of)).words,
  );
  // It can be taken back.
  assert.deepEqual([odd?.scope, odd?.atMs], [SAID.scope, AT_MS]);
});

type Said = { args?: unknown; signal?: string; signalArgs?: unknown };
const never = () => Promise.reject(new Error('nothing is read for it'));
/** The code of gRPC by which Temporal says that a workflow has had its 10,000 signals. */
const full = new ServiceError('Failed to signal Workflow', {
  cause: Object.assign(new Error('exceeded workflow execution limit for signal events'), { code: 3 }),
});

test('what is said into an open record is one signal, and nothing is read for it', async () => {
  const { told } = temporal({ runId: 'a', events: [started] });
  await say(told.of, 'halt', SAID, never);
  assert.deepEqual(told.said, [{ signal: 'halt', signalArgs: [SAID] }]);
  assert.deepEqual(told.asked, { describes: 0, lists: 0, reads: 0 });
});

test('where no record is open, and where Temporal takes no more signals for it, a halt begins a new one with what stands', async () => {
  const open = { runId: 'a', events: [started] };
  const carried = async () => [HALT];
  for (const [workflows, refuses] of [
    [[], null],
    [[{ ...open, events: [started, terminated] }], null],
    [[open], full],
  ] as const) {
    const { told } = temporal(...workflows);
    told.refuses = refuses;
    await assert.doesNotReject(say(told.of, 'halt', SAID, carried));
    const [ended, begun] = (refuses === null ? [null, ...told.said] : told.said) as [unknown, Said];
    assert.equal(/takes no more signals/.test(JSON.stringify(ended)), refuses !== null);
    assert.deepEqual([begun.signal, begun.signalArgs, begun.args], ['halt', [SAID], [[HALT]]]);
  }
});

test('a full record is not ended by a resume that cannot read what to carry over', async () => {
  const { told } = temporal({ runId: 'a', events: [started, signaled('halt')] });
  told.refuses = full;
  told.error = new Error('4 DEADLINE_EXCEEDED');
  await assert.rejects(resume(told.of, [HALT], { by: 'ana', why: 'seen' }), /DEADLINE/);
  assert.deepEqual(told.said, []);
});

test('where Temporal does not answer, a halt counts as not said', async () => {
  const { told } = temporal({ runId: 'a', events: [started] });
  told.refuses = new ServiceError('away', { cause: Object.assign(new Error('away'), { code: 14 }) });
  await assert.rejects(say(told.of, 'halt', SAID, never), /away/);
  assert.deepEqual(told.said, []);
});

test('a halt is said before anything is read, and where nothing can be read a new record begins with a halt of everything', async () => {
  const { told } = temporal({ runId: 'a', events: [started] });
  told.error = new Error('4 DEADLINE_EXCEEDED');
  await assert.rejects(halt(told.of, SAID), /DEADLINE/);
  assert.deepEqual(told.said, [{ signal: 'halt', signalArgs: [SAID] }]);
  told.said.length = 0;
  told.workflows = [];
  const ofPolicy = { ...SAID, scope: { policy: 'p', currency: null } };
  await assert.rejects(halt(told.of, ofPolicy), /DEADLINE/);
  assert.equal(told.said.length, 1);
  const [{ args } = {}] = told.said as Said[];
  const [stands] = haltsAfter(beginsWith((args as unknown[])[0], AT_MS));
  assert.deepEqual(stands?.scope, SAID.scope);
  assert.match(stands?.why ?? '', /could not be read/);
});

test('a worker puts back what was lost, and begins a record anew that was ended, once at a time', async () => {
  const told = new Told();
  const putBack = puttingBack(told.of);
  const record = { words: [], runIds: ['a'], sinceMs: AT_MS, isOpen: true, ended: null };
  const held = { record, halts: [HALT], lost: [HALT], over: [] };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  putBack(held);
  putBack(held);
  await settled();
  putBack({ record: { ...record, isOpen: false }, halts: [HALT], lost: [], over: [] });
  await settled();
  const [put, begun, ...more] = told.said as Said[];
  assert.deepEqual([put?.signal, put?.signalArgs, put?.args], ['stands', [HALT], [[HALT]]]);
  assert.deepEqual([begun?.signal, begun?.args, more], [undefined, [[HALT]], []]);
});
