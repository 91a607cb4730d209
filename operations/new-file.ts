/**
 * The file that `--out` or `--fix` names: what a command writes of a batch. It gets its name only when it is complete, so that no person
 * or program ever reads half of it, and it is never a file that the command reads.
 */
import { access, constants, lstat, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';
import { runName, type RunName } from '../domain/references.ts';
import { CommandFailure } from './failure.ts';
import type { BatchFile } from './batches/file.ts';

/** The folder in which the command runs. */
type Beside = Pick<BatchFile, 'cwd'>;

/** This many parts are written at once. */
const PARTS = 500;

/**
 * @param of `out`: the file's name as given; relative to the folder in which the command runs. `run`: the run whose results it has
 * @throws CommandFailure when the file cannot be written
 */
export async function writeNewFile(
  beside: Beside,
  { out, run = null }: { readonly out: string; readonly run?: RunName | null },
  parts: AsyncIterable<string | Uint8Array>,
): Promise<void> {
  const path = pathOf(beside, out);
  const part = `${path}.${process.pid}.part`;
  try {
    const file = await open(part, 'w').catch((error: unknown) => {
      throw unwritable(out, error, run);
    });
    try {
      let some: Uint8Array[] = [];
      const write = async (): Promise<void> => {
        await file.write(Buffer.concat(some));
        some = [];
      };
      for await (const one of parts) if (some.push(Buffer.from(one)) >= PARTS) await write();
      await write();
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw isOfFiles(error) ? unwritable(out, error, run) : error;
  }
}

/**
 * Checks before anything moves that the file can be written. One that is there already is written anew, but none that the command reads.
 * @param read the files that the command reads, by their names as given
 * @throws CommandFailure when it cannot
 */
export async function requireWritable(
  beside: Beside & { readonly read: readonly string[] },
  out: string,
): Promise<void> {
  const path = pathOf(beside, out);
  const there = await stat(path).catch(() => null);
  for (const name of there === null ? [] : beside.read) {
    const own = await stat(pathOf(beside, name)).catch(() => null);
    // One file may have several names.
    if (own !== null && there?.ino === own.ino && there.dev === own.dev)
      throw unwritable(out, new Error(`it is ${name}, which the command reads`));
  }
  await requireFolder(path, out);
  if (there !== null && !there.isFile()) throw unwritable(out, new Error('it is no file'));
}

/** The same for a file that must not be there yet. @throws CommandFailure when it is, or cannot be written */
export async function requireNew(beside: Beside, out: string): Promise<void> {
  const path = pathOf(beside, out);
  const there = await lstat(path).catch(() => null);
  if (there !== null) throw unwritable(out, new Error('it is there already, and is never overwritten'));
  await requireFolder(path, out);
}

async function requireFolder(path: string, out: string): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(out, error);
  }
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
