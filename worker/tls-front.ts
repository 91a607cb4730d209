/**
 * A front of TLS for a Temporal dev server, which speaks none: it asks each client for a certificate, and passes the bytes
 * on. For a rehearsal of live on one machine, and for tests: whoever may start programs here reaches the port behind it.
 */
import { once } from 'node:events';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { createServer } from 'node:tls';
import type { Certificates } from './rehearsal-certificates.ts';

export type TlsFront = {
  readonly port: number;
  /** Drops whoever is connected, and listens no more. Safe to call twice. */
  close(): Promise<void>;
};

const HOST = '127.0.0.1';

/** Opens it on the port (0: any free one) in front of `target`, `host:port`. */
export async function openTlsFront(
  target: string,
  port: number,
  certificates: Pick<Certificates, 'authority' | 'server' | 'serverKey'>,
): Promise<TlsFront> {
  const behind = new URL(`tcp://${target}`);
  const open = new Set<Socket>();
  const server = createServer({
    key: certificates.serverKey,
    cert: certificates.server,
    ca: certificates.authority,
    requestCert: true,
    rejectUnauthorized: true,
    ALPNProtocols: ['h2'],
  });
  server.on('secureConnection', (secured) => {
    const plain = connect(Number(behind.port), behind.hostname);
    for (const [end, other] of [
      [secured, plain],
      [plain, secured],
    ] as const) {
      open.add(end);
      // What ends one of them ends the other; the client connects again.
      end
        .on('error', () => {})
        .on('close', () => {
          open.delete(end);
          other.destroy();
        });
    }
    secured.pipe(plain).pipe(secured);
  });
  server.listen(port, HOST);
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      for (const end of open) end.destroy();
      await closed;
    },
  };
}
