/**
 * The door to the Temporal UI of a dev server. The UI itself answers whatever a request calls its host, so a web page whose
 * own name leads to this machine (DNS rebinding) could read histories and start runs through it. So the UI listens where
 * no browser goes, and browsers get this door on the usual port. It lets through what was asked of this machine, by one of
 * its own names, and not by a page from elsewhere.
 */
import { once } from 'node:events';
import { createServer, request, type IncomingMessage, type ServerResponse } from 'node:http';

/**
 * Ports on which no browser sends a request, from the list of the Fetch standard ("bad port"): those that need no special
 * right and that no common program uses today.
 */
export const CLOSED_TO_BROWSERS = [
  1719, 1720, 1723, 3659, 4190, 5060, 5061, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
] as const;

export type UiDoor = {
  /** Lets this process end while the door is open. */
  unref(): void;
  close(): Promise<void>;
};

const REFUSED = 'The Temporal UI of this machine answers only what is asked of localhost or 127.0.0.1.\n';
const AWAY = 'The Temporal dev server behind this page does not answer.\n';
const HERE = new Set(['127.0.0.1', 'localhost']);

/** Opens the door at `port` of this machine to the UI at `uiPort`. */
export async function openUiDoor(host: string, port: number, uiPort: number): Promise<UiDoor> {
  const server = createServer((asked, answer) => {
    if (isAskedFromHere(asked)) forward(asked, answer, { host, port: uiPort });
    else answer.writeHead(403, { 'content-type': 'text/plain' }).end(REFUSED);
  });
  server.listen(port, host);
  await once(server, 'listening');
  return {
    unref: () => server.unref(),
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** A request of a page from elsewhere names that page in `Origin`, or its name in `Host`. */
function isAskedFromHere({ headers: { host = '', origin } }: IncomingMessage): boolean {
  if (!HERE.has(host.replace(/:\d+$/, ''))) return false;
  return origin === undefined || origin === `http://${host}`;
}

function forward(
  asked: IncomingMessage,
  answer: ServerResponse,
  to: { readonly host: string; readonly port: number },
): void {
  const { method, url: path, headers } = asked;
  const inner = request({ ...to, method, path, headers }, (reply) => {
    answer.writeHead(reply.statusCode ?? 502, reply.headers);
    reply.on('error', () => answer.destroy()).pipe(answer);
  });
  inner.on('error', () => {
    if (answer.headersSent) answer.destroy();
    else answer.writeHead(502, { 'content-type': 'text/plain' }).end(AWAY);
  });
  answer.on('close', () => {
    if (!answer.writableFinished) inner.destroy();
  });
  asked.pipe(inner);
}
