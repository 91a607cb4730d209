/** What is sent to Temporal about its schedules: a change counts only for what was read, and leaves a pause as it is. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Client, type Connection } from '@temporalio/client';
import { daysOffOf } from '../../calendar/holidays.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { CommandFailure } from '../../operations/failure.ts';
import type { Place } from '../../operations/place.ts';
import { verdict } from '../../operations/schedules/trials.ts';
import type { ScheduledPolicy } from '../../operations/schedules/files.ts';
import { applyChange, judgeApply } from '../../operations/schedules/kept.ts';
import { convertPolicy } from '../support/policies.ts';

const NOW = Date.parse('2026-11-22T12:00:00Z');
const TOKEN = new Uint8Array([1, 2, 3]);

async function policyOf(name: string, at: string): Promise<ScheduledPolicy> {
  const text = convertPolicy().replace(
    'name: replaced\n',
    `name: ${name}\nzone: Europe/Paris\nschedule: { at: "${at}", days: weekdays, skip: [2026-12-24] }\n`,
  );
  const loaded = loadPolicy(text, 'p.yaml');
  assert.ok(loaded.ok && loaded.policy.schedule !== null);
  const { policy } = loaded;
  const { schedule } = loaded.policy;
  return { policy, schedule, daysOff: await daysOffOf(schedule.holidays), text, file: 'p.yaml' };
}

type Message = Readonly<Record<string, unknown>>;

/** A Temporal that keeps what it is sent as a server does, under task queues of its own choice. */
function temporalWith(kept: Map<string, Message>, options: { readonly taskQueues?: Record<string, string> }) {
  const sent: { readonly operation: string; readonly request: Message }[] = [];
  const note = (operation: string, request: Message): void => void sent.push({ operation, request });
  const idOf = (request: Message): string => String(request['scheduleId']);
  const queueOf = (id: string): object => {
    const name = options.taskQueues?.[id];
    return name === undefined ? {} : { taskQueue: { name } };
  };
  const none = (): Error =>
    Object.assign(new Error('none'), { code: 5, details: 'none', metadata: { get: () => [] } });
  const noWorkflow = async (): Promise<never> => {
    throw none();
  };
  const workflowService = {
    // It keeps no workflow, and so nothing of what is known of the dates.
    describeWorkflowExecution: noWorkflow,
    terminateWorkflowExecution: noWorkflow,
    createSchedule: async (request: Message) => {
      note('create', request);
      kept.set(idOf(request), request['schedule'] as Message);
      return { conflictToken: TOKEN };
    },
    describeSchedule: async (request: Message) => {
      const schedule = kept.get(idOf(request));
      if (schedule === undefined) throw none();
      const { action } = schedule as { action: { startWorkflow: object } };
      return {
        schedule: {
          ...schedule,
          action: { startWorkflow: { ...action.startWorkflow, ...queueOf(idOf(request)) } },
        },
        info: { createTime: { seconds: 0, nanos: 0 } },
        conflictToken: TOKEN,
      };
    },
    updateSchedule: async (request: Message) => {
      note('update', request);
      kept.set(idOf(request), request['schedule'] as Message);
      return {};
    },
    deleteSchedule: async (request: Message) => {
      note('delete', request);
      kept.delete(idOf(request));
      return {};
    },
    listSchedules: async () => ({
      schedules: [...kept.keys()].map((scheduleId) => ({
        scheduleId,
        info: { workflowType: { name: 'scheduled' } },
      })),
    }),
  };
  const connection = { workflowService, plugins: [] } as unknown as Connection;
  const client = new Client({ connection, namespace: 'default' });
  return { place: { client, mode: 'SANDBOX', taskQueue: 'ours' } as unknown as Place, sent };
}

async function apply(
  place: Place,
  policies: readonly ScheduledPolicy[],
  prune = false,
): Promise<readonly string[]> {
  const changes = await judgeApply(place, policies, { prune, nowMs: NOW });
  for (const change of changes) await applyChange(place, change);
  return changes.map(({ kind, name }) => `${kind} ${name}`);
}

test('an update carries the token of what was read, and leaves a pause and its note as they are', async () => {
  const kept = new Map<string, Message>();
  const { place, sent } = temporalWith(kept, {});
  assert.deepEqual(await apply(place, [await policyOf('p', '09:30')]), ['create p']);
  const id = 'sandbox/schedule/p';
  kept.set(id, { ...kept.get(id), state: { paused: true, notes: 'ask ana' } });
  assert.deepEqual(await apply(place, [await policyOf('p', '10:00')]), ['update p']);
  assert.deepEqual(sent.at(-1)?.request['conflictToken'], TOKEN);
  const { state } = kept.get(id) as { state: { paused: boolean; notes: string } };
  assert.deepEqual([state.paused, state.notes], [true, 'ask ana']);
  assert.deepEqual(await apply(place, [await policyOf('p', '10:00')]), ['same p']);
  assert.deepEqual(
    sent.map(({ operation }) => operation),
    ['create', 'update'],
  );
});

test('nothing that is sent starts a run', async () => {
  const { place, sent } = temporalWith(new Map(), {});
  await apply(place, [await policyOf('p', '09:30')]);
  const created = sent[0];
  assert.ok(created !== undefined);
  const { triggerImmediately, backfillRequest } = created.request['initialPatch'] as Message;
  assert.deepEqual([triggerImmediately, backfillRequest], [undefined, undefined]);
});

test('prune deletes what no file has, but for the schedules of another task queue', async () => {
  const kept = new Map<string, Message>();
  const { place } = temporalWith(kept, { taskQueues: { 'sandbox/schedule/theirs': 'theirs' } });
  const all = await Promise.all(['stays', 'goes', 'theirs'].map((name) => policyOf(name, '09:30')));
  await apply(place, all);
  assert.deepEqual(await apply(place, all.slice(0, 1)), ['same stays']);
  assert.deepEqual(await apply(place, all.slice(0, 1), true), ['same stays', 'delete goes']);
  assert.deepEqual([...kept.keys()], ['sandbox/schedule/stays', 'sandbox/schedule/theirs']);
});

test('what a worker can never start is refused; what it may start later, and what nobody was asked about, is told', () => {
  const told = (message: string) => [
    { code: 'FILE_NOT_FOUND', item: null, message, fix: 'Put it there.' } as const,
  ];
  const a = { policyFile: 'a.yaml' };
  const b = { policyFile: 'b.yaml' };
  const able = { kind: 'able' } as const;
  const codesOf = (...answers: Parameters<typeof verdict>[1]) =>
    verdict({ taskQueue: 'ours' }, answers).map(({ code, place }) => `${code} ${place}`);
  assert.deepEqual(codesOf([a, able], [b, able]), []);
  assert.deepEqual(codesOf([a, { kind: 'not yet', problems: told('x') }], [b, null]), [
    'FILE_NOT_FOUND a.yaml',
    'NO_WORKER b.yaml',
  ]);
  const refused = {
    kind: 'refused',
    problems: [{ code: 'FILE_OUTSIDE_FOLDER', item: null, message: 'y', fix: 'Put it there.' }],
  } as const;
  assert.throws(
    () => codesOf([a, able], [b, refused]),
    (error) =>
      error instanceof CommandFailure &&
      error.ending === 'configuration' &&
      error.problems.every(({ code, place }) => code === 'FILE_OUTSIDE_FOLDER' && place === 'b.yaml'),
  );
});
