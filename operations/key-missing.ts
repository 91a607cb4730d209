/** How it is told that a worker or this command does not have the key that has sealed what Temporal has. */
import { SEAL_KEY_MISSING, missingKeyIn } from '../domain/unreadable.ts';
import { CommandFailure } from './failure.ts';

const DEPTH = 5;

/** The failure, where the error or a cause of it says that a key is missing; null: it says something else. */
export function keyMissing(error: unknown, place: string | null = null): CommandFailure | null {
  let each: unknown = error;
  for (let depth = 0; depth < DEPTH && each instanceof Error; depth += 1) {
    const key = missingKeyIn(each.message);
    if (key !== null) return keyMissingAt(place, key);
    each = each.cause;
  }
  return null;
}

/** What is said where the key of this id is missing. */
export function keyMissingAt(place: string | null, id: string): CommandFailure {
  return new CommandFailure('configuration', [
    {
      code: SEAL_KEY_MISSING,
      place,
      message: `what Temporal has of it is sealed by the key "${id}", which a worker or this command does not have; nothing is sent`,
      fix: 'Put the newest file of keys (CAMBIST_SEAL_KEYS) at every worker and command. What waits then goes on by itself.',
    },
  ]);
}

/** What is said where the worker of a workflow lacks the key: its tasks fail, and no question to it is answered. */
export const WORKER_LACKS_KEY = {
  code: SEAL_KEY_MISSING,
  message: 'Temporal has it sealed by a key that its worker does not have, so nothing is sent',
  fix: 'Put the newest file of keys (CAMBIST_SEAL_KEYS) at every worker; it then goes on by itself.',
} as const;
