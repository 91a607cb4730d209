/**
 * Signs and verifies by `ssh-keygen -Y` of OpenSSH: arguments without a shell, a bounded time, and temporary files (0600) that are
 * removed. Whatever goes wrong in verifying is no valid signature.
 */
import { spawn } from 'node:child_process';
import { Buffer } from 'node:buffer';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToVerify, Verified } from '../domain/writes/approvals.ts';
import { readTextFile } from './read-text-file.ts';
import { keyOfSignature, SIGNED_NAMESPACE } from '../language/ssh-signers.ts';

const VERIFY_MS = 5_000;
/** A person may have to find a hardware key and touch it, or to type a passphrase. */
const SIGN_MS = 120_000;
const MOST_OUTPUT = 64 * 1024;

/**
 * What a signature contains never makes the machine unable: it is unable only where it cannot verify a text of its own either.
 * @param program for tests
 */
export async function verifySignature(asked: ToVerify, program = 'ssh-keygen'): Promise<Verified> {
  const told = await askProgram(asked, program);
  if (told === 'good') return told;
  // A program that is too old to verify says no to everything.
  if (told === 'bad') return (await canVerify(program)) ? 'bad' : 'unable';
  // It was killed, say, or there was no memory for it. It is asked once more as soon as it works.
  if (!(await verifiesNow(program))) return 'unable';
  return (await askProgram(asked, program)) === 'good' ? 'good' : 'bad';
}

/** When each program has verified something last, by the monotonic clock. */
const worked = new Map<string, number>();
const WORKS_MS = 60_000;

/** Whether this machine can verify signatures. */
export async function canVerify(program = 'ssh-keygen'): Promise<boolean> {
  const last = worked.get(program);
  if (last !== undefined && performance.now() - last < WORKS_MS) return true;
  return verifiesNow(program);
}

async function verifiesNow(program: string): Promise<boolean> {
  const works = (await askProgram(KNOWN, program)) === 'good';
  if (works) worked.set(program, performance.now());
  return works;
}

/** How `ssh-keygen` ends where a signature is not good, and what it says then. */
const CODE_OF_BAD = 255;
const SAYS_BAD = 'Could not verify signature.';
const IS_OF_MACHINE = /unable to open|couldn't read|no such file|too many open files|cannot allocate/i;

