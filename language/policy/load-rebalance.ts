/** Policies of kind rebalance: the rules that join several fields, and the record. */
import type * as z from 'zod';
import { KNOWN_CURRENCIES } from '../../domain/currencies.ts';
import { compare, subtract, sum } from '../../domain/money.ts';
import type { Limits, RebalancePolicy, Target } from '../../domain/policy.ts';
import { checkStructure } from '../text/check-structure.ts';
import type { Reserved } from '../text/check-structure.ts';
import { readMoney, readPercent, unquotedComplaint } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import { unknownCurrency } from '../text/unknown-currency.ts';
import type { Path, Place, YamlSource } from '../text/yaml-source.ts';
import {
  checkDecimalsAt,
  limitAt,
  requireInLive,
  requireOneOf,
  stated,
  toHead,
  toTradeLimits,
} from './load-head.ts';
import { checkSchedule } from './load-schedule.ts';
import { RebalanceSchema } from './policy-schema.ts';
import { BASE, checkGuard, GUARD, TARGETS, toWorstRates } from './rebalance-guard.ts';

type Decimals = Readonly<Record<string, number>>;

/** Reads a document of this kind; null when it has a mistake (the mistakes are in `source.problems()`). */
export function readRebalance(source: YamlSource, decimals: Decimals): RebalancePolicy | null {
  const parsed = checkStructure(RebalanceSchema, source, RESERVED);
  const currencies = Object.keys(targetsIn(source));
  checkBase(source, currencies, decimals);
  for (const currency of currencies) checkTarget(source, currency, decimals);
  checkShares(source, currencies);
  checkNeverSell(source, currencies);
  checkGuard(source, currencies);
  checkMoney(source, decimals);
  checkSchedule(source);
  requireInLive(source, liveLimits(source), GUARD);
  return parsed === null || source.problems().length > 0 ? null : toRebalancePolicy(parsed);
}

/** In live both limits must be there. */
function liveLimits(source: YamlSource): readonly { readonly path: Path; readonly write: string }[] {
  const [perTrade, perRun] = ['per_trade: "400000.00 USD"', 'per_run: "1000000.00 USD"'];
  if (!source.has(['limits'])) return [{ path: ['limits'], write: `limits: { ${perTrade}, ${perRun} }` }];
  return [
    { path: ['limits', 'per_trade'], write: perTrade },
    { path: ['limits', 'per_run'], write: perRun },
  ];
}

/** Fields of other kinds, and fields that a rebalance policy gets in a later version. */
const RESERVED: Reserved = {
  'limits.per_payment': { message: 'a rebalancing pays nothing', fix: 'delete it' },
  'limits.paid_per_run': { message: 'a rebalancing pays nothing', fix: 'delete it' },
  'rebalance.base.max': {
    message: 'the base has no `max`: every surplus is sold into it',
    fix: 'delete it, or give another currency a `max`',
  },
  convert: {
    message: '`convert` belongs to policies of kind convert',
    fix: 'write `kind: convert`, or delete it',
  },
  withdraw: { message: 'a rebalancing pays nothing', fix: 'delete it, or pay by a policy of kind convert' },
  payout: {
    message: '`payout` belongs to policies of kind payout',
    fix: 'write `kind: payout`, or delete it',
  },
};

function targetsIn(source: YamlSource): Readonly<Record<string, unknown>> {
  if (source.shapeAt(TARGETS) !== 'map') return {};
  const { rebalance } = source.value as { readonly rebalance: { readonly targets: Record<string, unknown> } };
  return rebalance.targets;
}

function checkBase(source: YamlSource, currencies: readonly string[], decimals: Decimals): void {
  const base = source.clean(BASE);
  if (base === null) return;
  refuseUnknown(source, { code: base, place: source.placeAt(BASE) }, decimals);
  const min: Path = ['rebalance', 'base', 'min'];
  const value = source.clean(min);
  if (value !== null) checkDecimalsAt(source, { path: min, value, currency: base }, decimals);
  if (currencies.includes(base)) {
    source.report(source.keyPlaceAt([...TARGETS, base]), {
      mistake: 'BASE_CURRENCY',
      message: `${base} is the base: it gives and takes what the other currencies need, and has no target of its own`,
      fix: 'delete it here; what must stay of it is `base.min`',
    });
  }
  if (currencies.length > 0 || source.shapeAt(TARGETS) !== 'map') return;
  source.report(source.keyPlaceAt(TARGETS), {
    mistake: 'MISSING_FIELD',
    message: '`targets` names no currency',
    fix: 'write one, such as `{ EUR: { min: "40000.00" } }`',
  });
}

