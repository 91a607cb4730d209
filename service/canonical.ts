/**
 * Canonical path and query of a request, as the server rebuilds them to verify a signature (interface headings "Request
 * signature" and "Path canonicalization, in order"). What these functions return is both what is signed and what is sent;
 * nothing may rewrite it afterwards.
 */

/** A decoded query parameter. */
export type QueryParameter = readonly [key: string, value: string];

/**
 * The full request path after canonicalisation (heading "Path canonicalization, in order"; the steps keep its order).
 * @param path raw path without query, as it would stand in the request line; an invalid escape stays as it is
 */
export function canonicalPath(path: string): string {
  if (path === '') return '/';
  return removeDotSegments(normalizeEscapes(path).replace(/\/{2,}/g, '/'));
}

/**
 * The canonical query (heading "Request signature", component 3): sorted by key, then by value, both by code point of the
 * decoded text; `encodeURIComponent` is exactly the encoding asked for (space `%20`, `+` `%2B`, `! ~ * ' ( )` bare).
 * @returns text without the leading `?`; empty when there are no parameters
 * @throws URIError for a lone surrogate, which has no UTF-8
 */
export function canonicalQuery(parameters: readonly QueryParameter[]): string {
  return parameters
    .toSorted((a, b) => byCodePoint(a[0], b[0]) || byCodePoint(a[1], b[1]))
    .map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(value)}`)
    .join('&');
}

/** RFC 3986 section 6.2.2: escapes of unreserved characters are decoded, once; the others get upper-case hex. */
function normalizeEscapes(path: string): string {
  return path.replace(/%[0-9A-Fa-f]{2}/g, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[A-Za-z0-9._~-]/.test(character) ? character : escape.toUpperCase();
  });
}

/** RFC 3986 section 5.2.4; the letters are its steps. */
function removeDotSegments(path: string): string {
  let input = path;
  let output = '';
  while (input !== '') {
    if (input.startsWith('../'))
      input = input.slice(3); // A
    else if (input.startsWith('./'))
      input = input.slice(2); // A
    else if (input.startsWith('/./'))
      input = input.slice(2); // B
    else if (input === '/.')
      input = '/'; // B
    else if (input.startsWith('/../') || input === '/..') {
      input = input === '/..' ? '/' : input.slice(3); // C
      output = output.slice(0, Math.max(0, output.lastIndexOf('/')));
    } else if (input === '.' || input === '..')
      input = ''; // D
    else {
      const end = input.indexOf('/', 1); // E
      output += end === -1 ? input : input.slice(0, end);
      input = end === -1 ? '' : input.slice(end);
    }
  }
  return output;
}

/** UTF-8 sorts by code point; JavaScript's own order, by UTF-16 unit, puts U+10000 before U+E000. */
function byCodePoint(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}
