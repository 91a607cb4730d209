/** People with real keys of OpenSSH, in a folder of their own, and what they sign. */
import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { signText } from '../../config/ssh-keygen.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { Recorded } from '../../domain/people/instructions.ts';
import { textToSign, type Signable, type SignedAs } from '../../domain/writes/approvals.ts';
import { planHash } from '../../language/plan-hash.ts';
import { NOW } from './scripts.ts';

export type Person = { readonly name: string; readonly keyFile: string; readonly publicKey: string };

/** Makes one key for each name. `close` removes them. */
export async function signersNamed<Name extends string>(...names: readonly Name[]) {
  const folder = await mkdtemp(join(tmpdir(), 'signers-'));
  const people = await Promise.all(
    names.map(async (name): Promise<readonly [Name, Person]> => {
      const keyFile = join(folder, name);
      await promisify(execFile)('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', '', '-f', keyFile]);
      const publicKey = (await readFile(`${keyFile}.pub`, 'utf8')).trim();
      return [name, { name, keyFile, publicKey }];
    }),
  );
  return {
    people: Object.fromEntries(people) as Readonly<Record<Name, Person>>,
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** A line of `allowed_signers` for each. */
export function allowedSigners(...people: readonly Pick<Person, 'name' | 'publicKey'>[]): string {
  return people.map(({ name, publicKey }) => `${name} ${publicKey}\n`).join('');
}

/** What anybody writes who knows only the public key: it names the key, and proves nothing. */
export function forgedBy(
  { publicKey }: Pick<Person, 'publicKey'>,
  { hash = 'sha512', type = 'ssh-ed25519' }: { readonly hash?: string; readonly type?: string } = {},
): string {
  const field = (bytes: string | Buffer): Buffer => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, Buffer.from(bytes)]);
  };
  const [, key = ''] = publicKey.split(' ');
  const signed = Buffer.concat([field(type), field(Buffer.alloc(64, 1))]);
  const fields = [Buffer.from(key, 'base64'), 'cambist-plan', '', hash, signed].map(field);
  return Buffer.concat([Buffer.from('SSHSIG'), Buffer.from([0, 0, 0, 1]), ...fields]).toString('base64');
}

type How = {
  readonly as?: SignedAs;
  readonly atMs?: number;
  readonly expiresAtMs?: number;
  /** The instruction that is signed; absent: the plan is. */
  readonly said?: Signable;
};

let number = 0;

/** What the run of the plan keeps when this person has signed it, or an instruction about it. */
export async function signedBy(
  person: Person,
  plan: Plan,
  { as = 'approver', atMs = NOW, expiresAtMs = NOW + 3_600_000, said }: How = {},
): Promise<Extract<Recorded, { kind: 'approve' }>> {
  const text = textToSign({ as, plan, planHash: planHash(plan), said: said ?? null, expiresAtMs });
  const signed = await signText(person.keyFile, text);
  assert.ok(signed.ok, JSON.stringify(signed));
  number += 1;
  return {
    kind: 'approve',
    id: randomUUID(),
    by: person.name,
    why: 'seen',
    as,
    about: said?.id ?? null,
    expiresAtMs,
    signature: signed.signature,
    number,
    atMs,
    date: '2026-11-21',
  };
}
