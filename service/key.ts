/**
 * The API key record (interface heading "Authentication"): read once, checked, and then only used through `signingKeys`.
 * The private key must never appear in an error, a log, `inspect` or JSON: an `ApiKey` holds its name only, the key itself
 * stands in a map of this module.
 */
import { createPrivateKey, type KeyObject, webcrypto } from 'node:crypto';
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Mode } from '../domain/service/records.ts';
import {
  type ConfigurationCode,
  type ConfigurationProblem,
  ServiceConfigurationError,
  ServiceInputError,
} from './errors.ts';
import { parseJson } from './json.ts';

/** A usable API key: only what may be shown. */
export type ApiKey = {
  /** `org/<org-id>/apiKey/<api-key-id>`. */
  readonly name: string;
  /** The `<org-id>` of the name. */
  readonly organisation: string;
};

/** The same private key in the two forms that the signers need. */
export type SigningKeys = { readonly forToken: webcrypto.CryptoKey; readonly forRequest: KeyObject };

const signingKeysOf = new WeakMap<ApiKey, SigningKeys>();

/** The most bytes of an API key record; a real one has less than 1 KB. */
const KEY_FILE_MAX_BYTES = 65_536;

/**
 * Reads the key record in `path`.
 * @param mode a file that others may read, or its group may write, is a warning in `SANDBOX`, an error in `LIVE`
 * @param place where the path was configured, for messages
 * @throws ServiceConfigurationError `KEY_…`
 */
export async function readKeyFile(options: {
  readonly path: string;
  readonly mode: Mode;
  readonly place?: string;
}): Promise<{ readonly key: ApiKey; readonly warnings: readonly ConfigurationProblem[] }> {
  const place = `${options.place ?? 'CAMBIST_KEY_FILE'} "${options.path}"`;
  const { text, fileMode } = await readSmallFile(options.path, place);
  const warnings: ConfigurationProblem[] = [];
  const exposure = exposureOf(fileMode);
  if (exposure !== null) {
    const problem: ConfigurationProblem = {
      code: 'KEY_FILE_TOO_OPEN',
      place,
      problem: `${exposure.who} (mode ${(fileMode & 0o777).toString(8).padStart(4, '0')}).`,
      fix: `Run: chmod 600 "${options.path}".`,
    };
    if (options.mode === 'LIVE' && !exposure.isBorne) throw new ServiceConfigurationError(problem);
    warnings.push(problem);
  }
  return { key: await parseKey(text, place), warnings };
}

/**
 * Which other users may use a file of this mode; null when none may. In live, a group may read the file, since that is how
 * services are given their secrets. It may not write it: then it could replace the key.
 */
function exposureOf(fileMode: number): { readonly who: string; readonly isBorne: boolean } | null {
  // Windows has no such bits.
  if (process.platform === 'win32') return null;
  if ((fileMode & 0o007) !== 0)
    return { who: 'other users of this machine may use the file', isBorne: false };
  if ((fileMode & 0o020) !== 0) return { who: 'the group of the file may write it', isBorne: false };
  return (fileMode & 0o050) !== 0 ? { who: 'the group of the file may read it', isBorne: true } : null;
}

/**
 * Checks the text of a key record: JSON with `name` and `privateKey` (PKCS#8 PEM, P-256); other fields are ignored.
 * @param place where the text comes from, for messages
 * @throws ServiceConfigurationError `KEY_…`
 */
export async function parseKey(text: string, place: string): Promise<ApiKey> {
  const parsed = parseJson(text);
  if (!parsed.ok)
    return refuse('KEY_NOT_JSON', place, `the key record is ${parsed.reason}.`, 'Download the record again.');
  const name = field(parsed.value, 'name', place);
  const organisation = /^org\/([A-Za-z0-9._~-]+)\/apiKey\/[A-Za-z0-9._~-]+$/.exec(name)?.[1];
  if (organisation === undefined)
    return refuse(
      'KEY_NAME_FORMAT',
      `${place}, field "name"`,
      'the name is not "org/<org-id>/apiKey/<api-key-id>".',
      'Copy it from the downloaded record.',
    );
  const privateKey = parsePrivateKey(
    field(parsed.value, 'privateKey', place),
    `${place}, field "privateKey"`,
  );
  const forToken = await webcrypto.subtle.importKey(
    'pkcs8',
    privateKey.export({ type: 'pkcs8', format: 'der' }),
    { name: 'ECDSA', namedCurve: 'P-256' },
    false,
    ['sign'],
  );
  const key: ApiKey = Object.freeze({ name, organisation });
  signingKeysOf.set(key, { forToken, forRequest: privateKey });
  return key;
}

