/**
 * What the tests of `service/` share: keys, a client to a server of the test, and the records of the interface document.
 * The servers are real ones on loopback; nothing of `service/` is replaced.
 */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import type { Settings } from '../../config/config.ts';
import { DEFAULT_SERVICE_FACTS } from '../../domain/service/facts.ts';
import { parseAddress } from '../../service/address.ts';
import { createServiceClient, type ServiceClient, type ServiceClientConfig } from '../../service/client.ts';
import { type ApiKey, parseKey } from '../../service/key.ts';

export const KEY_NAME = 'org/org_7Hk2mQ9vT4xR/apiKey/key_3fPz';

export type TestKey = { readonly key: ApiKey; readonly publicKey: KeyObject; readonly pem: string };

/** A fresh P-256 key, read as from a record. */
export async function makeKey(): Promise<TestKey> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  return {
    key: await parseKey(JSON.stringify({ name: KEY_NAME, privateKey: pem }), 'test key'),
    publicKey,
    pem,
  };
}

/** Codes that the tests treat as proof that nothing ran. */
export const isDefinitive = (code: string): boolean =>
  ['TRADE_INSUFFICIENT_BALANCE', 'AUTH_TOKEN_INVALID', 'AUTH_TOKEN_EXPIRED', 'QUOTE_EXPIRED'].includes(code);

export async function makeClient(
  t: TestContext,
  port: number,
  config: Partial<ServiceClientConfig> = {},
): Promise<ServiceClient> {
  const client = createServiceClient({
    baseUrl: parseAddress(`http://127.0.0.1:${port}/v3`),
    key: config.key ?? (await makeKey()).key,
    mode: 'SANDBOX',
    issuer: 'service',
    timeoutMs: 5_000,
    isDefinitive,
    ...config,
  });
  t.after(() => client.close());
  return client;
}

/** The settings of a command that reads the service on this port. */
export async function settingsAt(port: number): Promise<Settings> {
  return {
    address: parseAddress(`http://127.0.0.1:${port}/v3`),
    key: (await makeKey()).key,
    readKey: null,
    mode: 'SANDBOX',
    issuer: 'service',
    facts: DEFAULT_SERVICE_FACTS,
  } as unknown as Settings;
}

/** An HTTP server for one test; returns its port. */
export async function serveHttp(
  t: TestContext,
  listener: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
): Promise<number> {
  const server = createServer((request, response) => void listener(request, response));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return listen(server);
}

/** A TCP server for one test, for replies that no HTTP library would write. */
export async function serveTcp(
  t: TestContext,
  connection: (socket: Socket, index: number) => void,
): Promise<number> {
  const sockets = new Set<Socket>();
  let count = 0;
  const server = createTcpServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    connection(socket, count++);
  });
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return listen(server);
}

/** A port on which nobody listens. */
export async function closedPort(): Promise<number> {
  const server = createTcpServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address() as AddressInfo;
      resolve(address.port);
    });
  });
}

export function readBody(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}

/** Answers as the service does: JSON, trace id, echoed request id. */
export function answer(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'x-trace-id': 'trace-1',
    'x-request-id': request.headers['x-request-id'] ?? '',
    ...headers,
  });
  response.end(JSON.stringify(body));
}

export const WIRE_QUOTE = {
  object: 'quote',
  id: 'qte_4Kd8',
  buyCurrency: 'MXN',
  sellCurrency: 'USD',
  sellAmount: '1000.00',
  quoteAmount: '17012.345678901234',
  createdAt: '2026-11-21T09:00:00.000Z',
  expiresAt: '2026-11-21T09:00:45.000Z',
  settlementWindow: 'T0',
};

export const WIRE_TRADE = {
  object: 'trade',
  id: 'tde_9Lm2',
  quoteId: 'qte_4Kd8',
  buyCurrency: 'MXN',
  sellCurrency: 'USD',
  sellAmount: '1000.00',
  executedAmount: '17012.35',
  status: 'EXECUTED',
  clientReferenceId: 'mxn-supplier.2026-11-21.usd-mxn-1',
  createdAt: '2026-11-21T09:00:01.000Z',
  settlementWindow: 'T0',
  settlementStartTime: null,
};

const WIRE_WITHDRAWAL_COMMON = {
  object: 'withdrawal',
  id: 'wtd_5Qr7',
  currency: 'MXN',
  assetType: 'FIAT',
  withdrawalAmount: '16500.00',
  status: 'PENDING',
  network: null,
  withdrawalAccountId: 'wac_7Hk2mQ9vT4xR',
  actorId: 'usr_1',
  actorEmail: 'someone@example.com',
  createdAt: '2026-11-21T09:05:00.000Z',
};
export const WIRE_CREATED_WITHDRAWAL = {
  ...WIRE_WITHDRAWAL_COMMON,
  estimatedCompletionAt: null,
  paymentDetails: null,
  metadata: { cambist: 'mxn-supplier.2026-11-21.supplier' },
};
export const WIRE_LISTED_WITHDRAWAL = { ...WIRE_WITHDRAWAL_COMMON, transactionHash: null };

export const LAST_PAGE = { limit: 25, hasNext: false, nextCursor: null, hasPrev: false, prevCursor: null };
