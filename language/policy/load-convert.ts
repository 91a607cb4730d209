/** Policies of kind convert: the rules that join several fields, and the record. */
import type * as z from 'zod';
import { moneyText, WITHDRAWAL_CURRENCIES } from '../../domain/currencies.ts';
import { legIdOf } from '../../domain/plan/amounts.ts';
import { boundFromRate, type Pair, type PriceBound } from '../../domain/plan/price-bounds.ts';
import { add, compare, multiply, sum } from '../../domain/money.ts';
import type { ConvertAmount, ConvertPolicy, Money, Rate, WithdrawSpec } from '../../domain/policy.ts';
import { checkStructure } from '../text/check-structure.ts';
import type { Reserved } from '../text/check-structure.ts';
import { readRate, unquotedComplaint } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import type { Path, YamlSource } from '../text/yaml-source.ts';
import {
  checkDecimalsAt,
  limitAt,
  paidLimits,
  requireInLive,
  requireOneOf,
  stated,
  toHead,
  toPaidLimits,
  warnUnknownCurrency,
  type PaidLimit,
} from './load-head.ts';
import { checkSchedule } from './load-schedule.ts';
import { ConvertSchema } from './policy-schema.ts';

/** Reads a document of this kind; null when it has a mistake (the mistakes are in `source.problems()`). */
export function readConvert(
  source: YamlSource,
  decimals: Readonly<Record<string, number>>,
): ConvertPolicy | null {
  const parsed = checkStructure(ConvertSchema, source, RESERVED);
  checkConvert(source, decimals);
  return parsed === null || source.problems().length > 0 ? null : toConvertPolicy(parsed);
}

/** Fields of other kinds, and fields that a convert policy gets in a later version. */
const RESERVED: Reserved = {
  'limits.per_day': {
    message: '`per_day` does not exist for convert; limits of a run do: `per_run`, `paid_per_run`',
    fix: 'delete it, and bound the run by `per_run`',
  },
  rebalance: {
    message: '`rebalance` belongs to policies of kind rebalance',
    fix: 'write `kind: rebalance`, or delete it',
  },
  payout: {
    message: '`payout` belongs to policies of kind payout',
    fix: 'write `kind: payout`, or delete it',
  },
};

/** The rules that join several fields. Each rule checks only values without a reported mistake. */
function checkConvert(source: YamlSource, decimals: Readonly<Record<string, number>>): void {
  const fixed = fixedAmounts(source);
  checkPair(source);
  checkAmount(source);
  checkGuard(source);
  checkLimits(source, fixed, decimals);
  checkWithdrawals(source, fixed);
  checkDecimals(source, fixed, decimals);
  checkSums(source, fixed);
  checkSchedule(source);
  requireInLive(source, requiredLimits(source), 'guard: { worst_rate: "…" }');
}

/** The amount of a payment, written as `{ fixed: "…" }`. */
type FixedAmount = { readonly path: Path; readonly value: string };

/** The fixed amounts that have no mistake. */
function fixedAmounts(source: YamlSource): readonly FixedAmount[] {
  const fixed: FixedAmount[] = [];
  for (let index = 0; index < source.lengthAt(['withdraw']); index += 1) {
    const path: Path = ['withdraw', index, 'amount', 'fixed'];
    const value = source.clean(path);
    if (value !== null) fixed.push({ path, value });
  }
  return fixed;
}

const SELL: Path = ['convert', 'sell'];
const BUY: Path = ['convert', 'buy'];
const AMOUNT: Path = ['convert', 'amount'];

