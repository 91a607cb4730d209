/** The server through which the Temporal UI shows what is sealed: who may ask, and what for. */
import assert from 'node:assert/strict';
import { request, type OutgoingHttpHeaders } from 'node:http';
import { after, test } from 'node:test';
import { defaultPayloadConverter } from '@temporalio/common';
import { sealingCodec } from '../../config/seal/codec.ts';
import { newSealKeys } from '../../config/seal/keys.ts';
import { openCodecServer } from '../../worker/codec-server.ts';

const keys = newSealKeys(Date.parse('2026-11-21T09:00:00Z'));
const fixed = { now: () => keys, again: () => keys };
const UI = 'http://127.0.0.1:8233';
const server = await openCodecServer({ keys: fixed, port: 0, token: 'known', origins: [UI] });
after(() => server.close());
const own = new URL(server.url).host;

type Answer = { readonly status: number; readonly headers: Record<string, unknown>; readonly text: string };

function ask(
  { method = 'POST', path = '/decode', body = '{"payloads":[]}' },
  headers: OutgoingHttpHeaders = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(`${server.url}${path}`, { method, headers }, (reply) => {
      let text = '';
      reply.setEncoding('utf8').on('data', (part: string) => (text += part));
      reply.on('end', () => resolve({ status: reply.statusCode ?? 0, headers: reply.headers, text }));
    });
    asked.on('error', reject).end(method === 'POST' ? body : undefined);
  });
}

const KNOWN = { authorization: 'Bearer known' };

async function sealed(value: unknown): Promise<string> {
  const payload = defaultPayloadConverter.toPayload(value);
  const [{ metadata = {}, data = null } = {}] = await sealingCodec(fixed).encode([payload], {
    type: 'workflow',
    namespace: 'default',
    workflowId: 'sandbox/p.2026-11-21',
  });
  const texts = Object.entries(metadata ?? {}).map(([name, bytes]) => [
    name,
    Buffer.from(bytes).toString('base64'),
  ]);
  const json = {
    metadata: Object.fromEntries(texts) as unknown,
    data: Buffer.from(data ?? []).toString('base64'),
  };
  return JSON.stringify({ payloads: [json] });
}

function valueIn({ text }: Answer): unknown {
  const { payloads } = JSON.parse(text) as { payloads: readonly { data: string }[] };
  return JSON.parse(Buffer.from(payloads[0]?.data ?? '', 'base64').toString());
}

test('whoever knows the token, in a header or in the path, is shown what is sealed', async () => {
  const value = { amount: '16500.00' };
  const body = await sealed(value);
  assert.deepEqual(valueIn(await ask({ body }, KNOWN)), value);
  assert.deepEqual(valueIn(await ask({ body, path: '/known/decode' })), value);
  const plain = JSON.stringify({ payloads: [{ metadata: {}, data: Buffer.from('1').toString('base64') }] });
  assert.deepEqual(valueIn(await ask({ body: plain }, KNOWN)), { unreadable: true });
});

test('Temporal’s command line, which asks about an event without payloads by `{}`, is answered with none', async () => {
  const { status, text } = await ask({ body: '{}' }, KNOWN);
  assert.deepEqual([status, JSON.parse(text)], [200, { payloads: [] }]);
});

const REFUSED: readonly (readonly [string, Parameters<typeof ask>[0], OutgoingHttpHeaders, number])[] = [
  ['knows no token', {}, {}, 401],
  ['knows another token', {}, { authorization: 'Bearer other' }, 401],
  ['has the token in another path', { path: '/other/decode' }, {}, 401],
  [
    'calls this machine by another name',
    {},
    { ...KNOWN, host: `evil.example:${new URL(server.url).port}` },
    403,
  ],
  ['calls another port', {}, { ...KNOWN, host: '127.0.0.1:1' }, 403],
  ['is another page', {}, { ...KNOWN, origin: 'https://evil.example' }, 403],
  ['is a page without an origin', {}, { ...KNOWN, origin: 'null' }, 403],
  ['wants something sealed', { path: '/encode' }, KNOWN, 404],
  ['wants something sealed, with the token in the path', { path: '/known/encode' }, KNOWN, 404],
  ['asks by GET', { method: 'GET' }, KNOWN, 404],
  ['asks in no form of Temporal', { body: '{"payloads":1}' }, KNOWN, 400],
];
for (const [who, what, headers, status] of REFUSED)
  test(`a caller that ${who} is refused, and is given no right of a page`, async () => {
    const answer = await ask(what, headers);
    assert.equal(answer.status, status);
    assert.equal(answer.headers['access-control-allow-origin'], undefined);
  });

test('a browser hears that the page of the UI may ask, and no other page', async () => {
  const allowed = await ask({ method: 'OPTIONS' }, { origin: UI, host: own });
  assert.equal(allowed.status, 204);
  assert.equal(allowed.headers['access-control-allow-origin'], UI);
  assert.match(String(allowed.headers['access-control-allow-headers']), /content-type/);
  const other = await ask({ method: 'OPTIONS' }, { origin: 'https://evil.example', host: own });
  assert.equal(other.status, 403);
  assert.equal(other.headers['access-control-allow-origin'], undefined);
  assert.equal((await ask({}, { ...KNOWN, origin: UI })).headers['access-control-allow-origin'], UI);
});
