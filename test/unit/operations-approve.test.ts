/** What a key is asked to sign about a run. Keys and signatures are real. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isSaying } from '../../cli/commands/resolve.ts';
import { publicKeyOf, signText } from '../../config/ssh-keygen.ts';
import type { SignedAs } from '../../domain/writes/approvals.ts';
import { leftToSign } from '../../operations/approve/approval.ts';
import { kept, type LooseRecorded } from '../support/instructions.ts';
import { NOW } from '../support/scripts.ts';
import { signersNamed } from '../support/signers.ts';

const { people, close } = await signersNamed('ana');
after(close);
const { keyFile } = people.ana;
const signed = await signText(keyFile, 'any text');
assert.ok(signed.ok);
const key = await publicKeyOf(keyFile);

const approved = (as: SignedAs, about: string | null, expiresAtMs = NOW + 60_000): LooseRecorded => ({
  kind: 'approve',
  as,
  about,
  expiresAtMs,
  signature: signed.signature,
});
const DECIDED: LooseRecorded = {
  kind: 'not executed',
  id: 'said-1',
  item: 'supplier',
  atMs: NOW,
};

type IsAsked = Parameters<typeof leftToSign>[1]['isAsked'];

/** What is left for ana, and what of it she may sign. Null: the plan. */
function asked(as: SignedAs, said: readonly LooseRecorded[], isAsked: IsAsked = () => true): unknown {
  const { left, mine } = leftToSign(kept(...said), {
    as,
    key,
    nowMs: NOW + 1,
    planUntilMs: NOW + 60_000,
    isAsked,
  });
  return [left, mine].map((all) => all.map((one) => one?.id ?? null));
}

test('who has approved the plan is not asked to sign it as its starter, which would void that for ever, and the other way round', () => {
  assert.deepEqual(asked('approver', []), [[null], [null]]);
  assert.deepEqual(asked('approver', [approved('approver', null)]), [[], []]);
  assert.deepEqual(asked('starter', [approved('approver', null), DECIDED]), [[null, 'said-1'], ['said-1']]);
  assert.deepEqual(
    asked('approver', [approved('starter', null, NOW), DECIDED, approved('starter', 'said-1')]),
    [[null, 'said-1'], []],
  );
  // A signature of the same role that is over is given once more.
  assert.deepEqual(asked('starter', [approved('starter', null, NOW)]), [[null], [null]]);
});

test('who has just decided is asked about that decision alone', () => {
  const decision = { kind: 'not executed', evidence: 'ticket 4711', by: 'ana' } as const;
  const isAsked: IsAsked = (said) => said !== null && isSaying(said, { item: 'supplier', decision });
  const another = { ...DECIDED, id: 'said-2', item: 'tax' };
  assert.deepEqual(asked('starter', [another, DECIDED], isAsked), [['said-1'], ['said-1']]);
  assert.deepEqual(asked('starter', [another, { ...DECIDED, by: 'ben' }], isAsked), [[], []]);
});
