/** The file of keys that CAMBIST_SEAL_KEYS names: read, and read anew where a key is missing. */
import { readFileSync, statSync, type Stats } from 'node:fs';
import type { Mode } from '../../domain/service/records.ts';
import type { ProblemCode } from '../../domain/problems.ts';
import { ConfigurationError } from '../errors.ts';
import type { ReadableKeys } from './codec.ts';
import { parseSealKeys, type SealKeys } from './keys.ts';

/** The file is asked whether it has changed at most so often, however many payloads miss their key. */
const AGAIN_MS = 1_000;
const MOST_BYTES = 1_000_000;

/**
 * The keys by which this process seals; null: it has none, and nothing is sealed.
 * @throws ConfigurationError for a file that cannot be used, and in live where none is named
 */
export function sealKeysOf(env: NodeJS.ProcessEnv, mode: Mode): ReadableKeys | null {
  const path = env['CAMBIST_SEAL_KEYS'];
  if (path) return keysInFile(path);
  if (mode !== 'LIVE') return null;
  throw problemWith(
    'SEAL_KEYS_MISSING',
    'In LIVE, CAMBIST_SEAL_KEYS must name the file of keys that seal what is in Temporal.',
    'Make one by `npx cambist keys new FILE`, for every worker and command, and use a namespace that was never used without.',
  );
}

/** The keys of a file. @param nowMs a clock that never goes back @throws ConfigurationError for a file that cannot be used */
export function keysInFile(path: string, nowMs = (): number => performance.now()): ReadableKeys {
  let { keys, version } = readKeys(path);
  let lookedAtMs = nowMs();
  return {
    now: () => keys,
    again: () => {
      if (nowMs() - lookedAtMs < AGAIN_MS) return keys;
      lookedAtMs = nowMs();
      try {
        if (versionOf(statSync(path)) !== version) ({ keys, version } = readKeys(path));
      } catch {
        // While somebody replaces the file, the keys that were read count.
      }
      return keys;
    },
  };
}

function readKeys(path: string): { readonly keys: SealKeys; readonly version: string } {
  const { text, facts } = readOwn(path);
  const keys = parseSealKeys(text);
  if (typeof keys !== 'string') return { keys, version: versionOf(facts) };
  throw problemWith(
    'SEAL_KEYS_UNREADABLE',
    `CAMBIST_SEAL_KEYS "${path}" is no file of keys: ${keys}`,
    'Name a file that `npx cambist keys new` has made.',
  );
}

/** The text of a file that only its owner may use; its group may read it, as services are given their secrets. */
function readOwn(path: string): { readonly text: string; readonly facts: Stats } {
  const fix = 'Name a readable file that `npx cambist keys new` has made.';
  let facts: Stats;
  let text: string;
  try {
    facts = statSync(path);
    if (!facts.isFile() || facts.size > MOST_BYTES) throw new Error('it is no file of keys');
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw problemWith('SEAL_KEYS_UNREADABLE', `CAMBIST_SEAL_KEYS "${path}" cannot be read: ${why}.`, fix);
  }
  // Windows has no such bits.
  if (process.platform !== 'win32' && (facts.mode & 0o027) !== 0)
    throw problemWith(
      'SEAL_KEYS_TOO_OPEN',
      `Others may use the keys in "${path}" (mode ${(facts.mode & 0o777).toString(8).padStart(4, '0')}).`,
      `Run: chmod 600 "${path}". Where others may have read it, make new keys, and a new namespace.`,
    );
  return { text, facts };
}

function versionOf({ ino, size, mtimeMs }: Stats): string {
  return [ino, size, mtimeMs].join(' ');
}

function problemWith(code: ProblemCode, message: string, fix: string): ConfigurationError {
  return new ConfigurationError([{ code, item: null, message, fix }]);
}
