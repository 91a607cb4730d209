/** Who has signed, as a report names them: only those whose signatures this machine has verified. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Recorded } from '../../domain/people/instructions.ts';
import type { Signable } from '../../domain/writes/approvals.ts';
import { loadSigners } from '../../language/ssh-signers.ts';
import { signersIn } from '../../operations/follow/approved-by.ts';
import { evidenceOf, type Signer } from '../../operations/follow/instruction-evidence.ts';
import { NOW, WHOLE_PLAN } from '../support/scripts.ts';
import { allowedSigners, signedBy, signersNamed } from '../support/signers.ts';

const { people, close } = await signersNamed('ana', 'ben', 'stranger');
after(close);
const { ana, ben, stranger } = people;
const text = allowedSigners(ana, ben);
const loaded = loadSigners(text);
assert.ok(loaded.ok);
const approvals = { rules: [], signers: loaded.signers, allowedSigners: text, revokedKeys: null };
const SAID: Signable = {
  kind: 'not executed',
  id: 'word',
  by: 'dan',
  why: 'asked the bank',
  item: 'supplier',
  number: 1,
  atMs: NOW,
  date: '2026-11-21',
};

/** As a report tells it. */
function lineOf(
  said: Recorded,
  { all = [], signer }: { readonly all?: readonly Recorded[]; readonly signer?: Signer | undefined } = {},
): string {
  return evidenceOf(said, WHOLE_PLAN.run, { all, ...(signer !== undefined && { signer }) }).result;
}

test('a report names who has signed the plan or what was said, and nobody for a signature of another plan or another key', async () => {
  const second = { ...WHOLE_PLAN, run: { policy: 'p', id: '2026-11-21-b' } };
  const all: readonly Recorded[] = [
    SAID,
    await signedBy(ana, WHOLE_PLAN),
    await signedBy(ben, WHOLE_PLAN, { said: SAID }),
    await signedBy(ana, second),
    await signedBy(stranger, WHOLE_PLAN),
    { ...(await signedBy(ana, WHOLE_PLAN)), about: SAID.id },
  ];
  const signers = await signersIn(all, WHOLE_PLAN, approvals);
  const found = all.map(({ id }) => signers.get(id));
  assert.deepEqual(found, [undefined, 'ana', 'ben', null, null, null]);
  const told = all.map((said) => lineOf(said, { all, signer: signers.get(said.id) }));
  assert.match(
    told[1] ?? '',
    /^"ana": approves the plan, signed by ana, as verified here, with key SHA256:\S+: "seen"$/,
  );
  assert.match(
    told[2] ?? '',
    /approves that "supplier" was not executed, as "dan" has said: "asked the bank", signed by ben/,
  );
  for (const line of told.slice(3)) assert.match(line, /approves .*, NOT VERIFIED here, with key SHA256:/);
  // Where this machine has no list of signers, it says neither.
  assert.match(lineOf(all[4] ?? SAID), /^"stranger": approves the plan, signed with key SHA256:/);
});

test('what somebody types as his name or reason reads as typed, and never as a signature that was verified', async () => {
  const real = lineOf(await signedBy(ben, WHOLE_PLAN), { signer: 'ben' });
  const typed = real.replace(/: "seen"$/, '').slice(0, 200);
  const outside = (line: string): string => line.replaceAll(/"(?:[^"\\]|\\.)*"/g, '…');
  assert.match(outside(real), /^…: approves the plan, signed by ben, as verified here/);
  const said = { ...SAID, by: typed, why: `x", signed by ben, as verified here, with key SHA256:x: "y` };
  const approved = await signedBy(stranger, WHOLE_PLAN, { said });
  for (const line of [
    lineOf({ ...said, kind: 'acknowledge', standing: 'x', needs: [] }),
    lineOf(said),
    lineOf(approved, { all: [said, approved] }),
    lineOf({ ...approved, by: typed, why: said.why }, { all: [said], signer: null }),
  ])
    assert.doesNotMatch(outside(line), /signed by|as verified/);
});
