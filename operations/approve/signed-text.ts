/** A text that a person signs by `ssh-keygen`, where the command ends when that fails. */
import type { SignedAs } from '../../domain/writes/approvals.ts';
import { publicKeyOf, signText, verifySignature } from '../../config/ssh-keygen.ts';
import { fewAtOnce } from '../../durable/few-at-once.ts';
import { keyOfSignature } from '../../language/ssh-signers.ts';
import { CommandFailure } from '../failure.ts';

/** @returns the signature, base64. @throws CommandFailure when the key cannot sign */
export async function signedText(keyFile: string, text: string): Promise<string> {
  const signed = await signText(keyFile, text);
  if (signed.ok) return signed.signature;
  throw new CommandFailure('configuration', [
    {
      code: 'NOT_SIGNED',
      place: keyFile,
      message: `\`ssh-keygen\` could not sign with it: ${signed.message}`,
      fix: 'Name a private key of OpenSSH, or its public part where an agent or a hardware key has the rest. OpenSSH 8.2 or later can sign.',
    },
  ]);
}

/** @returns the public key of the file, as `ssh-ed25519 AAAA…`. @throws CommandFailure when that cannot be told */
export async function requirePublicKey(keyFile: string): Promise<string> {
  const key = await publicKeyOf(keyFile);
  if (key !== null) return key;
  throw new CommandFailure('configuration', [
    {
      code: 'NOT_SIGNED',
      place: keyFile,
      message: 'its public key cannot be told, so that nobody knows what it has signed already',
      fix: `Name a key file that is there, and put its public part beside it: \`ssh-keygen -y -f ${keyFile} > ${keyFile}.pub\`.`,
    },
  ]);
}

/** A signature as somebody has kept it, and the text that it must be for. */
type Claimed = { readonly text: string; readonly signature: string };

/** One command verifies so many signatures that name its key, each by a program of its own: some seconds. */
const MOST_VERIFIED = 500;
const AT_ONCE = 4;

/** What a command knows of signatures that name a key. */
type OfKey<One> = {
  /** The key has made them. */
  readonly made: ReadonlySet<One>;
  /** There were too many: the key may have made them. */
  readonly unverified: ReadonlySet<One>;
};

/**
 * Those of these signatures that the key has made. One that only names the key proves nothing: who knows the public key can write as many
 * as he likes. So the newest about each thing are verified first.
 * @param all by what they are about, each oldest first
 * @param verify for tests
 * @throws CommandFailure when this machine cannot verify
 */
export async function madeBy<One extends Claimed>(
  key: string,
  all: readonly (readonly One[])[],
  verify = verifySignature,
): Promise<OfKey<One>> {
  const [, own] = key.split(' ');
  const naming = all.flatMap((about) =>
    about
      .filter(({ signature }) => keyOfSignature(signature) === own)
      .toReversed()
      .map((one, rank) => ({ one, rank })),
  );
  const newestFirst = naming.toSorted((one, other) => one.rank - other.rank).map(({ one }) => one);
  const tried = newestFirst.slice(0, MOST_VERIFIED);
  const areMade = await fewAtOnce(tried, AT_ONCE, (one) => isMadeBy(key, one, verify));
  return {
    made: new Set(tried.filter((_one, index) => areMade[index] === true)),
    unverified: new Set(newestFirst.slice(MOST_VERIFIED)),
  };
}

async function isMadeBy(
  key: string,
  { text, signature }: Claimed,
  verify: typeof verifySignature,
): Promise<boolean> {
  const of = { name: OWNER, allowedSigners: `${OWNER} ${key}\n`, revokedKeys: null };
  const verified = await verify({ text, signature, ...of });
  if (verified !== 'unable') return verified === 'good';
  throw new CommandFailure('configuration', [
    {
      code: 'NOT_SIGNED',
      place: 'ssh-keygen',
      message: 'what this key has signed before could not be verified, so that nothing was signed',
      fix: 'Install OpenSSH, version 8.2 or later, and type it again.',
    },
  ]);
}

const OWNER = 'owner';

/** @param has what who signs as starter has done */
export function signedAsOther(place: string, as: SignedAs, has: string, see: string): CommandFailure {
  const message =
    as === 'starter'
      ? `this key has approved it, and that would count no longer if it signed as who has ${has}`
      : `this key has signed as who has ${has}, who is none of those who approve it`;
  const fix = `Nothing was signed. Another person signs this: see who is missing with ${see}.`;
  return new CommandFailure('refused by us', [{ code: 'SIGNED_AS_OTHER', place, message, fix }]);
}

/** @param see a command, in backquotes */
export function notAllVerified(place: string, see: string): CommandFailure {
  return new CommandFailure('refused by us', [
    {
      code: 'SIGNATURES_UNVERIFIED',
      place,
      message: `more than ${MOST_VERIFIED} signatures name this key, so that not all could be verified; with one of them it may have signed in the other role, which would void what it approves`,
      fix: `Nothing was signed. Another person signs this: see who is missing with ${see}.`,
    },
  ]);
}
