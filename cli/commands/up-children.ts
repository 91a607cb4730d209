/**
 * Which processes `cambist up` has started in a folder, kept in `.cambist/up.json`. A second `cambist up` in the same folder
 * is refused. When an earlier one was killed, the next one ends the processes that it left.
 */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { lstat, mkdir, readFile, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { CommandFailure } from '../../operations/failure.ts';
import type { Output } from '../terminal/output.ts';

/** Its path in the working folder. */
export const UP_FILE = '.cambist/up.json';

/**
 * Text in the command lines of the processes that `cambist up` starts. The number of a process that has ended may belong to
 * another process by now, and another program may have written the file. So a process without this text is never ended.
 */
const COMMANDS = ['server start-dev --ip=127.0.0.1', 'cambist.mjs worker --json'];

/** A process may take this long to end in order. */
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

  /** Writes down a process as soon as it exists. */
  add(pid: number): void {
    // The process that was started last is ended first.
    this.#children.unshift(pid);
    this.#write();
  }

  /** Takes a process off that has ended: its number may belong to another one soon. */
  remove(pid: number): void {
    const at = this.#children.indexOf(pid);
    if (at >= 0) this.#children.splice(at, 1);
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

/**
 * Null where there is no such file, where it does not belong to this user, or where it does not have the form that this
 * class writes.
 */
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

/** Whether `cambist up` has started this process. Without `ps` this is not known, and nothing is ended. */
async function isOurs(pid: number): Promise<boolean> {
  const listed = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(
    () => null,
  );
  return COMMANDS.some((command) => listed?.stdout.includes(command));
}

/** Ends a process that is no child of this one, so that it must be asked whether it is gone. */
async function endStranger(pid: number): Promise<void> {
  const endsAtMs = performance.now() + END_LIMIT_MS;
  process.kill(pid, 'SIGTERM');
  while (await isOurs(pid)) {
    if (performance.now() > endsAtMs) process.kill(pid, 'SIGKILL');
    await sleep(100);
  }
}
