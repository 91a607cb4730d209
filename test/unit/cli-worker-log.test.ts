/** The log of a worker: what programs read is one JSON record a line, and neither form shows more than where and why. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LogEntry } from '@temporalio/worker';
import { logLine, logRecord } from '../../cli/views/worker-log.ts';

const ENTRY: LogEntry = {
  level: 'WARN',
  message: 'Activity failed',
  timestampNanos: 1_795_392_000_123_456_789n,
  meta: {
    workflowId: 'sandbox/p.2026-11-21',
    runId: 'run-1',
    activityType: 'createWithdrawals',
    attempt: 2,
    input: 'an account number',
    error: Object.assign(new Error('No connection.\nand a second line'), { headers: 'Bearer secret' }),
  },
};

test('a program gets time, level, place and reason of each message, and nothing else', () => {
  assert.deepEqual(logRecord(ENTRY), {
    at: '2026-11-23T00:00:00.123Z',
    level: 'warning',
    message: 'Activity failed',
    workflowId: 'sandbox/p.2026-11-21',
    runId: 'run-1',
    activityType: 'createWithdrawals',
    attempt: 2,
    error: 'No connection.',
  });
  const { meta: _none, ...plain } = ENTRY;
  assert.deepEqual(Object.keys(logRecord(plain)), ['at', 'level', 'message']);
});

test('a person gets one line', () => {
  assert.equal(logLine(ENTRY), 'warning sandbox/p.2026-11-21 Activity failed: No connection.');
});
