/** Signing and verifying by `ssh-keygen`: whatever goes wrong is no valid signature, and a machine that cannot verify is told from a bad one. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmod, copyFile, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { canVerify, publicKeyOf, signText, verifySignature } from '../../config/ssh-keygen.ts';
import { allowedSigners, forgedBy, signersNamed } from '../support/signers.ts';

const { people, close } = await signersNamed('ana', 'ben');
after(close);
const { ana, ben } = people;
const folder = await mkdtemp(join(tmpdir(), 'keygen-'));

// The temporary files of this test alone.
const { TMPDIR: before } = process.env;
process.env['TMPDIR'] = folder;
after(async () => {
  if (before === undefined) delete process.env['TMPDIR'];
  else process.env['TMPDIR'] = before;
  await rm(folder, { recursive: true });
});

const TEXT = 'what ana signs\n';
const signed = await signText(ana.keyFile, TEXT);
assert.ok(signed.ok);
const OF = {
  text: TEXT,
  signature: signed.signature,
  name: 'ana',
  allowedSigners: allowedSigners(ana, ben),
  revokedKeys: null,
};
const base64 = (text: string) => Buffer.from(text).toString('base64');

test('a signature is good for its text, its name and its key, while that is not revoked or over', async () => {
  assert.equal(await verifySignature(OF), 'good');
  const bad = [
    { text: `${TEXT} ` },
    { name: 'ben' },
    { name: '*' },
    { name: '-r' },
    { signature: `${OF.signature.slice(0, -8)}AAAAAA==` },
    { signature: 'no signature' },
    { allowedSigners: allowedSigners(ben) },
    { allowedSigners: '' },
    { allowedSigners: `ana valid-before="20200101" ${ana.publicKey}\n` },
    { allowedSigners: `ana namespaces="git" ${ana.publicKey}\n` },
    { revokedKeys: base64(`${ana.publicKey}\n`) },
    { revokedKeys: base64('not a list of keys\n') },
  ];
  for (const other of bad)
    assert.equal(await verifySignature({ ...OF, ...other }), 'bad', JSON.stringify(other));
  assert.equal(await verifySignature({ ...OF, revokedKeys: base64(`${ben.publicKey}\n`) }), 'good');
});

test('without a program, or with one that knows no signatures, nothing can be verified, and nothing is left behind', async () => {
  const old = join(folder, 'old-ssh-keygen');
  await writeFile(old, '#!/bin/sh\necho "unknown option -- Y" >&2\nexit 1\n', { mode: 0o755 });
  for (const program of ['/nowhere/ssh-keygen', old]) {
    assert.equal(await verifySignature(OF, program), 'unable', program);
    assert.equal(await canVerify(program), false);
    assert.equal((await signText(ana.keyFile, TEXT, program)).ok, false);
  }
  assert.equal(await canVerify(), true);
  const left = (await readdir(tmpdir())).filter((name) => name.startsWith('cambist-signature-'));
  assert.deepEqual(left, []);
});

/** A program that ends so, once or always, but for the text by which a machine is tried. */
async function failing(end: string, { isAlways = false } = {}): Promise<string> {
  const name = join(folder, `failing-${randomUUID()}`);
  const once = isAlways ? '' : `[ -e ${name}.failed ] && exec ssh-keygen "$@"\n: > ${name}.failed\n`;
  const known = 'case "$*" in *" -I cambist "*) exec ssh-keygen "$@";; esac';
  await writeFile(name, `#!/bin/sh\n${known}\n${once}${end}\n`, { mode: 0o755 });
  return name;
}

const ENDS: readonly (readonly [string, string])[] = [
  ['killed', 'kill -9 $$'],
  ['without a library', 'echo "error while loading shared libraries: libcrypto.so.3" >&2; exit 127'],
  ['in silence', 'exit 255'],
  ['without files', 'echo "Could not verify signature."; echo "Too many open files" >&2; exit 255'],
];

test('a verification that failed tells nothing about the signature, and is made once more', async () => {
  for (const [how, end] of ENDS) {
    assert.equal(await verifySignature(OF, await failing(end)), 'good', how);
    assert.equal(await verifySignature({ ...OF, text: 'another' }, await failing(end)), 'bad', how);
  }
  const says = await failing('echo "Could not verify signature."; exit 255');
  assert.equal(await verifySignature(OF, says), 'bad', 'an end that says so is a bad signature');
});

test('a machine that verifies its own text is never unable because of what one signature does to its program', async () => {
  for (const [how, end] of ENDS)
    assert.equal(await verifySignature(OF, await failing(end, { isAlways: true })), 'bad', how);
});

test('a machine that cannot verify now is unable, although it could a moment ago', async () => {
  const program = join(folder, 'once-ssh-keygen');
  await copyFile(await failing('exit 255'), program);
  assert.equal(await canVerify(program), true);
  await writeFile(program, '#!/bin/sh\nexit 127\n');
  assert.equal(await verifySignature(OF, program), 'unable');
});

test('a signature whose own words read like a trouble of the machine is bad', async () => {
  for (const hash of ['no such file', 'unable to open', 'md5', ''])
    assert.equal(await verifySignature({ ...OF, signature: forgedBy(ana, { hash }) }), 'bad', hash);
  for (const type of ['no such file', 'rsa-sha2-512', ''])
    assert.equal(await verifySignature({ ...OF, signature: forgedBy(ana, { type }) }), 'bad', type);
  assert.equal(await verifySignature({ ...OF, signature: forgedBy(ana) }), 'bad', 'it has our form');
});

test('keys of every type that OpenSSH makes without a token can sign', async () => {
  const types = [['rsa'], ['ecdsa', '256'], ['ecdsa', '384'], ['ecdsa', '521']] as const;
  for (const [type, bits] of types) {
    const keyFile = join(folder, `${type}-${bits ?? ''}`);
    const size = bits === undefined ? [] : ['-b', bits];
    await promisify(execFile)('ssh-keygen', ['-q', '-t', type, ...size, '-N', '', '-f', keyFile]);
    const by = await signText(keyFile, TEXT);
    assert.ok(by.ok, type);
    const of = { ...OF, signature: by.signature, allowedSigners: `ana ${await publicKeyOf(keyFile)}\n` };
    assert.equal(await verifySignature(of), 'good', type);
  }
});

test('the public key is told by the file beside it, by the file itself, or by the private key; with a passphrase nobody is asked', async () => {
  const [type = '', bytes = ''] = ana.publicKey.split(' ');
  const key = `${type} ${bytes}`;
  assert.equal(await publicKeyOf(ana.keyFile), key);
  assert.equal(await publicKeyOf(`${ana.keyFile}.pub`), key);
  const alone = join(folder, 'alone');
  await copyFile(ana.keyFile, alone);
  await chmod(alone, 0o600);
  assert.equal(await publicKeyOf(alone), key);
  await promisify(execFile)('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'secret', '-f', alone]);
  assert.equal(await publicKeyOf(alone), null);
  assert.equal(await publicKeyOf(join(folder, 'none')), null);
});

test('a key that is not there is told in words', async () => {
  const none = await signText(join(folder, 'none'), TEXT);
  assert.ok(!none.ok);
  assert.match(none.message, /No such file/);
});
