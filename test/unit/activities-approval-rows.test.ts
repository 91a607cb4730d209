/** How often a worker with rules of approvals reads the rows of a batch from Temporal: each chunk once, whatever waits or is paid. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { approvalGate } from '../../activities/approval-gate.ts';
import { CHUNK, type BatchPayment } from '../../domain/batch.ts';
import type { Recorded } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { Approvals } from '../../domain/writes/approval-rules.ts';
import { hashOfChunk } from '../../language/batch/chunk-hash.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { loadSigners } from '../../language/ssh-signers.ts';
import { NOW, WHOLE_PLAN } from '../support/scripts.ts';
import { allowedSigners, forgedBy, type Person } from '../support/signers.ts';

const loaded = loadPolicy(
  `policy: 1
kind: payout
name: p
environment: sandbox
payout: { fund: { mode: none } }
shortfall: hold
`,
  'p.yaml',
);
assert.ok(loaded.ok, JSON.stringify(loaded));
const { policy, hash } = loaded;

const DAY_MS = 86_400_000;
const PEOPLE: readonly Pick<Person, 'name' | 'publicKey'>[] = ['ana', 'dan'].map((name, index) => {
  const key = Buffer.concat([
    Buffer.from([0, 0, 0, 11]),
    Buffer.from('ssh-ed25519'),
    Buffer.from([0, 0, 0, 32]),
  ]);
  return {
    name,
    publicKey: `ssh-ed25519 ${Buffer.concat([key, Buffer.alloc(32, index + 1)]).toString('base64')}`,
  };
});
const signers = loadSigners(allowedSigners(...PEOPLE));
assert.ok(signers.ok, JSON.stringify(signers));
const APPROVALS: Approvals = {
  rules: [
    { policies: null, above: { value: '500', currency: 'EUR' }, need: 1, of: ['ana'], withinMs: DAY_MS },
  ],
  signers: signers.signers,
  allowedSigners: allowedSigners(...PEOPLE),
  revokedKeys: null,
};

/** A batch of so many chunks of 25 payments, and a worker to which Temporal shows them. */
function batchOf(chunks: number, more: { readonly paymentsOfOne?: number } = {}) {
  const { paymentsOfOne = 25 } = more;
  const rowsOf = (chunk: number): readonly BatchPayment[] =>
    Array.from({ length: paymentsOfOne }, (_, n) => [`c${chunk}-${n}`, 'wac_1', 'EUR', '400'] as const);
  const numbers = Array.from({ length: chunks }, (_, index) => index + 1);
  const plan: Plan = {
    ...WHOLE_PLAN,
    policy: { name: 'p', hash },
    legs: [],
    payments: [],
    batch: {
      payments: paymentsOfOne * chunks,
      totals: [],
      payable: [],
      heldBy: [],
      chunks: numbers.map((number) => ({
        payments: paymentsOfOne,
        hash: hashOfChunk(rowsOf(number)),
        unpayable: null,
      })),
      rules: { parallel: 8, stopAfter: null, canary: null, dedupeMs: 0 },
    },
  };
  let said: readonly Recorded[] = [];
  const reads: number[] = [];
  let ms = 0;
  /** From then on Temporal shows no chunk. */
  let isAway = false;
  const { whyNot } = approvalGate(
    {
      mode: 'SANDBOX',
      organisation: WHOLE_PLAN.credentials.organisation,
      clock: { wallMs: () => NOW + ms, monotonicMs: () => ms },
      readPlan: async () => ({ kind: 'plan', plan: structuredClone(plan) }),
      readWords: async () => ({ instructions: said, facts: [] }),
      readRows: async (_run, number) => {
        reads.push(number);
        await setImmediate();
        return isAway ? null : rowsOf(number);
      },
      verify: async () => 'good',
    },
    async () => ({ policies: [], ceilings: null, approvals: null, troubles: [] }),
  );
  const versions = [{ policy, hash, destinations: null, referenceRates: null, before: null }];
  const ask = (chunk: number, [id, account, currency, amount]: BatchPayment) => {
    const reference = `p.2026-11-21.${id}`;
    return whyNot({ kind: 'withdrawal', reference, account, currency, amount }, APPROVALS, versions, chunk);
  };
  return {
    reads,
    rowsOf,
    ask,
    goesAway: (): boolean => (isAway = true),
    comesBack: (): boolean => (isAway = false),
    /** Every payment of every chunk asks, those of a chunk side by side, as a slice does. @returns how each was answered, once */
    askAll: async (): Promise<readonly (string | null)[]> => {
      const answers = new Set<string | null>();
      await Promise.all(
        numbers.map(async (number) => {
          const all = await Promise.all(rowsOf(number).map((row) => ask(number, row)));
          for (const one of all) answers.add(one?.code ?? null);
        }),
      );
      return [...answers];
    },
    passes: (more_: number): number => (ms += more_),
    sign: (): void => {
      const [ana, dan] = PEOPLE;
      assert.ok(ana !== undefined && dan !== undefined);
      const by = { kind: 'approve', why: 'seen', about: null, date: '2026-11-21' } as const;
      const until = { atMs: NOW, expiresAtMs: NOW + DAY_MS };
      said = [
        { ...by, ...until, id: 'a', by: 'dan', number: 1, as: 'starter', signature: forgedBy(dan) },
        { ...by, ...until, id: 'b', by: 'ana', number: 2, as: 'approver', signature: forgedBy(ana) },
      ];
    },
  };
}