/**
 * Refuses a currency that is not known. A run would leave a mistyped one alone each day, because the service offers no trade
 * in it.
 */
function refuseUnknown(
  source: YamlSource,
  { code, place }: { readonly code: string; readonly place: Place },
  decimals: Decimals,
): void {
  // A text that is no code at all has been reported already.
  if (!/^[A-Z0-9]{2,15}$/.test(code)) return;
  if (!KNOWN_CURRENCIES.includes(code) && !Object.hasOwn(decimals, code))
    source.report(place, unknownCurrency(code));
}

/** A target is one of three: `keep` with `band`, `share` with `band`, or `min` and `max`. */
function checkTarget(source: YamlSource, currency: string, decimals: Decimals): void {
  const at: Path = [...TARGETS, currency];
  if (source.shapeAt(at) !== 'map' || source.isSpoiled(at)) return;
  refuseUnknown(source, { code: currency, place: source.keyPlaceAt(at) }, decimals);
  const of = (field: string): Path => [...at, field];
  const has = (field: string): boolean => source.has(of(field));
  for (const field of ['keep', 'band', 'min', 'max']) {
    const value = source.clean(of(field));
    if (value !== null && !value.endsWith('%'))
      checkDecimalsAt(source, { path: of(field), value, currency }, decimals);
  }
  const ways = [has('keep'), has('share'), has('min') || has('max')].filter(Boolean).length;
  if (ways !== 1) {
    source.report(source.keyPlaceAt(at), {
      mistake: 'TARGET',
      message:
        ways === 0
          ? `${quoted(currency)} has no target`
          : `${quoted(currency)} has several targets, which cannot stand together`,
      fix: 'write one of `{ keep: "…", band: "…" }`, `{ share: 10%, band: 1% }`, `{ min: "…" }`, `{ max: "…" }`',
    });
    return;
  }
  checkBand(source, at, currency);
  const min = source.clean(of('min'));
  const max = source.clean(of('max'));
  if (min === null || max === null || compare(min, max) <= 0) return;
  source.report(source.placeAt(of('max')), {
    mistake: 'CONTRADICTION',
    message: `\`max\` ${max} is below \`min\` ${min}: ${currency} would be bought and sold for ever`,
    fix: 'write a `max` that is not below `min`',
  });
}

function checkBand(source: YamlSource, at: Path, currency: string): void {
  const band: Path = [...at, 'band'];
  const isShare = source.has([...at, 'share']);
  if (!isShare && !source.has([...at, 'keep'])) {
    if (!source.has(band)) return;
    source.report(source.keyPlaceAt(band), {
      mistake: 'CONTRADICTION',
      message: '`band` goes with `keep` or `share`; `min` and `max` are bounds themselves',
      fix: 'delete it',
    });
    return;
  }
  const middle = isShare ? 'share' : 'keep';
  if (!source.has(band)) {
    source.report(source.keyPlaceAt([...at, middle]), {
      mistake: 'MISSING_FIELD',
      message: `\`${middle}\` needs a \`band\`: how far ${currency} may be from it before anything is traded`,
      fix: isShare
        ? 'write `band: 1%` beside it'
        : 'write `band: "…"` beside it; "0.00" trades every difference',
    });
    return;
  }
  const text = source.clean(band);
  const kept = source.clean([...at, middle]);
  if (text === null || kept === null) return;
  if (text.endsWith('%') !== isShare) {
    source.report(source.placeAt(band), {
      mistake: 'CONTRADICTION',
      message: isShare ? 'the band of a share is a percentage' : 'the band of an amount is an amount',
      fix: isShare ? 'write it with %: 1%' : 'write an amount in quotes: "25000.00"',
    });
    return;
  }
  const [from, width] = isShare ? [stated(readPercent(kept)), stated(readPercent(text))] : [kept, text];
  if (compare(width, from) <= 0) return;
  source.report(source.placeAt(band), {
    mistake: 'BAND_TOO_LARGE',
    message: `a band of ${text} around ${kept} reaches below zero, so ${currency} would never be bought`,
    fix: `write a band of ${kept} at most, or only a \`max\``,
  });
}

function checkShares(source: YamlSource, currencies: readonly string[]): void {
  const shares = currencies.flatMap((currency) => {
    const path: Path = [...TARGETS, currency, 'share'];
    const text = source.clean(path);
    return text === null ? [] : [{ path, percent: stated(readPercent(text)) }];
  });
  const total = sum(shares.map(({ percent }) => percent));
  const last = shares.at(-1);
  if (last === undefined || compare(total, '100') <= 0) return;
  source.report(source.placeAt(last.path), {
    mistake: 'SHARES_TOO_LARGE',
    message: `with this one the shares add up to ${total}%, which is ${subtract(total, '100')}% more than there is`,
    fix: 'lower them to 100% together; what they leave stays in the base',
  });
}

