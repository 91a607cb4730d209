/**
 * The price guard of a rebalancing: reference rates, a worst rate for each direction of each pair, or both. The text of a
 * worst rate tells which direction it bounds: the currency after `per` is sold.
 */
import { compare, divide, multiply } from '../../domain/money.ts';
import type { WorstRate } from '../../domain/policy.ts';
import { readRate, unquotedComplaint } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import type { Path, Place, YamlSource } from '../text/yaml-source.ts';

export const BASE: Path = ['rebalance', 'base', 'currency'];
export const TARGETS: Path = ['rebalance', 'targets'];

/** An example of a guard. */
export const GUARD = 'guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 25bps }';

const WORST_RATES: Path = ['guard', 'worst_rate'];

/** The record of worst rates in which every check has passed. */
export function toWorstRates(texts: readonly string[] = []): readonly WorstRate[] {
  return texts.map(worstRateOf);
}

/** The currency after `per` is sold. */
function worstRateOf(text: string): WorstRate {
  const rate = readRate(text);
  return { sell: rate.per, buy: rate.currency, rate };
}

/** Every trade needs a bound of its price, and most need a value. */
export function checkGuard(source: YamlSource, currencies: readonly string[]): void {
  const guard: Path = ['guard'];
  if (!source.has(guard)) {
    // In live, a missing guard is reported among the fields that must be written.
    if (source.clean(['environment']) === 'live') return;
    source.report(source.placeAt(['kind']), {
      mistake: 'MISSING_FIELD',
      message: 'a rebalancing needs a `guard`, which says the worst price at which it trades',
      fix: `write \`${GUARD}\``,
    });
    return;
  }
  if (source.shapeAt(guard) !== 'map' || source.isSpoiled(guard)) return;
  const hasReference = source.has([...guard, 'reference']);
  const hasCost = source.has([...guard, 'worst_cost']);
  const needsReference = hasReference || hasCost || !source.has(WORST_RATES);
  for (const field of ['reference', 'worst_cost']) {
    if (!needsReference || source.has([...guard, field])) continue;
    source.report(source.keyPlaceAt(guard), {
      mistake: 'MISSING_FIELD',
      message: `\`guard\` of a rebalancing needs \`${field}\``,
      fix: `write \`${GUARD}\``,
    });
  }
  const rates = checkWorstRates(source, currencies);
  if (!needsReference) checkWithoutReference(source, currencies, rates);
}

/** A rate of the list with its place. Rates with a reported mistake are left out. */
type Listed = WorstRate & { readonly place: Place };

/** Each direction of each pair may be there once, between the base and a currency that is traded in this direction. */
function checkWorstRates(source: YamlSource, currencies: readonly string[]): readonly Listed[] {
  const base = source.clean(BASE);
  const listed: Listed[] = [];
  for (let index = 0; index < source.lengthAt(WORST_RATES); index += 1) {
    const path: Path = [...WORST_RATES, index];
    const text = source.clean(path);
    if (text === null) continue;
    const place = source.placeAt(path);
    if (source.written(path)?.quoted === false) {
      source.report(place, unquotedComplaint(text));
      continue;
    }
    const one = { ...worstRateOf(text), place };
    if (base === null) continue;
    const complaint = pairComplaint(one, base, currencies);
    if (complaint !== null) {
      const { stranger, ...rest } = complaint;
      source.report(source.placeWithin(path, stranger, stranger === one.buy ? 'start' : 'end'), rest);
      continue;
    }
    const twin = listed.find(({ sell, buy }) => sell === one.sell && buy === one.buy);
    if (twin !== undefined) {
      source.report(place, {
        mistake: 'RATE_TWICE',
        message: `the worst rate for selling ${one.sell} for ${one.buy} is already on line ${source.lineOf(twin.place)}`,
        fix: 'delete one of the two',
      });
      continue;
    }
    checkWay(source, one, base);
    checkOpposite(source, one, listed);
    listed.push(one);
  }
  return listed;
}

