/**
 * The kill switch of one machine: while the file that CAMBIST_HALT_FILE names is there, the workers of the machine send nothing,
 * whatever Temporal says. A person with the namespace alone can neither set it nor lift it.
 */
import { lstatSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname } from 'node:path';
import type { Closed } from '../domain/halt.ts';
import { makeProblem } from '../domain/problems.ts';
import { ConfigurationError } from './errors.ts';

/**
 * Makes the function that a worker asks before each write. It answers from the disk of the machine at once; null: the write
 * may leave.
 * @param path null: no file is named, and the function halts nothing
 * @throws ConfigurationError when the folder of the file is not there, because then nobody could halt by it
 */
export function haltFileAt(path: string | null): () => Closed | null {
  if (path === null) return () => null;
  const folder = dirname(path);
  const trouble = troubleWith(folder);
  if (trouble !== null)
    throw new ConfigurationError([
      {
        code: 'HALT_FOLDER_MISSING',
        item: null,
        message: `CAMBIST_HALT_FILE is "${path}", and its folder cannot be used: ${trouble}.`,
        fix: 'Name a file in a folder that is on the disk of this machine, or unset the variable.',
      },
    ]);
  return () => {
    const missing = troubleWith(path);
    if (missing === null) return closed(`The file "${path}" is there`);
    // Where the folder is away, as a disk that is not mounted, the file may be in it.
    const unknown = missing === 'ENOENT' ? troubleWith(folder) : missing;
    return unknown === null ? null : closed(`Whether the file "${path}" is there is not known (${unknown})`);
  };
}

function closed(why: string): Closed {
  const problem = makeProblem('HALT_FILE', null, {
    message: `${why} on machine ${hostname()}: it halts every worker there that has it as CAMBIST_HALT_FILE.`,
  });
  return { kind: 'halted', problem };
}

/** Why a path cannot be read, as the system names it (`ENOENT`: nothing is there); null: something is there. */
function troubleWith(path: string): string | null {
  try {
    lstatSync(path);
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
}
