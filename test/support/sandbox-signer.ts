// A small signer for the sandbox's own tests, written from the interface alone: it must not share code with the
// client nor with the sandbox's verification. Every part can be bent, to be refused.

import { createHash, createPrivateKey, randomUUID, sign } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';

import type { GeneratedKey } from '../../sandbox/keys.ts';

export interface Call {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below the base URL, with the query; sent as it stands. */
  readonly path: string;
  /** Sent as it stands when a string, else as JSON. */
  readonly body?: unknown;
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** Replaces fields of the token's header and claims. */
  readonly tokenHeader?: Readonly<Record<string, unknown>>;
  readonly claims?: Readonly<Record<string, unknown>>;
  /** What is signed instead of the path sent, and of the query sent. */
  readonly signedPath?: string;
  readonly signedQuery?: string;
  readonly signedBody?: string;
  readonly signature?: (bytes: Buffer) => string;
  readonly nonce?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** What stands at a dotted path of the body, `data.0.id`; undefined where nothing does. */
  readonly at: (path: string) => unknown;
  /** The string at a path; throws when there is none. */
  readonly textAt: (path: string) => string;
}

export interface Signer {
  readonly key: GeneratedKey;
  readonly call: (call: Call) => Promise<Answer>;
  readonly get: (path: string, more?: Partial<Call>) => Promise<Answer>;
  readonly post: (
    path: string,
    body: unknown,
    idempotencyKey?: string,
    more?: Partial<Call>,
  ) => Promise<Answer>;
}

/** The same with the key of a file, as `sandbox` writes one. */
export async function signerWith(baseUrl: string, keyFile: string): Promise<Signer> {
  const { name, privateKey } = JSON.parse(await readFile(keyFile, 'utf8')) as {
    readonly name: string;
    readonly privateKey: string;
  };
  return signerFor(baseUrl, { name, privateKeyPem: privateKey, publicKeyPem: '' });
}

/** A client of `baseUrl` with one key; a reply that does not arrive whole rejects. */
export function signerFor(baseUrl: string, key: GeneratedKey): Signer {
  const privateKey = createPrivateKey(key.privateKeyPem);
  const base = new URL(baseUrl);

  const call = (what: Call): Promise<Answer> => {
    const now = Math.floor(Date.now() / 1_000);
    const nonce = what.nonce ?? randomUUID();
    const header = { alg: 'ES256', typ: 'JWT', kid: key.name, nonce, ...what.tokenHeader };
    const claims = {
      aud: ['developer-api:v3'],
      iss: 'service',
      sub: key.name,
      iat: now,
      nbf: now,
      exp: now + 45,
      ...what.claims,
    };
    const body = what.body === undefined ? '' : bodyText(what.body);
    const unsigned = `${segment(header)}.${segment(claims)}`;
    const p1363 = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const;
    const token = `${unsigned}.${sign('sha256', Buffer.from(unsigned), p1363).toString('base64url')}`;

    const target = `${base.pathname}${what.path}`;
    const [path = '', query = ''] = target.split('?');
    const bodyHash = createHash('sha256')
      .update(what.signedBody ?? body)
      .digest('hex');
    const text = [what.method, what.signedPath ?? path, what.signedQuery ?? query, nonce, bodyHash].join(
      '\n',
    );
    const signature = sign('sha256', Buffer.from(text), p1363);

    const headers: Record<string, string | undefined> = {
      authorization: `Bearer ${token}`,
      'x-request-signature': what.signature?.(signature) ?? signature.toString('base64url'),
      ...(what.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(what.idempotencyKey === undefined ? {} : { 'idempotency-key': what.idempotencyKey }),
      ...what.headers,
    };
    return send(base, what.method, target, headers, body);
  };

  return {
    key,
    call,
    get: (path, more = {}) => call({ method: 'GET', path, ...more }),
    post: (path, body, idempotencyKey = randomUUID(), more = {}) =>
      call({ method: 'POST', path, body, idempotencyKey, ...more }),
  };
}

/** Sends a request as it is given and resolves with a whole reply; a cut one rejects with what came, `partial`. */
export function send(
  base: URL,
  method: string,
  target: string,
  headers: Readonly<Record<string, string | undefined>>,
  body: string,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      {
        host: base.hostname,
        port: base.port,
        method,
        path: target,
        agent: false,
        headers: Object.fromEntries(
          Object.entries({
            ...headers,
            ...(body === '' ? {} : { 'content-length': Buffer.byteLength(body) }),
          }).filter(([, value]) => value !== undefined),
        ),
      },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', (error) => {
          reject(Object.assign(error, { partial: Buffer.concat(chunks).toString('utf8') }));
        });
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve(answerOf(response.statusCode ?? 0, response.headers, text));
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

function bodyText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body);
}

function segment(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

function answerOf(status: number, headers: IncomingHttpHeaders, text: string): Answer {
  const at = (path: string): unknown => {
    let here: unknown = parsed(text);
    for (const step of path.split('.')) {
      if (typeof here !== 'object' || here === null) return undefined;
      here = (here as Readonly<Record<string, unknown>>)[step];
    }
    return here;
  };
  return {
    status,
    headers,
    text,
    at,
    textAt: (path) => {
      const found = at(path);
      if (typeof found !== 'string') throw new Error(`No text at "${path}" in ${status} ${text}`);
      return found;
    },
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
