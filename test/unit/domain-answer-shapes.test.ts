/** What counts as an answer of an activity, since whoever sees a pending activity can answer in its place (M1, M8). */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import {
  ActivityFailure,
  ApplicationFailure,
  type RetryState,
  TimeoutFailure,
  TimeoutType,
  defaultPayloadConverter,
} from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { isPageOfKept } from '../../domain/people/instruction-shape.ts';
import * as shapes from '../../domain/run/answer-shapes.ts';
import { StepFailed } from '../../domain/run/ports.ts';
import { NEW_PAYMENT } from '../../domain/writes/withdrawal.ts';
import type { Field } from '../../domain/shape.ts';
import { orStepFailed } from '../../workflows/step-failed.ts';
import { urlOf } from '../support/root.ts';

const SHAPES: Readonly<Record<string, Field>> = {
  readPlan: shapes.isPlanAnswer,
  readChunks: shapes.isChunksAnswer,
  readGo: shapes.isGoAnswer,
  observe: shapes.isObserved,
  recordInstruction: shapes.isNothing,
  requestQuote: shapes.isLegAnswer,
  executeTrade: shapes.isLegAnswer,
  createWithdrawals: shapes.isPaymentsAnswer,
  awaitSettlement: shapes.isSettlement,
  awaitWithdrawals: shapes.isWithdrawalsAnswer,
  confirmOutcomes: shapes.isConfirmed,
  startScheduled: shapes.isScheduledAnswer,
  takeOverInstructions: isPageOfKept,
};

const FOLDER = urlOf('test/machines/histories/');
const histories = readdirSync(FOLDER).filter((name) => name.endsWith('.json'));

/** What activities have answered in a recorded history, each with the name of its activity. */
function answersIn(name: string): readonly (readonly [type: string, answer: unknown])[] {
  const { events } = historyFromJSON(JSON.parse(readFileSync(new URL(name, FOLDER), 'utf8')) as object);
  const types = new Map<string, string>();
  return (events ?? []).flatMap((event) => {
    const { activityTaskScheduledEventAttributes: asked, activityTaskCompletedEventAttributes: done } = event;
    if (asked) types.set(String(event.eventId), asked.activityType?.name ?? '');
    if (!done) return [];
    const [payload] = done.result?.payloads ?? [];
    const answer: unknown = payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
    return [[types.get(String(done.scheduledEventId)) ?? '', answer] as const];
  });
}

test('what activities have answered in the recorded histories are answers, also with a field that nobody reads, and with one field less they are none', () => {
  const seen = new Set<string>();
  for (const name of histories)
    for (const [type, answer] of answersIn(name)) {
      const isAnswer = SHAPES[type];
      if (isAnswer === undefined) continue;
      seen.add(type);
      assert.ok(isAnswer(answer), `${name}, ${type}: ${JSON.stringify(answer)}`);
      if (typeof answer !== 'object' || answer === null) continue;
      // What people said is closed: nothing else is ever kept of them.
      assert.equal(
        isAnswer({ ...answer, also: 'this' }),
        type !== 'takeOverInstructions',
        `${name}, ${type}`,
      );
      for (const field of Object.keys(answer)) {
        const { [field]: _, ...rest } = answer as Record<string, unknown>;
        const isOptional = ['alike', 'alikeIds', 'neverSent'].includes(field);
        assert.equal(isAnswer(rest), isOptional, `${name}, ${type} without ${field}`);
      }
    }
  const all = Object.keys(SHAPES).filter(
    (type) => type !== 'recordInstruction' && type !== 'confirmOutcomes',
  );
  assert.deepEqual(
    all.filter((type) => !seen.has(type)),
    [],
    'no recorded history has an answer of these',
  );
});

test('what anybody types as a result is no answer', () => {
  for (const [type, isAnswer] of Object.entries(SHAPES))
    for (const typed of [{}, [], 'done', 7, true, { kind: 'toString' }, { kind: 'paid' }])
      assert.ok(!isAnswer(typed), `${type}: ${JSON.stringify(typed)}`);
});

test('the fields of an answer are read in their depth, too', () => {
  const wait = { reason: 'doubt', afterMs: 1, problem: { code: 'A', item: null, message: '', fix: '' } };
  const answerWith = (state: object, more: object = {}) => ({
    items: [{ id: 'a', step: { kind: 'wait', state, wait: { ...wait, ...more } } }],
    evidence: [],
    runId: null,
  });
  assert.ok(shapes.isPaymentsAnswer(answerWith(NEW_PAYMENT)));
  assert.ok(shapes.isPaymentsAnswer(answerWith(NEW_PAYMENT, { safeAtMs: 1 })));
  assert.ok(shapes.isPaymentsAnswer(answerWith({ ...NEW_PAYMENT, also: 1 })));
  const { sent: _, ...rest } = NEW_PAYMENT;
  for (const wrong of [
    answerWith(rest),
    answerWith({ ...NEW_PAYMENT, phase: { kind: 'refused' } }),
    answerWith(NEW_PAYMENT, { problem: 'none' }),
  ])
    assert.ok(!shapes.isPaymentsAnswer(wrong), JSON.stringify(wrong));
});

const failureOf = (retryState: RetryState, cause: Error): ActivityFailure =>
  new ActivityFailure('', 'createWithdrawals', '5', retryState, 'somebody', cause);

const ENDS: readonly (readonly [what: string, failure: Error, told: RegExp])[] = [
  [
    'at all its attempts',
    failureOf('MAXIMUM_ATTEMPTS_REACHED', ApplicationFailure.retryable('Error, ENOSPC', 'ACTIVITY_FAILED')),
    /ENOSPC/,
  ],
  [
    'by somebody who lets it fail',
    failureOf('NON_RETRYABLE_FAILURE', ApplicationFailure.nonRetryable('Jane Doe says so')),
    /a person has ended it in Temporal/,
  ],
  [
    'by somebody who has shortened its time',
    failureOf('TIMEOUT', new TimeoutFailure('', undefined, TimeoutType.SCHEDULE_TO_CLOSE)),
    /took too long/,
  ],
];
for (const [what, failure, told] of ENDS)
  test(`a call that was ended ${what} is told as failed`, async () => {
    const call = orStepFailed('createWithdrawals', Promise.reject(failure), shapes.isPaymentsAnswer);
    await assert.rejects(call, (error) => {
      assert.ok(error instanceof StepFailed);
      assert.match(error.message, told);
      assert.doesNotMatch(error.message, /Jane/);
      return true;
    });
  });

test('a call that is said to have answered something else is told as failed, and what is no end of an activity stays as it is', async () => {
  const answered = (answer: unknown) =>
    orStepFailed('createWithdrawals', Promise.resolve(answer), shapes.isPaymentsAnswer);
  await assert.rejects(answered({}), StepFailed);
  const answer = { items: [], evidence: [], runId: null };
  assert.equal(await answered(answer), answer);
  const fault = new RangeError('a fault of ours');
  await assert.rejects(
    orStepFailed('createWithdrawals', Promise.reject(fault), shapes.isPaymentsAnswer),
    fault,
  );
});
