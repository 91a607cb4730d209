// Decimal arithmetic of the sandbox: strings in, strings out, fixed notation, sixty significant digits.

import { Decimal as BaseDecimal } from 'decimal.js';

export const Decimal = BaseDecimal.clone({ precision: 60, rounding: BaseDecimal.ROUND_HALF_EVEN });
export type Decimal = InstanceType<typeof Decimal>;

/** The positive decimal pattern of the interface's request bodies. */
export const positiveAmount = /^(?=.*[1-9])[0-9]+([.][0-9]+)?$/;

/** A decimal string for the wire; never an exponent. */
export function textOf(amount: Decimal): string {
  return amount.isZero() ? '0' : amount.toFixed();
}

export function fractionDigits(amount: string): number {
  const point = amount.indexOf('.');
  return point < 0 ? 0 : amount.length - point - 1;
}
