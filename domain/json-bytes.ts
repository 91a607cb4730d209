/** How much room a value takes as JSON: what Temporal carries must stay small. Pure. */

/** Of one part of something long; with what a converter puts around it below the 128 KiB that Temporal likes to carry. */
export const BYTES_OF_A_PAGE = 98_304;

/** Of its JSON in UTF-8, or a little more. */
export function jsonBytes(value: unknown): number {
  const json = JSON.stringify(value);
  return json.length + 2 * json.replaceAll(/[ -~]/g, '').length;
}