function pairComplaint({ sell, buy }: WorstRate, base: string, currencies: readonly string[]) {
  if (sell === buy)
    return {
      stranger: sell,
      mistake: 'SAME_CURRENCY',
      message: `a rate is between two currencies, not from ${sell} to itself`,
      fix: 'delete it',
    } as const;
  const traded = [base, ...currencies];
  const stranger = [buy, sell].find((currency) => !traded.includes(currency));
  if (stranger === undefined && [sell, buy].includes(base)) return null;
  return {
    stranger: stranger ?? sell,
    mistake: 'RATE_PAIR',
    message: `the policy does not trade ${sell} for ${buy}: every trade is between ${base} and a currency with a target`,
    fix: `write a rate between ${base} and one of ${currencies.join(', ')}`,
  } as const;
}

/**
 * Reports a worst rate for a direction in which the currency is never traded. The person probably meant the other direction.
 */
function checkWay(source: YamlSource, { sell, buy, rate, place }: Listed, base: string): void {
  const isSale = buy === base;
  const currency = isSale ? sell : buy;
  if (waysOf(source, currency)[isSale ? 'sold' : 'bought']) return;
  source.report(place, {
    mistake: 'CONTRADICTION',
    message: `"${rate.value} ${buy} per ${sell}" bounds ${isSale ? 'sales' : 'purchases'} of ${currency}, which is never ${isSale ? 'sold' : 'bought'} by its target`,
    fix: `delete it; for ${isSale ? 'purchases' : 'sales'} write "${divide('1', rate.value, 6)} ${sell} per ${buy}"`,
  });
}

/**
 * Reports two worst rates that no price can satisfy: the currency is sold only above one price, and bought only below a
 * lower one.
 */
function checkOpposite(source: YamlSource, one: Listed, listed: readonly Listed[]): void {
  const other = listed.find(({ sell, buy }) => sell === one.buy && buy === one.sell);
  if (other === undefined || compare(multiply(one.rate.value, other.rate.value), '1') <= 0) return;
  source.report(one.place, {
    mistake: 'CONTRADICTION',
    message: `with the rate on line ${source.lineOf(other.place)} no price is good enough both to sell and to buy ${one.sell}`,
    fix: `write a lower rate, at most "${divide('1', other.rate.value, 6)} ${one.buy} per ${one.sell}"`,
  });
}

/** Without reference rates no total can be computed, and a currency without a worst rate is not traded. */
function checkWithoutReference(
  source: YamlSource,
  currencies: readonly string[],
  rates: readonly WorstRate[],
): void {
  const base = source.clean(BASE);
  for (const currency of currencies) {
    const share: Path = [...TARGETS, currency, 'share'];
    if (source.has(share)) {
      source.report(source.keyPlaceAt(share), {
        mistake: 'CONTRADICTION',
        message: 'a share is a part of a total, and only reference rates can tell the total',
        fix: `write \`reference\` and \`worst_cost\` in \`guard\`, or \`keep\` with an amount`,
      });
      continue;
    }
    if (base === null || currency === base) continue;
    const { sold, bought } = waysOf(source, currency);
    const has = (sell: string, buy: string): boolean =>
      rates.some((rate) => rate.sell === sell && rate.buy === buy);
    const missing = [
      ...(sold && !has(currency, base) ? [{ what: 'sold', rate: `"… ${base} per ${currency}"` }] : []),
      ...(bought && !has(base, currency) ? [{ what: 'bought', rate: `"… ${currency} per ${base}"` }] : []),
    ];
    for (const { what, rate } of missing)
      source.warn(source.keyPlaceAt([...TARGETS, currency]), {
        mistake: 'MISSING_FIELD',
        message: `${quoted(currency)} is never ${what}: \`worst_rate\` does not say at which price at worst`,
        fix: `write ${rate} in \`worst_rate\`, or \`reference\` with \`worst_cost\``,
      });
  }
}

/** Whether the target of a currency lets it be sold, and bought. */
function waysOf(source: YamlSource, currency: string): { readonly sold: boolean; readonly bought: boolean } {
  const has = (field: string): boolean => source.has([...TARGETS, currency, field]);
  const both = has('keep') || has('share');
  const kept: Path = ['rebalance', 'never_sell'];
  const isNeverSold = Array.from({ length: source.lengthAt(kept) }, (_, index) =>
    source.clean([...kept, index]),
  ).includes(currency);
  return { sold: (both || has('max')) && !isNeverSold, bought: both || has('min') };
}
