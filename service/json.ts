/**
 * Strict JSON: well-formed UTF-8, one whole document, no key twice in an object (interface heading "General conventions").
 * It must never quote the text it reads, because that text may be a private key.
 */

/** Either the parsed value or plain words on why there is none. */
export type ParsedJson =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly reason: string };

/** The text of well-formed UTF-8, with a byte order mark left in, which is no JSON; null when it is ill-formed. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** Parses the text of one JSON document; a cut document and a repeated key are refused. */
export function parseJson(text: string): ParsedJson {
  try {
    const value: unknown = JSON.parse(text);
    // lossless-json lets a repeated key pass when both values are equal, so the check is our own.
    return hasRepeatedKey(text, value) ? { ok: false, reason: 'a repeated JSON key' } : { ok: true, value };
  } catch {
    // The engine's own message quotes the text.
    return { ok: false, reason: 'not one whole JSON document' };
  }
}

/**
 * Whether some object of a *valid* JSON text has a key twice, also when written with other escapes: then the text has more
 * members than the value that was read. In valid JSON each member has one colon outside strings, and nothing else has.
 */
function hasRepeatedKey(text: string, value: unknown): boolean {
  return colonsIn(text) !== membersOf(value);
}

const QUOTE = 34;
const COLON = 58;
const BACKSLASH = 92;

/** Outside strings. */
function colonsIn(text: string): number {
  let colons = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COLON) colons += 1;
    else if (code === QUOTE) {
      for (at += 1; text.charCodeAt(at) !== QUOTE; at += 1) if (text.charCodeAt(at) === BACKSLASH) at += 1;
    }
  }
  return colons;
}

function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const values: readonly unknown[] = Object.values(value);
  const own = Array.isArray(value) ? 0 : values.length;
  return values.reduce<number>((sum, each) => sum + membersOf(each), own);
}
