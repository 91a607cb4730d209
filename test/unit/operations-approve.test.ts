/** What a key is asked to sign about a run, and about a halt. Keys and signatures are real. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { isOfCommand } from '../../cli/commands/run.ts';
import { isSaying } from '../../cli/commands/resolve.ts';
import { publicKeyOf, signText, type verifySignature } from '../../config/ssh-keygen.ts';
import { resumeToSign, type HaltWord } from '../../domain/halt.ts';
import type { Recorded } from '../../domain/people/instructions.ts';
import { recordedOf } from '../../domain/people/instruction-shape.ts';
import type { Signable, SignedAs } from '../../domain/writes/approvals.ts';
import { keyOfSignature } from '../../language/ssh-signers.ts';
import { leftToSign } from '../../operations/approve/approval.ts';
import { madeBy } from '../../operations/approve/signed-text.ts';
import { areSignedOtherwise } from '../../operations/halt/switch.ts';
import { recorded } from '../support/instructions.ts';
import { NOW, WHOLE_PLAN } from '../support/scripts.ts';
import { forgedBy, signedBy, signersNamed } from '../support/signers.ts';

const { people, close } = await signersNamed('ana');
after(close);
const { ana } = people;
const key = await publicKeyOf(ana.keyFile);
assert.ok(key !== null);

const decided = (item: string, by = 'ana'): Signable =>
  recorded({ kind: 'not executed', id: `said-${item}-${by}`, item, by, atMs: NOW }) as Signable;
const DECIDED = decided('supplier');

const approved = (as: SignedAs, said: Signable | null, expiresAtMs = NOW + 60_000): Promise<Recorded> =>
  signedBy(ana, WHOLE_PLAN, { as, expiresAtMs, ...(said !== null && { said }) });

type IsAsked = Parameters<typeof leftToSign>[1]['isAsked'];

/** What is left for ana, and what of it she may sign. Null: the plan. */
async function asked(
  as: SignedAs,
  said: readonly Recorded[],
  isAsked: IsAsked = () => true,
): Promise<readonly (readonly (string | null)[])[]> {
  const of = { as, plan: WHOLE_PLAN, key: key ?? '', nowMs: NOW + 1, isAsked };
  const { left, mine } = await leftToSign({ instructions: said, facts: [] }, of);
  return [left, mine].map((all) => all.map((one) => one?.id ?? null));
}

test('who has approved the plan is not asked to sign it as its starter, which would void that for ever, and the other way round', async () => {
  const { id } = DECIDED;
  assert.deepEqual(await asked('approver', []), [[null], [null]]);
  assert.deepEqual(await asked('approver', [await approved('approver', null)]), [[], []]);
  assert.deepEqual(await asked('starter', [await approved('approver', null), DECIDED]), [[null, id], [id]]);
  const both = [await approved('starter', null, NOW), DECIDED, await approved('starter', DECIDED)];
  assert.deepEqual(await asked('approver', both), [[null, id], []]);
  // A signature of the same role that is over is given once more.
  assert.deepEqual(await asked('starter', [await approved('starter', null, NOW)]), [[null], [null]]);
});

test('who has just decided is asked about that decision alone', async () => {
  const decision = { kind: 'not executed', evidence: 'ticket 4711', by: 'ana' } as const;
  const isAsked: IsAsked = (said) => said !== null && isSaying(said, { item: 'supplier', decision });
  const another = decided('tax');
  assert.deepEqual(await asked('starter', [another, DECIDED], isAsked), [[DECIDED.id], [DECIDED.id]]);
  assert.deepEqual(await asked('starter', [another, decided('supplier', 'ben')], isAsked), [[], []]);
});

test('who starts a run signs its plan, who pays again signs that, and neither what others have said', async () => {
  const again = (id: string): Recorded =>
    recorded({ kind: 'pay again', id, item: 'supplier', follows: 1, recordId: null, atMs: NOW });
  const said = [again('of-ben'), again('own'), DECIDED];
  assert.deepEqual(await asked('starter', said, isOfCommand([null])), [[null], [null]]);
  assert.deepEqual(await asked('starter', said, isOfCommand(['own'])), [['own'], ['own']]);
});

test('who starts a batch and says that look-alikes are none of its payments signs both; of several such lists only the last is asked about', async () => {
  const list = (id: string): Recorded =>
    recorded({
      kind: 'go-on',
      id,
      item: 'look-alikes-abcdefghijkl',
      takesBack: null,
      lookAlikes: { sinceMs: NOW - 1, untilMs: NOW, perGroup: 1, groups: ['1.0.abcdefghijkl'] },
      atMs: NOW,
    });
  const said = [list('first'), DECIDED, list('own')];
  assert.deepEqual(await asked('starter', said, isOfCommand([null, 'own'])), [
    [null, 'own'],
    [null, 'own'],
  ]);
  assert.deepEqual(await asked('approver', said), [
    [null, DECIDED.id, 'own'],
    [null, DECIDED.id, 'own'],
  ]);
});

