/** Who types a command, where `--by` names nobody: the name of the login, told as what it is. */
import { userInfo } from 'node:os';
import { plain } from './safe.ts';

/** `ana (login of this machine)`: nobody has said that the person at the keyboard is Ana. */
export function loginName(): string {
  try {
    const name = plain(userInfo().username);
    return name === '' ? UNKNOWN : `${name} (login of this machine)`;
  } catch {
    return UNKNOWN;
  }
}

const UNKNOWN = 'a login without a name';

/** The reason that is kept for an instruction that needs none. */
export const NO_REASON = 'no reason given';
