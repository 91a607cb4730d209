// Our own reading of "Request signature" and "Path canonicalization": the text a request signature is over,
// made from the target and the body bytes as they were received.

import { createHash } from 'node:crypto';

export interface ReceivedRequest {
  readonly method: string;
  /** The request target as it stood on the request line. */
  readonly target: string;
  readonly nonce: string;
  readonly body: Uint8Array;
}

/** The five components, joined by a line feed. */
export function canonicalRequest(request: ReceivedRequest, plusInQuery: 'space' | 'plus'): string {
  const { path, query } = splitTarget(request.target);
  return [
    request.method.toUpperCase(),
    canonicalPath(path),
    canonicalQuery(query, plusInQuery),
    request.nonce,
    sha256Hex(request.body),
  ].join('\n');
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Splits a request target; an absolute target loses scheme and authority. */
export function splitTarget(target: string): { readonly path: string; readonly query: string } {
  const local = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '');
  const mark = local.indexOf('?');
  return mark < 0 ? { path: local, query: '' } : { path: local.slice(0, mark), query: local.slice(mark + 1) };
}

/** The seven steps of "Path canonicalization", in their order. */
export function canonicalPath(path: string): string {
  const rooted = path === '' ? '/' : path;
  const normalized = rooted.replace(/%([0-9a-f]{2})/gi, (escape, hex: string) => {
    const character = String.fromCharCode(Number.parseInt(hex, 16));
    return /[A-Za-z0-9\-._~]/.test(character) ? character : escape.toUpperCase();
  });
  return removeDotSegments(normalized.replace(/\/{2,}/g, '/'));
}

/** RFC 3986 section 5.2.4, word for word: A to E are the letters of its list. */
function removeDotSegments(path: string): string {
  let input = path;
  let output = '';
  while (input !== '') {
    if (input.startsWith('../')) {
      input = input.slice(3); // A
    } else if (input.startsWith('./')) {
      input = input.slice(2); // A
    } else if (input.startsWith('/./')) {
      input = input.slice(2); // B
    } else if (input === '/.') {
      input = '/'; // B
    } else if (input.startsWith('/../')) {
      input = input.slice(3); // C
      output = output.slice(0, Math.max(0, output.lastIndexOf('/')));
    } else if (input === '/..') {
      input = '/'; // C
      output = output.slice(0, Math.max(0, output.lastIndexOf('/')));
    } else if (input === '.' || input === '..') {
      input = ''; // D
    } else {
      const next = input.indexOf('/', 1); // E
      const segment = next < 0 ? input : input.slice(0, next);
      output += segment;
      input = input.slice(segment.length);
    }
  }
  return output === '' ? '/' : output;
}

export type QueryPair = readonly [key: string, value: string];

export function canonicalQuery(query: string, plusInQuery: 'space' | 'plus'): string {
  return parseQuery(query, plusInQuery)
    .toSorted(([keyA, valueA], [keyB, valueB]) => byCodePoint(keyA, keyB) || byCodePoint(valueA, valueB))
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&');
}

/** Decoded parameters in the order received; broken escapes stand for themselves, broken UTF-8 for U+FFFD. */
export function parseQuery(query: string, plusInQuery: 'space' | 'plus'): QueryPair[] {
  return query
    .split('&')
    .filter((part) => part !== '')
    .map((part) => {
      const equals = part.indexOf('=');
      const [key, value] = equals < 0 ? [part, ''] : [part.slice(0, equals), part.slice(equals + 1)];
      return [decodeComponent(key, plusInQuery), decodeComponent(value, plusInQuery)] as const;
    });
}

function decodeComponent(text: string, plusInQuery: 'space' | 'plus'): string {
  const bytes: number[] = [];
  const raw = Buffer.from(plusInQuery === 'space' ? text.replaceAll('+', ' ') : text, 'utf8');
  for (let at = 0; at < raw.length; at += 1) {
    const hex = raw.toString('latin1', at + 1, at + 3);
    if (raw[at] === 0x25 && /^[0-9a-f]{2}$/i.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      at += 2;
    } else {
      bytes.push(raw[at] ?? 0);
    }
  }
  return Buffer.from(bytes).toString('utf8');
}

/** Raw code-point order; JavaScript's own `<` compares UTF-16 units, which differs above U+FFFF. */
function byCodePoint(a: string, b: string): number {
  const left = Array.from(a, (character) => character.codePointAt(0) ?? 0);
  const right = Array.from(b, (character) => character.codePointAt(0) ?? 0);
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}
