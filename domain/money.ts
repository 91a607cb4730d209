/**
 * Exact decimal arithmetic on amounts (M5). No other file uses `decimal.js`: everywhere else amounts are decimal strings.
 * Nothing here rounds unless the rounding is an argument, and no result has an exponent.
 */
import { Decimal } from 'decimal.js';

/** Wide enough for the exact product of any two amounts that are read. No result is written with an exponent. */
const Exact = Decimal.clone({ precision: 800, toExpNeg: -1000, toExpPos: 1000 });

const DECIMAL = /^-?[0-9]+(\.[0-9]+)?$/;
/** An amount in a reply has at most this many characters. */
const MAX_LENGTH = 200;

/** How a value with too many decimals is cut: towards zero, to the nearest (a tie to the even digit), or away from zero. */
export type Rounding = 'down' | 'half-even' | 'up';

const MODES: Record<Rounding, Decimal.Rounding> = {
  down: Decimal.ROUND_DOWN,
  'half-even': Decimal.ROUND_HALF_EVEN,
  up: Decimal.ROUND_UP,
};

/** True for a decimal text without exponent, plus sign or separators. */
export function isDecimal(text: string): boolean {
  return text.length <= MAX_LENGTH && DECIMAL.test(text);
}

/** The canonical text of a decimal: no leading zeros, and no trailing zeros after the point. */
export function normalise(text: string): string {
  return read(text).toFixed();
}

/** -1, 0 or 1 when `a` is less than, equal to or greater than `b`, compared as numbers. */
export function compare(a: string, b: string): -1 | 0 | 1 {
  return Math.sign(read(a).comparedTo(read(b))) as -1 | 0 | 1;
}

/** True when both are the same number, whatever zeros they are written with. */
export function equal(a: string, b: string): boolean {
  return compare(a, b) === 0;
}

export function isPositive(text: string): boolean {
  return compare(text, '0') > 0;
}

export function add(a: string, b: string): string {
  return read(a).plus(read(b)).toFixed();
}

export function subtract(a: string, b: string): string {
  return read(a).minus(read(b)).toFixed();
}

export function multiply(a: string, b: string): string {
  return read(a).times(read(b)).toFixed();
}

/** The value, or `0` when it is negative. */
export function notNegative(value: string): string {
  return isPositive(value) ? value : '0';
}

export function sum(values: readonly string[]): string {
  return values.reduce((total, value) => total.plus(read(value)), new Exact(0)).toFixed();
}

/** `a ÷ b` cut to `significantDigits`, half to even. Throws on division by zero. */
export function divide(a: string, b: string, significantDigits: number): string {
  const divisor = read(b);
  if (divisor.isZero()) throw new RangeError(`Division of ${a} by zero.`);
  return read(a).div(divisor).toSignificantDigits(significantDigits, Decimal.ROUND_HALF_EVEN).toFixed();
}

/** `a ÷ b` with at most `decimals` digits after the point, by the named rounding. Throws on division by zero. */
export function quotient(a: string, b: string, decimals: number, rounding: Rounding): string {
  const divisor = read(b);
  if (divisor.isZero()) throw new RangeError(`Division of ${a} by zero.`);
  return read(a).div(divisor).toDecimalPlaces(decimals, MODES[rounding]).toFixed();
}

/** `value` with at most `decimals` digits after the point, by the named rounding. */
export function round(value: string, decimals: number, rounding: Rounding): string {
  return read(value).toDecimalPlaces(decimals, MODES[rounding]).toFixed();
}

/** The number of significant digits after the point: `1.500` has one. */
export function decimalPlaces(value: string): number {
  return read(value).decimalPlaces();
}

/** The text for people: `9900` with two decimals is `9900.00`. A value with more digits keeps them; nothing is rounded. */
export function withDecimals(value: string, decimals: number): string {
  return read(value).toFixed(Math.max(decimals, decimalPlaces(value)));
}

function read(text: string): Decimal {
  if (!isDecimal(text)) throw new RangeError(`"${text}" is not a decimal number.`);
  return new Exact(text);
}