function checkPair(source: YamlSource): void {
  const sell = source.clean(SELL);
  const buy = source.clean(BUY);
  if (sell !== null && sell === buy) {
    source.report(source.placeAt(BUY), {
      mistake: 'SAME_CURRENCY',
      message: `${quoted(buy)} is both sold and bought`,
      fix: 'write two different currencies',
    });
  }
  for (const path of [SELL, BUY]) warnUnknownCurrency(source, path);
  if (buy !== null && source.lengthAt(['withdraw']) > 0 && !WITHDRAWAL_CURRENCIES.includes(buy)) {
    source.warn(source.placeAt(BUY), {
      mistake: 'CURRENCY_NOT_WITHDRAWABLE',
      message: `the service is not known to pay out ${quoted(buy)}`,
      fix: 'ask the operator of the service, or leave `withdraw` out',
    });
  }
}

function checkAmount(source: YamlSource): void {
  if (source.shapeAt(AMOUNT) !== 'map' || source.isSpoiled(AMOUNT)) return;
  const sell: Path = [...AMOUNT, 'sell'];
  const buy: Path = [...AMOUNT, 'buy'];
  const keep: Path = [...AMOUNT, 'keep'];
  if (source.has(sell) && source.has(buy)) {
    source.report(source.keyPlaceAt(buy), {
      mistake: 'CONTRADICTION',
      message: '`sell` and `buy` cannot stand together: only one side of a conversion can be fixed',
      fix: 'delete one of the two',
    });
  } else if (!source.has(sell) && !source.has(buy)) {
    source.report(source.keyPlaceAt(AMOUNT), {
      mistake: 'MISSING_FIELD',
      message: '`amount` says neither `sell` nor `buy`',
      fix: 'write one of `{ sell: "1000.00" }`, `{ buy: "17000.00" }`, `{ sell: all, keep: "500.00" }`',
    });
  }
  const isAll = source.clean(sell) === 'all';
  if (isAll && !source.has(keep)) {
    source.report(source.placeAt(sell), {
      mistake: 'MISSING_FIELD',
      message: '`sell: all` needs `keep`, the amount that stays behind',
      fix: 'write `{ sell: all, keep: "0.00" }` to sell everything',
    });
  }
  if (!isAll && source.has(keep) && !source.isSpoiled(sell)) {
    source.report(source.keyPlaceAt(keep), {
      mistake: 'CONTRADICTION',
      message: '`keep` only goes with `sell: all`',
      fix: 'delete `keep`, or write `sell: all`',
    });
  }
}

function checkGuard(source: YamlSource): void {
  const guard: Path = ['guard'];
  if (source.shapeAt(guard) !== 'map' || source.isSpoiled(guard)) return;
  const worstRate: Path = ['guard', 'worst_rate'];
  const reference: Path = ['guard', 'reference'];
  const worstCost: Path = ['guard', 'worst_cost'];
  const byReference = source.has(reference) || source.has(worstCost);
  if (source.has(worstRate) && byReference) {
    source.report(source.keyPlaceAt(source.has(reference) ? reference : worstCost), {
      mistake: 'CONTRADICTION',
      message: 'a guard is either `worst_rate` or `reference` with `worst_cost`, not both',
      fix: 'delete one of the two',
    });
  } else if (!source.has(worstRate) && !byReference) {
    source.report(source.keyPlaceAt(guard), {
      mistake: 'MISSING_FIELD',
      message: '`guard` is empty: it guards against nothing',
      fix: 'write `{ worst_rate: "16.90 MXN per USD" }`, or `reference` with `worst_cost`',
    });
  } else if (byReference && source.has(reference) !== source.has(worstCost)) {
    const missing = source.has(reference)
      ? 'worst_cost: 25bps'
      : 'reference: { file: rates/daily.yaml, max_age: 30h }';
    source.report(source.keyPlaceAt(source.has(reference) ? reference : worstCost), {
      mistake: 'MISSING_FIELD',
      message: '`reference` and `worst_cost` need each other',
      fix: `write \`${missing}\``,
    });
  }
  const rate = source.clean(worstRate);
  if (rate === null) return;
  if (source.written(worstRate)?.quoted === false) {
    source.report(source.placeAt(worstRate), unquotedComplaint(rate));
    return;
  }
  const { currency, per } = readRate(rate);
  const pair = [source.clean(SELL), source.clean(BUY)];
  if (pair.includes(null)) return;
  const stranger = [currency, per].find((code) => !pair.includes(code));
  if (stranger === undefined && currency !== per) return;
  source.report(source.placeWithin(worstRate, stranger ?? per, stranger === currency ? 'start' : 'end'), {
    mistake: 'RATE_PAIR',
    message: `the guard's rate is not between ${String(pair[0])} and ${String(pair[1])}`,
    fix: `write a rate in ${String(pair[1])} per ${String(pair[0])} or in ${String(pair[0])} per ${String(pair[1])}`,
  });
}

