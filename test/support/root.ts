/** Where the project stands, and what stands in it, for tests that run from their sources and from a build of them alike. */
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** The folder of the project. */
export const ROOT = rootAbove(dirname(fileURLToPath(import.meta.url)));

/** `path` is from the folder of the project; that of a folder ends in `/`. */
export function urlOf(path: string): URL {
  return new URL(path, pathToFileURL(`${ROOT}/`));
}

function rootAbove(folder: string): string {
  return existsSync(join(folder, 'package-lock.json')) ? folder : rootAbove(dirname(folder));
}
