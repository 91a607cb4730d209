/** One read before a command relies on the service: what stops it, and what may pass. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandFailure } from '../../operations/failure.ts';
import { checkService } from '../../operations/preflight.ts';
import type { Balances } from '../../domain/service/records.ts';
import type { Reply, ReplyFacts } from '../../domain/service/reply.ts';

const NOW_MS = Date.parse('2026-11-21T12:00:00Z');
const facts = (skewMs: number | null): ReplyFacts => ({
  status: 200,
  traceId: null,
  replayed: null,
  retryAfterMs: null,
  serviceTimeMs: skewMs === null ? null : NOW_MS + skewMs,
});
const done = (skewMs: number | null): Reply<Balances> => ({
  kind: 'DONE',
  value: { aggregateUsd: '0', balances: [] },
  facts: facts(skewMs),
});
const refused = (code: string): Reply<Balances> => ({
  kind: 'REFUSED',
  error: { code, type: 't', message: 'm', retryStrategy: 'TERMINAL', details: {} },
  facts: facts(0),
});
const unknown: Reply<Balances> = {
  kind: 'UNKNOWN',
  reason: 'the reply is HTML',
  error: null,
  facts: facts(null),
};

const check = (reply: Reply<Balances>): Promise<string | null> =>
  checkService(
    { balances: () => Promise.resolve(reply) },
    { address: 'http://127.0.0.1:1/v3', now: () => NOW_MS },
  );

for (const skewMs of [0, 9_000, -9_000, null]) {
  test(`clocks ${skewMs ?? 'of unknown distance'} ms apart are no reason to stop`, async () => {
    assert.equal(await check(done(skewMs)), null);
  });
}

const STOPS: readonly [string, Reply<Balances>, string, string][] = [
  ['a clock 11 s behind', done(11_000), 'configuration', 'CLOCK_SKEW'],
  ['a clock 11 s ahead', done(-11_000), 'configuration', 'CLOCK_SKEW'],
  [
    'a key that the service does not know',
    refused('AUTH_API_KEY_INVALID'),
    'configuration',
    'AUTH_API_KEY_INVALID',
  ],
  [
    'a service that is away',
    { kind: 'NOT_SENT', reason: 'connection refused' },
    'infrastructure',
    'SERVICE_UNREACHABLE',
  ],
];

for (const [name, reply, ending, code] of STOPS) {
  test(`${name} stops the command`, async () => {
    await assert.rejects(check(reply), (error) => {
      assert.ok(error instanceof CommandFailure);
      assert.equal(error.ending, ending);
      assert.equal(error.problems[0]?.code, code);
      return true;
    });
  });
}

test('what may pass is only said', async () => {
  assert.match((await check(unknown)) ?? '', /no answer that can be used.*HTML.*The run waits/);
});