test('a signature that only names a key, or that the key has made of something else, keeps nobody from signing', async () => {
  const other = { ...WHOLE_PLAN, run: { policy: 'p', id: '2026-11-21-b' } };
  const ofOther = await signedBy(ana, other, { as: 'starter' });
  for (const as of ['starter', 'approver'] as const) {
    const word = recorded({
      kind: 'approve',
      as,
      about: null,
      expiresAtMs: 8.64e15,
      signature: forgedBy(ana),
    });
    assert.equal(keyOfSignature(forgedBy(ana)), key?.split(' ')[1], 'it names her key');
    assert.ok(recordedOf(word).ok, 'it has the form of ours');
    // One after the other.
    for (const one of [word, { ...ofOther, as }])
      assert.deepEqual(await asked('approver', [one]), [[null], [null]]);
  }
});

test('a signature whose hash is named like a trouble of the machine keeps nobody from signing', async () => {
  const signature = forgedBy(ana, { hash: 'no such file' });
  const word = recorded({ kind: 'approve', as: 'starter', about: null, expiresAtMs: 8.64e15, signature });
  assert.ok(recordedOf(word).ok, 'it has the form of ours');
  assert.deepEqual(await asked('approver', [word]), [[null], [null]]);
});

test('of a flood of signatures that only name a key some hundred are verified, of each thing the newest first, and the others are told', async () => {
  const signed = async (about: string) => {
    const by = await signText(ana.keyFile, about);
    assert.ok(by.ok);
    return { text: about, signature: by.signature };
  };
  let verified = 0;
  const verify: typeof verifySignature = async ({ text, signature }) => {
    verified += 1;
    return signature === made.find((one) => one.text === text)?.signature ? 'good' : 'bad';
  };
  const made = [await signed('flooded'), await signed('other'), await signed('old')];
  const [flooded = assert.fail(), other = assert.fail(), old = assert.fail()] = made;
  const flood = (text: string, length = 900) =>
    Array.from({ length }, () => ({ text, signature: forgedBy(ana) }));
  const all = [
    [...flood('flooded'), flooded],
    [...flood('other', 1), other],
    [old, ...flood('old')],
  ];
  const told = await madeBy(key, all, verify);
  assert.deepEqual([...told.made], [flooded, other]);
  assert.ok(told.unverified.has(old));
  assert.ok(verified <= 500, `${verified} were verified`);
});

test('nobody signs in a role beside so many signatures of the other one that not all can be verified, since a true one may be among them', async () => {
  const own = await approved('approver', null);
  assert.ok(own.kind === 'approve');
  const signature = forgedBy(ana);
  const flood = (as: SignedAs, length: number): readonly Recorded[] =>
    Array.from({ length }, (_, index) => ({ ...own, as, signature, id: `forged-${index}` }));
  const left = async (said: readonly Recorded[], as: SignedAs = 'starter'): Promise<unknown> => {
    const of = { as, plan: WHOLE_PLAN, key: key ?? '', nowMs: NOW + 1, isAsked: () => true };
    const verify: typeof verifySignature = async (one) => (one.signature === own.signature ? 'good' : 'bad');
    const { mine, isUnsure } = await leftToSign({ instructions: said, facts: [] }, of, verify);
    return [mine.map((one) => one?.id ?? null), isUnsure];
  };
  // Without the flood she is told that she has approved it.
  assert.deepEqual(await left([own]), [[], false]);
  assert.deepEqual(await left([own, ...flood('approver', 501)]), [[], true]);
  assert.deepEqual(await left([own, ...flood('approver', 499)]), [[], false]);
  // Signatures of the same role void nothing.
  assert.deepEqual(await left(flood('starter', 501)), [[null], false]);
  // What is left is about the plan alone, and keeps nobody from another thing.
  assert.deepEqual(await left([...flood('approver', 501), DECIDED]), [[DECIDED.id], true]);
});

test('whether a key has signed the end of a halt in the other role is told by its signature, not by its name', async () => {
  const scope = { policy: null, currency: null };
  const place = { mode: 'LIVE', namespace: 'ours' } as const;
  const said = { scope, by: 'ana', why: 'seen', haltAtMs: NOW, as: 'starter', expiresAtMs: NOW + 1 } as const;
  const halt = { scope, by: 'dan', why: 'seen', atMs: NOW };
  const isOther = async (
    signature: string,
    as: SignedAs = 'approver',
  ): Promise<boolean | null | undefined> => {
    const words: readonly HaltWord[] = [{ word: 'approve', said: { ...said, signature }, atMs: NOW }];
    const [is] = await areSignedOtherwise(place, words, { halts: [halt], as, key: key ?? '' });
    return is;
  };
  const signed = await signText(ana.keyFile, resumeToSign({ ...place, ...said }));
  const elsewhere = await signText(ana.keyFile, resumeToSign({ ...place, ...said, namespace: 'another' }));
  assert.ok(signed.ok && elsewhere.ok);
  assert.equal(await isOther(signed.signature), true);
  assert.equal(await isOther(signed.signature, 'starter'), false);
  assert.equal(await isOther(elsewhere.signature), false);
  assert.equal(await isOther(forgedBy(ana)), false);
  assert.equal(await isOther(forgedBy(ana, { hash: 'no such file' })), false);
});
