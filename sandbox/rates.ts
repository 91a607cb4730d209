// Mid rates. A rate is named `A/B` and says how many B one A is worth; every other pair is derived from the
// ones that are set, directly, by inversion, or across the US dollar.

import { Decimal, textOf } from './money.ts';

export const defaultRates: Readonly<Record<string, string>> = {
  'EUR/USD': '1.08',
  'GBP/USD': '1.27',
  'AUD/USD': '0.66',
  'USDC/USD': '1',
  'USDT/USD': '1',
  'EURC/USD': '1.08',
  'EUROP/USD': '1.08',
  'USD/MXN': '18.50',
  'USD/BRL': '5.40',
  'USD/SGD': '1.34',
  'USD/AED': '3.6725',
  'USD/PHP': '58',
  'USD/ARS': '1050',
  'USD/COP': '4100',
  'USD/INR': '84',
  'USD/CHF': '0.88',
  'USD/IDR': '15800',
  'USD/NOK': '10.90',
  'USD/PLN': '4.02',
  'USD/ZAR': '18.10',
  'USD/DKK': '6.90',
  'USD/HKD': '7.80',
  'USD/SEK': '10.60',
  'USD/JPY': '150',
  'USD/CAD': '1.38',
};

export class RateBook {
  readonly #rates = new Map<string, Decimal>();
  readonly #currencies = new Set<string>(['USD']);

  /** Sets `A/B`; what was said of `B/A` before is forgotten. */
  set(pair: string, rate: string): void {
    const [one, other] = pair.split('/');
    if (one === undefined || other === undefined) throw new TypeError(`"${pair}" is not a pair.`);
    this.#rates.delete(`${other}/${one}`);
    this.#rates.set(pair, new Decimal(rate));
    this.#currencies.add(one);
    this.#currencies.add(other);
  }

  /** How many `to` one `from` is worth; null when it cannot be derived. */
  rate(from: string, to: string): Decimal | null {
    const near = this.#near(from, to);
    if (near !== null) return near;
    const toDollar = this.#near(from, 'USD');
    const fromDollar = this.#near('USD', to);
    return toDollar === null || fromDollar === null ? null : toDollar.times(fromDollar);
  }

  inDollars(amount: Decimal, currency: string): Decimal {
    return amount.times(this.rate(currency, 'USD') ?? 0);
  }

  knows(currency: string): boolean {
    return this.#currencies.has(currency);
  }

  currencies(): string[] {
    return [...this.#currencies].toSorted();
  }

  view(): Record<string, string> {
    return Object.fromEntries([...this.#rates].map(([pair, rate]) => [pair, textOf(rate)]));
  }

  #near(from: string, to: string): Decimal | null {
    if (from === to) return new Decimal(1);
    const direct = this.#rates.get(`${from}/${to}`);
    if (direct !== undefined) return direct;
    const inverse = this.#rates.get(`${to}/${from}`);
    return inverse === undefined ? null : new Decimal(1).div(inverse);
  }
}
