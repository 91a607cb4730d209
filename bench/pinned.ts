/**
 * Child processes of the bench: each on a core of its own where the machine lets us say so (`taskset`, Linux), so that
 * what is compared runs on the same one.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Of util-linux. */
const PIN = 'taskset';
const CAN_PIN = process.platform === 'linux' && spawnSync(PIN, ['-c', '0', 'true']).error === undefined;

/** The core for what is measured, and another one for what answers it. */
export const MEASURED_CORE = 0;
export const OTHER_CORE = Math.min(1, availableParallelism() - 1);

/** For the table: how the processes were kept apart. */
export function pinning(): string {
  return CAN_PIN ? 'on one core' : `wherever the system puts it: no ${PIN} here`;
}

/** A command on one core. */
export function onCore(core: number, command: string, args: readonly string[]): [string, string[]] {
  return CAN_PIN ? [PIN, ['-c', `${core}`, command, ...args]] : [command, [...args]];
}

/** Runs a file of the bench to its end and returns the JSON that it printed. */
export async function runFile<T>(core: number, file: string, args: readonly string[]): Promise<T> {
  const child = startFile(core, file, args);
  const line = await firstLine(child, file);
  return JSON.parse(line) as T;
}

/** Starts a file of the bench; its standard output is ours to read. */
export function startFile(core: number, file: string, args: readonly string[]): ChildProcess {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const [command, all] = onCore(core, process.execPath, ['--import', 'tsx', path, ...args]);
  return endWithUs(spawn(command, all, { stdio: ['ignore', 'pipe', 'inherit'] }));
}

const children = new Set<ChildProcess>();

/** No child outlives the bench. */
export function endWithUs(child: ChildProcess): ChildProcess {
  if (children.size === 0) process.once('exit', () => children.forEach((each) => each.kill('SIGKILL')));
  children.add(child);
  return child;
}

/** The first line that a child prints. */
export function firstLine(child: ChildProcess, name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`${name} ended with ${code} and said nothing.`)));
    if (child.stdout) createInterface({ input: child.stdout }).once('line', resolve);
  });
}
