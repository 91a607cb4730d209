/**
 * The file in which `cambist watch` keeps what it has told. A line that is told is on the disk before. One process uses a file: where
 * another one has changed it meanwhile, the watch ends.
 */
import { randomUUID } from 'node:crypto';
import { lstat, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Mode } from '../../domain/service/records.ts';
import { CommandFailure } from '../failure.ts';
import { newState, readState, type WatchState } from './news.ts';

export class StateFile {
  readonly #path: string;
  /** As this process has read or written it last. Null: there is no file. */
  #text: string | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws CommandFailure for a file that is none of ours, or one of another mode */
  async read(mode: Mode): Promise<WatchState> {
    this.#text = await this.#now();
    if (this.#text === null) return newState(mode);
    const state = readState(this.#text, mode);
    if (state !== null) return state;
    throw this.#unusable(`it is not what \`npx cambist watch\` keeps for ${mode}`);
  }

  /** @throws CommandFailure when another process has written the file since, or it cannot be written */
  async write(state: WatchState): Promise<void> {
    if ((await this.#now()) !== this.#text)
      throw this.#unusable('another process has changed it since this one has read it');
    const text = `${JSON.stringify(state)}\n`;
    const next = `${this.#path}.${randomUUID()}`;
    try {
      await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
      const file = await open(next, 'wx', 0o600);
      try {
        await file.writeFile(text);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(next, this.#path);
    } catch (error) {
      throw this.#unusable(`it cannot be written (${codeOf(error)})`);
    }
    this.#text = text;
  }

  async #now(): Promise<string | null> {
    try {
      if (!(await lstat(this.#path)).isFile()) throw this.#unusable('it is no plain file');
      return await readFile(this.#path, 'utf8');
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return null;
      throw error instanceof CommandFailure ? error : this.#unusable(`it cannot be read (${codeOf(error)})`);
    }
  }

  #unusable(message: string): CommandFailure {
    return new CommandFailure('configuration', [
      {
        code: 'WATCH_STATE_UNUSABLE',
        place: this.#path,
        message,
        fix: 'Let each `npx cambist watch` have a file of its own (--state), which nobody else writes. A new file begins anew: all that stands is told once more.',
      },
    ]);
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
