/**
 * Shapes for data that another program may have made. A value that has passed has every field, each of its kind, and, where
 * the shape is closed, no other field.
 */

/** The value that was read, or why it was refused, in one short sentence. */
export type Shaped<T> =
  { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };

export type Field = (value: unknown) => boolean;
export type Fields = Readonly<Record<string, Field>>;

/** Why a value is not a record of exactly these fields; null when it is. */
export function misshapen(value: unknown, fields: Fields): string | null {
  if (isRecord(value) && Object.keys(value).some((name) => !Object.hasOwn(fields, name)))
    return 'It has a field that Cambist does not know.';
  return lacking(value, fields);
}

/** Why a value is not a record with these fields; null when it is. It may have others, which are not read. */
export function lacking(value: unknown, fields: Fields): string | null {
  if (!isRecord(value)) return 'It is not an object with fields.';
  const wrong = Object.entries(fields).find(([name, field]) => !field(value[name]));
  return wrong === undefined ? null : `Its field "${wrong[0]}" is missing or wrong.`;
}

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** One line of text: not empty, no control character. */
export const lineOf =
  (most: number): Field =>
  (value) =>
    typeof value === 'string' && value.trim() !== '' && value.length <= most && !/\p{Cc}/u.test(value);

/** Any text, also of several lines. */
export const textOf =
  (most: number): Field =>
  (value) =>
    typeof value === 'string' && value.length <= most;

export const oneOf =
  (...values: readonly unknown[]): Field =>
  (value) =>
    values.includes(value);

export const orNull =
  (field: Field): Field =>
  (value) =>
    value === null || field(value);

export const recordOf =
  (fields: Fields): Field =>
  (value) =>
    misshapen(value, fields) === null;

export const listOf =
  (field: Field): Field =>
  (value) =>
    Array.isArray(value) && value.every(field);

/** The last moment that a `Date` can be. */
const LAST_MOMENT_MS = 8.64e15;

/** Epoch milliseconds. */
export const isMoment: Field = (value) =>
  Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= LAST_MOMENT_MS;
export const isFlag: Field = (value) => typeof value === 'boolean';
