// Finds the `temporal` executable that runs the dev server, or makes one and keeps it in the user's cache.
// Called by the set-up and by `worker/dev-server.ts` (as `#temporal-binary`). It never starts a server.

import { createHash } from 'node:crypto';
import { chmodSync, createWriteStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { cacheFolderOf } from './lib/cache-folder.mjs';
import { installWithGo } from './lib/go-program.mjs';
import { withLock } from './lib/lock.mjs';
import { ScriptFailed } from './lib/main.mjs';
import { CommandFailed, run, say, step } from './lib/steps.mjs';

/** The release of Temporal's command line tool that Cambist is tested with; it holds server 1.29.1. */
export const TEMPORAL_VERSION = '1.5.1';

/** Older servers lack what the worker relies on (updates, eager dispatch, workflow metadata). */
const OLDEST_SERVER = [1, 29];

const DOWNLOAD_BASE = 'https://github.com/temporalio/cli/releases/download';

/**
 * SHA-256 of the archives of this release, by platform. What has another one is not unpacked. Two public lists of
 * packages agree on those of linux and darwin (one names linux on arm64); for Windows none was found, so that there the
 * digest must be given.
 *
 * @type {Readonly<Record<string, string>>}
 */
const DIGESTS = {
  linux_amd64: 'ddc95e08b0b076efd4ea9733a3f488eb7d2be875f8834e616cd2a37358b4852d',
  linux_arm64: 'bd1b0db9f18b051026de8bf6cc1505f2510f14bbb7a8b9a4a91fff46c77454f5',
  darwin_amd64: 'bbb73e2a31135abe50a1f1cdb35030c42961df618e8ce9c60ae89f201540c5d9',
  darwin_arm64: 'cca01b7ea35ad56e2a328d9ae596bf716bd22313ef63c7a761c88354457c2415',
};
/** Names the digest where none is known, and wins where one is. */
const DIGEST_VARIABLE = 'CAMBIST_TEMPORAL_SHA256';
/** @type {Partial<Record<NodeJS.Platform, string>>} */
const PLATFORMS = { linux: 'linux', darwin: 'darwin', win32: 'windows' };
/** @type {Partial<Record<NodeJS.Architecture, string>>} */
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' };
const CONNECT_TIMEOUT_MS = 8_000;
const STALL_TIMEOUT_MS = 30_000;

/** Neither found nor made; the message names each way that was tried and the three ways to mend it. */
export class TemporalUnavailable extends ScriptFailed {
  /** @param {string[]} tried */
  constructor(tried) {
    super(
      [
        'A Temporal dev server could neither be found nor made.',
        ...tried.map((line) => `  - ${line}`),
        'Any one of these mends it:',
        '  1. Start a Temporal server yourself and name it: TEMPORAL_ADDRESS=127.0.0.1:7233 (not for npm test).',
        `  2. Put Temporal's command line tool, version ${TEMPORAL_VERSION} or later, on the PATH as 'temporal'.`,
        `  3. Let this machine reach ${new URL(DOWNLOAD_BASE).host}, or install Go 1.25 or later; then try again.`,
      ].join('\n'),
    );
    this.name = 'TemporalUnavailable';
    this.code = 'TEMPORAL_UNAVAILABLE';
  }
}

/**
 * The executable that is already here: on the PATH if it is recent enough, else in the cache. No network, no writes.
 *
 * @returns {Promise<string | null>} its path; null: none is here
 */
export async function findTemporal() {
  return (await findOnPath()).path ?? (existsSync(cachedPath()) ? cachedPath() : null);
}

/**
 * Finds the executable or makes it: by the official download, else by a build with the Go toolchain.
 *
 * @param {{ downloadBase?: string }} [options]
 * @returns {Promise<string>} the path of the executable
 */
export async function ensureTemporal({ downloadBase = DOWNLOAD_BASE } = {}) {
  const found = await findTemporal();
  if (found) return found;
  return withLock(join(cacheFolder(), 'lock'), 'getting the Temporal dev server', async () => {
    if (existsSync(cachedPath())) return cachedPath();
    const tried = [`'temporal' on the PATH: ${(await findOnPath()).problem}`];
    const ways = [
      {
        name: `official download, ${archiveAt(downloadBase) ?? downloadBase}`,
        get: (/** @type {string} */ into) => download(downloadBase, into),
      },
      { name: "build by 'go install'", get: buildWithGo },
    ];
    for (const [at, { name, get }] of ways.entries()) {
      const into = join(cacheFolder(), 'unfinished');
      rmSync(into, { recursive: true, force: true });
      mkdirSync(into);
      try {
        await get(into);
        const made = join(into, executableName());
        chmodSync(made, 0o755);
        await readServerVersion(made);
        renameSync(made, cachedPath());
        return cachedPath();
      } catch (error) {
        const failed = `${name}: ${reasonOf(error)}`;
        tried.push(failed);
        if (at + 1 < ways.length) say(failed);
      } finally {
        rmSync(into, { recursive: true, force: true });
      }
    }
    throw new TemporalUnavailable(tried);
  });
}

/** @returns {Promise<{ path: string, problem: null } | { path: null, problem: string }>} */
async function findOnPath() {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '');
  const path = folders.map((folder) => join(folder, executableName())).find((file) => existsSync(file));
  if (!path) return { path: null, problem: 'not there' };
  try {
    const [major = 0, minor = 0] = await readServerVersion(path);
    const [oldestMajor = 0, oldestMinor = 0] = OLDEST_SERVER;
    if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor))
      return { path, problem: null };
    return {
      path: null,
      problem: `'${path}' holds server ${major}.${minor}, older than ${OLDEST_SERVER.join('.')}`,
    };
  } catch (error) {
    return { path: null, problem: reasonOf(error) };
  }
}

