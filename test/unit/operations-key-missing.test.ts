/** A key that a worker or a command does not have is told by its own code, wherever Temporal's client meets it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@temporalio/client';
import { keyMissing } from '../../config/seal/codec.ts';
import { failureOf } from '../../operations/failure-of.ts';

test('a sealed value at a command without keys, and a worker that says so by Temporal, are SEAL_KEY_MISSING', async () => {
  const met = keyMissing('its-id');
  // A worker's answer to a question brings only the text, inside an error of the connection.
  const told = new ServiceError('Failed to query Workflow', {
    cause: new Error(`13 INTERNAL: ${met.message}`),
  });
  for (const error of [met, told]) {
    const { ending, problems } = failureOf(error);
    assert.deepEqual([ending, problems.map(({ code }) => code)], ['configuration', ['SEAL_KEY_MISSING']]);
    assert.ok(problems[0]?.message.includes('its-id'));
  }
  assert.deepEqual(
    failureOf(new ServiceError('away')).problems.map(({ code }) => code),
    ['TEMPORAL_ERROR'],
  );
});
