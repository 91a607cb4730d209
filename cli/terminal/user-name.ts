/** Who types a command, where `--by` does not say so: the name of the login. */
import { userInfo } from 'node:os';
import { plain } from './safe.ts';

export function userName(): string {
  try {
    return plain(userInfo().username) || 'unknown';
  } catch {
    return 'unknown';
  }
}

/** What is kept as the reason of an instruction that needs none. */
export const NO_REASON = 'no reason given';
