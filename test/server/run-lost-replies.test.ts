/**
 * Replies that never come, come cut or odd, or come before the deed: whatever the service did by then, it has done it
 * once when the run is over, and the run is over without anybody's help.
 */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { FaultEffect, SandboxFault } from '../../sandbox/server.ts';
import { uniqueName } from '../support/dev-server.ts';
import { MXN_ACCOUNT, convertPolicy, type PolicyParts } from '../support/policies.ts';
import { assertDoneOnce, openStage, type Run, type Stage } from '../support/stage.ts';

/** Many runs at once: nearly all of the time is waiting. */
const AT_ONCE = { concurrency: 32 };
const WRITES = ['createTrade', 'createWithdrawal'] as const;

const plain = {
  rates: { 'USD/MXN': '17.25' },
  balances: { USD: '100000000', MXN: '100000000' },
};
const stage = await openStage(plain);
/** Its lists never show metadata, and it keeps whatever it answers under the key. */
const silent = await openStage({
  ...plain,
  settings: { metadataInLists: 'never', storeErrors: 'all' },
  timePasses: true,
});
await Promise.all([stage.startWorker(), silent.startWorker()]);
after(() => Promise.all([stage.close(), silent.close()]));

type Fault = Pick<SandboxFault, 'operation' | 'nth' | 'times' | 'effect'>;

/** Starts a run whose writes meet these faults, each once unless it says otherwise. */
async function startWith(on: Stage, faults: readonly Fault[], parts: PolicyParts = {}): Promise<Run> {
  const name = uniqueName('p');
  for (const fault of faults) on.sandbox.addFault({ times: 1, ...fault, when: { reference: `${name}.*` } });
  return on.start(convertPolicy({ quote: '{ valid_for: 45s, settlement: IMMEDIATE }', ...parts }), { name });
}

/** What happens to a reply, and how often the request then goes out: null where time decides. */
const LOST: readonly (readonly [string, readonly FaultEffect[], number | null])[] = [
  ['is lost', [{ kind: 'lose-reply' }], 1],
  ['is lost, and the lists lag behind', [{ kind: 'lose-reply' }, { kind: 'list-lag', ms: 12_000 }], null],
  ['is cut in the middle', [{ kind: 'cut-body' }], 1],
  ['is a gateway’s page although it was executed', [{ kind: 'html', status: 504, committed: true }], 1],
  ['is a gateway’s page and nothing was executed', [{ kind: 'html', status: 502 }], 2],
  ['never comes because the connection closed before', [{ kind: 'close-before' }], 2],
  ['has an odd status', [{ kind: 'status', status: 201 }], 1],
  ['is a redirect', [{ kind: 'status', status: 307 }], 1],
  ['is half a record', [{ kind: 'status', body: '{"data":{"object":"trade"}}' }], 1],
  ['is empty', [{ kind: 'status', body: '' }], 1],
  ['has a key twice', [{ kind: 'status', body: '{"data":{},"data":{}}' }], 1],
  ['comes after the time limit', [{ kind: 'delay', ms: 16_000, when: 'after' }], null],
  ['is lost, and it is booked seconds later', [{ kind: 'late-commit', ms: 3_000 }], null],
  [
    'is lost, the key stays free, and it is booked seconds later',
    [{ kind: 'late-commit', ms: 3_000, key: 'free' }],
    null,
  ],
  [
    'is a failure that is kept, and it is booked seconds later',
    [{ kind: 'late-commit', ms: 3_000, reply: '500', key: 'stored' }],
    null,
  ],
  [
    'is a failure, and it is booked while the same is being sent again',
    [{ kind: 'late-commit', ms: 11_000, reply: '500' }],
    null,
  ],
];

describe('whatever happens to a reply, each movement happens once', AT_ONCE, () => {
  for (const operation of WRITES)
    describe(`the reply to a ${operation === 'createTrade' ? 'trade' : 'withdrawal'}`, AT_ONCE, () => {
      for (const [what, effects, sends] of LOST)
        test(`${what}: one movement, one key, and the run completes`, async () => {
          const run = await startWith(
            stage,
            effects.map((effect) => ({ operation, effect })),
          );
          const report = await run.report();
          assertDoneOnce(run, report);
          const sent = run.writes().filter((entry) => entry.operation === operation);
          if (sends !== null) assert.equal(sent.length, sends);
          // A request that is still being held up is not in the service's log yet.
          for (const same of ['idempotencyKey', 'bodyHash', 'reference'] as const)
            assert.ok(new Set(sent.map((entry) => entry[same])).size <= 1, same);
          assert.equal(report.evidence.filter((entry) => entry.call === 'send quote').length, 1);
        });
    });

  describe('everything that can be lost is lost at once', AT_ONCE, () => {
    test('every first reply of a run', async () => {
      const effect: FaultEffect = { kind: 'lose-reply' };
      const run = await startWith(
        stage,
        WRITES.map((operation) => ({ operation, effect })),
      );
      assertDoneOnce(run, await run.report());
    });

    test('the reply to a trade, and to the look after it', async () => {
      const name = uniqueName('p');
      const lost = stage.sandbox.addFault({
        operation: 'createTrade',
        times: 1,
        when: { reference: `${name}.*` },
        effect: { kind: 'lose-reply' },
      });
      const run = await stage.start(convertPolicy(), { name });
      await stage.sandbox.faultHit(lost);
      stage.sandbox.addFault({ operation: 'listTrades', times: 1, effect: { kind: 'html', status: 503 } });
      assertDoneOnce(run, await run.report());
    });

    test('twins to one account: the lost one is told from the other by its tag', async () => {
      const run = await startWith(
        stage,
        [{ operation: 'createWithdrawal', nth: 1, effect: { kind: 'lose-reply' } }],
        {
          withdraw: [
            { id: 'first', account: MXN_ACCOUNT, fixed: '100.00' },
            { id: 'second', account: MXN_ACCOUNT, fixed: '100.00' },
          ],
        },
      );
      assertDoneOnce(run, await run.report());
      assert.equal(run.writes().filter((entry) => entry.operation === 'createWithdrawal').length, 2);
    });
  });

  describe('where lists show no tags, the same key again is the look', AT_ONCE, () => {
    const effects: readonly (readonly [string, FaultEffect])[] = [
      ['a lost reply', { kind: 'lose-reply' }],
      ['a cut reply', { kind: 'cut-body' }],
      ['a late booking', { kind: 'late-commit', ms: 3_000 }],
    ];
    for (const [what, effect] of effects)
      test(`${what} of a withdrawal`, async () => {
        const run = await startWith(silent, [{ operation: 'createWithdrawal', effect }]);
        assertDoneOnce(run, await run.report());
        const sent = run.writes().filter((entry) => entry.operation === 'createWithdrawal');
        assert.ok(sent.length >= 2);
        assert.equal(new Set(sent.map((entry) => entry.idempotencyKey)).size, 1);
      });

    test('twins whose replies are both lost are both paid, once each', async () => {
      const effect: FaultEffect = { kind: 'lose-reply' };
      const run = await startWith(
        silent,
        [{ operation: 'createWithdrawal', nth: [1, 2], times: 2, effect }],
        {
          withdraw: [
            { id: 'first', account: MXN_ACCOUNT, fixed: '100.00' },
            { id: 'second', account: MXN_ACCOUNT, fixed: '100.00' },
          ],
        },
      );
      assertDoneOnce(run, await run.report());
      assert.equal(
        new Set(
          run
            .writes()
            .filter((entry) => entry.operation === 'createWithdrawal')
            .map((entry) => entry.idempotencyKey),
        ).size,
        2,
      );
    });
  });
});