const TRADE_LIMITS = ['per_trade', 'per_run'] as const;
const PAID_LIMITS = ['per_payment', 'paid_per_run'] as const;

function checkLimits(
  source: YamlSource,
  fixed: readonly FixedAmount[],
  decimals: Readonly<Record<string, number>>,
): void {
  const limits: Path = ['limits'];
  if (source.shapeAt(limits) !== 'map' || source.isSpoiled(limits)) return;
  const pair = [source.clean(SELL), source.clean(BUY)];
  for (const name of TRADE_LIMITS) {
    const path: Path = ['limits', name];
    const limit = limitAt(source, path, decimals);
    if (limit === null) continue;
    if (pair.includes(null) || pair.includes(limit.currency)) {
      warnAboveLimit(source, limit);
      continue;
    }
    source.report(source.placeWithin(path, limit.currency, 'end'), {
      mistake: 'LIMIT_CURRENCY',
      message: `a limit in ${quoted(limit.currency)} cannot be compared with a trade of ${pair.join(' to ')}`,
      fix: `state the limit in ${pair.join(' or in ')}`,
    });
  }
  checkPaidLimits(source, fixed, decimals);
  requireOneOf(source, limits, [...TRADE_LIMITS, ...PAID_LIMITS, 'per_day'], {
    message: '`limits` is empty: it limits nothing',
    fix: 'write `per_trade: "1000.00 USD"` or `per_run: "1000.00 USD"` in it',
  });
}

/** A limit on payments must be in a currency that is paid. Otherwise it would look like a limit, but bound nothing. */
function checkPaidLimits(
  source: YamlSource,
  fixed: readonly FixedAmount[],
  decimals: Readonly<Record<string, number>>,
): void {
  const paid = source.clean(BUY);
  for (const limit of paidLimits(source, decimals)) {
    if (paid === null || limit.currency === paid) {
      warnPaidAboveLimit(source, fixed, limit);
      continue;
    }
    source.report(source.placeWithin(limit.path, limit.currency, 'end'), {
      mistake: 'LIMIT_CURRENCY',
      message: `the policy pays nothing in ${quoted(limit.currency)}, only in ${paid}`,
      fix: `state the limit in ${paid}`,
    });
  }
}

function warnPaidAboveLimit(source: YamlSource, fixed: readonly FixedAmount[], limit: PaidLimit): void {
  const { name } = limit;
  const isPerPayment = name === 'per_payment';
  let total = '0';
  const over = fixed.find(({ value }) => {
    total = isPerPayment ? value : add(total, value);
    return compare(total, limit.value) > 0;
  });
  if (over === undefined) return;
  source.warn(source.placeAt(over.path), {
    mistake: 'AMOUNT_ABOVE_LIMIT',
    message: `${isPerPayment ? `${moneyText(over.value, limit.currency)} is` : 'with this one the payments are'} above \`${name}\` of ${moneyText(limit.value, limit.currency)}: every run will be refused`,
    fix: 'lower the amount or raise the limit',
  });
}

/**
 * Warns when the policy's own limit would refuse every run. That is probably a slip. `run` refuses such a run, so it is no
 * mistake of the file.
 */
