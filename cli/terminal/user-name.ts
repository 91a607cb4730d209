/** The name of the person who types a command, where `--by` does not give it: the name of the login. */
import { userInfo } from 'node:os';
import { plain } from './safe.ts';

export function userName(): string {
  try {
    return plain(userInfo().username) || 'unknown';
  } catch {
    return 'unknown';
  }
}

/** The reason that is kept for an instruction that needs none. */
export const NO_REASON = 'no reason given';
