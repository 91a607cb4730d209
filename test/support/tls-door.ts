/**
 * A secured door to a Temporal that has none of its own, as live asks for: TLS with a client certificate. The
 * certificates are made for the test, by OpenSSL.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer } from 'node:tls';

const { stdout: openssl } = spawnSync('openssl', ['version'], { encoding: 'utf8' });

/** Why tests behind such a door are left out; false where they are not. */
export const NO_OPENSSL = /^OpenSSL [3-9]/.test(openssl) ? false : 'the certificates are made by OpenSSL 3';

export type TlsDoor = {
  /** How a command or worker reaches it, all but its own certificate. */
  readonly place: Readonly<Record<string, string>>;
  /** The client certificate. */
  readonly identity: Readonly<Record<string, string>>;
  /** Of each connection so far, whether it had a certificate that counts. */
  readonly accepted: () => readonly boolean[];
  close(): Promise<void>;
};

/** `target`: host and port behind it. `folder`: takes the certificates. */
export async function openTlsDoor(target: string, folder: string): Promise<TlsDoor> {
  const files = makeCertificates(folder);
  const { hostname, port } = new URL(`tcp://${target}`);
  const accepted: boolean[] = [];
  const open = new Set<Socket>();
  const server = createServer({
    key: readFileSync(files.key),
    cert: readFileSync(files.certificate),
    ca: readFileSync(files.authority),
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['h2'],
  });
  server.on('secureConnection', (socket) => {
    accepted.push(socket.authorized);
    const plain = connect(Number(port), hostname);
    for (const end of [socket, plain]) {
      open.add(end);
      end.on('error', () => {}).on('close', () => open.delete(end));
    }
    socket.pipe(plain).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    place: {
      TEMPORAL_CONFIG_FILE: join(folder, 'no-profile.toml'),
      TEMPORAL_ADDRESS: `localhost:${(server.address() as AddressInfo).port}`,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: files.authority,
    },
    identity: {
      TEMPORAL_TLS_CLIENT_CERT_PATH: files.certificate,
      TEMPORAL_TLS_CLIENT_KEY_PATH: files.key,
    },
    accepted: () => accepted,
    close: async () => {
      const closed = once(server, 'close');
      server.close();
      for (const end of open) end.destroy();
      await closed;
    },
  };
}

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
    ...['-keyout', file('certificate-key.pem'), '-out', file('certificate.pem')],
  );
  return {
    authority: file('authority.pem'),
    certificate: file('certificate.pem'),
    key: file('certificate-key.pem'),
  };
}
