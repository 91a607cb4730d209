// The dev server as `cambist up` and the tests use it: started, reached, killed, and started again on its file.

import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { test } from 'node:test';
import { findTemporal } from '#temporal-binary';
import { Client, Connection } from '@temporalio/client';
import { DevServerFailed, startDevServer, type DevServer } from '../../worker/dev-server.ts';
import { CLOSED_TO_BROWSERS } from '../../worker/ui-door.ts';
import { testServerAddress, uniqueName } from '../support/dev-server.ts';
import { eventually } from '../support/patience.ts';
import { NO_PROC, answeringElsewhere, openPorts, statusOf } from '../support/open-ports.ts';

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

test('no page from elsewhere gets an answer of any HTTP port', { skip: NO_PROC }, async (t) => {
  const server = await startDevServer({ port: 0, uiPort: 0 });
  t.after(() => server.kill());
  assert.ok(server.uiUrl);
  const door = Number(new URL(server.uiUrl).port);
  const ports = openPorts(server.pid);
  assert.ok(
    ports.includes(portOf(server)) && ports.length > 3,
    'the UI, the HTTP API and the counters have ports',
  );
  assert.ok(!ports.includes(door), 'the port of the UI that people use is not the server’s own');
  assert.deepEqual(await answeringElsewhere([...ports, door]), []);
  const { host } = new URL(server.uiUrl);
  const namespaces = (headers: Readonly<Record<string, string>>): Promise<number | null> =>
    statusOf(door, { path: '/api/v1/namespaces', headers });
  // The server says that it serves a moment before the API of its UI does.
  await eventually('the UI answers', async () => (await namespaces({ host })) === 200);
  assert.equal(await namespaces({ host, origin: server.uiUrl }), 200);
  assert.equal(await namespaces({ host, origin: 'http://elsewhere.example' }), 403);
  assert.equal(await namespaces({ host: 'localhost.elsewhere.example' }), 403);
});

test('no browser goes to the ports of the UI itself: the Fetch standard, as Node has it, forbids them', async () => {
  for (const port of CLOSED_TO_BROWSERS)
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`), ({ cause }: Error) => {
      assert.match(String(cause), /bad port/, String(port));
      return true;
    });
});

test('a port that was asked for and is taken is named in the error', async () => {
  const port = Number((await testServerAddress()).split(':')[1]);
  await assert.rejects(startDevServer({ port, headless: true }), (error) => {
    assert.ok(error instanceof DevServerFailed);
    assert.match(error.output, new RegExp(`${port}.*address already in use`));
    return true;
  });
});

/** What the server says of them, word for word. */
const LOST = [
  'level=ERROR msg="Failed to start gRPC listener" err="listen tcp: bind: address already in use"',
  '{"level":"FATAL","message":"listen tcp 127.0.0.1:1719: bind: address already in use"}',
  'level=ERROR msg="can\'t set metrics port 6667: listen tcp 127.0.0.1:6667: bind: address already in use"',
];

test('ports of the server’s own parts that others have taken meanwhile cost a second start each, no failure', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-dev-server-'));
  const started = join(folder, 'started');
  const path = process.env['PATH'] ?? '';
  const temporal = (await findTemporal()) ?? '';
  process.env['PATH'] = `${folder}${delimiter}${path}`;
  try {
    for (const lost of LOST) {
      rmSync(started, { force: true });
      const script = [
        '#!/bin/sh',
        `if [ "$1" != server ] || [ -e '${started}' ]; then exec '${temporal}' "$@"; fi`,
        `touch '${started}'; cat <<'END'\n${lost}\nEND`,
        `echo 'a stack' >&2; exit 2`,
      ];
      writeFileSync(join(folder, 'temporal'), script.join('\n'), { mode: 0o755 });
      // One after the other, since each changes the program.
      const server = await startDevServer({ port: 0, headless: true });
      await server.kill();
      assert.ok(existsSync(started), lost);
    }
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

function portOf(server: DevServer): number {
  return Number(server.address.split(':')[1]);
}
