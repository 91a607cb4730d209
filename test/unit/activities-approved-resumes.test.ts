/** Resumes that people must approve: before that what was halted stays halted (M4). Keys and signatures are real. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { approvedResumes } from '../../activities/approved-resumes.ts';
import { verifySignature, signText } from '../../config/ssh-keygen.ts';
import {
  holding,
  NO_RECORD,
  beginsWith,
  carriedFrom,
  drillScope,
  haltOf,
  halted,
  haltsAfter,
  heldAfter,
  resumeToSign,
  unsignedOf,
  type HaltRecord,
  type HaltScope,
  type HaltWord,
} from '../../domain/halt.ts';
import type { ApprovalRule, Approvals } from '../../domain/writes/approval-rules.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { loadSigners } from '../../language/ssh-signers.ts';
import { convertPolicy } from '../support/policies.ts';
import { NOW } from '../support/scripts.ts';
import { allowedSigners, signersNamed, type Person } from '../support/signers.ts';

const { people, close } = await signersNamed('ana', 'ben', 'chi', 'dan');
after(close);
const { ana, ben, chi, dan } = people;

const ALL: HaltScope = { policy: null, currency: null };
const SAID = { scope: ALL, by: 'dan', why: 'seen' } as const;
const HALT: HaltWord = { word: 'halt', said: SAID, atMs: NOW };
const RESUME: HaltWord = { word: 'resume', said: { ...SAID, haltAtMs: NOW }, atMs: NOW + 1_000 };
const RULE: ApprovalRule = {
  policies: null,
  above: { value: '500.00', currency: 'USD' },
  need: 2,
  of: ['ana', 'ben', 'chi'],
  withinMs: 3_600_000,
};

type Of = {
  readonly as?: 'starter' | 'approver';
  readonly haltAtMs?: number;
  readonly scope?: HaltScope;
  readonly expiresAtMs?: number;
  readonly namespace?: string;
};

async function signedBy(person: Person, of: Of = {}): Promise<HaltWord> {
  const { as = 'approver', haltAtMs = NOW, scope = ALL, expiresAtMs = NOW + 60_000, namespace = 'ours' } = of;
  const text = resumeToSign({ as, mode: 'LIVE', namespace, scope, haltAtMs, expiresAtMs });
  const signed = await signText(person.keyFile, text);
  assert.ok(signed.ok, JSON.stringify(signed));
  const said = {
    scope: ALL,
    by: person.name,
    why: 'seen',
    haltAtMs: NOW,
    as,
    expiresAtMs,
    signature: signed.signature,
  };
  return { word: 'approve', said, atMs: NOW + 2_000 };
}

const loaded = loadPolicy(convertPolicy(), 'p.yaml');
assert.ok(loaded.ok);
const { policy, hash } = loaded;
const POLICIES = [{ policy, hash, destinations: null, referenceRates: null, before: null }];

type Folder = {
  readonly rules?: readonly ApprovalRule[] | null;
  readonly revokedKeys?: string;
  readonly isUnusable?: true;
};

/** What a worker with this folder goes by. */
async function readBy(words: readonly HaltWord[], folder: () => Folder = () => ({})) {
  const clock = { monotonicMs: NOW, now: NOW + 5_000 };
  let record: HaltRecord = { ...NO_RECORD, runIds: ['1'], isOpen: true, words };
  const text = allowedSigners(ana, ben, chi, dan);
  const signers = loadSigners(text);
  assert.ok(signers.ok);
  const read = approvedResumes(async () => record, {
    mode: 'LIVE',
    namespace: 'ours',
    clock: { wallMs: () => clock.now, monotonicMs: () => clock.monotonicMs },
    readFolder: async () => {
      const { rules = [RULE], revokedKeys = null, isUnusable } = folder();
      const approvals: Approvals | null =
        rules === null ? null : { rules, signers: signers.signers, allowedSigners: text, revokedKeys };
      const policies = isUnusable === true ? [] : POLICIES;
      return { policies, ceilings: null, approvals: isUnusable === true ? null : approvals, troubles: [] };
    },
    verify: (asked) => verifySignature(asked),
    pause: () => new Promise(() => {}),
  });
  const why = async (): Promise<string> => {
    const now = await read();
    const halt = haltOf(haltsAfter(now.words), { policy: 'p', currencies: [] });
    return halt === null ? 'open' : halted(halt, unsignedOf(now.words, halt)).problem.message;
  };
  return {
    why,
    read,
    says: (...more: readonly HaltWord[]) => (record = { ...record, words: [...record.words, ...more] }),
    passes: (ms: number) => {
      clock.monotonicMs += ms;
      clock.now += ms;
    },
  };
}

const START = await signedBy(dan, { as: 'starter' });
const BY_ANA = await signedBy(ana);
const BY_BEN = await signedBy(ben);

