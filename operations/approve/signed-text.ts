/** A text that a person signs by `ssh-keygen`, where the command ends when that fails. */
import { signText } from '../../config/ssh-keygen.ts';
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
