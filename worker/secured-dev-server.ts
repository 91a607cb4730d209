/**
 * A Temporal dev server as live asks for one, for a rehearsal on one machine: reached by TLS with a client certificate, and
 * with the retention that live workers need. A profile file says how a worker or command reaches it.
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import {
  USUAL_PORT,
  choosePort,
  startDevServer,
  type DevServer,
  type DevServerOptions,
} from './dev-server.ts';
import { certificatesIn, type Certificates } from './rehearsal-certificates.ts';
import { openTlsFront } from './tls-front.ts';

export type SecuredDevServer = DevServer & {
  /** The file for TEMPORAL_CONFIG_FILE. */
  readonly profileFile: string;
};

const NAMESPACE = 'default';
const LEAST_KEPT_SECONDS = 30 * 24 * 60 * 60;

/** `folder`: keeps the certificates and the profile. `options.port` is that of TLS; the server behind it takes a free one. */
export async function startSecuredDevServer(
  options: DevServerOptions,
  folder: string,
): Promise<SecuredDevServer> {
  const port = await choosePort(options.port, USUAL_PORT);
  const certificates = await certificatesIn(folder);
  const server = await startDevServer({ ...options, port: 0 });
  try {
    await keepLong(server.address);
    const front = await openTlsFront(server.address, port, certificates);
    // By its name: a certificate may be checked against an address, but the name of a server in TLS is none.
    const address = `localhost:${front.port}`;
    const profileFile = join(folder, 'temporal.toml');
    await writeFile(profileFile, profileOf(address, certificates), { mode: 0o600 });
    const closing = (end: () => Promise<void>) => async (): Promise<void> => {
      await front.close();
      await end();
    };
    return {
      ...server,
      address,
      profileFile,
      stop: closing(() => server.stop()),
      kill: closing(() => server.kill()),
    };
  } catch (error) {
    await server.stop();
    throw error;
  }
}

/** A dev server keeps what has ended for a day: here it is that many times as long. */
async function keepLong(address: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    const { workflowService } = connection;
    const { config } = await workflowService.describeNamespace({ namespace: NAMESPACE });
    const kept = config?.workflowExecutionRetentionTtl?.seconds;
    if (!kept) throw new Error(`the namespace "${NAMESPACE}" has no retention`);
    const seconds = kept.mul(Math.ceil(LEAST_KEPT_SECONDS / kept.toNumber()));
    const changed = { workflowExecutionRetentionTtl: { seconds } };
    await workflowService.updateNamespace({ namespace: NAMESPACE, config: changed });
  } finally {
    await connection.close();
  }
}

/** In the form of Temporal's own tools, TOML; a text in the form of JSON is one of TOML too. */
function profileOf(address: string, certificates: Certificates): string {
  const { authorityFile, clientFile, clientKeyFile } = certificates;
  return [
    '# Written by `cambist temporal --tls`, for a rehearsal of live on this machine.',
    '[profile.default]',
    `address = ${JSON.stringify(address)}`,
    `namespace = ${JSON.stringify(NAMESPACE)}`,
    '[profile.default.tls]',
    `server_ca_cert_path = ${JSON.stringify(authorityFile)}`,
    `client_cert_path = ${JSON.stringify(clientFile)}`,
    `client_key_path = ${JSON.stringify(clientKeyFile)}`,
    '',
  ].join('\n');
}
