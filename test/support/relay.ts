/**
 * A relay of bytes between a worker and the service, with a trap: at one byte of what the worker says, everything stands
 * still, so that the worker can be killed with exactly this much said.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export type Relay = {
  /** Where the worker finds the server. */
  readonly port: number;
  /** Resolves when everything has come to a standstill. */
  readonly sprung: Promise<void>;
  close(): Promise<void>;
};

/**
 * Stands in front of `server` (`host:port`). `cutAt` is where to stop in all that has been said on one connection, one
 * character a byte; null: it goes on.
 */
export async function startRelay(server: string, cutAt: (said: string) => number | null): Promise<Relay> {
  const { hostname, port } = new URL(`tcp://${server}`);
  const sockets = new Set<Socket>();
  let stands = false;
  let standStill = (): void => {};
  const sprung = new Promise<void>((resolve) => {
    standStill = resolve;
  });
  const listener = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    let said = '';
    client.on('data', (bytes) => {
      if (stands) return;
      const before = said.length;
      said += bytes.toString('latin1');
      const cut = cutAt(said);
      stands = cut !== null && cut <= said.length;
      if (!stands) upstream.write(bytes);
      else upstream.write(bytes.subarray(0, Math.max(0, (cut ?? 0) - before)), standStill);
    });
    upstream.on('data', (bytes) => {
      if (!stands) client.write(bytes);
    });
    // Whichever end goes, the other one sees it go.
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on('error', () => {});
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return {
    port: (listener.address() as AddressInfo).port,
    sprung,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      listener.close();
      await once(listener, 'close');
    },
  };
}
