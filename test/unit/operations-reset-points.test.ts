/** The table of events to which Temporal resets a run, over the recorded histories. */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { recommendedPoint, resetPointsOf, type ResetPoint } from '../../operations/replay/points.ts';
import { urlOf } from '../support/root.ts';

const FOLDER = urlOf('test/machines/histories/');
const names = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

type Recorded = { readonly events: readonly { readonly eventId: string; readonly eventType: string }[] };

type Attributes = Readonly<Record<string, unknown>>;

const read = (name: string): Recorded => JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as Recorded;

function pointsOf(history: Recorded): Promise<readonly ResetPoint[]> {
  const { events } = historyFromJSON(history);
  return resetPointsOf(events ?? [], (payload) =>
    Promise.resolve(defaultPayloadConverter.fromPayload<string>(payload)),
  );
}

/** What the dialog of the UI lists. */
const LISTED = /^EVENT_TYPE_WORKFLOW_TASK_(COMPLETED|FAILED|TIMED_OUT)$/;

for (const name of names)
  test(`${name}: exactly the events that the reset dialog lists, each with a step in words`, async () => {
    const history = read(name);
    const points = await pointsOf(history);
    assert.deepEqual(
      points.map(({ eventId }) => eventId),
      history.events.filter(({ eventType }) => LISTED.test(eventType)).map(({ eventId }) => Number(eventId)),
    );
    for (const { eventId, step, atMs } of points) {
      assert.match(
        step,
        /^(?:[A-Z][^]*[\w…]|(?:\S+: )?safety wait until .*; nothing for you to do)$/,
        `event ${eventId}`,
      );
      assert.ok(atMs > Date.parse('2026-01-01'), `event ${eventId}`);
    }
  });

test('a run that converts and pays is told step by step', async () => {
  const points = await pointsOf(read('happy.json'));
  assert.deepEqual(
    points.map(({ eventId, kind, step }) => [eventId, kind, step]),
    [
      [4, 'WorkflowTaskCompleted', 'Read the plan'],
      [10, 'WorkflowTaskCompleted', 'Price for 1,000.00 USD → MXN'],
      [16, 'WorkflowTaskCompleted', 'Trade 1,000.00 USD → MXN'],
      [22, 'WorkflowTaskCompleted', 'Until the MXN of usd-mxn-1 have come'],
      [29, 'WorkflowTaskCompleted', 'Pay supplier 17,250.00 MXN to wac_7Hk2mQ9vT4xR'],
      [36, 'WorkflowTaskCompleted', 'Until supplier is paid'],
      [43, 'WorkflowTaskCompleted', 'The workflow ends'],
    ],
  );
  assert.equal(recommendedPoint(points, { fromTheStart: false })?.eventId, 43);
  assert.equal(recommendedPoint(points, { fromTheStart: true })?.eventId, 4);
});

/** The recorded history with one event of this kind about the call of `task` changed. */
function changed(name: string, task: number, change: (event: Attributes) => Attributes): Recorded {
  const history = structuredClone<unknown>(read(name)) as { readonly events: Record<string, Attributes>[] };
  const made = history.events.find(
    ({ activityTaskScheduledEventAttributes: call }) =>
      Number(call?.['workflowTaskCompletedEventId']) === task,
  );
  for (const event of history.events)
    for (const [kind, attributes] of Object.entries(event))
      if (
        kind === 'activityTaskCompletedEventAttributes' &&
        attributes['scheduledEventId'] === made?.['eventId']
      )
        event[kind] = change(attributes);
  return history as unknown as Recorded;
}

test('where somebody has ended a call beside its worker, the event of that call is the best one, also for a run that is completed', async () => {
  const pressed = await pointsOf(changed('happy.json', 29, (event) => ({ ...event, identity: 'somebody' })));
  assert.deepEqual(
    pressed.filter(({ isEndedBeside }) => isEndedBeside).map(({ eventId }) => eventId),
    [29],
  );
  for (const fromTheStart of [true, false])
    assert.equal(recommendedPoint(pressed, { fromTheStart })?.eventId, 29);
});

test('in no recorded history has somebody ended a call beside its worker', async () => {
  for (const name of names) {
    // One after the other.
    const points = await pointsOf(read(name));
    assert.ok(!points.some(({ isEndedBeside }) => isEndedBeside), name);
  }
});

test('a task that failed has the step of the next', async () => {
  const points = await pointsOf(read('reset.json'));
  const failed = points.find(({ kind }) => kind === 'WorkflowTaskFailed');
  const next = points.find(({ eventId }) => eventId > (failed?.eventId ?? 0));
  assert.equal(failed?.step, next?.step);
});

test('a run that no task of was completed has no event to go back to', async () => {
  assert.equal(recommendedPoint([], { fromTheStart: false }), null);
});
