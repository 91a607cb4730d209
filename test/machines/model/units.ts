/**
 * Money of the model's ledger: whole units of 10⁻¹⁰ in a BigInt, so that the model counts independently of
 * `domain/money.ts`. Texts in, texts out (M5).
 */
const DIGITS = 10;
const ONE = 10n ** BigInt(DIGITS);

/** True for a plain positive decimal as text (M5); a number that stands where an amount should be is none. */
export function isAmount(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9]+(\.[0-9]{1,10})?$/.test(value);
}

/** @throws when the text is no amount */
export function units(text: string): bigint {
  if (!isAmount(text)) throw new RangeError(`"${text}" is not an amount as the wire wants it.`);
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole) * ONE + BigInt(fraction.padEnd(DIGITS, '0'));
}

export function textOf(value: bigint): string {
  const sign = value < 0n ? '-' : '';
  const all = (value < 0n ? -value : value).toString().padStart(DIGITS + 1, '0');
  const fraction = all.slice(-DIGITS).replace(/0+$/, '');
  return `${sign}${all.slice(0, -DIGITS)}${fraction === '' ? '' : `.${fraction}`}`;
}

export function times(a: bigint, b: bigint): bigint {
  return (a * b) / ONE;
}

export function over(a: bigint, b: bigint): bigint {
  return (a * ONE) / b;
}
