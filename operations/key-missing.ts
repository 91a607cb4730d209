/** How it is told that a worker or this command does not have the key that has sealed what Temporal has. */
import { SAYS_KEY_MISSING, SEAL_KEY_MISSING } from '../domain/unreadable.ts';
import { CommandFailure } from './failure.ts';

const DEPTH = 5;

/** The failure, where the error or a cause of it says that a key is missing; null: it says something else. */
export function keyMissing(error: unknown, place: string | null = null): CommandFailure | null {
  let each: unknown = error;
  for (let depth = 0; depth < DEPTH && each instanceof Error; depth += 1) {
    const isSaid = SAYS_KEY_MISSING.test(each.message) || ('type' in each && each.type === SEAL_KEY_MISSING);
    if (isSaid) return failureAt(place, each.message);
    each = each.cause;
  }
  return null;
}

function failureAt(place: string | null, said: string): CommandFailure {
  const [, id = '?'] = /key "([^"]*)"/.exec(said) ?? [];
  return new CommandFailure('configuration', [
    {
      code: SEAL_KEY_MISSING,
      place,
      message: `what Temporal has of it is sealed by the key "${id}", which a worker or this command does not have; nothing is sent`,
      fix: 'Put the newest file of keys (CAMBIST_SEAL_KEYS) at every worker and command. What waits then goes on by itself.',
    },
  ]);
}