/**
 * The tool's own version says nothing when it was built from source; the server's version is always there.
 *
 * @param {string} path
 * @returns {Promise<number[]>} major, minor, patch
 */
async function readServerVersion(path) {
  const printed = await run(path, ['--version']);
  const version = /Server (\d+)\.(\d+)\.(\d+)/.exec(printed);
  if (!version) throw new Error(`'${path} --version' names no server: ${printed.slice(0, 200)}`);
  return version.slice(1).map(Number);
}

function machine() {
  return { platform: PLATFORMS[process.platform], arch: ARCHITECTURES[process.arch] };
}

/**
 * The address of this machine's archive; null: there is none for it.
 *
 * @param {string} base
 */
function archiveAt(base) {
  const { platform, arch } = machine();
  if (!platform || !arch) return null;
  const ending = platform === 'windows' ? 'zip' : 'tar.gz';
  return `${base}/v${TEMPORAL_VERSION}/temporal_cli_${TEMPORAL_VERSION}_${platform}_${arch}.${ending}`;
}

/**
 * @param {string} base
 * @param {string} into
 */
async function download(base, into) {
  const { platform, arch } = machine();
  const url = archiveAt(base);
  if (url === null) throw new Error(`there is none for ${process.platform} on ${process.arch}`);
  const digest = process.env[DIGEST_VARIABLE]?.toLowerCase() || DIGESTS[`${platform}_${arch}`];
  if (!digest)
    throw new Error(
      `no SHA-256 is known for ${platform} on ${arch}, and nothing is downloaded unchecked; name it in ${DIGEST_VARIABLE}`,
    );
  await step(`Downloading the Temporal dev server ${TEMPORAL_VERSION}`, async (phase) => {
    const stop = new AbortController();
    let timer = setTimeout(() => stop.abort(new Error('no answer within 8 s')), CONNECT_TIMEOUT_MS);
    try {
      const response = await fetch(url, { signal: stop.signal });
      if (!response.ok || !response.body) throw new Error(`the answer was HTTP ${response.status}`);
      const archive = join(into, 'archive');
      let bytes = 0;
      const hash = createHash('sha256');
      const counted = async function* (/** @type {AsyncIterable<Uint8Array>} */ chunks) {
        for await (const chunk of chunks) {
          clearTimeout(timer);
          timer = setTimeout(() => stop.abort(new Error('the download stalled for 30 s')), STALL_TIMEOUT_MS);
          bytes += chunk.length;
          hash.update(chunk);
          phase(`${Math.round(bytes / 1_000_000)} MB`);
          yield chunk;
        }
      };
      await pipeline(response.body, counted, createWriteStream(archive));
      const found = hash.digest('hex');
      if (found !== digest) throw new Error(`its SHA-256 is ${found}, not ${digest}: it is not used`);
      // Reads .tar.gz everywhere, and on Windows, where the archive is one, also .zip.
      await run('tar', ['-xf', archive, '-C', into, executableName()]);
    } finally {
      clearTimeout(timer);
    }
  });
}

/** @param {string} into */
async function buildWithGo(into) {
  await installWithGo({
    into,
    target: `github.com/temporalio/cli/cmd/temporal@v${TEMPORAL_VERSION}`,
    what: `the Temporal dev server ${TEMPORAL_VERSION}`,
    cost: 'about 6 minutes, and 3.5 GB in the caches of Go',
  });
}

function cachedPath() {
  return join(cacheFolder(), executableName());
}

function cacheFolder() {
  return cacheFolderOf(`temporal-${TEMPORAL_VERSION}`);
}

function executableName() {
  return process.platform === 'win32' ? 'temporal.exe' : 'temporal';
}

/** @param {unknown} error */
function reasonOf(error) {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${messageOf(error.cause)})` : '';
  const output =
    error instanceof CommandFailed && error.output ? `\n${error.output.replaceAll(/^/gm, '      ')}` : '';
  return `${error.message}${cause}${output}`;
}

/**
 * Node tries each address of a host, and then has a message only for each of them.
 *
 * @param {Error} error
 */
function messageOf(error) {
  const each = error instanceof AggregateError ? error.errors : [];
  return error.message || each.map((one) => (one instanceof Error ? one.message : String(one))).join('; ');
}
