/**
 * The one table of decimals per currency: ISO 4217 for money, 6 for stablecoins, 2 for a currency that is in no table. An
 * operator can override it in the service file (`decimals`). Also the currencies that the interface allows for withdrawals.
 */

import { isDecimal, withDecimals } from './money.ts';

/** The decimals of currencies that an operator has stated: `ServiceFacts.decimals`. */
export type Decimals = Readonly<Record<string, number>>;

/** The decimals of a currency that is in no table. Too few would refuse an amount; too many would lose a part of it. */
const UNKNOWN_DECIMALS = 2;

const DECIMALS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
    2:
      'AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP ' +
      'CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES ' +
      'KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK ' +
      'NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB ' +
      'TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD XCG YER ZAR ZMW ZWG',
    3: 'BHD IQD JOD KWD LYD OMR TND',
    4: 'CLF UYW',
    6: 'EURC EUROP FDUSD PYUSD RLUSD USDC USDG USDT',
  }).flatMap(([decimals, codes]) => codes.split(' ').map((code) => [code, Number(decimals)] as const)),
);

/** How many digits an amount in `currency` may have after its point. */
export function decimalsOf(currency: string, overrides: Decimals): number {
  const override = Object.hasOwn(overrides, currency) ? overrides[currency] : undefined;
  return override ?? DECIMALS.get(currency) ?? UNKNOWN_DECIMALS;
}

/**
 * An amount with its currency, as people read it everywhere: `9900` of USD is `9,900.00 USD`. Nothing is rounded. Without
 * `overrides` the built-in table counts, so that every program writes the same text. What people type, and what programs read,
 * has no commas: JSON, files, commands.
 */
export function moneyText(value: string, currency: string, overrides: Decimals = {}): string {
  return `${amountText(value, decimalsOf(currency, overrides))} ${currency}`;
}

/** The same without its currency: `9900` with 2 decimals is `9,900.00`. */
export function amountText(value: string, decimals: number): string {
  // A report that a person has edited may hold something that is no number here. Then it is shown as it is.
  if (!isDecimal(value)) return value;
  const [whole = '', ...fraction] = withDecimals(value, decimals).split('.');
  return [whole.replaceAll(/\B(?=(?:\d{3})+$)/g, ','), ...fraction].join('.');
}

/**
 * The currencies that heading "POST /fx/withdrawals" lists. Its pattern would allow more, but no money is converted for
 * other currencies.
 */
export const WITHDRAWAL_CURRENCIES: readonly string[] =
  'USDT USDC EURC EUROP USD AED GBP EUR AUD MXN BRL PHP ARS COP INR CHF IDR NOK PLN SGD ZAR DKK HKD SEK'.split(
    ' ',
  );

/** Every known currency, for "did you mean", the likely ones first. A currency that is not here may still exist. */
export const KNOWN_CURRENCIES: readonly string[] = [
  ...new Set([...WITHDRAWAL_CURRENCIES, ...DECIMALS.keys()]),
];
