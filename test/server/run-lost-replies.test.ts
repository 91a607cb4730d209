/**
 * Replies that are lost, cut or odd on the wire: the client takes none of them for an answer, and the service has done it once
 * when the run is over. What a run makes of a lost reply is told in `test/story/lost-replies.test.ts`.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { FaultEffect } from '../../sandbox/server.ts';
import { uniqueName } from '../support/dev-server.ts';
import { convertPolicy } from '../support/policies.ts';
import { assertDoneOnce, openStage, type Write } from '../support/stage.ts';

/** Many runs at once: nearly all of the time is waiting. */
const AT_ONCE = { concurrency: 32 };

const stage = await openStage({
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '100000000', MXN: '100000000' },
});
await stage.startWorker();
after(() => stage.close());

/** What happens to the first reply. */
const LOST: readonly (readonly [string, Write, FaultEffect])[] = [
  ['is lost', 'createWithdrawal', { kind: 'lose-reply' }],
  ['is cut in the middle', 'createTrade', { kind: 'cut-body' }],
  ['is a gateway’s page', 'createWithdrawal', { kind: 'html', status: 504, committed: true }],
  ['never comes because the connection closed before', 'createTrade', { kind: 'close-before' }],
  ['has an odd status', 'createTrade', { kind: 'status', status: 201 }],
  ['is a redirect', 'createWithdrawal', { kind: 'status', status: 307 }],
  ['is half a record', 'createTrade', { kind: 'status', body: '{"data":{"object":"trade"}}' }],
  ['is empty', 'createWithdrawal', { kind: 'status', body: '' }],
  ['has a key twice', 'createWithdrawal', { kind: 'status', body: '{"data":{},"data":{}}' }],
  ['comes after the time limit', 'createTrade', { kind: 'delay', ms: 16_000, when: 'after' }],
];

describe('whatever happens to a reply, each movement happens once', AT_ONCE, () => {
  for (const [what, operation, effect] of LOST)
    test(`the reply to ${operation} ${what}: one movement, one key, and the run completes`, async () => {
      const name = uniqueName('p');
      stage.sandbox.addFault({ operation, effect, times: 1, when: { reference: `${name}.*` } });
      const quote = '{ valid_for: 45s, settlement: IMMEDIATE }';
      const run = await stage.start(convertPolicy({ quote }), { name });
      const report = await run.report();
      assertDoneOnce(run, report);
      const sent = run.writes().filter((entry) => entry.operation === operation);
      // A request that is still being held up is not in the service's log yet.
      for (const same of ['idempotencyKey', 'bodyHash', 'reference'] as const)
        assert.ok(new Set(sent.map((entry) => entry[same])).size <= 1, same);
      assert.equal(report.evidence.filter((entry) => entry.call === 'send quote').length, 1);
    });
});