function warnAboveLimit(source: YamlSource, limit: Money): void {
  for (const [side, currency] of [
    ['sell', source.clean(SELL)],
    ['buy', source.clean(BUY)],
  ] as const) {
    const path: Path = [...AMOUNT, side];
    const fixed = source.clean(path);
    if (fixed === null || fixed === 'all' || currency !== limit.currency) continue;
    if (compare(fixed, limit.value) <= 0) continue;
    source.warn(source.placeAt(path), {
      mistake: 'AMOUNT_ABOVE_LIMIT',
      message: `${moneyText(fixed, currency)} is above the limit of ${moneyText(limit.value, limit.currency)}: every run will be refused`,
      fix: 'lower the amount or raise the limit',
    });
    return;
  }
}

function checkWithdrawals(source: YamlSource, fixed: readonly FixedAmount[]): void {
  const ids = new Map<string, Path>();
  const count = source.lengthAt(['withdraw']);
  const amounts = Array.from({ length: count }, (_, index): Path => ['withdraw', index, 'amount']);
  const proceeds = amounts.filter((path) => source.clean(path) === 'proceeds');
  const fixedCount = amounts.filter((path) => source.shapeAt(path) === 'map').length;
  for (let index = 0; index < count; index += 1) {
    checkId(source, ['withdraw', index, 'id'], ids);
    checkNoLeg(source, ['withdraw', index, 'id']);
    checkRounding(source, ['withdraw', index]);
  }
  for (const path of proceeds.slice(1)) {
    source.report(source.placeAt(path), {
      mistake: 'PROCEEDS_TWICE',
      message:
        'proceeds is the whole bought amount, and an entry above pays it already: this entry would pay it a second time',
      fix: 'keep one entry with `amount: proceeds`',
    });
  }
  const [first] = proceeds;
  if (first !== undefined && fixedCount > 0) {
    source.report(source.placeAt(first), {
      mistake: 'PROCEEDS_WITH_FIXED',
      message:
        'proceeds is the whole bought amount: with fixed amounts beside it more would be paid than was bought',
      fix: 'write `amount: rest` to pay what the fixed amounts leave, or pay the proceeds only',
    });
  }
  checkRest(source, amounts, { hasProceeds: proceeds.length > 0, fixed, fixedCount });
}

/** The rest is the part of the bought amount that the fixed amounts leave. At most one payment can get it. */
function checkRest(
  source: YamlSource,
  amounts: readonly Path[],
  {
    hasProceeds,
    fixed,
    fixedCount,
  }: { readonly hasProceeds: boolean; readonly fixed: readonly FixedAmount[]; readonly fixedCount: number },
): void {
  const [first, ...more] = amounts.filter((path) => source.clean(path) === 'rest');
  if (first === undefined) return;
  for (const path of more) {
    source.report(source.placeAt(path), {
      mistake: 'REST_TWICE',
      message: 'an entry above pays the rest already: nothing is left for this one',
      fix: 'keep one entry with `amount: rest`',
    });
  }
  if (hasProceeds) {
    source.report(source.placeAt(first), {
      mistake: 'REST_WITH_PROCEEDS',
      message: 'another entry pays the whole bought amount, so there is no rest',
      fix: 'write `{ fixed: "…" }` for that entry, or delete one of the two',
    });
  }
  const bought = source.clean([...AMOUNT, 'buy']);
  if (bought === null || fixedCount === 0 || fixed.length < fixedCount) return;
  if (compare(sumOf(fixed), bought) !== 0) return;
  source.report(source.placeAt(first), {
    mistake: 'REST_OF_NOTHING',
    message: `the fixed amounts are all of the ${bought} that are bought: there is no rest`,
    fix: 'buy more, or delete this entry',
  });
}

