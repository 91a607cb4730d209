/** A text that a person signs by `ssh-keygen`, where the command ends when that fails. */
import type { SignedAs } from '../../domain/writes/approvals.ts';
import { signText } from '../../config/ssh-keygen.ts';
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

/** @param key null: it is not known which public key it is */
export function isOfKey(signature: string, key: string | null): boolean {
  return key !== null && keyOfSignature(signature) === key;
}

/** @param has what who signs as starter has done */
export function signedAsOther(place: string, as: SignedAs, has: string, see: string): CommandFailure {
  const message =
    as === 'starter'
      ? `this key has approved it, and that would count no longer if it signed as who has ${has}`
      : `this key has signed as who has ${has}, who is none of those who approve it`;
  const fix = `Nothing was signed. Another person signs this: see who is missing with ${see}.`;
  return new CommandFailure('refused by us', [{ code: 'SIGNED_AS_OTHER', place, message, fix }]);
}
