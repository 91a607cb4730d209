/** Makes and changes the file of keys that seal what is in Temporal, for `keys new` and `keys rotate`. Needs no server. */
import { open, rename, rm } from 'node:fs/promises';
import { keysInFile } from '../config/seal/key-file.ts';
import {
  newSealKeys,
  sealKeysText,
  withNewestActive,
  withNextKey,
  type SealKeys,
} from '../config/seal/keys.ts';
import type { ProblemCode } from '../domain/problems.ts';
import { CommandFailure } from './failure.ts';

/** @throws CommandFailure where a file is there already, or none can be made */
export async function makeKeyFile(path: string, nowMs: number): Promise<SealKeys> {
  const keys = newSealKeys(nowMs);
  await writeKeys(path, keys).catch((error: unknown) => {
    const isThere = error instanceof Error && 'code' in error && error.code === 'EEXIST';
    if (!isThere) throw unwritable(path, error);
    throw failure('SEAL_KEYS_THERE', path, {
      message: 'there is a file already, and without its keys nobody could read what they have sealed',
      fix: 'Name a new file, or add a key to this one by `npx cambist keys rotate`.',
    });
  });
  return keys;
}

/**
 * Adds the next key, which reads only. With `activate`, the key that was added last seals from then on.
 * @throws ConfigurationError for a file that cannot be used, CommandFailure where the other step comes first
 */
export async function rotateKeyFile(
  path: string,
  { nowMs, activate }: { readonly nowMs: number; readonly activate: boolean },
): Promise<SealKeys> {
  const known = keysInFile(path).now();
  const isNextThere = known.keys.at(-1)?.id !== known.active.id;
  if (activate && !isNextThere)
    throw failure('SEAL_KEYS_STEP', path, {
      message: 'its newest key is the one that seals, so there is no other one to activate',
      fix: 'First add the next key by `npx cambist keys rotate`, and bring the file to every worker and command.',
    });
  if (!activate && isNextThere)
    throw failure('SEAL_KEYS_STEP', path, {
      message: 'its next key is there already, and does not seal yet',
      fix: 'Once every worker and command has this file, type `npx cambist keys rotate --activate`.',
    });
  const keys = activate ? withNewestActive(known) : withNextKey(known, nowMs);
  // Whoever reads it meanwhile finds the old file or the new one, never a half.
  const beside = `${path}.${process.pid}.part`;
  try {
    await writeKeys(beside, keys);
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw unwritable(path, error);
  }
  return keys;
}

async function writeKeys(path: string, keys: SealKeys): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(sealKeysText(keys));
    await file.sync();
  } finally {
    await file.close();
  }
}

function unwritable(path: string, error: unknown): CommandFailure {
  return failure('SEAL_KEYS_UNWRITABLE', path, {
    message: `the file cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    fix: 'Name a file in a folder that is there and that you may write to.',
  });
}

function failure(
  code: ProblemCode,
  place: string,
  said: { readonly message: string; readonly fix: string },
): CommandFailure {
  return new CommandFailure('bad input', [{ code, place, ...said }]);
}