test('what was halted stays halted until who has resumed it and two others have signed; then it is over for good', async () => {
  let folder: Folder = {};
  const worker = await readBy([HALT, RESUME], () => folder);
  assert.match(
    await worker.why(),
    /"dan" has resumed it; it needs the signature of who has resumed it and of 2 of ana, ben, chi/,
  );
  worker.says(START, BY_ANA);
  assert.match(
    await worker.why(),
    /signature of 1 of ben, chi, until .*signed by dan as who has resumed it at/,
  );
  worker.says(BY_BEN);
  assert.equal(await worker.why(), 'open');
  assert.equal(await worker.read(), await worker.read(), 'the same record');
  // A signature that came in time counts when its time is over, and so does what counted before an edit of the folder.
  worker.passes(86_400_000);
  folder = { rules: [{ ...RULE, need: 3 }] };
  assert.equal(await worker.why(), 'open');
});

test('own approval, the same person twice, an expired one, one for another halt, scope or namespace, and a revoked key lift nothing', async () => {
  const words = [HALT, RESUME, START, BY_ANA];
  const rest = await Promise.all([
    signedBy(dan),
    signedBy(ana, { expiresAtMs: NOW + 61_000 }),
    signedBy(ben, { expiresAtMs: NOW + 2_000 }),
    signedBy(ben, { haltAtMs: NOW - 1 }),
    signedBy(ben, { scope: { policy: 'p', currency: null } }),
    signedBy(ben, { namespace: 'another' }),
    signedBy(ben, { as: 'starter' }),
  ]);
  for (const one of rest) {
    // One after the other.
    const worker = await readBy([...words, { ...one, said: { ...(one.said as object), as: 'approver' } }]);
    assert.match(await worker.why(), /it needs the signature of 1 of ben, chi/);
  }
  const revokedKeys = Buffer.from(`${ben.publicKey}\n`).toString('base64');
  const revoked = await readBy([...words, BY_BEN], () => ({ revokedKeys }));
  assert.match(await revoked.why(), /it needs the signature of 1 of ben, chi/);
  assert.match(await (await readBy([HALT, RESUME, BY_ANA, BY_BEN])).why(), /signature of who has resumed it/);
});

test('a halt that a worker has seen holds where somebody deletes its record and begins one with a resume that nobody has signed', async () => {
  const worker = await readBy([HALT]);
  const seen = heldAfter(holding([]), await worker.read());
  const anew = await readBy([RESUME]);
  const held = heldAfter(seen, { ...(await anew.read()), runIds: ['2'] });
  assert.equal(
    held.halts.some(({ atMs }) => atMs === NOW),
    true,
  );
  // Put back, it is ended by the signatures.
  anew.says({ word: 'stands', said: { ...SAID, atMs: NOW }, atMs: NOW + 3_000 });
  assert.match(await anew.why(), /it needs the signature of who has resumed it/);
  anew.says(START, BY_ANA, BY_BEN);
  assert.equal(await anew.why(), 'open');
});

test('without rules, and by a rule for other policies alone, a resume counts at once; while the folder cannot be used none does', async () => {
  assert.equal(await (await readBy([HALT, RESUME], () => ({ rules: null }))).why(), 'open');
  const scope = { policy: 'p', currency: null };
  const halt = { ...HALT, said: { ...SAID, scope } };
  const resume = { ...RESUME, said: { ...SAID, scope, haltAtMs: NOW } };
  const others = [{ ...RULE, policies: ['q'] }];
  assert.equal(await (await readBy([halt, resume], () => ({ rules: others }))).why(), 'open');
  // The halt of everything is one of their policies too.
  assert.match(
    await (await readBy([HALT, RESUME], () => ({ rules: others }))).why(),
    /it needs the signature/,
  );
  let isUnusable = true;
  const worker = await readBy([HALT, RESUME], () => (isUnusable ? { isUnusable: true } : { rules: null }));
  assert.match(await worker.why(), /it is not known yet whether people must approve that/);
  isUnusable = false;
  worker.passes(5_001);
  assert.equal(await worker.why(), 'open');
});

test('the end of a drill needs no signature', async () => {
  const scope = drillScope('a');
  const drill = { ...HALT, said: { ...SAID, scope } };
  const worker = await readBy([drill, { ...RESUME, said: { ...SAID, scope, haltAtMs: NOW } }]);
  assert.deepEqual(haltsAfter((await worker.read()).words), []);
});

test('a signature is no halt, and what is no signature lifts none', async () => {
  const worker = await readBy([BY_ANA, { word: 'approve', said: 'anything', atMs: NOW }]);
  assert.equal(await worker.why(), 'open');
});

test('a record that a command begins anew lets go on what was resumed with all signatures, and nothing else', async () => {
  const anew = (...words: readonly HaltWord[]) => readBy(beginsWith(carriedFrom(words), NOW + 90_000_000));
  assert.match(await (await anew(HALT, RESUME, START, BY_ANA)).why(), /signature of 1 of ben, chi/);
  assert.equal(await (await anew(HALT, RESUME, START, BY_ANA, BY_BEN)).why(), 'open');
});
