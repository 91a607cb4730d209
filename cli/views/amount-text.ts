/**
 * How amounts and rates are written for people. A sentence never rounds: an amount with more digits than its currency keeps
 * them. A cell with a price, or with a balance of the service, has the decimals of the currency; the exact amount stands in the
 * sentence of the trade and in JSON. What is paid has no more decimals than its currency anyway.
 */
import { amountText, decimalsOf, moneyText } from '../../domain/currencies.ts';
import type { Limits } from '../../domain/policy.ts';
import { divide, equal, isDecimal, round } from '../../domain/money.ts';

/** A person compares this many digits of a rate; `--json` has twelve. */
const RATE_DIGITS = 6;

/** A rate with six significant digits: `0.0540540540541` is `0.0540541`. */
export function rateText(rate: string): string {
  return isDecimal(rate) ? divide(rate, '1', RATE_DIGITS) : rate;
}

/** An amount with its currency, `18,500.00 MXN`; `- MXN` while it is not known. */
export function money(amount: string | null, currency: string): string {
  return amount === null ? `- ${currency}` : moneyText(amount, currency);
}

/** The amount of a cell. One that would be told as nothing keeps its digits. */
export function cellText(value: string, decimals: number): string {
  if (!isDecimal(value)) return value;
  const rounded = round(value, decimals, 'half-even');
  return amountText(equal(rounded, '0') ? value : rounded, decimals);
}

/** The amount of a cell with its currency; `- MXN` while it is not known. */
export function cellMoney(amount: string | null, currency: string): string {
  return amount === null
    ? money(null, currency)
    : `${cellText(amount, decimalsOf(currency, {}))} ${currency}`;
}

/** Each limit of a policy: `400,000.00 USD per trade`. */
export function limitTexts({ perTrade, perRun, perDay, perPayment, paidPerRun }: Limits): readonly string[] {
  const texts = [
    ...[perTrade ?? []].flat().map((limit) => ({ ...limit, per: 'per trade' })),
    ...[perRun ?? []].flat().map((limit) => ({ ...limit, per: 'per run' })),
    ...[perDay ?? []].flat().map((limit) => ({ ...limit, per: 'per day' })),
    ...perPayment.map((limit) => ({ ...limit, per: 'per payment' })),
    ...paidPerRun.map((limit) => ({ ...limit, per: 'paid per run' })),
  ];
  return texts.map(({ value, currency, per }) => `${moneyText(value, currency)} ${per}`);
}
