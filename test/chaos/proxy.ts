/**
 * A wire that misbehaves: a TCP proxy in front of one address, whose weather can be changed while connections are open.
 * It knows nothing of what it carries, so that what it does could happen to anybody.
 */
import { createConnection, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** `up`: towards the address behind the proxy. */
export type Direction = 'up' | 'down';

/** What happens to every connection, open or new, until the weather changes. */
export type Weather =
  | { readonly kind: 'clear' }
  /** Open connections are reset, new ones closed at once. */
  | { readonly kind: 'refusing' }
  /** Half-open: bytes of one direction vanish, and nobody is told. Such a connection is reset when the weather changes. */
  | { readonly kind: 'silent'; readonly direction: Direction }
  /** Every chunk comes later, in order. */
  | { readonly kind: 'slow'; readonly delayMs: number }
  /** A connection carries so many more bytes of one direction, and is reset in the middle of what follows. */
  | { readonly kind: 'truncating'; readonly direction: Direction; readonly afterBytes: number };

export type Proxy = {
  readonly port: number;
  /** Connections that were reset so far. */
  readonly resets: () => number;
  setWeather(weather: Weather): void;
  /** Resets whatever is open now. */
  cut(): void;
  close(): Promise<void>;
};

type Connection = {
  readonly near: Socket;
  readonly far: Socket;
  /** Bytes of the direction that is being truncated, since the weather changed. */
  carried: number;
  /** Bytes were lost in the middle: what follows them cannot be understood. */
  hasGap: boolean;
};

const HOST = '127.0.0.1';

export async function openProxy(targetPort: number): Promise<Proxy> {
  let weather: Weather = { kind: 'clear' };
  let resets = 0;
  const connections = new Set<Connection>();

  const reset = (connection: Connection): void => {
    if (!connections.delete(connection)) return;
    resets += 1;
    connection.near.resetAndDestroy();
    connection.far.resetAndDestroy();
  };
  const resetAll = (which: (connection: Connection) => boolean = () => true): void => {
    for (const connection of [...connections]) if (which(connection)) reset(connection);
  };

  /** Passes a chunk on as the weather of this moment has it. */
  const carry = async (connection: Connection, direction: Direction, chunk: Buffer): Promise<void> => {
    const to = direction === 'up' ? connection.far : connection.near;
    if (weather.kind === 'slow') await sleep(weather.delayMs);
    if (to.destroyed) return;
    if (weather.kind === 'silent' && weather.direction === direction) {
      connection.hasGap = true;
      return;
    }
    // What follows a gap would be read as something else.
    if (connection.hasGap) return;
    if (weather.kind !== 'truncating' || weather.direction !== direction) {
      to.write(chunk);
      return;
    }
    const left = weather.afterBytes - connection.carried;
    connection.carried += chunk.length;
    to.write(chunk.subarray(0, Math.max(left, 0)));
    if (chunk.length <= left) return;
    // Gives what was let through the time to arrive: a reset throws away what has not been read.
    await sleep(5);
    reset(connection);
  };
  const join = (connection: Connection, direction: Direction): void => {
    const from = direction === 'up' ? connection.near : connection.far;
    const to = direction === 'up' ? connection.far : connection.near;
    let inOrder = Promise.resolve();
    from.on('data', (chunk: Buffer) => {
      inOrder = inOrder.then(() => carry(connection, direction, chunk));
    });
    from.on('end', () => {
      inOrder = inOrder.then(() => {
        if (weather.kind !== 'silent') to.end();
        return undefined;
      });
    });
    from.on('error', () => reset(connection));
    from.on('close', () => {
      if (weather.kind === 'silent') connection.hasGap = true;
      else if (connections.delete(connection)) to.destroySoon();
    });
  };

  const server = createServer((near) => {
    if (weather.kind === 'refusing') {
      near.destroy();
      return;
    }
    const far = createConnection(targetPort, HOST);
    const connection: Connection = { near, far, carried: 0, hasGap: false };
    connections.add(connection);
    join(connection, 'up');
    join(connection, 'down');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, HOST, resolve);
  });
  return {
    port: (server.address() as AddressInfo).port,
    resets: () => resets,
    setWeather: (next) => {
      weather = next;
      for (const connection of connections) connection.carried = 0;
      resetAll(next.kind === 'refusing' ? undefined : ({ hasGap }) => hasGap);
    },
    cut: () => resetAll(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        resetAll();
      }),
  };
}
