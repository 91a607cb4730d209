/**
 * Reads a text file that a person named (a policy, rates, a service file). Looks before it reads: a pipe would never
 * end, a device or a huge file would fill the memory. Used by commands and by the worker's configuration.
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** The text, or why there is none. */
export type TextFile =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly isMissing: boolean; readonly message: string };

/** No file that Cambist reads for a person is larger. */
const MAX_BYTES = 1024 * 1024;

/** Reads the file at `path`; refuses at once what is no regular file or is larger than 1 MiB. Never throws. */
export async function readTextFile(path: string): Promise<TextFile> {
  try {
    // Without `O_NONBLOCK` the opening of a pipe waits for somebody who writes.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const facts = await file.stat();
      if (facts.isDirectory()) return refused('it is a folder, not a file');
      if (!facts.isFile()) return refused('it is no regular file (a pipe, a socket or a device)');
      if (facts.size > MAX_BYTES)
        return refused(`the file has ${facts.size} bytes; at most ${MAX_BYTES} are read`);
      // The size may be untrue (in /proc it is 0), so that the reading has the same end.
      const buffer = Buffer.alloc(MAX_BYTES + 1);
      let length = 0;
      for (;;) {
        const { bytesRead } = await file.read(buffer, length, buffer.length - length);
        if (bytesRead === 0) break;
        length += bytesRead;
      }
      if (length > MAX_BYTES) return refused(`the file has more than ${MAX_BYTES} bytes`);
      return { ok: true, text: buffer.toString('utf8', 0, length) };
    } finally {
      await file.close();
    }
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (reason === 'ENOENT') return { ok: false, isMissing: true, message: 'there is no such file' };
    return refused(`the file cannot be read (${reason})`);
  }
}

function refused(message: string): TextFile {
  return { ok: false, isMissing: false, message };
}