function checkId(source: YamlSource, path: Path, ids: Map<string, Path>): void {
  const id = source.clean(path);
  if (id === null) return;
  const earlier = ids.get(id.toLowerCase());
  ids.set(id.toLowerCase(), earlier ?? path);
  if (earlier === undefined) return;
  const same = source.clean(earlier) === id;
  source.report(source.placeAt(path), {
    mistake: 'DUPLICATE_ID',
    message: `${quoted(id)} is already on line ${source.lineOf(source.placeAt(earlier))}${same ? '' : ' (small and capital letters make no difference)'}`,
    fix: 'give each payment an id of its own',
  });
}

/** People name an item by its id alone. */
function checkNoLeg(source: YamlSource, path: Path): void {
  const id = source.clean(path);
  const [sell, buy] = [source.clean(SELL), source.clean(BUY)];
  if (id === null || sell === null || buy === null) return;
  if (id.toLowerCase() !== legIdOf({ sell, buy })) return;
  source.report(source.placeAt(path), {
    mistake: 'ID_OF_LEG',
    message: `${quoted(id)} is the id of the trade itself`,
    fix: 'give the payment another id',
  });
}

function checkRounding(source: YamlSource, entry: Path): void {
  const amount: Path = [...entry, 'amount'];
  const rounding: Path = [...entry, 'rounding'];
  const text = source.clean(amount);
  if ((text === 'proceeds' || text === 'rest') && !source.has(rounding)) {
    source.report(source.placeAt(amount), {
      mistake: 'ROUNDING_MISSING',
      message:
        text === 'proceeds'
          ? 'proceeds can have more decimals than the currency: say how they are rounded'
          : 'the rest can have more decimals than the currency: say how it is rounded',
      fix: 'write `rounding: down` (or half-even) beside it',
    });
  }
  if (source.shapeAt(amount) === 'map' && source.has(rounding)) {
    source.report(source.keyPlaceAt(rounding), {
      mistake: 'CONTRADICTION',
      message: 'a fixed amount is never rounded',
      fix: 'delete `rounding`',
    });
  }
}

function checkDecimals(
  source: YamlSource,
  fixed: readonly FixedAmount[],
  decimals: Readonly<Record<string, number>>,
): void {
  const sell = source.clean(SELL);
  const buy = source.clean(BUY);
  for (const [side, currency] of [
    ['sell', sell],
    ['keep', sell],
    ['buy', buy],
  ] as const) {
    const path: Path = [...AMOUNT, side];
    const value = source.clean(path);
    if (value !== null && value !== 'all' && currency !== null)
      checkDecimalsAt(source, { path, value, currency }, decimals);
  }
  if (buy === null) return;
  for (const amount of fixed) checkDecimalsAt(source, { ...amount, currency: buy }, decimals);
}

function sumOf(fixed: readonly FixedAmount[]): string {
  return sum(fixed.map(({ value }) => value));
}

/**
 * Compares the fixed payments with the amount that the conversion brings at least. Money is not converted for payments that
 * it cannot cover.
 */
