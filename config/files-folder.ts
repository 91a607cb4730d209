/**
 * Reads a file that a scheduled policy names, from the one folder of a worker that is meant for such files
 * (CAMBIST_FILES). Every program that may write to Temporal can put a policy there, so nothing outside the folder is read,
 * whatever path the policy names.
 */
import { realpath } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { readTextFile } from './read-text-file.ts';

/** The text, or why there is none. */
export type FolderFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly kind: 'outside' | 'missing' | 'unreadable'; readonly message: string };

/** Reads the file `name` of `folder`, of at most so many bytes. Never throws. */
export async function readFolderFile(folder: string, name: string, mostBytes: number): Promise<FolderFile> {
  const outside = { ok: false, kind: 'outside', message: 'it is outside the folder' } as const;
  // This is checked before the disk is read: the policy must not learn whether a file elsewhere exists.
  if (isAbsolute(name) || isOutside(join(folder, name), folder)) return outside;
  const real = await realPathOf(join(folder, name), folder);
  if (real === null) return { ok: false, kind: 'missing', message: 'there is no such file' };
  // A link may lead out of the folder.
  if (isOutside(real.file, real.folder)) return outside;
  const read = await readTextFile(real.file);
  if (!read.ok) return { ok: false, kind: 'unreadable', message: read.message };
  const bytes = Buffer.byteLength(read.text);
  if (bytes <= mostBytes) return read;
  return { ok: false, kind: 'unreadable', message: `it has ${bytes} bytes; at most ${mostBytes} are read` };
}

async function realPathOf(
  file: string,
  folder: string,
): Promise<{ readonly file: string; readonly folder: string } | null> {
  try {
    return { file: await realpath(file), folder: await realpath(folder) };
  } catch {
    return null;
  }
}

function isOutside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way === '' || way === '..' || way.startsWith(`..${sep}`) || isAbsolute(way);
}
