/**
 * The file that `--out` names: what a command writes of a batch. It gets its name only when it is complete, so that no person or program
 * ever reads half of it, and it is never the batch file itself.
 */
import { access, constants, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { runName, type RunName } from '../domain/references.ts';
import { CommandFailure } from './failure.ts';
import type { BatchFile } from './batches/file.ts';

/** A batch, and the folder in which the command runs. */
type Beside = Pick<BatchFile, 'file' | 'cwd'>;

/** This many parts are written at once. */
const PARTS = 500;

/**
 * @param of `out`: the file's name as given; relative to the folder in which the command runs. `run`: the run whose results it has
 * @throws CommandFailure when the file cannot be written
 */
export async function writeNewFile(
  batch: Beside,
  { out, run = null }: { readonly out: string; readonly run?: RunName | null },
  parts: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const path = pathOf(batch, out);
  const beside = `${path}.${process.pid}.part`;
  try {
    const file = await open(beside, 'w').catch((error: unknown) => {
      throw unwritable(out, error, run);
    });
    try {
      let some: Uint8Array[] = [];
      const write = async (): Promise<void> => {
        await file.write(Buffer.concat(some));
        some = [];
      };
      for await (const part of parts) if (some.push(Buffer.from(part)) >= PARTS) await write();
      await write();
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(beside, path);
  } catch (error) {
    await rm(beside, { force: true });
    throw isOfFiles(error) ? unwritable(out, error, run) : error;
  }
}

/** Checks before anything moves that the file can be written. @throws CommandFailure when it cannot */
export async function requireWritable(batch: Beside, out: string): Promise<void> {
  const path = pathOf(batch, out);
  const there = await stat(path).catch(() => null);
  const own = await stat(pathOf(batch, batch.file)).catch(() => null);
  // One file may have several names.
  if (there !== null && there.ino === own?.ino && there.dev === own.dev)
    throw unwritable(out, new Error('it is the batch file itself'));
  try {
    await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(out, error);
  }
  if (there !== null && !there.isFile()) throw unwritable(out, new Error('it is no file'));
}

function pathOf({ cwd }: Pick<BatchFile, 'cwd'>, file: string): string {
  return isAbsolute(file) ? file : join(cwd, file);
}

function isOfFiles(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'path' in error;
}

function unwritable(out: string, error: unknown, run: RunName | null = null): CommandFailure {
  if (error instanceof CommandFailure) return error;
  return new CommandFailure('bad input', [
    {
      code: 'RESULTS_UNWRITABLE',
      place: out,
      message: `the file cannot be written: ${error instanceof Error ? error.message : String(error)}`,
      fix: `Name another file, in a folder that you may write to.${run === null ? '' : ` The run goes on; \`npx cambist report ${runName(run)} --batch FILE --out FILE\` writes its results at any time.`}`,
    },
  ]);
}
