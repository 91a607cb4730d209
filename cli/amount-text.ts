/** How amounts are written for people. Nothing is rounded: what has more digits than its currency keeps them. */
import { decimalPlaces, normalise } from '../domain/money.ts';

/** The amount with the decimals of its currency: `9900` with 2 is `9900.00`. */
export function amountText(value: string, decimals: number): string {
  const text = normalise(value);
  const missing = decimals - decimalPlaces(text);
  if (missing <= 0) return text;
  return `${text}${text.includes('.') ? '' : '.'}${'0'.repeat(missing)}`;
}
