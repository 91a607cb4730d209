/**
 * What `cambist up` leaves in its folder for the other commands, `.cambist/dev.json`: where its sandbox and
 * its Temporal are. Another user may have put a file into the folder. So the file is used only if it belongs to this
 * user, names only this machine, and no service, key or mode is configured by hand. The mode is then always
 * SANDBOX and the key always the one beside the file, so that it never leads to a live key.
 */
import { existsSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { isLoopback, parseAddress } from '../service/address.ts';
import { ConfigurationError } from './errors.ts';
import { readTextFile } from './read-text-file.ts';

/** Relative to the working folder. */
export const DEV_ENVIRONMENT_FILE = '.cambist/dev.json';
/** The key that `cambist up` makes, in the same folder. */
export const DEV_KEY_FILE = '.cambist/key.json';

/** A person who sets one of these has a service of their own. Then nothing in the file is used. */
const SET_BY_HAND = ['CAMBIST_BASE_URL', 'CAMBIST_KEY_FILE', 'CAMBIST_READ_KEY_FILE', 'CAMBIST_APP_MODE'];

/** What the file may hold; `isGood` is asked about each value. */
const FIELDS: Readonly<Record<string, (value: string) => boolean>> = {
  CAMBIST_BASE_URL: isServiceHere,
  CAMBIST_TASK_QUEUE: (value) => /^[A-Za-z0-9._-]{1,200}$/.test(value),
  CAMBIST_SANDBOX_ADMIN_URL: isUrlHere,
  CAMBIST_UI_URL: isUrlHere,
  CAMBIST_SEAL_KEYS: isAbsolute,
  TEMPORAL_ADDRESS: isHere,
  TEMPORAL_NAMESPACE: (value) => /^[A-Za-z0-9._-]{1,200}$/.test(value),
  TEMPORAL_TLS: (value) => value === 'false',
};

/**
 * The environment, with what `cambist up` has left when nothing is configured by hand.
 * @throws ConfigurationError
 */
export async function withDevEnvironment(env: NodeJS.ProcessEnv, cwd: string): Promise<NodeJS.ProcessEnv> {
  if (SET_BY_HAND.some((name) => isSet(env[name]))) return env;
  const path = join(cwd, DEV_ENVIRONMENT_FILE);
  if (!(await isThere(path))) return env;
  await requireOwn(path);
  await requireOwn(join(cwd, DEV_KEY_FILE));
  const read = await readTextFile(path);
  const found = fieldsOf(read.ok ? read.text : '');
  return {
    CAMBIST_FILES: devFilesFolder(cwd),
    ...withoutTemporal(found, env, dirname(path)),
    ...Object.fromEntries(Object.entries(env).filter(([, value]) => isSet(value))),
    CAMBIST_BASE_URL: found['CAMBIST_BASE_URL'],
    CAMBIST_KEY_FILE: join(cwd, DEV_KEY_FILE),
    CAMBIST_APP_MODE: 'SANDBOX',
  };
}

/** The folder of reference rates: beside the policies in a checkout, else the working folder itself. */
export function devFilesFolder(cwd: string): string {
  const policies = join(cwd, 'policies');
  return existsSync(policies) ? policies : cwd;
}

/**
 * When a person has set an address of Temporal, only that person's settings of Temporal count, and nothing is
 * added from the file.
 */
function withoutTemporal(
  found: Readonly<Record<string, string>>,
  env: NodeJS.ProcessEnv,
  folder: string,
): NodeJS.ProcessEnv {
  const isTemporal = (name: string): boolean => name.startsWith('TEMPORAL_');
  const byHand = Object.keys(env).some((name) => isTemporal(name) && isSet(env[name]));
  if (byHand) return Object.fromEntries(Object.entries(found).filter(([name]) => !isTemporal(name)));
  // A profile file is for another server: the dev server must get nothing from it, such as an API key.
  return { ...found, TEMPORAL_CONFIG_FILE: join(folder, 'no-profile.toml') };
}

function fieldsOf(text: string): Readonly<Record<string, string>> {
  const parsed = parseJson(text);
  if (typeof parsed !== 'object' || parsed === null) return refuse('it is not what `npx cambist up` writes');
  const fields = Object.entries(parsed).map(([name, value]: [string, unknown]): [string, string] => {
    const isGood = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
    if (typeof value !== 'string' || isGood?.(value) !== true)
      return refuse(
        `it holds something that \`npx cambist up\` does not write (${JSON.stringify(name.slice(0, 60))})`,
      );
    return [name, value];
  });
  const found = Object.fromEntries(fields);
  return found['CAMBIST_BASE_URL'] === undefined ? refuse('it names no service') : found;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Requires a plain file (not a link) that belongs to this user, and that no other user may write. */
async function requireOwn(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => null);
  if (facts === null || !facts.isFile()) return refuse(`"${path}" is no plain file`);
  // Windows knows neither owner nor mode.
  const uid = process.getuid?.();
  if (uid === undefined) return;
  if (facts.uid !== uid) return refuse(`"${path}" belongs to another user`);
  if ((facts.mode & 0o022) !== 0) return refuse(`other users may write "${path}"`);
}

function isServiceHere(value: string): boolean {
  try {
    return isUrlHere(parseAddress(value).origin);
  } catch {
    return false;
  }
}

/** Whether an address (`host:port`) is of this machine. */
export function isHere(address: string): boolean {
  return isUrlHere(`http://${address}`);
}

function isUrlHere(value: string): boolean {
  try {
    const { protocol, hostname, username, password } = new URL(value);
    return protocol === 'http:' && isLoopback(hostname) && username === '' && password === '';
  } catch {
    return false;
  }
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== '';
}

function refuse(why: string): never {
  throw new ConfigurationError([
    {
      code: 'DEV_ENVIRONMENT_REFUSED',
      item: null,
      message: `"${DEV_ENVIRONMENT_FILE}" in this folder is not used: ${why}.`,
      fix: 'Delete the folder .cambist and run `npx cambist up` again, or set the CAMBIST_* variables.',
    },
  ]);
}
