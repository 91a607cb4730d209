// The histories of each release, kept as they were when it was made: test/machines/histories/releases/VERSION. Nobody changes
// them again, and every later version must replay them: so a run that an older worker began goes on under a newer one. The
// newest histories, which are recorded anew when workflows change on purpose, lie beside that folder.
// Only Node's own modules: `npm run release` keeps them, and tests and `npm run replays` read them.

import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ScriptFailed } from './main.mjs';

/** Where the newest histories lie, and in a folder of it those of the releases. */
export const HISTORIES = fileURLToPath(new URL('../../test/machines/histories', import.meta.url));

/**
 * Keeps the newest histories as those of a release, for ever.
 *
 * @param {string} version as in package.json
 * @param {string} [histories]
 */
export function keepHistories(version, histories = HISTORIES) {
  const folder = releaseFolder(histories, version);
  if (existsSync(folder))
    throw new ScriptFailed(
      `The histories of release ${version} are kept already, and do not change any more.`,
    );
  mkdirSync(folder, { recursive: true });
  for (const file of filesIn(histories)) cpSync(file, join(folder, basename(file)));
  const digests = { ...readDigests(histories), [version]: digestOf(folder) };
  writeFileSync(digestsFile(histories), `${JSON.stringify(digests, null, 2)}\n`);
}

/**
 * The folders of histories: the newest, and each release's, oldest first.
 *
 * @param {string} [histories]
 * @returns {{ version: string | null, folder: string }[]} version: null for the newest
 */
export function historyFolders(histories = HISTORIES) {
  const releases = versionsIn(histories).map((version) => ({
    version,
    folder: releaseFolder(histories, version),
  }));
  return [{ version: null, folder: histories }, ...releases];
}

/**
 * A sentence for each release whose histories are not as they were kept.
 *
 * @param {string} [histories]
 */
export function changedReleases(histories = HISTORIES) {
  const digests = readDigests(histories);
  const changed = versionsIn(histories).filter(
    (version) => digests[version] !== digestOf(releaseFolder(histories, version)),
  );
  const gone = Object.keys(digests).filter((version) => !existsSync(releaseFolder(histories, version)));
  return [
    ...changed.map((version) => `The histories of release ${version} are not as they were kept.`),
    ...gone.map((version) => `The histories of release ${version} are gone.`),
  ];
}

/**
 * The histories of a folder, each under the workflow id that it was recorded with: a workflow looks at its own.
 *
 * @param {string} folder
 * @returns {Generator<{ workflowId: string, history: any, file: string }>}
 */
export function* historiesIn(folder) {
  for (const file of filesIn(folder)) {
    const text = readFileSync(file, 'utf8');
    const workflowId = /"workflowId":"([^"]+)"/.exec(text)?.[1] ?? basename(file);
    yield { workflowId, history: JSON.parse(text), file: basename(file) };
  }
}

/** @param {string} folder */
function filesIn(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.json'));
  return names.toSorted().map((name) => join(folder, name));
}

/**
 * @param {string} histories
 * @param {string} version
 */
function releaseFolder(histories, version) {
  return join(histories, 'releases', version);
}

/** @param {string} histories */
function digestsFile(histories) {
  return join(histories, 'releases', 'digests.json');
}

/**
 * @param {string} histories
 * @returns {Record<string, string>} of each release, by its version
 */
function readDigests(histories) {
  const file = digestsFile(histories);
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
}

/** @param {string} histories */
function versionsIn(histories) {
  const releases = dirname(digestsFile(histories));
  if (!existsSync(releases)) return [];
  const folders = readdirSync(releases, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders
    .map(({ name }) => name)
    .toSorted((one, other) => one.localeCompare(other, 'en', { numeric: true }));
}

/** Of the names and contents of all its files. @param {string} folder */
function digestOf(folder) {
  const hash = createHash('sha256');
  for (const name of readdirSync(folder).toSorted()) {
    const content = readFileSync(join(folder, name));
    hash.update(`${name}\n${content.length}\n`).update(content);
  }
  return hash.digest('hex');
}
