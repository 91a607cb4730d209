// The sandbox's reading of the canonical request, rule by rule.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { canonicalPath, canonicalQuery, canonicalRequest } from '../../sandbox/canonical.ts';
import { assertDone, assertRefused, stage } from '../support/sandbox-stage.ts';

test('a path is canonicalised in the order of the seven steps', () => {
  const cases: readonly (readonly [given: string, canonical: string, why: string])[] = [
    ['', '/', 'an empty path becomes a slash'],
    ['/v3/fx/pairs', '/v3/fx/pairs', 'a clean path stays'],
    ['/v3/%66x/pairs', '/v3/fx/pairs', 'escapes of unreserved characters are decoded'],
    ['/v3/a%2fb', '/v3/a%2Fb', 'the hex of other escapes is upper case, and they stay escapes'],
    ['/v3/%7Euser', '/v3/~user', 'a tilde is unreserved'],
    ['/v3//fx///pairs', '/v3/fx/pairs', 'slashes are merged'],
    ['/v3/./fx/../fx/pairs', '/v3/fx/pairs', 'dot segments go'],
    ['/v3/%2e%2e/v3/fx', '/v3/fx', 'an encoded dot is a dot'],
    ['/v3/fx/%2E', '/v3/fx/', 'an encoded dot at the end too'],
    ['/a//../b', '/b', 'slashes are merged before dot segments are removed'],
    ['/../../a', '/a', 'nothing climbs above the root'],
    ['/a/..', '/', 'the last segment may be removed'],
    ['/v3/fx/pairs/', '/v3/fx/pairs/', 'a trailing slash is kept'],
    ['/V3/Fx', '/V3/Fx', 'case is kept'],
    ['/v3/a b"é', '/v3/a b"é', 'nothing is encoded that was not'],
    ['/v3/%zz%4', '/v3/%zz%4', 'what is not an escape stays'],
    ['/v3/%E9', '/v3/%E9', 'bytes above ASCII stay escapes'],
    ['/v3/..a/...', '/v3/..a/...', 'dots within a segment are no dot segment'],
  ];
  for (const [given, canonical, why] of cases) assert.equal(canonicalPath(given), canonical, why);
});

test('a query is decoded, sorted by code point and encoded again', () => {
  const cases: readonly (readonly [given: string, canonical: string, why: string])[] = [
    ['', '', 'no parameters'],
    ['b=2&a=1', 'a=1&b=2', 'sorted by key'],
    ['a=2&a=10&a=1', 'a=1&a=10&a=2', 'then by value'],
    ['a=x+y&b=x%20y', 'a=x%20y&b=x%20y', 'a space is %20'],
    ['a=x%2By', 'a=x%2By', 'an escaped plus is a plus'],
    ["a=!~*'()", "a=!~*'()", 'six characters stay bare'],
    ['a=%21%7E%2A%27%28%29', "a=!~*'()", 'also when they came escaped'],
    ['a=/?:@', 'a=%2F%3F%3A%40', 'all others are escaped'],
    ['a', 'a=', 'a key without a value'],
    ['a=1&&b=2&', 'a=1&b=2', 'empty parameters do not count'],
    ['a=b=c', 'a=b%3Dc', 'only the first equals sign parts key from value'],
    ['Z=1&a=2&_=3', 'Z=1&_=3&a=2', 'code points, not letters'],
    ['%F0%90%80%80=1&%EF%BF%BD=2', '%EF%BF%BD=2&%F0%90%80%80=1', 'code points, not UTF-16 units'],
    ['a=%c3%a9', 'a=%C3%A9', 'UTF-8 in upper-case hex'],
    ['a=%zz', 'a=%25zz', 'a broken escape is text'],
  ];
  for (const [given, canonical, why] of cases) assert.equal(canonicalQuery(given, 'space'), canonical, why);
  assert.equal(canonicalQuery('a=x+y', 'plus'), 'a=x%2By', 'or a plus stands for itself');
});

test('the five components are joined by line feeds, with the hash of no bytes for no body', () => {
  const request = {
    method: 'get',
    target: 'http://host:1/v3/fx/pairs?b=1&a=2',
    nonce: 'n',
    body: new Uint8Array(),
  };
  const empty = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';
  assert.equal(canonicalRequest(request, 'space'), `GET\n/v3/fx/pairs\na=2&b=1\nn\n${empty}`);
});

test('a request is verified over what was received, and routed by its canonical path', async (t) => {
  const { client } = await stage(t);
  const signed = (path: string, signedPath: string, signedQuery = ''): Promise<number> =>
    client.call({ method: 'GET', path, signedPath, signedQuery }).then(({ status }) => status);
  assert.equal(await signed('//fx/./pairs', '/v3/fx/pairs'), 200);
  assert.equal(await signed('/%66x/pairs', '/v3/fx/pairs'), 200);
  assert.equal(await signed('//fx/pairs', '/v3//fx/pairs'), 401, 'the signature is over the canonical path');
  assert.equal(
    await signed('/fx/trades?startingAfter=&limit=5', '/v3/fx/trades', 'limit=5&startingAfter='),
    400,
  );
  assert.equal(await signed('/fx/trades?limit=%35', '/v3/fx/trades', 'limit=5'), 200);
  assert.equal(await signed('/fx/trades?limit=5', '/v3/fx/trades', 'limit=6'), 401);
  assertDone(await client.get('/fx/trades?limit=5'));
  assertRefused(await client.get('/fx/pairs/'), 404, 'ROUTE_NOT_FOUND');
});
