/** Live reaches a Temporal that is secured as it must be: by TLS, with a client certificate, for commands and workers. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connectTemporal, readProfile } from '../../config/temporal.ts';
import { connectWorker } from '../../worker/connect.ts';
import { testServerAddress } from '../support/dev-server.ts';
import { NO_OPENSSL, openTlsDoor } from '../support/tls-door.ts';

test(
  'a command and a worker in live connect by TLS with a client certificate, and not without one',
  { skip: NO_OPENSSL },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'cambist-live-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const door = await openTlsDoor(await testServerAddress(), folder);
    t.after(() => door.close());
    const env = { ...door.place, ...door.identity };
    const temporal = await connectTemporal(env, 'LIVE');
    await temporal.connection.close();
    const worker = await connectWorker(readProfile(env, 'LIVE'));
    await worker.close();
    assert.deepEqual([...new Set(door.accepted())], [true]);
    await assert.rejects(connectTemporal(door.place, 'LIVE'), /TEMPORAL_NOT_SECURED/);
  },
);