test('a batch of 60 chunks that waits for signatures has each of them read once, and not once more while it waits', async () => {
  const batch = batchOf(60);
  for (let minute = 0; minute < 3; minute += 1) {
    // One after the other.
    assert.deepEqual(await batch.askAll(), ['AWAITING_APPROVAL']);
    batch.passes(60_000);
  }
  assert.equal(batch.reads.length, 60);
});

test('once it is signed, all of its payments leave by the same readings', async () => {
  const batch = batchOf(60);
  await batch.askAll();
  batch.sign();
  batch.passes(60_000);
  assert.deepEqual(await batch.askAll(), [null]);
  assert.equal(batch.reads.length, 60);
});

test('payments that ask side by side share a reading under way, and one that has failed is made anew', async () => {
  const batch = batchOf(1);
  batch.sign();
  batch.goesAway();
  assert.deepEqual(await batch.askAll(), ['NOT_SENT']);
  assert.equal(batch.reads.length, 1);
  batch.comesBack();
  assert.deepEqual(await batch.askAll(), [null]);
  assert.equal(batch.reads.length, 2);
});

test('a signed batch lets leave only what its rows have, and what they do not have waits', async () => {
  const batch = batchOf(2);
  const [[id, account, currency]] = batch.rowsOf(1) as [BatchPayment];
  const strange: BatchPayment = [id, account, currency, '401'];
  assert.equal((await batch.ask(1, strange))?.code, 'AWAITING_APPROVAL');
  batch.sign();
  batch.passes(1_001);
  const told = await batch.ask(1, strange);
  assert.equal(told?.code, 'NOT_ALLOWED');
  assert.match(told?.reason ?? '', /has no such payment of "p\.2026-11-21\.c1-0"/);
  // A row of another chunk is none of this one.
  assert.equal((await batch.ask(2, [id, account, currency, '400']))?.code, 'NOT_ALLOWED');
  assert.equal(await batch.ask(1, [id, account, currency, '400']), null);
});

test('a chunk that is larger than any that is submitted does not fill the memory of the worker', async () => {
  const batch = batchOf(1, { paymentsOfOne: Math.ceil(CHUNK.bytes / 20) });
  const [row] = batch.rowsOf(1);
  assert.ok(row !== undefined);
  const told = await batch.ask(1, row);
  assert.equal(told?.code, 'NOT_SENT');
  assert.match(told?.reason ?? '', /chunk 1 of its batch is larger than any that Cambist submits/);
});
