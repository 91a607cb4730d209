/** Who has signed, as a report names them: only those whose signatures this machine has verified. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { Recorded } from '../../domain/people/instructions.ts';
import type { Signable } from '../../domain/writes/approvals.ts';
import { loadSigners } from '../../language/ssh-signers.ts';
import { signersIn } from '../../operations/follow/approved-by.ts';
import { evidenceOf } from '../../operations/follow/instruction-evidence.ts';
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
  const ids = all.map(({ id }) => signers.get(id) ?? null);
  assert.deepEqual(ids, [null, 'ana', 'ben', null, null, null]);
  const told = all.map(
    (said) => evidenceOf(said, WHOLE_PLAN.run, { all, signer: signers.get(said.id) ?? null }).result,
  );
  assert.match(
    told[1] ?? '',
    /^ana: approves the plan, signed by ana, as verified here, with key SHA256:\S+: seen$/,
  );
  assert.match(
    told[2] ?? '',
    /approves that "supplier" was not executed, as dan has said: asked the bank, signed by ben/,
  );
  assert.match(told[4] ?? '', /^stranger: approves the plan, signed with key SHA256:/);
});
