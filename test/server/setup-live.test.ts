/** Live reaches a Temporal that is secured as it must be: by TLS, with a client certificate, for commands and workers. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import { connectTemporal, readProfile } from '../../config/temporal.ts';
import { connectWorker } from '../../worker/connect.ts';
import { testServerAddress } from '../support/dev-server.ts';

const { stdout: openssl } = spawnSync('openssl', ['version'], { encoding: 'utf8' });
const skip = /^OpenSSL [3-9]/.test(openssl) ? false : 'the certificates are made by OpenSSL 3';

test(
  'a command and a worker in live connect by TLS with a client certificate, and not without one',
  { skip },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'cambist-live-'));
    t.after(() => rmSync(folder, { recursive: true }));
    const files = makeCertificates(folder);
    const accepted: boolean[] = [];
    const port = await serveTls(t, files, (socket) => accepted.push(socket.authorized));
    const place = {
      TEMPORAL_CONFIG_FILE: join(folder, 'no-profile.toml'),
      TEMPORAL_ADDRESS: `localhost:${port}`,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
    };
    const env = {
      ...place,
      TEMPORAL_TLS_CLIENT_CERT_PATH: files.certificate,
      TEMPORAL_TLS_CLIENT_KEY_PATH: files.key,
    };
    const temporal = await connectTemporal(env, 'LIVE');
    await temporal.connection.close();
    const worker = await connectWorker(readProfile(env, 'LIVE'));
    await worker.close();
    assert.deepEqual([...new Set(accepted)], [true]);
    await assert.rejects(connectTemporal(place, 'LIVE'), /TEMPORAL_NOT_SECURED/);
  },
);

type Files = { readonly authority: string; readonly certificate: string; readonly key: string };

/** An authority, and a certificate of it that serves both ends. */
function makeCertificates(folder: string): Files {
  const file = (name: string): string => join(folder, name);
  const request = (...more: readonly string[]): void =>
    void execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '2',
        ...more,
      ],
      { stdio: 'ignore' },
    );
  const authority = [
    '-subj',
    '/CN=authority',
    '-keyout',
    file('authority-key.pem'),
    '-out',
    file('authority.pem'),
  ];
  request(...authority, '-addext', 'keyUsage=critical,keyCertSign');
  request(
    ...['-CA', file('authority.pem'), '-CAkey', file('authority-key.pem'), '-subj', '/CN=localhost'],
    ...['-addext', 'subjectAltName=DNS:localhost', '-addext', 'basicConstraints=critical,CA:FALSE'],
    ...['-keyout', file('key.pem'), '-out', file('certificate.pem')],
  );
  return { authority: file('authority.pem'), certificate: file('certificate.pem'), key: file('key.pem') };
}

/** A secured door to the dev server of the tests, which has none of its own. */
async function serveTls(
  t: TestContext,
  files: Files,
  onConnection: (socket: TLSSocket) => void,
): Promise<number> {
  const upstream = Number((await testServerAddress()).split(':')[1]);
  const server = createServer({
    key: readFileSync(files.key),
    cert: readFileSync(files.certificate),
    ca: readFileSync(files.authority),
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['h2'],
  });
  server.on('secureConnection', (socket) => {
    onConnection(socket);
    const plain = connect(upstream, '127.0.0.1');
    for (const end of [socket, plain]) end.on('error', () => {});
    socket.pipe(plain).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  return (server.address() as AddressInfo).port;
}
