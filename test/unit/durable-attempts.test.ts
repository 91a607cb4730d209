/** Who has completed the calls of a run that write: a worker, or a person in its place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Client } from '@temporalio/client';
import { completedBeside } from '../../durable/attempts.ts';
import type { HistoryEvent } from '../../durable/history.ts';

const RUN = { workflowId: 'sandbox/p.2026-11-21', runId: 'run-1' };

type Call = { readonly atS: number; readonly name: string; readonly by: string };

/** A history with these calls, each given to one worker and completed by somebody; the newest event first, two on a page. */
function clientWith(calls: readonly Call[]): Client {
  const events = calls
    .flatMap(({ atS, name, by }, index): HistoryEvent[] => {
      const first = 3 * index + 1;
      const at = { eventTime: { seconds: atS, nanos: 0 } } as unknown as Pick<HistoryEvent, 'eventTime'>;
      const of = (id: number, more: object): HistoryEvent =>
        ({ ...at, eventId: id, ...more }) as unknown as HistoryEvent;
      const ids = { scheduledEventId: first, startedEventId: first + 1 };
      return [
        of(first, { activityTaskScheduledEventAttributes: { activityType: { name } } }),
        of(first + 1, { activityTaskStartedEventAttributes: { identity: 'worker-1' } }),
        of(first + 2, { activityTaskCompletedEventAttributes: { ...ids, identity: by } }),
      ];
    })
    .toReversed();
  return clientOf(events);
}

function clientOf(events: readonly unknown[]): Client {
  return {
    options: { namespace: 'default' },
    withDeadline: <T>(_untilMs: number, work: () => Promise<T>): Promise<T> => work(),
    workflowService: {
      getWorkflowExecutionHistoryReverse: async ({ nextPageToken }: { nextPageToken?: Uint8Array }) => {
        const from = nextPageToken?.[0] ?? 0;
        const page = events.slice(from, from + 2);
        const isLast = from + 2 >= events.length;
        return {
          history: { events: page },
          nextPageToken: isLast ? new Uint8Array() : new Uint8Array([from + 2]),
        };
      },
    },
  } as unknown as Client;
}

const PAID: Call = { atS: 1_000, name: 'createWithdrawals', by: 'worker-1' };
for (const [what, calls, eventId] of [
  ['its worker alone', [PAID, PAID], null],
  ['a person, in the place of a payment', [PAID, { ...PAID, by: 'ana' }, PAID], 6],
  ['a person, in the place of a trade', [{ ...PAID, name: 'executeTrade', by: '' }], 3],
  ['a person, in the place of a poll', [{ ...PAID, name: 'awaitWithdrawals', by: 'ana' }], null],
  [
    'a person, an hour before',
    [{ ...PAID, by: 'ana' }, PAID, { ...PAID, atS: 4_600 }, { ...PAID, atS: 4_600 }],
    null,
  ],
] as const)
  test(`calls were completed by ${what}: ${eventId === null ? 'nothing is waited for' : 'that is told'}`, async () => {
    assert.equal(await completedBeside(clientWith(calls), RUN, 300_000), eventId);
  });

for (const [how, ageS, eventId] of [
  ['a moment ago', 60, 1],
  ['long ago', 900, null],
] as const)
  test(`a history goes on from another one since ${how}: ${eventId === null ? 'nothing is waited for' : 'that is told'}`, async () => {
    const started = { workflowExecutionStartedEventAttributes: { continuedExecutionRunId: 'run-0' } };
    const at = (seconds: number) => ({ eventTime: { seconds, nanos: 0 } });
    const client = clientOf([
      { eventId: 2, ...at(1_000 + ageS) },
      { eventId: 1, ...at(1_000), ...started },
    ]);
    assert.equal(await completedBeside(client, RUN, 300_000), eventId);
  });
