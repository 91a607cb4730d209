/** The rules of approvals, who may sign, and what a signature of OpenSSH says of itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadApprovals } from '../../language/load-approvals.ts';
import { fingerprintOf, keyOfSignature, loadSigners } from '../../language/ssh-signers.ts';
import { forgedBy } from '../support/signers.ts';

const RULES = `approvals: 1
rules:
  - { above: "50000.00 USD", need: 2, of: [ana, ben, chi], within: 4h }
  - { policies: [contractors], above: "1000.00 EUR", need: 1, of: [ana], within: 30m }
`;

test('rules name policies, an amount, people and a time; a mistake leaves none of them', () => {
  assert.deepEqual(loadApprovals(RULES, 'approvals.yaml'), {
    ok: true,
    rules: [
      {
        policies: null,
        above: { value: '50000.00', currency: 'USD' },
        need: 2,
        of: ['ana', 'ben', 'chi'],
        withinMs: 14_400_000,
      },
      {
        policies: ['contractors'],
        above: { value: '1000.00', currency: 'EUR' },
        need: 1,
        of: ['ana'],
        withinMs: 1_800_000,
      },
    ],
  });
  const started = RULES.replace('need: 2, of: [ana, ben, chi]', 'need: 0, of: []');
  assert.ok(loadApprovals(started, 'approvals.yaml').ok);
  const mistakes: readonly (readonly [string, string, RegExp])[] = [
    ['need: 2', 'need: 4', /APPROVALS_NUMBER 4 people must sign, and `of` names 3/],
    ['[ana, ben, chi]', '[ana, ana, chi]', /APPROVALS_LISTED_TWICE/],
    ['within: 4h', 'within: 4 hours', /APPROVALS_DURATION/],
    ['"50000.00 USD"', '50000.00', /APPROVALS_/],
    ['need: 2, ', '', /APPROVALS_MISSING_FIELD/],
    ['[ana, ben, chi]', '[]', /APPROVALS_NUMBER/],
    ['above:', 'abov:', /APPROVALS_UNKNOWN_FIELD/],
  ];
  for (const [good, bad, told] of mistakes) {
    const loaded = loadApprovals(RULES.replace(good, bad), 'approvals.yaml');
    assert.ok(!loaded.ok, bad);
    assert.match(loaded.problems.map(({ code, message }) => `${code} ${message}`).join('\n'), told);
  }
});

const KEY = 'AAAAC3NzaC1lZDI1NTE5AAAAIEbQw1sTt+bYJUdkY/jovjtF+wjGeUc9zNSLjdTZm/YR';

test('who may sign is taken by name: patterns, keys that sign keys and lines that are not understood refuse the whole file', () => {
  const good = `# who we are
ana ssh-ed25519 ${KEY} ana@work
ben,benno valid-before="20270101",namespaces="cambist-plan,git" ssh-ed25519 ${KEY}
`;
  assert.deepEqual(loadSigners(good), {
    ok: true,
    signers: ['ana', 'ben', 'benno'].map((name) => ({ name, key: KEY })),
  });
  const bad = [
    `*@example.com ssh-ed25519 ${KEY}`,
    `!ana,ben ssh-ed25519 ${KEY}`,
    `ana cert-authority ssh-ed25519 ${KEY}`,
    `ana namespaces="a",cert-authority ssh-ed25519 ${KEY}`,
    `ana ssh-ed25519`,
    `"ana ben" ssh-ed25519 ${KEY}`,
    `-r ssh-ed25519 ${KEY}`,
  ];
  for (const line of bad) {
    const loaded = loadSigners(`${good}${line}\n`);
    assert.ok(!loaded.ok, line);
    assert.match(loaded.mistake, /^line 4 is not "name key"/);
  }
});

test('of a signature the key is read when it is for plans; one for another purpose, or of any other form, type or hash, has none', () => {
  const signature =
    'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgRtDDWxO35tglR2Rj+Oi+O0X7CMZ5Rz3M1IuN1Nmb9hEAAAAMY2FtYmlzdC1wbGFuAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQAWtdEELg/GfF6BLuYWFfzJh+BM3k9R+DIcrW01qhRf2znRgqG9YCMdN6QjseHziJBHSDI4kgo3rfXtQetGWxA8=';
  assert.equal(keyOfSignature(signature), KEY);
  // As `ssh-keygen -l` tells it of this key.
  assert.equal(fingerprintOf(signature), 'SHA256:uYd+gDJqLzc/MaqUEPRAVAqjUIT1NtVusYg0u1lhMfw');
  const bytes = Buffer.from(signature, 'base64');
  const ofGit = Buffer.from(bytes.toString('latin1').replace('cambist-plan', 'cambist-plat'), 'latin1');
  const cut = bytes.subarray(0, 40);
  const more = Buffer.concat([bytes, Buffer.from([0, 0, 0, 0])]);
  const texts = [
    more.toString('base64'),
    ofGit.toString('base64'),
    cut.toString('base64'),
    'U1NIU0lH',
    '',
    'no base64!',
    'A'.repeat(7_000),
  ];
  for (const text of texts) assert.equal(keyOfSignature(text), null, text);
  const ofKey = { publicKey: `ssh-ed25519 ${KEY}` };
  assert.equal(keyOfSignature(forgedBy(ofKey)), KEY);
  for (const hash of ['md5', 'no such file', 'sha512 ', ''])
    assert.equal(keyOfSignature(forgedBy(ofKey, { hash })), null, hash);
  for (const type of ['no such file', 'rsa-sha2-512', 'ssh-ed25519-cert-v01@openssh.com', ''])
    assert.equal(keyOfSignature(forgedBy(ofKey, { type })), null, type);
});
