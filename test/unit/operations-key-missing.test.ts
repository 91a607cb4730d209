/** A key that a worker or a command does not have is told by its own code, wherever Temporal's client meets it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '@temporalio/client';
import { PLAIN_CODEC, sealingCodec } from '../../config/seal/codec.ts';
import { newSealKeys } from '../../config/seal/keys.ts';
import { failureOf } from '../../operations/failure-of.ts';

test('a sealed value at a command without keys, and a worker that says so by Temporal, are SEAL_KEY_MISSING', async () => {
  const keys = newSealKeys(0);
  const sealed = await sealingCodec({ now: () => keys, again: () => keys }).encode([
    { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('1') },
  ]);
  const met: unknown = await PLAIN_CODEC.decode(sealed).catch((error: unknown) => error);
  assert.ok(met instanceof Error);
  // A worker's answer to a question brings only the text, inside an error of the connection.
  const told = new ServiceError('Failed to query Workflow', {
    cause: new Error(`13 INTERNAL: ${met.message}`),
  });
  for (const error of [met, told]) {
    const { ending, problems } = failureOf(error);
    assert.deepEqual([ending, problems.map(({ code }) => code)], ['configuration', ['SEAL_KEY_MISSING']]);
    assert.ok(problems[0]?.message.includes(keys.active.id));
  }
  assert.deepEqual(
    failureOf(new ServiceError('away')).problems.map(({ code }) => code),
    ['TEMPORAL_ERROR'],
  );
});