/** For the signers of this folder only. @throws ServiceInputError `BAD_KEY` for a record that `parseKey` did not make */
export function signingKeys(key: ApiKey): SigningKeys {
  const keys = signingKeysOf.get(key);
  if (keys === undefined)
    throw new ServiceInputError(
      'BAD_KEY',
      'this API key was not made by parseKey or readKeyFile; pass on the very object.',
    );
  return keys;
}

async function readSmallFile(
  path: string,
  place: string,
): Promise<{ readonly text: string; readonly fileMode: number }> {
  let file;
  try {
    // Without `O_NONBLOCK` the opening of a pipe waits for a program that writes.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile())
      return refuse('KEY_FILE_UNREADABLE', place, 'it is not a file.', 'Name the key record itself.');
    if (facts.size > KEY_FILE_MAX_BYTES)
      return refuse(
        'KEY_NOT_JSON',
        place,
        'the file is too large to be a key record.',
        'Name the key record itself.',
      );
    return { text: await file.readFile('utf8'), fileMode: facts.mode };
  } catch (error) {
    if (error instanceof ServiceConfigurationError) throw error;
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT')
      return refuse(
        'KEY_FILE_NOT_FOUND',
        place,
        'there is no such file.',
        'Check the path; it is relative to the working directory.',
      );
    return refuse(
      'KEY_FILE_UNREADABLE',
      place,
      `the file cannot be read (${code}).`,
      'Check its owner and mode (0600).',
    );
  } finally {
    await file?.close();
  }
}

function field(record: unknown, name: string, place: string): string {
  const value: unknown =
    typeof record === 'object' && record !== null && Object.hasOwn(record, name)
      ? Reflect.get(record, name)
      : undefined;
  if (typeof value === 'string' && value !== '') return value;
  return refuse(
    'KEY_FIELD_MISSING',
    `${place}, field "${name}"`,
    'the field is missing or not a text.',
    'The record has "name" and "privateKey"; download it again.',
  );
}

function parsePrivateKey(pem: string, place: string): KeyObject {
  const pkcs8 = 'openssl pkcs8 -topk8 -nocrypt -in old.pem -out new.pem';
  const label = /-----BEGIN ([A-Z0-9 ]+)-----/.exec(pem)?.[1];
  if (label === undefined)
    return refuse(
      'KEY_NOT_PEM',
      place,
      'it is not PEM.',
      'It begins with "-----BEGIN PRIVATE KEY-----"; in JSON its lines are joined by \\n.',
    );
  if (label === 'ENCRYPTED PRIVATE KEY' || pem.includes('4,ENCRYPTED'))
    return refuse('KEY_ENCRYPTED', place, 'the key is encrypted by a pass phrase.', `Decrypt it: ${pkcs8}`);
  if (label.startsWith('RSA'))
    return refuse('KEY_RSA', place, 'it is an RSA key.', 'Create a P-256 API key.');
  if (label.endsWith('PUBLIC KEY') || label === 'CERTIFICATE')
    return refuse('KEY_PUBLIC', place, 'it is a public key.', 'Put the private key here.');
  if (label.startsWith('EC '))
    return refuse('KEY_SEC1', place, 'it is SEC1 ("EC PRIVATE KEY"), not PKCS#8.', `Convert it: ${pkcs8}`);
  if (label !== 'PRIVATE KEY')
    return refuse('KEY_NOT_PEM', place, `it is "${label}", not PKCS#8 PEM.`, 'Download the record again.');

  let key: KeyObject;
  try {
    key = createPrivateKey({ key: pem, format: 'pem' });
  } catch {
    return refuse(
      'KEY_NOT_PEM',
      place,
      'the PEM is damaged.',
      'Its lines must be joined by \\n, nothing else changed; download it again.',
    );
  }
  const type = key.asymmetricKeyType ?? 'unknown';
  if (type.startsWith('rsa')) return refuse('KEY_RSA', place, 'it is an RSA key.', 'Create a P-256 API key.');
  const curve = type === 'ec' ? (key.asymmetricKeyDetails?.namedCurve ?? 'unknown') : type;
  if (curve !== 'prime256v1')
    return refuse('KEY_WRONG_CURVE', place, `its curve is ${curve}, not P-256.`, 'Create a P-256 API key.');
  return key;
}

function refuse(code: ConfigurationCode, place: string, problem: string, fix: string): never {
  throw new ServiceConfigurationError({ code, place, problem, fix });
}
