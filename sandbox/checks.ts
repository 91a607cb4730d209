// Checks of what comes in through the sandbox's own doors: options, settings, faults and the admin interface.
// Requests of the service are not checked here; they have their own error codes.

import { positiveAmount } from './money.ts';

/** Thrown for a wrong option or admin request; the message says what stands where and what would do. */
export class BadInput extends Error {
  override readonly name = 'BadInput';
}

/** Returns the value typed, or throws `BadInput`; `at` is the place for the message. */
export type Check<T> = (value: unknown, at: string) => T;
type Checks = Readonly<Record<string, Check<unknown>>>;
type Checked<C extends Checks> = { readonly [K in keyof C]: ReturnType<C[K]> };
type Simplify<T> = { [K in keyof T]: T[K] } & {};

export const text: Check<string> = (value, at) =>
  typeof value === 'string' ? value : wrong(value, at, 'a string');

export const filledText: Check<string> = (value, at) =>
  typeof value === 'string' && value !== '' ? value : wrong(value, at, 'a string that is not empty');

export const flag: Check<boolean> = (value, at) =>
  typeof value === 'boolean' ? value : wrong(value, at, 'true or false');

export const count: Check<number> = (value, at) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 0
    ? value
    : wrong(value, at, 'a whole number, 0 or more');

export const positiveCount: Check<number> = (value, at) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= 1
    ? value
    : wrong(value, at, 'a whole number, 1 or more');

export const whole: Check<number> = (value, at) =>
  typeof value === 'number' && Number.isSafeInteger(value) ? value : wrong(value, at, 'a whole number');

export const share: Check<number> = (value, at) =>
  typeof value === 'number' && value >= 0 && value <= 1 ? value : wrong(value, at, 'a number from 0 to 1');

export const basisPoints: Check<number> = (value, at) =>
  typeof value === 'number' && value >= 0 && value < 10_000
    ? value
    : wrong(value, at, 'a number below 10000');

/** A decimal string above zero. */
export const positive: Check<string> = (value, at) =>
  typeof value === 'string' && positiveAmount.test(value)
    ? value
    : wrong(value, at, 'a decimal string above zero, like "18.50"');

/** A decimal string, zero included. */
export const amount: Check<string> = (value, at) =>
  typeof value === 'string' && /^[0-9]+([.][0-9]+)?$/.test(value)
    ? value
    : wrong(value, at, 'a decimal string, like "1000.00"');

export const currency: Check<string> = (value, at) =>
  typeof value === 'string' && /^[A-Z0-9]{2,15}$/.test(value)
    ? value
    : wrong(value, at, 'a currency, like "USD"');

export const anything: Check<unknown> = (value) => value;

export function oneOf<const T extends string | number | null>(...choices: readonly T[]): Check<T> {
  return (value, at) => {
    const found = choices.find((choice) => choice === value);
    if (found !== undefined) return found;
    return wrong(value, at, `one of ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`);
  };
}

export function orNull<T>(check: Check<T>): Check<T | null> {
  return (value, at) => (value === null ? null : check(value, at));
}

export function either<A, B>(first: Check<A>, second: Check<B>): Check<A | B> {
  return (value, at) => {
    try {
      return first(value, at);
    } catch (error) {
      if (!(error instanceof BadInput)) throw error;
      return second(value, at);
    }
  };
}

export function listOf<T>(check: Check<T>): Check<readonly T[]> {
  return (value, at) => {
    if (!Array.isArray(value)) return wrong(value, at, 'a list');
    return value.map((item: unknown, index) => check(item, `${at}[${index}]`));
  };
}

/** An object whose names are free and whose values are all alike. */
export function mapOf<T>(
  check: Check<T>,
  name: Check<string> = filledText,
): Check<Readonly<Record<string, T>>> {
  return (value, at) => {
    const entries = Object.entries(objectOf(value, at)).map(
      ([key, item]) => [name(key, `the name "${key}" in ${at}`), check(item, `${at}.${key}`)] as const,
    );
    return Object.fromEntries(entries);
  };
}

/** An object with these fields and no others. */
export function shape<R extends Checks, O extends Checks>(
  required: R,
  optional: O,
): Check<Simplify<Checked<R> & Partial<Checked<O>>>> {
  const known = [...Object.keys(required), ...Object.keys(optional)];
  return (value, at) => {
    const object = objectOf(value, at);
    const result: Record<string, unknown> = {};
    for (const [name, item] of Object.entries(object)) {
      const check = Object.hasOwn(required, name)
        ? required[name]
        : Object.hasOwn(optional, name)
          ? optional[name]
          : undefined;
      if (check === undefined) {
        throw new BadInput(`${at} has no field "${name}"; its fields are ${known.join(', ')}.`);
      }
      if (item === undefined && Object.hasOwn(optional, name)) continue;
      result[name] = check(item, `${at}.${name}`);
    }
    for (const name of Object.keys(required)) {
      if (!Object.hasOwn(result, name)) throw new BadInput(`${at} lacks "${name}".`);
    }
    return result as Simplify<Checked<R> & Partial<Checked<O>>>;
  };
}

export function objectOf(value: unknown, at: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return wrong(value, at, 'an object');
  }
  return value as Readonly<Record<string, unknown>>;
}

function wrong(value: unknown, at: string, expected: string): never {
  throw new BadInput(`${at} is ${JSON.stringify(value) ?? 'missing'}; it must be ${expected}.`);
}
