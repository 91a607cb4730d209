/** The size of a value as JSON, since payloads in Temporal must stay small. Pure. */

/**
 * The most bytes of one part of a long value. With the bytes that a converter adds, it stays below the 128 KiB that Temporal
 * likes for a payload.
 */
export const BYTES_OF_A_PAGE = 98_304;

/** The bytes of its JSON in UTF-8, or a few more. */
export function jsonBytes(value: unknown): number {
  const json = JSON.stringify(value);
  return json.length + 2 * json.replaceAll(/[ -~]/g, '').length;
}
