// The dev server as `cambist up` and the tests use it: started, reached, killed, and started again on its file.

import assert from 'node:assert/strict';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { findTemporal } from '#temporal-binary';
import { Client, Connection } from '@temporalio/client';
import { DevServerFailed, startDevServer, type DevServer } from '../../worker/dev-server.ts';
import { testServerAddress, uniqueName } from '../support/dev-server.ts';

test('the shared server knows the search attributes of Cambist', async () => {
  await withClient(await testServerAddress(), async (client) => {
    const policy = uniqueName('policy');
    await client.workflow.start('none', {
      taskQueue: uniqueName('queue'),
      workflowId: uniqueName('run'),
      searchAttributes: { CambistPolicy: [policy], CambistMode: ['sandbox'], CambistState: ['held'] },
    });
  });
});

test('a run survives the kill of a server that keeps a file', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-dev-server-'));
  const dbFile = join(folder, 'temporal.db');
  const workflowId = uniqueName('run');
  let server = await startDevServer({ port: 0, headless: true, dbFile });
  try {
    await withClient(server.address, async (client) => {
      await client.workflow.start('none', { taskQueue: 'nobody', workflowId });
    });
    await server.kill();
    server = await startDevServer({ port: portOf(server), headless: true, dbFile });
    await withClient(server.address, async (client) => {
      const { status } = await client.workflow.getHandle(workflowId).describe();
      assert.equal(status.name, 'RUNNING');
    });
  } finally {
    await server.kill();
    rmSync(folder, { recursive: true });
  }
});

test('the web page answers, and stopping twice is no mistake', async () => {
  const server = await startDevServer({ port: 0, uiPort: 0 });
  assert.ok(server.uiUrl);
  const page = await fetch(server.uiUrl);
  assert.equal(page.status, 200);
  await server.stop();
  await server.stop();
  await server.exited;
});

const NO_PROC = process.platform === 'linux' ? false : 'the open ports of a process are listed on Linux only';

test('no port starts a run for a web page', { skip: NO_PROC }, async () => {
  const server = await startDevServer({ port: 0, headless: true });
  try {
    const ports = openPorts(server.pid);
    assert.ok(ports.includes(portOf(server)) && ports.length > 1, 'the HTTP API has a port of its own');
    const statuses = await Promise.all(ports.map(startedByWebPage));
    assert.ok(statuses.includes(403), `one port refuses it: ${statuses.join(', ')}`);
    assert.deepEqual(
      statuses.filter((status) => status !== null && status < 400),
      [],
    );
  } finally {
    await server.kill();
  }
});

test('a port that was asked for and is taken is named in the error', async () => {
  const port = Number((await testServerAddress()).split(':')[1]);
  await assert.rejects(startDevServer({ port, headless: true }), (error) => {
    assert.ok(error instanceof DevServerFailed);
    assert.match(error.output, new RegExp(`${port}.*address already in use`));
    return true;
  });
});

test('a port of the server’s own parts that somebody else has taken meanwhile costs a second start, no failure', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-dev-server-'));
  const started = join(folder, 'started');
  const path = process.env['PATH'] ?? '';
  const lost =
    'level=ERROR msg="Failed to start gRPC listener" err="listen tcp: bind: address already in use"';
  const script = [
    '#!/bin/sh',
    `if [ "$1" != server ] || [ -e '${started}' ]; then exec '${(await findTemporal()) ?? ''}' "$@"; fi`,
    `touch '${started}'; echo '${lost}'; echo 'a stack' >&2; exit 2`,
  ];
  writeFileSync(join(folder, 'temporal'), script.join('\n'), { mode: 0o755 });
  process.env['PATH'] = `${folder}${delimiter}${path}`;
  try {
    const server = await startDevServer({ port: 0, headless: true });
    await server.kill();
    assert.ok(existsSync(started));
  } finally {
    process.env['PATH'] = path;
    rmSync(folder, { recursive: true });
  }
});

async function withClient(address: string, use: (client: Client) => Promise<void>): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    await use(new Client({ connection }));
  } finally {
    await connection.close();
  }
}

/** The status of a start by the HTTP API, as a browser would send it; null where no HTTP is spoken. */
async function startedByWebPage(port: number): Promise<number | null> {
  const id = uniqueName('web-page');
  const response = await fetch(`http://127.0.0.1:${port}/api/v1/namespaces/default/workflows/${id}`, {
    method: 'POST',
    headers: { 'content-type': 'text/plain' },
    body: JSON.stringify({ workflowType: { name: 'run' }, taskQueue: { name: 'cambist-sandbox' } }),
  }).catch(() => null);
  await response?.body?.cancel();
  return response?.status ?? null;
}

/** The TCP ports on which a process listens. */
function openPorts(pid: number): readonly number[] {
  const sockets = readdirSync(`/proc/${pid}/fd`).map((fd) => linkOf(`/proc/${pid}/fd/${fd}`));
  const inodes = new Set(sockets.flatMap((link) => /^socket:\[(\d+)\]$/.exec(link)?.[1] ?? []));
  const rows = readFileSync('/proc/net/tcp', 'utf8').split('\n').slice(1);
  const listening = rows.map((row) => row.trim().split(/\s+/)).filter((row) => row[3] === '0A');
  return listening
    .filter((row) => inodes.has(row[9] ?? ''))
    .map((row) => Number.parseInt(row[1]?.split(':')[1] ?? '', 16));
}

function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}

function portOf(server: DevServer): number {
  return Number(server.address.split(':')[1]);
}
