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
    return hasRepeatedKey(text) ? { ok: false, reason: 'a repeated JSON key' } : { ok: true, value };
  } catch {
    // The engine's own message quotes the text.
    return { ok: false, reason: 'not one whole JSON document' };
  }
}

/**
 * Whether some object of a *valid* JSON text has a key twice, also when written with other escapes. In valid JSON a string
 * before a colon is a key, and a brace outside strings opens or closes an object; nothing else needs to be looked at.
 */
function hasRepeatedKey(text: string): boolean {
  const open: Set<unknown>[] = [];
  for (const [token, quoted, colon] of text.matchAll(/("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '}') open.pop();
    else if (quoted !== undefined && colon !== undefined) {
      const keys = open.at(-1);
      const key: unknown = JSON.parse(quoted);
      if (keys?.has(key)) return true;
      keys?.add(key);
    }
  }
  return false;
}
