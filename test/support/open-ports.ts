/** On which ports a process listens, and what a web page from elsewhere gets there whose own name leads to this machine. */
import { once } from 'node:events';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { request, type IncomingMessage } from 'node:http';

/** Why the ports of a process cannot be listed; false where they can. */
export const NO_PROC =
  process.platform === 'linux' ? false : 'the open ports of a process are listed on Linux only';

/** The TCP ports on which a process listens. */
export function openPorts(pid: number): readonly number[] {
  const sockets = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const inodes = new Set(sockets.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  const listening = rows.map((row) => row.trim().split(/\s+/)).filter((row) => row[3] === '0A');
  return listening
    .filter((row) => inodes.has(row[9] ?? ''))
    .map((row) => Number.parseInt(row[1]?.split(':')[1] ?? '', 16));
}

/** What such a page would ask for: a start by the HTTP API, lists of Temporal and of the sandbox, counters. */
const ASKED = [
  {
    method: 'POST',
    path: '/api/v1/namespaces/default/workflows/elsewhere',
    body: JSON.stringify({ workflowType: { name: 'run' }, taskQueue: { name: 'cambist-sandbox' } }),
  },
  { path: '/api/v1/namespaces' },
  { path: '/' },
  { path: '/metrics' },
  { path: '/ledger' },
  { path: '/v3/balances' },
];

/** The answers, other than a refusal, that a page under a foreign name gets on a port to which browsers go. */
export async function answeringElsewhere(ports: readonly number[]): Promise<readonly string[]> {
  const answers = ports.map(async (port) => {
    if (await isClosedToBrowsers(port)) return [];
    const statuses = ASKED.map(async (asked) => {
      const headers = { host: `elsewhere.example:${port}`, 'content-type': 'text/plain' };
      return { asked, status: await statusOf(port, { ...asked, headers }) };
    });
    return (await Promise.all(statuses)).flatMap(({ asked, status }) =>
      status === null || status >= 400 ? [] : [`${port}${asked.path}: ${status}`],
    );
  });
  return (await Promise.all(answers)).flat();
}

/** Null where no HTTP is spoken. */
export async function statusOf(
  port: number,
  {
    body = '',
    ...asked
  }: {
    readonly path: string;
    readonly method?: string;
    readonly headers: Readonly<Record<string, string>>;
    readonly body?: string;
  },
): Promise<number | null> {
  const sent = request({ host: '127.0.0.1', port, ...asked });
  sent.end(body);
  try {
    const [reply] = (await once(sent, 'response')) as [IncomingMessage];
    reply.destroy();
    return reply.statusCode ?? null;
  } catch {
    return null;
  }
}

/** As the Fetch standard says, which Node's `fetch` keeps to as browsers do. */
async function isClosedToBrowsers(port: number): Promise<boolean> {
  try {
    const reply = await fetch(`http://127.0.0.1:${port}/`);
    await reply.body?.cancel();
    return false;
  } catch (error) {
    return error instanceof Error && String(error.cause).includes('bad port');
  }
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
