/** Which process listens on a port of this machine, so that a person knows what to end when the port is taken. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { promisify } from 'node:util';
import { CommandFailure } from '../../operations/failure.ts';

const HOST = '127.0.0.1';

/** Null when the port is free. Otherwise the process that has it, as far as this machine tells: `process 4711 (node)`. */
export async function holderOf(port: number): Promise<string | null> {
  const server = createServer();
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
    return null;
  } catch {
    return (await byLsof(port)) ?? (await bySs(port)) ?? 'another program';
  } finally {
    server.close();
  }
}

/** @throws CommandFailure when a port that the person asked for is taken; `instead` is what to type then */
export async function requireFree(port: number | undefined, instead: string): Promise<void> {
  if (port === undefined || port === 0) return;
  const holder = await holderOf(port);
  if (holder === null) return;
  throw new CommandFailure('infrastructure', [
    {
      code: 'PORT_TAKEN',
      place: `${HOST}:${port}`,
      message: `the port is taken by ${holder}`,
      fix: `End that first, or take any free port: \`${instead}\`.`,
    },
  ]);
}

async function byLsof(port: number): Promise<string | null> {
  const text = await outputOf('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']);
  const [, pid, name] = /^p(\d+)$[^]*?^c(.*)$/m.exec(text) ?? [];
  return pid === undefined ? null : `process ${pid} (${name ?? '?'})`;
}

async function bySs(port: number): Promise<string | null> {
  const text = await outputOf('ss', ['-Hltnp', `sport = :${port}`]);
  const [, name, pid] = /"([^"]*)",pid=(\d+)/.exec(text) ?? [];
  return pid === undefined ? null : `process ${pid} (${name ?? '?'})`;
}

/** The output of a program; empty where this machine has no such program, or the program finds nothing. */
async function outputOf(program: string, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, [...words]).catch(() => ({ stdout: '' }));
  return stdout;
}
