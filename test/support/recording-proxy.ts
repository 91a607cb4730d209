/**
 * Stands between a worker and the service, passes everything on unchanged, and keeps the credentials that it sees: what
 * no history, log or report may ever show. It can answer in the service's place, with the credentials in its mouth.
 */
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Token and signature of one request. */
export type Credentials = { readonly token: string; readonly signature: string };

export type RecordingProxy = {
  /** As the service's, but for the port. */
  readonly baseUrl: string;
  readonly credentials: readonly Credentials[];
  /** The next `POST` to a path that ends like this gets this answer instead of the service's. */
  answerNext(pathEnd: string, answer: (seen: Credentials) => { status: number; body: string }): void;
  close(): Promise<void>;
};

export async function startRecordingProxy(serviceUrl: string): Promise<RecordingProxy> {
  const service = new URL(serviceUrl);
  const credentials: Credentials[] = [];
  const answers: {
    readonly pathEnd: string;
    readonly answer: (seen: Credentials) => { status: number; body: string };
  }[] = [];
  const server = createServer((incoming, outgoing) => {
    const seen: Credentials = {
      token: headerOf(incoming, 'authorization').replace(/^Bearer /, ''),
      signature: headerOf(incoming, 'x-request-signature'),
    };
    credentials.push(seen);
    const [next] = answers;
    if (incoming.method === 'POST' && next !== undefined && (incoming.url ?? '').endsWith(next.pathEnd)) {
      answers.shift();
      const { status, body } = next.answer(seen);
      incoming.resume();
      outgoing.writeHead(status, { 'Content-Type': 'application/json' }).end(body);
      return;
    }
    const { method, url, headers } = incoming;
    const passed = request({ host: service.hostname, port: service.port, method, path: url, headers });
    passed.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${service.pathname}`,
    credentials,
    answerNext: (pathEnd, answer) => {
      answers.push({ pathEnd, answer });
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function headerOf(incoming: IncomingMessage, name: string): string {
  const value = incoming.headers[name];
  return Array.isArray(value) ? value.join(', ') : (value ?? '');
}
