/** Which runs of schedules are missed: those that are not there though their time has come, since the last that went well. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkflowNotFoundError } from '@temporalio/client';
import type { Place } from '../../operations/place.ts';
import { listMissed } from '../../operations/schedules/starts.ts';
import { convertPolicy } from '../support/policies.ts';

/** A Sunday in UTC, half past twelve. */
const NOW = Date.parse('2026-11-22T12:30:00Z');
const TEXT = convertPolicy().replace(
  'name: replaced\n',
  'name: p\nzone: Europe/Paris\nschedule: { at: "09:30", days: daily, skip: [2026-11-20] }\n',
);

type Start = { readonly at: string; readonly status: 'COMPLETED' | 'RUNNING' };

/** A Temporal with one schedule of 09:30 in Paris, and what it has started. */
function placeWith(options: {
  readonly changedAt: string;
  readonly isPaused?: boolean;
  readonly starts?: readonly Start[];
  /** Dates that have a run. */
  readonly runs?: readonly string[];
}): Place {
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
    state: { paused: options.isPaused === true },
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
    const start = starts.find(({ id }) => id === workflowId);
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
        getHandle: () => ({ describe: async () => description }),
      },
      workflow: {
        getHandle: (workflowId: string) => ({
          describe: () => describe(workflowId),
          result: async () => ({ kind: 'started', date: '', line: '' }),
        }),
      },
    },
  } as unknown as Place;
}

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

test('nothing is missed after a start that went well, on a date that has a run, or while the schedule is paused', async () => {
  const changedAt = '2026-11-18T12:00:00Z';
  const well = { at: '2026-11-21T08:30:00Z', status: 'COMPLETED' } as const;
  assert.deepEqual(await missedIn({ changedAt, starts: [well] }), ['2026-11-22 SCHEDULE_MISSED']);
  assert.deepEqual(await missedIn({ changedAt, starts: [well], runs: ['2026-11-22'] }), []);
  assert.deepEqual(await missedIn({ changedAt, isPaused: true }), []);
});

test('a start that no worker takes is late after two minutes', async () => {
  const changedAt = '2026-11-22T08:00:00Z';
  const untaken = { at: '2026-11-22T08:30:00Z', status: 'RUNNING' } as const;
  assert.deepEqual(await missedIn({ changedAt, starts: [untaken] }), ['2026-11-22 SCHEDULE_LATE']);
});