function checkNeverSell(source: YamlSource, currencies: readonly string[]): void {
  const list: Path = ['rebalance', 'never_sell'];
  const base = source.clean(BASE);
  for (let index = 0; index < source.lengthAt(list); index += 1) {
    const currency = source.clean([...list, index]);
    if (currency === null) continue;
    const place = source.placeAt([...list, index]);
    if (currency === base) {
      source.report(place, {
        mistake: 'BASE_CURRENCY',
        message: `${currency} is the base, from which everything is bought`,
        fix: 'delete it here; what must stay of it is `base.min`',
      });
    } else if (!currencies.includes(currency)) {
      source.warn(place, {
        mistake: 'CONTRADICTION',
        message: `${currency} has no target, so nothing of it is sold anyway`,
        fix: 'delete it, or give it a target',
      });
    } else if (source.has([...TARGETS, currency, 'max'])) {
      source.report(place, {
        mistake: 'CONTRADICTION',
        message: `${currency} has a \`max\`, which is only reached by selling`,
        fix: 'delete one of the two',
      });
    }
  }
}

const TRADE_LIMITS = ['per_trade', 'per_run', 'per_day'] as const;

/** The base is on one side of every trade, so the limits are in the base. */
function checkMoney(source: YamlSource, decimals: Decimals): void {
  const base = source.clean(BASE);
  const minTrade: Path = ['rebalance', 'min_trade'];
  const text = source.clean(minTrade);
  if (text !== null && source.written(minTrade)?.quoted === false)
    source.report(source.placeAt(minTrade), unquotedComplaint(text));
  const amounts = [
    ...(text === null ? [] : [{ path: minTrade, ...readMoney(text) }]),
    ...TRADE_LIMITS.flatMap((name) => {
      const path: Path = ['limits', name];
      const limit = limitAt(source, path, decimals);
      return limit === null ? [] : [{ path, ...limit }];
    }),
  ];
  for (const { path, value, currency } of amounts) {
    if (path === minTrade) checkDecimalsAt(source, { path, value, currency }, decimals);
    if (base === null || currency === base) continue;
    source.report(source.placeWithin(path, currency, 'end'), {
      mistake: 'LIMIT_CURRENCY',
      message: `an amount in ${quoted(currency)} cannot be compared with every trade; each has ${base} on one side`,
      fix: `state it in ${base}`,
    });
  }
  // In live, these are reported among the fields that must be written.
  if (source.clean(['environment']) === 'live') return;
  requireOneOf(source, ['limits'], TRADE_LIMITS, {
    message: '`limits` is empty: it limits nothing',
    fix: 'write `per_trade: "400000.00 USD"` or `per_run: "1000000.00 USD"` in it',
  });
}

type Parsed = z.output<typeof RebalanceSchema>;

/** The record of a policy in which every check has passed. */
function toRebalancePolicy(parsed: Parsed): RebalancePolicy {
  const {
    base,
    targets,
    never_sell: neverSell,
    min_trade: minTrade,
    max_trades: maxTrades,
  } = parsed.rebalance;
  return {
    kind: 'rebalance',
    ...toHead(parsed, toLimits(parsed.limits), toWorstRates(parsed.guard?.worst_rate)),
    rebalance: {
      base: { currency: base.currency, min: base.min ?? null },
      targets: Object.entries(targets).map(([currency, target]) => ({ currency, goal: toGoal(target) })),
      neverSell: neverSell ?? [],
      minTrade: minTrade === undefined ? null : readMoney(minTrade).value,
      maxTrades: maxTrades ?? null,
    },
  };
}

function toLimits(limits: Parsed['limits']): Limits | null {
  if (limits === undefined) return null;
  const perDay = limits.per_day === undefined ? null : readMoney(limits.per_day);
  return { ...toTradeLimits(limits), perDay, perPayment: [], paidPerRun: [] };
}

function toGoal({ keep, share, band, min, max }: Parsed['rebalance']['targets'][string]): Target['goal'] {
  if (keep !== undefined) return { kind: 'keep', keep, band: stated(band) };
  if (share !== undefined)
    return {
      kind: 'share',
      sharePercent: stated(readPercent(share)),
      bandPercent: stated(readPercent(stated(band))),
    };
  return { kind: 'range', min: min ?? null, max: max ?? null };
}
