/** Which runs of schedules are missed: those that are not there though their time has come, and of which no person has said that she knows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import type { Place } from '../../operations/place.ts';
import type { AboutDate } from '../../domain/known-dates.ts';
import { acknowledgeMissed } from '../../operations/schedules/missed.ts';
import { pauseSchedule } from '../../operations/schedules/kept.ts';
import { listMissed } from '../../operations/schedules/starts.ts';
import { aboutDateSignal, startsIdOf } from '../../workflows/names.ts';
import { convertPolicy } from '../support/policies.ts';

/** A Sunday in UTC, half past twelve. */
const NOW = Date.parse('2026-11-22T12:30:00Z');
const TEXT = convertPolicy().replace(
  'name: replaced\n',
  'name: p\nzone: Europe/Paris\nschedule: { at: "09:30", days: daily, skip: [2026-11-20] }\n',
);

/** `FORGOTTEN`: Temporal no longer has the workflow that the schedule started. */
type Start = { readonly at: string; readonly status: 'COMPLETED' | 'RUNNING' | 'FORGOTTEN' };

/** A Temporal with one schedule of 09:30 in Paris, and what it has started. */
function placeWith(options: {
  readonly changedAt: string;
  readonly isPaused?: boolean;
  readonly starts?: readonly Start[];
  /** Dates that have a run. */
  readonly runs?: readonly string[];
  /** What is noted of the schedule's dates; what is noted later is added. */
  readonly noted?: AboutDate[];
}): Place {
  const noted = options.noted ?? [];
  const state = { paused: options.isPaused === true };
  const scheduleId = 'sandbox/schedule/p';
  const starts = (options.starts ?? []).map(({ at, status }) => ({ id: `${scheduleId}-${at}`, at, status }));
  const description = {
    scheduleId,
    spec: { calendars: [], skip: [], timezone: 'Europe/Paris' },
    action: {
      workflowType: 'scheduled',
      taskQueue: 'cambist-sandbox',
      args: [{ policyText: TEXT, policyFile: 'p.yaml' }],
    },
    policies: { overlap: 'SKIP', catchupWindow: 600_000, pauseOnFailure: false },
    state,
    info: {
      createdAt: new Date('2026-01-01T00:00:00Z'),
      lastUpdatedAt: new Date(options.changedAt),
      nextActionTimes: [],
      recentActions: starts.map(({ id, at }) => ({
        scheduledAt: new Date(at),
        takenAt: new Date(at),
        action: { workflow: { workflowId: id, firstExecutionRunId: id } },
      })),
    },
  };
  const describe = async (workflowId: string): Promise<unknown> => {
    if (workflowId === STARTS_ID && noted.length > 0) return { runId: 'noted' };
    const start = starts.find(({ id, status }) => id === workflowId && status !== 'FORGOTTEN');
    const isRun = (options.runs ?? []).some((date) => workflowId === `sandbox/p.${date}`);
    if (start === undefined && !isRun) throw new WorkflowNotFoundError('None.', workflowId, undefined);
    return {
      workflowId,
      runId: workflowId,
      status: { name: start?.status ?? 'COMPLETED' },
      historyLength: 2,
      startTime: new Date(NOW),
      typedSearchAttributes: { get: () => 'COMPLETED' },
      raw: { pendingWorkflowTask: null, pendingActivities: [] },
    };
  };
  return {
    mode: 'SANDBOX',
    client: {
      schedule: {
        async *list() {
          yield { scheduleId, action: description.action };
        },
        getHandle: () => ({
          describe: async () => description,
          pause: async () => {
            state.paused = true;
          },
        }),
      },
      workflow: {
        async *list() {},
        getHandle: (workflowId: string) => ({
          describe: () => describe(workflowId),
          result: async () => ({ kind: 'started', date: '', line: '' }),
          fetchHistory: async () => ({ events: noted.map(signalOf) }),
        }),
        signalWithStart: async (_type: string, { signalArgs }: { signalArgs: [AboutDate] }) => {
          noted.push(...signalArgs);
        },
      },
      withDeadline: (_deadline: number, work: () => Promise<unknown>) => work(),
      options: { loadedDataConverter: { payloadCodecs: [], payloadConverter: defaultPayloadConverter } },
    },
  } as unknown as Place;
}

const STARTS_ID = startsIdOf('SANDBOX', 'p');

const signalOf = (about: AboutDate): object => ({
  workflowExecutionSignaledEventAttributes: {
    signalName: aboutDateSignal.name,
    input: { payloads: [defaultPayloadConverter.toPayload(about)] },
  },
});

const missedIn = async (options: Parameters<typeof placeWith>[0]): Promise<readonly string[]> =>
  (await listMissed(placeWith(options), NOW)).map(({ run, why }) => `${run.id} ${why.code}`);

