/**
 * Reads a file that a person named: a text (a policy, rates, a service file), or the bytes of a batch. It
 * checks the kind and the size of the file first: a pipe would never end, and a device or a huge text would
 * fill the memory. Commands use it, and so does the configuration of a worker.
 */
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** The text, or why there is none. */
export type TextFile = { readonly ok: true; readonly text: string } | Refusal;

type Refusal = { readonly ok: false; readonly isMissing: boolean; readonly message: string };

/** No file that Cambist reads for a person is larger. */
const MAX_BYTES = 1024 * 1024;

/** Reads the file at `path`. Refuses at once one that is not regular or is above 1 MiB. Never throws. */
export async function readTextFile(path: string): Promise<TextFile> {
  const opened = await openRegularFile(path);
  if (!opened.ok) return opened;
  const { file } = opened;
  try {
    const { size } = await file.stat();
    if (size > MAX_BYTES) return refused(`the file has ${size} bytes; at most ${MAX_BYTES} are read`);
    // The size that the system tells may be wrong (in /proc it is 0), so that the reading has the same limit.
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    for (;;) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    if (length > MAX_BYTES) return refused(`the file has more than ${MAX_BYTES} bytes`);
    return { ok: true, text: buffer.toString('utf8', 0, length) };
  } catch (error) {
    return unreadable(error);
  } finally {
    await file.close();
  }
}

/** The bytes, to be read once; or why there are none. */
export type ByteFile = { readonly ok: true; readonly chunks: AsyncIterable<Uint8Array> } | Refusal;

const CHUNK_BYTES = 64 * 1024;

/**
 * Opens the file at `path`, of any size. Refuses a file that is not a regular one. Does not throw, but
 * reading the bytes may.
 */
export async function openByteFile(path: string): Promise<ByteFile> {
  const opened = await openRegularFile(path);
  return opened.ok ? { ok: true, chunks: chunksOf(opened.file) } : opened;
}

async function* chunksOf(file: FileHandle): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES);
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

async function openRegularFile(
  path: string,
): Promise<{ readonly ok: true; readonly file: FileHandle } | Refusal> {
  try {
    // Without `O_NONBLOCK`, opening a pipe would wait until another program writes to it.
    const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (facts.isFile()) return { ok: true, file };
    await file.close();
    return refused(
      facts.isDirectory()
        ? 'it is a folder, not a file'
        : 'it is no regular file (a pipe, a socket or a device)',
    );
  } catch (error) {
    return unreadable(error);
  }
}

function unreadable(error: unknown): Refusal {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (reason === 'ENOENT') return { ok: false, isMissing: true, message: 'there is no such file' };
  return refused(`the file cannot be read (${reason})`);
}

function refused(message: string): Refusal {
  return { ok: false, isMissing: false, message };
}
