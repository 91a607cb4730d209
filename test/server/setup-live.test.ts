/** The rehearsal of live on one machine: a secured Temporal, a service in live mode, a worker and a run, all as processes. */
import assert from 'node:assert/strict';
import { X509Certificate, generateKeyPairSync } from 'node:crypto';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { connect } from 'node:tls';
import { certificatesIn } from '../../worker/rehearsal-certificates.ts';
import { assertExit, commandProcess, reportOf, startCommand, type Started } from '../support/commands.ts';
import { ROOT } from '../support/root.ts';

type Ready = Readonly<Record<'address' | 'profile' | 'baseUrl', string>>;

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'cambist-live-'));
  t.after(() => rmSync(folder, { recursive: true }));
  return folder;
}

test(
  'a live policy is run to its end by a worker and commands that reach Temporal by TLS with a client certificate, and by no others',
  { timeout: 600_000 },
  async (t) => {
    const folder = folderFor(t);
    const env: NodeJS.ProcessEnv = { PATH: process.env['PATH'], HOME: process.env['HOME'], TZ: 'UTC' };
    const started: Started[] = [];
    t.after(() => started.forEach((each) => each.process.kill('SIGKILL')));
    const serve = async (argv: readonly string[], more: NodeJS.ProcessEnv = {}): Promise<Ready> => {
      const each = startCommand({ folder, env: { ...env, ...more } }, [...argv, '--json']);
      started.push(each);
      let stdout = '';
      each.process.stdout?.on('data', (text: string) => (stdout += text));
      await each.says(/"ready".*\n/);
      return JSON.parse(stdout) as Ready;
    };
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256',
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
      publicKeyEncoding: { type: 'spki', format: 'pem' },
    });
    const key = { name: 'org/acme/apiKey/rehearsal', privateKey, mode: 'LIVE' };
    writeFileSync(join(folder, 'rehearsal.json'), JSON.stringify(key), { mode: 0o600 });
    for (const name of ['live-shaped.yaml', 'approvals.yaml', 'ceilings.yaml'])
      copyFileSync(join(ROOT, 'policies', name), join(folder, name));
    mkdirSync(join(folder, 'revoked'));
    const [temporal, sandbox] = await Promise.all([
      serve(['temporal', '--tls', '--headless', '--port', '0']),
      serve(['sandbox', '--key-file', 'rehearsal.json', '--port', '0', '--admin-port', '0']),
    ]);
    const live = {
      CAMBIST_BASE_URL: sandbox.baseUrl,
      CAMBIST_KEY_FILE: 'rehearsal.json',
      CAMBIST_APP_MODE: 'LIVE',
      TEMPORAL_CONFIG_FILE: temporal.profile,
      CAMBIST_SEAL_KEYS: 'seal.json',
    };
    assertExit(await commandProcess({ folder, env }, ['keys', 'new', 'seal.json']), 0);
    await serve(['worker'], { ...live, CAMBIST_POLICIES: folder });
    const place = { folder, env: { ...env, ...live } };
    const examined = await commandProcess(place, ['doctor']);
    assertExit(examined, 0);
    const ended = await commandProcess(place, ['run', 'live-shaped.yaml', '--yes', '--wait', '--json']);
    assertExit(ended, 0);
    for (const { stderr } of [examined, ended]) assert.doesNotMatch(stderr, /[Ww]arning/);
    const { status, workflowId, legs, payments } = reportOf(ended);
    assert.deepEqual(
      [
        status,
        workflowId.split('/')[0],
        ...legs.map(({ outcome }) => outcome),
        ...payments.map(({ outcome }) => outcome),
      ],
      ['COMPLETED', 'live', 'TRADED', 'PAID'],
    );

    const { address } = temporal;
    const unnamed = {
      TEMPORAL_ADDRESS: address,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_CONFIG_FILE: 'none',
    };
    const authority = join(folder, '.cambist/tls/authority.pem');
    const refused = await commandProcess(place, ['list', '--json'], { env: unnamed });
    assertExit(refused, 3);
    assert.match(refused.stdout, /"TEMPORAL_NOT_SECURED"/);
    // A client that brings none gets nowhere, whatever it thinks of the server.
    assert.match(await withoutCertificate(address, authority), /certificate required|ECONNRESET|closed/);
  },
);

test('the certificates are kept, also from others, and made anew where one is missing', async (t) => {
  const folder = join(folderFor(t), 'tls');
  const first = await certificatesIn(folder);
  assert.deepEqual(await certificatesIn(folder), first);
  for (const name of readdirSync(folder)) assert.equal(statSync(join(folder, name)).mode & 0o077, 0, name);
  const { issuer, subjectAltName, ca } = new X509Certificate(first.server);
  assert.deepEqual(
    [issuer, subjectAltName, ca],
    ['CN=Cambist rehearsal authority', 'DNS:localhost, IP Address:127.0.0.1', false],
  );
  assert.ok(
    new X509Certificate(readFileSync(first.clientFile)).verify(
      new X509Certificate(first.authority).publicKey,
    ),
  );
  rmSync(first.clientKeyFile);
  const second = await certificatesIn(folder);
  assert.notEqual(second.authority, first.authority);
});

/** What a client is told that trusts the authority and has no certificate. */
function withoutCertificate(address: string, authority: string): Promise<string> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const socket = connect({
      host: hostname,
      port: Number(port),
      ca: readFileSync(authority),
      ALPNProtocols: ['h2'],
    });
    socket
      .on('error', (error) => resolve(error.message))
      .on('close', () => resolve('closed'))
      .on('data', () => resolve('an answer'));
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
  });
}
