/**
 * Who is told by `cambist watch`: a program, which gets each piece of news as JSON on its stdin and is never part of a shell line, or a
 * webhook, which gets it as a signed request. A receiver has taken it when the program ends with 0, or the answer is a 2xx.
 */
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { lstat, readFile } from 'node:fs/promises';
import { once } from 'node:events';
import { isLoopback } from '../../service/address.ts';
import { CommandFailure } from '../failure.ts';
import type { News } from './news.ts';

/** Null: the receiver has taken it. Otherwise: why not, in words that hold no secret. */
export type Receiver = (news: News) => Promise<string | null>;

/** A receiver has this long. */
const LIMIT_MS = 30_000;
const LEAST_SECRET = 32;

/** @param env of the program: it gets nothing of Cambist's or Temporal's settings, which name keys and may hold one */
export function programReceiver(program: string, env: NodeJS.ProcessEnv, cwd: string): Receiver {
  const own = Object.fromEntries(Object.entries(env).filter(([name]) => !/^(CAMBIST|TEMPORAL)_/.test(name)));
  return async (news) => {
    // What it prints belongs to people, and stdout to the line `ready`.
    const child = spawn(program, [], { cwd, env: own, stdio: ['pipe', process.stderr, process.stderr] });
    child.stdin?.on('error', () => {});
    child.stdin?.end(`${JSON.stringify(news)}\n`);
    const timer = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
    try {
      const [code, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
      if (code === 0) return null;
      return signal === null ? `the program ended with ${code}` : `the program was ended by ${signal}`;
    } catch (error) {
      return `the program cannot be started (${error instanceof Error && 'code' in error ? String(error.code) : 'unknown'})`;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** @throws CommandFailure for an address that is neither https nor of this machine */
export function webhookReceiver(address: string, secret: string, nowMs: () => number): Receiver {
  const url = checkedAddress(address);
  return async (news) => {
    const body = JSON.stringify(news);
    const timestamp = String(Math.floor(nowMs() / 1_000));
    try {
      const answer = await fetch(url, {
        method: 'POST',
        redirect: 'manual',
        signal: AbortSignal.timeout(LIMIT_MS),
        headers: {
          'content-type': 'application/json',
          'user-agent': 'cambist',
          'cambist-id': news.id,
          'cambist-timestamp': timestamp,
          'cambist-signature': `v1=${signatureOf(secret, timestamp, body)}`,
        },
        body,
      });
      await answer.body?.cancel();
      return answer.ok ? null : `the webhook answered with status ${answer.status}`;
    } catch (error) {
      const isLate = error instanceof Error && error.name === 'TimeoutError';
      return isLate ? 'the webhook did not answer in time' : 'the webhook cannot be reached';
    }
  };
}

/** HMAC-SHA256 over the timestamp, a dot and the body, in hex. */
export function signatureOf(secret: string, timestamp: string, body: string): string {
  return createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex');
}

function checkedAddress(address: string): URL {
  const refuse = (message: string): never => {
    throw new CommandFailure('bad input', [
      {
        code: 'WATCH_RECEIVER',
        place: '--webhook',
        message,
        fix: 'Name an address like "https://alerts.example.com/cambist". Plain http is for this machine only.',
      },
    ]);
  };
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null) return refuse('it is no URL');
  if (url.username !== '' || url.password !== '') refuse('it holds a user or password; requests are signed');
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLoopback(url.hostname)))
    refuse('it is not https, and not of this machine');
  return url;
}

/** The secret in a file that only its owner may read. @throws CommandFailure for any other file */
export async function readSecret(path: string): Promise<string> {
  const refuse = (message: string): never => {
    throw new CommandFailure('configuration', [
      {
        code: 'WATCH_SECRET_UNUSABLE',
        place: path,
        message,
        fix: `Put at least ${LEAST_SECRET} random characters into a plain file of mode 0600: \`umask 077; openssl rand -hex 32 > FILE\`.`,
      },
    ]);
  };
  try {
    const facts = await lstat(path);
    if (!facts.isFile()) return refuse('it is no plain file');
    if ((facts.mode & 0o077) !== 0) return refuse('other users may use it');
    const secret = (await readFile(path, 'utf8')).trim();
    return secret.length >= LEAST_SECRET ? secret : refuse(`it has fewer than ${LEAST_SECRET} characters`);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    return refuse('it cannot be read');
  }
}