function checkSums(source: YamlSource, fixed: readonly FixedAmount[]): void {
  const currency = source.clean(BUY);
  if (currency === null || fixed.length === 0 || source.shapeAt(AMOUNT) !== 'map') return;
  const total = sumOf(fixed);
  const place = source.placeAt(['withdraw']);
  const bought = source.clean([...AMOUNT, 'buy']);
  if (bought !== null) {
    if (compare(total, bought) <= 0) return;
    source.report(place, {
      mistake: 'WITHDRAWALS_EXCEED_AMOUNT',
      message: `the withdrawals add up to ${moneyText(total, currency)}; only ${moneyText(bought, currency)} is bought`,
      fix: 'buy more, or pay less',
    });
    return;
  }
  const sold = source.clean([...AMOUNT, 'sell']);
  const sell = source.clean(SELL);
  if (sold === null || sell === null) return;
  const rate = source.isSpoiled(['guard', 'worst_rate']) ? null : source.clean(['guard', 'worst_rate']);
  const bound = rate === null ? null : boundOf(readRate(rate), { sell, buy: currency });
  if (sold !== 'all' && bound !== null) {
    // The worst price that the guard takes, and so the least that the sale brings.
    const least = { sold: multiply(sold, bound.sellFactor), paid: multiply(total, bound.buyFactor) };
    if (compare(least.paid, least.sold) <= 0) return;
    source.report(place, {
      mistake: 'WITHDRAWALS_EXCEED_AMOUNT',
      message: `the withdrawals add up to ${moneyText(total, currency)}; at the worst rate that the guard allows, the sale of ${moneyText(sold, sell)} brings less`,
      fix: 'sell more, pay less, tighten the guard, or write `amount: { buy: … }` for exactly what is paid',
    });
    return;
  }
  if (source.has(['guard', 'reference'])) return;
  const why =
    sold === 'all'
      ? 'how much is sold is known only when the plan is made'
      : 'no guard says how much the sale brings at least';
  source.warn(place, {
    mistake: 'WITHDRAWALS_UNCOVERED',
    message: `the withdrawals add up to ${moneyText(total, currency)}, and the sale may bring less: ${why}`,
    fix: 'write `amount: { buy: … }` for exactly what is paid, or see that the balance covers the rest',
  });
}

/** The price bound of a rate; null for a rate of another pair, which is reported elsewhere. */
function boundOf(rate: Rate, pair: Pair): PriceBound | null {
  const isOfPair = [rate.currency, rate.per].toSorted().join() === [pair.sell, pair.buy].toSorted().join();
  return isOfPair ? boundFromRate(rate, pair) : null;
}

/** The limits that live requires: on the trades and, where the policy pays anything, on the payments. */
function requiredLimits(source: YamlSource): readonly { readonly path: Path; readonly write: string }[] {
  const traded = { name: 'per_run', write: 'per_run: "…"' };
  const paid = PAID_LIMITS.map((name) => ({
    name,
    write: `${name}: ["… ${source.clean(BUY) ?? 'MXN'}"]`,
  }));
  const wanted = [traded, ...(source.lengthAt(['withdraw']) > 0 ? paid : [])];
  const limits: Path = ['limits'];
  if (!source.has(limits))
    return [{ path: limits, write: `limits: { ${wanted.map(({ write }) => write).join(', ')} }` }];
  const hasTradeLimit = TRADE_LIMITS.some((name) => source.has([...limits, name]));
  return wanted
    .filter((limit) => limit !== traded || !hasTradeLimit)
    .map(({ name, write }) => ({ path: [...limits, name], write }));
}

type ParsedConvert = z.output<typeof ConvertSchema>;

/** The record of a policy in which every check has passed. */
function toConvertPolicy(parsed: ParsedConvert): ConvertPolicy {
  const { sell, buy, amount } = parsed.convert;
  const worst = parsed.guard?.worst_rate;
  const worstRates = worst === undefined ? [] : [{ sell, buy, rate: readRate(worst) }];
  return {
    kind: 'convert',
    ...toHead(parsed, toPaidLimits(parsed.limits), worstRates),
    convert: { sell, buy, amount: toAmount(amount) },
    withdraw: (parsed.withdraw ?? []).map(toWithdrawSpec),
  };
}

function toAmount(parsed: ParsedConvert['convert']['amount']): ConvertAmount {
  if (parsed.sell === 'all') return { kind: 'sell-all', keep: stated(parsed.keep) };
  if (parsed.sell !== undefined) return { kind: 'sell', value: parsed.sell };
  return { kind: 'buy', value: stated(parsed.buy) };
}

function toWithdrawSpec(parsed: NonNullable<ParsedConvert['withdraw']>[number]): WithdrawSpec {
  const { id, account, amount, rounding } = parsed;
  if (typeof amount === 'object') return { id, account, amount: { kind: 'fixed', value: amount.fixed } };
  return { id, account, amount: { kind: amount, rounding: stated(rounding) } };
}