async function askProgram(
  { text, signature, name, allowedSigners, revokedKeys }: ToVerify,
  program: string,
): Promise<Verified> {
  // An option or a pattern is no name.
  if (keyOfSignature(signature) === null || !/^[A-Za-z0-9]/.test(name)) return 'bad';
  const folder = await mkdtemp(join(tmpdir(), 'cambist-signature-'));
  try {
    const put = async (file: string, content: string | Buffer): Promise<string> => {
      await writeFile(join(folder, file), content, { mode: 0o600 });
      return join(folder, file);
    };
    const signers = await put('allowed_signers', allowedSigners);
    const armored = await put('signature', armorOf(signature));
    const revoked =
      revokedKeys === null ? [] : ['-r', await put('revoked_keys', Buffer.from(revokedKeys, 'base64'))];
    const args = [
      '-Y',
      'verify',
      '-f',
      signers,
      '-I',
      name,
      '-n',
      SIGNED_NAMESPACE,
      '-s',
      armored,
      ...revoked,
    ];
    const { code, output, trouble } = await run(program, args, { input: text, limitMs: VERIFY_MS });
    if (code === 0) return 'good';
    // It could not be started, was killed, or had no library, memory or file: that says nothing of the signature.
    const hasJudged = code === CODE_OF_BAD && output.includes(SAYS_BAD) && !IS_OF_MACHINE.test(trouble);
    return hasJudged ? 'bad' : 'unable';
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export type SignedBy =
  /** Base64. */
  { readonly ok: true; readonly signature: string } | { readonly ok: false; readonly message: string };

/** Signs by this key, which may lie in an agent or a hardware key: then the file is that of its public part. */
export async function signText(keyFile: string, text: string, program = 'ssh-keygen'): Promise<SignedBy> {
  const args = ['-Y', 'sign', '-n', SIGNED_NAMESPACE, '-f', keyFile];
  const { code, output, trouble } = await run(program, args, {
    input: text,
    limitMs: SIGN_MS,
  });
  const signature = output
    .split('\n')
    .filter((line) => !line.startsWith('-----'))
    .join('')
    .replaceAll(/\s/g, '');
  if (code === 0 && keyOfSignature(signature) !== null) return { ok: true, signature };
  return {
    ok: false,
    message: trouble.trim().split('\n').at(-1) ?? `ssh-keygen ended with ${code ?? 'no code'}`,
  };
}

/**
 * The public key of such a file, as `ssh-ed25519 AAAA…`: that which stands beside a private key, or the file itself, or what the private
 * key tells where it has no passphrase. Null: none of these.
 */
export async function publicKeyOf(keyFile: string, program = 'ssh-keygen'): Promise<string | null> {
  for (const path of [`${keyFile}.pub`, keyFile]) {
    // The second is read only where the first is none.
    const read = await readTextFile(path);
    const key = read.ok ? publicKeyIn(read.text) : null;
    if (key !== null) return key;
  }
  // With a passphrase that is given it asks for none.
  const args = ['-y', '-P', '', '-f', keyFile];
  const { code, output } = await run(program, args, { input: '', limitMs: VERIFY_MS });
  return code === 0 ? publicKeyIn(output) : null;
}

function publicKeyIn(text: string): string | null {
  const [, type, key] = /^([a-z0-9@.-]+) ([A-Za-z0-9+/]+={0,2})(?:\s|$)/.exec(text) ?? [];
  return type === undefined || key === undefined
    ? null
    : `${type} ${Buffer.from(key, 'base64').toString('base64')}`;
}

type Ended = { readonly code: number | null; readonly output: string; readonly trouble: string };

/** Runs the program to its end. One that cannot be started, or was killed, has no code. */
function run(
  program: string,
  args: readonly string[],
  { input, limitMs }: { readonly input: string; readonly limitMs: number },
): Promise<Ended> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: 'pipe' });
    // Node's own time limit would go on counting, and keep the process, where the program cannot be started.
    const limit = setTimeout(() => child.kill('SIGKILL'), limitMs);
    const end = (ended: Ended): void => {
      clearTimeout(limit);
      resolve(ended);
    };
    let output = '';
    let trouble = '';
    child.stdout.on(
      'data',
      (data: Buffer) => (output += data.toString('utf8').slice(0, MOST_OUTPUT - output.length)),
    );
    child.stderr.on(
      'data',
      (data: Buffer) => (trouble += data.toString('utf8').slice(0, MOST_OUTPUT - trouble.length)),
    );
    child.on('error', ({ message }) => end({ code: null, output, trouble: message }));
    child.on('close', (code) => end({ code, output, trouble }));
    // It may end without reading.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
  });
}

function armorOf(signature: string): string {
  const lines = signature.match(/.{1,70}/g) ?? [];
  return ['-----BEGIN SSH SIGNATURE-----', ...lines, '-----END SSH SIGNATURE-----', ''].join('\n');
}

/** A signature that every `ssh-keygen` which can verify takes. Its key signs nothing else, and is nobody's. */
const KNOWN: ToVerify = {
  text: 'cambist\n',
  name: 'cambist',
  allowedSigners:
    'cambist ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEbQw1sTt+bYJUdkY/jovjtF+wjGeUc9zNSLjdTZm/YR\n',
  revokedKeys: null,
  signature:
    'U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgRtDDWxO35tglR2Rj+Oi+O0X7CMZ5Rz3M1IuN1Nmb9hEAAAAMY2FtYmlzdC1wbGFuAAAAAAAAAAZzaGE1MTIAAABTAAAAC3NzaC1lZDI1NTE5AAAAQAWtdEELg/GfF6BLuYWFfzJh+BM3k9R+DIcrW01qhRf2znRgqG9YCMdN6QjseHziJBHSDI4kgo3rfXtQetGWxA8=',
};
