/** Canonical path and query, against the vectors of RFC 3986 and the interface's own rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { canonicalPath, canonicalQuery, type QueryParameter } from '../../service/canonical.ts';

test('dot segments go as in RFC 3986 section 5.4, for the base path /b/c/', () => {
  const vectors: readonly (readonly [reference: string, expected: string])[] = [
    // 5.4.1, normal examples with a path
    ['g', '/b/c/g'],
    ['./g', '/b/c/g'],
    ['g/', '/b/c/g/'],
    [';x', '/b/c/;x'],
    ['g;x', '/b/c/g;x'],
    ['', '/b/c/'],
    ['.', '/b/c/'],
    ['./', '/b/c/'],
    ['..', '/b/'],
    ['../', '/b/'],
    ['../g', '/b/g'],
    ['../..', '/'],
    ['../../', '/'],
    ['../../g', '/g'],
    // 5.4.2, abnormal examples with a path
    ['../../../g', '/g'],
    ['../../../../g', '/g'],
    ['g.', '/b/c/g.'],
    ['.g', '/b/c/.g'],
    ['g..', '/b/c/g..'],
    ['..g', '/b/c/..g'],
    ['./../g', '/b/g'],
    ['./g/.', '/b/c/g/'],
    ['g/./h', '/b/c/g/h'],
    ['g/../h', '/b/c/h'],
    ['g;x=1/./y', '/b/c/g;x=1/y'],
    ['g;x=1/../y', '/b/c/y'],
  ];
  for (const [reference, expected] of vectors) assert.equal(canonicalPath(`/b/c/${reference}`), expected);
  // 5.4, references that begin with a slash, and 5.2.4's own examples
  assert.equal(canonicalPath('/./g'), '/g');
  assert.equal(canonicalPath('/../g'), '/g');
  assert.equal(canonicalPath('/a/b/c/./../../g'), '/a/g');
  assert.equal(canonicalPath('mid/content=5/../6'), 'mid/6');
  for (const relative of ['.', '..', './', '../']) assert.equal(canonicalPath(relative), '', relative);
});

test('a path is canonicalised by the interface, step by step', () => {
  const vectors: readonly (readonly [path: string, expected: string, rule: string])[] = [
    ['', '/', '1: empty'],
    ['/', '/', '1: nothing to do'],
    ['/v3/%7Eme', '/v3/~me', '2: escape of an unreserved character'],
    ['/v3/%41%61%30%2D%2e%5f%7e', '/v3/Aa0-._~', '2: all kinds of unreserved characters'],
    ['/v3/a%2fb', '/v3/a%2Fb', '2: upper-case hex, and no slash is made'],
    ['/v3/caf%c3%a9', '/v3/caf%C3%A9', '2: upper-case hex of UTF-8'],
    ['/v3/%2541', '/v3/%2541', '2: decoded once only'],
    ['/v3/%3a%40', '/v3/%3A%40', '2: reserved characters stay escaped'],
    ['/v3/100%', '/v3/100%', '2: an invalid escape stays'],
    ['/v3/%zz', '/v3/%zz', '2: an invalid escape stays'],
    ['//v3///fx//trades', '/v3/fx/trades', '3: slashes merge'],
    ['/v3/a//../b', '/v3/b', '3 before 4: merged first'],
    ['/v3/a/%2e%2E/b', '/v3/b', '4: encoded dots are dots'],
    ['/v3/a/%2e/b', '/v3/a/b', '4: an encoded dot is a dot'],
    ['/v3/a/.%2e', '/v3/', '4: half encoded'],
    ['/v3/a/%2e%2e%2fb', '/v3/a/..%2Fb', '4: an escaped slash ends no segment'],
    ['/v3/a/...', '/v3/a/...', '4: three dots are a name'],
    ["/v3/a:b@c!$&'()*+,;=", "/v3/a:b@c!$&'()*+,;=", '5: nothing is encoded anew'],
    ['/v3/é', '/v3/é', '5: nothing is encoded anew'],
    ['/V3/Fx', '/V3/Fx', '6: case stays'],
    ['/v3/fx/trades/', '/v3/fx/trades/', '7: trailing slash stays'],
    ['/v3/fx/trades//', '/v3/fx/trades/', '7: one of them'],
  ];
  for (const [path, expected, rule] of vectors) {
    assert.equal(canonicalPath(path), expected, rule);
    assert.equal(canonicalPath(expected), expected, `${rule}: canonical stays canonical`);
  }
});

test('a query is encoded, then sorted by the code points of the decoded text', () => {
  const vectors: readonly (readonly [query: readonly QueryParameter[], expected: string, rule: string])[] = [
    [[], '', 'no parameters'],
    [[['limit', '25']], 'limit=25', 'one'],
    [
      [
        ['startingAfter', 'a'],
        ['limit', '2'],
      ],
      'limit=2&startingAfter=a',
      'by key',
    ],
    [
      [
        ['a', '2'],
        ['a', '10'],
        ['a', '1'],
      ],
      'a=1&a=10&a=2',
      'repeated keys by value',
    ],
    [
      [
        ['a', '1'],
        ['a', '1'],
      ],
      'a=1&a=1',
      'repeated pairs stay',
    ],
    [
      [
        ['b', '1'],
        ['B', '1'],
        ['a', '1'],
        ['_', '1'],
      ],
      'B=1&_=1&a=1&b=1',
      'code points, not a locale',
    ],
    [
      [
        ['a', ''],
        ['', 'a'],
      ],
      '=a&a=',
      'empty key, empty value',
    ],
    [
      [
        ['ab', '1'],
        ['a', '2'],
        ['a!', '3'],
      ],
      'a=2&a!=3&ab=1',
      'by key, not by the joined pair',
    ],
    [[['q', 'a b']], 'q=a%20b', 'space'],
    [[['q', "!~*'()"]], "q=!~*'()", 'left bare'],
    [[['q', '+']], 'q=%2B', 'plus'],
    [[['q', 'a/b?c=d&e#f%']], 'q=a%2Fb%3Fc%3Dd%26e%23f%25', 'reserved'],
    [[['q', 'é€']], 'q=%C3%A9%E2%82%AC', 'UTF-8'],
    // By UTF-16 unit the astral U+1F600 (D83D DE00) would come before U+FF5E.
    [
      [
        ['q', '\u{1F600}'],
        ['q', '\uFF5E'],
      ],
      'q=%EF%BD%9E&q=%F0%9F%98%80',
      'astral after BMP',
    ],
    [
      [
        ['\u{10000}', '1'],
        ['\uE000', '1'],
      ],
      '%EE%80%80=1&%F0%90%80%80=1',
      'astral keys after BMP keys',
    ],
    // Encoded, "%C3%A9" would come before "~".
    [
      [
        ['q', 'é'],
        ['q', '~'],
      ],
      'q=~&q=%C3%A9',
      'sorted before encoding',
    ],
  ];
  for (const [query, expected, rule] of vectors) assert.equal(canonicalQuery(query), expected, rule);
});

test('a lone surrogate has no encoding and is refused', () => {
  assert.throws(() => canonicalQuery([['startingAfter', '\uD800']]), URIError);
});
