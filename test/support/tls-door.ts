/** A secured door to a Temporal that has none of its own, as live asks for: the one of `cambist temporal --tls`. */
import { join } from 'node:path';
import { certificatesIn } from '../../worker/rehearsal-certificates.ts';
import { openTlsFront } from '../../worker/tls-front.ts';

export type TlsDoor = {
  /** How a command or worker reaches it, all but its own certificate. */
  readonly place: Readonly<Record<string, string>>;
  /** The client certificate. */
  readonly identity: Readonly<Record<string, string>>;
  close(): Promise<void>;
};

/** `target`: host and port behind it. `folder`: takes the certificates. */
export async function openTlsDoor(target: string, folder: string): Promise<TlsDoor> {
  const certificates = await certificatesIn(join(folder, 'tls'));
  const front = await openTlsFront(target, 0, certificates);
  return {
    place: {
      TEMPORAL_CONFIG_FILE: join(folder, 'no-profile.toml'),
      TEMPORAL_ADDRESS: `localhost:${front.port}`,
      TEMPORAL_NAMESPACE: 'default',
      TEMPORAL_TLS_SERVER_CA_CERT_PATH: certificates.authorityFile,
    },
    identity: {
      TEMPORAL_TLS_CLIENT_CERT_PATH: certificates.clientFile,
      TEMPORAL_TLS_CLIENT_KEY_PATH: certificates.clientKeyFile,
    },
    close: () => front.close(),
  };
}
