/**
 * Which processes `cambist up` has started in a folder, in `.cambist/up.json`. A second `cambist up` there is refused. If an
 * earlier one was killed, the next one ends what it left behind.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CommandFailure } from '../../operations/failure.ts';
import type { Output } from '../terminal/output.ts';

/** Relative to the working folder. */
export const UP_FILE = '.cambist/up.json';

/**
 * Text in the command lines of what `cambist up` starts. The number of a process that is gone may belong to another process
 * by now, and somebody else may have written the file. So nothing without this text is ever ended.
 */
const COMMANDS = ['server start-dev --ip=127.0.0.1', 'cambist.mjs worker --json'];

/** How long a process may take to end in order. */
const END_LIMIT_MS = 8_000;

export class UpChildren {
  readonly #file: string;
  readonly #children: number[] = [];

  constructor(file: string) {
    this.#file = file;
  }

  /** Ends what a killed `cambist up` left in this folder. @throws CommandFailure when one is running here */
  async takeOver(output: Pick<Output, 'note'>): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true, mode: 0o700 });
    const before = await readUp(this.#file);
    if (before !== null && before.pid !== process.pid && isAlive(before.pid)) {
      throw new CommandFailure('refused by us', [
        {
          code: 'UP_ALREADY',
          place: this.#file,
          message: `\`npx cambist up\` runs in this folder already (process ${before.pid})`,
          fix: `Use that one, or end it first: Ctrl-C in its terminal, or \`kill ${before.pid}\`.`,
        },
      ]);
    }
    for (const pid of before?.children ?? []) {
      if (!(await isOurs(pid))) continue;
      output.note(`Ending process ${pid}, which an earlier \`npx cambist up\` left behind …`);
      await endStranger(pid);
    }
    this.#write();
  }

  /** Notes a process as soon as it exists. */
  add(pid: number): void {
    // The process that was started last ends first.
    this.#children.unshift(pid);
    this.#write();
  }

  forget(): Promise<void> {
    return rm(this.#file, { force: true });
  }

  #write(): void {
    const text = JSON.stringify({ pid: process.pid, children: this.#children });
    writeFileSync(this.#file, `${text}\n`, { mode: 0o600 });
  }
}

/** Null where there is none, or one that is not this user's own, or not what this class writes. */
async function readUp(
  file: string,
): Promise<{ readonly pid: number; readonly children: readonly number[] } | null> {
  const facts = await lstat(file).catch(() => null);
  const uid = process.getuid?.();
  if (facts === null || !facts.isFile() || (uid !== undefined && facts.uid !== uid)) return null;
  try {
    const parsed: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (typeof parsed !== 'object' || parsed === null) return null;
    if (!('pid' in parsed) || !isPid(parsed.pid) || !('children' in parsed)) return null;
    if (!Array.isArray(parsed.children)) return null;
    return { pid: parsed.pid, children: parsed.children.filter(isPid) };
  } catch {
    return null;
  }
}

function isPid(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) > 1;
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Where there is no `ps`, nothing is known, and nothing is ended. */
async function isOurs(pid: number): Promise<boolean> {
  const listed = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(
    () => null,
  );
  return COMMANDS.some((command) => listed?.stdout.includes(command));
}

/** It is not a child of this process, so it must be asked whether it is gone. */
async function endStranger(pid: number): Promise<void> {
  const endsAtMs = performance.now() + END_LIMIT_MS;
  process.kill(pid, 'SIGTERM');
  while (await isOurs(pid)) {
    if (performance.now() > endsAtMs) process.kill(pid, 'SIGKILL');
    await sleep(100);
  }
}
