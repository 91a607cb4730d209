/**
 * The one table of decimals per currency: ISO 4217 for money, 6 for stablecoins, 2 for what is in no table. An operator
 * overrides it in the service file (`decimals`). Also the currencies that the interface lets one withdraw.
 */

import { isDecimal, withDecimals } from './money.ts';

/** By currency what an operator knows better than the table: `ServiceFacts.decimals`. */
export type Decimals = Readonly<Record<string, number>>;

/** Decimals of a currency that is in no table: too few refuses an amount, too many would lose a part of it. */
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
 * An amount with its currency as people read it: `9900` of USD is `9900.00 USD`. Nothing is rounded. By the built-in table
 * where no `overrides` are given, so that everybody writes the same.
 */
export function moneyText(value: string, currency: string, overrides: Decimals = {}): string {
  // A report that was tampered with shows what it says.
  return `${isDecimal(value) ? withDecimals(value, decimalsOf(currency, overrides)) : value} ${currency}`;
}

/** The currencies that heading "POST /fx/withdrawals" lists. Its pattern would allow more; no money is converted for those. */
export const WITHDRAWAL_CURRENCIES: readonly string[] =
  'USDT USDC EURC EUROP USD AED GBP EUR AUD MXN BRL PHP ARS COP INR CHF IDR NOK PLN SGD ZAR DKK HKD SEK'.split(
    ' ',
  );

/** Every currency that is known, for "did you mean", the likely ones first: one that is not here may still exist. */
export const KNOWN_CURRENCIES: readonly string[] = [
  ...new Set([...WITHDRAWAL_CURRENCIES, ...DECIMALS.keys()]),
];