test('what Temporal never started is missed, for each day of the schedule since it was changed last', async () => {
  assert.deepEqual(await missedIn({ changedAt: '2026-11-18T12:00:00Z' }), [
    '2026-11-22 SCHEDULE_MISSED',
    '2026-11-21 SCHEDULE_MISSED',
    // Of 20 November it says nothing: the policy skips it.
    '2026-11-19 SCHEDULE_MISSED',
  ]);
  assert.deepEqual(await missedIn({ changedAt: '2026-11-22T08:31:00Z' }), []);
});

test('a date is not missed that has a run or whose start went well, which hides no earlier one', async () => {
  const changedAt = '2026-11-20T12:00:00Z';
  const well = { at: '2026-11-22T08:30:00Z', status: 'COMPLETED' } as const;
  assert.deepEqual(await missedIn({ changedAt, starts: [well] }), ['2026-11-21 SCHEDULE_MISSED']);
  assert.deepEqual(await missedIn({ changedAt, starts: [well], runs: ['2026-11-21'] }), []);
});

test('a paused schedule misses nothing', async () => {
  assert.deepEqual(await missedIn({ changedAt: '2026-11-18T12:00:00Z', isPaused: true }), []);
});

test('a date stays missed after Temporal has forgotten its start, for sixty days', async () => {
  const forgotten = { at: '2026-11-21T08:30:00Z', status: 'FORGOTTEN' } as const;
  const changedAt = '2026-11-20T12:00:00Z';
  assert.deepEqual(await missedIn({ changedAt, starts: [forgotten], runs: ['2026-11-22'] }), [
    '2026-11-21 SCHEDULE_MISSED',
  ]);
  const oldest = await missedIn({ changedAt: '2026-01-01T00:00:00Z' });
  assert.equal(oldest.at(-1), '2026-09-24 SCHEDULE_MISSED');
});

test('a date whose run was noted is not missed, though Temporal has forgotten start and run', async () => {
  const forgotten = { at: '2026-11-21T08:30:00Z', status: 'FORGOTTEN' } as const;
  const noted: AboutDate[] = [{ kind: 'started', id: '2026-11-21' }];
  const changedAt = '2026-11-20T12:00:00Z';
  assert.deepEqual(await missedIn({ changedAt, starts: [forgotten], noted }), ['2026-11-22 SCHEDULE_MISSED']);
});

test('an acknowledgement closes a missed date for good, and no other one', async () => {
  const noted: AboutDate[] = [];
  const options = { changedAt: '2026-11-20T12:00:00Z', noted };
  const place = placeWith(options);
  const [, earlier] = await listMissed(place, NOW);
  assert.ok(earlier !== undefined);
  await acknowledgeMissed(place, earlier, { by: 'ana', why: 'not needed' });
  assert.deepEqual(await missedIn(options), ['2026-11-22 SCHEDULE_MISSED']);
});

test('a start that is under way cannot be acknowledged, since it may be missed after that', async () => {
  const untaken = { at: '2026-11-22T08:30:00Z', status: 'RUNNING' } as const;
  const place = placeWith({ changedAt: '2026-11-22T08:00:00Z', starts: [untaken] });
  const [late] = await listMissed(place, NOW);
  assert.ok(late !== undefined);
  await assert.rejects(acknowledgeMissed(place, late, { by: 'ana', why: 'x' }), {
    problems: [
      {
        code: 'NOTHING_TO_ACKNOWLEDGE',
        place: 'p.2026-11-22',
        message: 'its start is still under way, and may still go well',
        fix: 'See `npx cambist schedule list`, and acknowledge it once it is missed.',
      },
    ],
  });
});

test('what was missed before a pause stays missed while the schedule is paused, and after it was changed', async () => {
  const noted: AboutDate[] = [];
  const place = placeWith({ changedAt: '2026-11-20T12:00:00Z', noted });
  await pauseSchedule(place, 'p', { note: 'year end', nowMs: NOW });
  const missed = ['2026-11-22 SCHEDULE_MISSED', '2026-11-21 SCHEDULE_MISSED'];
  assert.deepEqual(await missedIn({ changedAt: '2026-11-20T12:00:00Z', isPaused: true, noted }), missed);
  assert.deepEqual(await missedIn({ changedAt: '2026-11-22T12:00:00Z', noted }), missed);
});

test('what another program has noted is ignored', async () => {
  const noted = [
    { kind: 'started' },
    'x',
    { kind: 'started', id: '2026-11-21', more: 1 },
  ] as unknown as AboutDate[];
  assert.deepEqual(await missedIn({ changedAt: '2026-11-21T12:00:00Z', noted }), [
    '2026-11-22 SCHEDULE_MISSED',
  ]);
});

test('a start that no worker takes is late after two minutes', async () => {
  const changedAt = '2026-11-22T08:00:00Z';
  const untaken = { at: '2026-11-22T08:30:00Z', status: 'RUNNING' } as const;
  assert.deepEqual(await missedIn({ changedAt, starts: [untaken] }), ['2026-11-22 SCHEDULE_LATE']);
});
