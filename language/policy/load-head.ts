/**
 * The parts that every kind of policy has: currencies, amounts and limits in quotes, the fields that live requires, and the
 * common record.
 */
import type * as z from 'zod';
import { decimalsOf, KNOWN_CURRENCIES } from '../../domain/currencies.ts';
import type { Guard, Limits, Money, PolicyHead, ReferenceGuard } from '../../domain/policy.ts';
import { parseDuration } from '../../calendar/business-date.ts';
import { cutTo, fractionDigits, isZero, smallest } from '../text/amount-text.ts';
import { readMoney, readTimeInZone, unquotedComplaint } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import { unknownCurrency } from '../text/unknown-currency.ts';
import type { Path, YamlSource } from '../text/yaml-source.ts';
import { toSchedule } from './load-schedule.ts';
import type { ConvertSchema, PayoutSchema, RebalanceSchema } from './policy-schema.ts';

/**
 * Warns about a currency that neither our table nor the service file has. It is taken to have as many decimals as most
 * currencies.
 */
export function warnUnknownCurrency(source: YamlSource, path: Path): void {
  const code = source.clean(path);
  if (code === null || KNOWN_CURRENCIES.includes(code)) return;
  const complaint = unknownCurrency(code);
  const message = `${complaint.message}; it is taken to have 2 decimals`;
  source.warn(source.placeAt(path), { ...complaint, message });
}

/**
 * The limit at `path`, with its quotes and decimals checked; null where there is none, or where a mistake in it has been
 * reported.
 */
export function limitAt(
  source: YamlSource,
  path: Path,
  decimals: Readonly<Record<string, number>>,
): Money | null {
  const text = source.clean(path);
  if (text === null) return null;
  if (source.written(path)?.quoted === false) {
    source.report(source.placeAt(path), unquotedComplaint(text));
    return null;
  }
  const limit = readMoney(text);
  checkDecimalsAt(source, { path, ...limit }, decimals);
  return limit;
}

/** Checks that an amount has no more decimals than its currency. */
export function checkDecimalsAt(
  source: YamlSource,
  amount: Money & { readonly path: Path },
  overrides: Readonly<Record<string, number>>,
): void {
  const { path, value, currency } = amount;
  const decimals = decimalsOf(currency, overrides);
  if (fractionDigits(value) <= decimals) return;
  const cut = cutTo(value, decimals);
  source.report(source.placeWithin(path, value, 'start'), {
    mistake: 'AMOUNT_DECIMALS',
    message: `${quoted(value)} has ${fractionDigits(value)} decimals; ${currency} has ${decimals}`,
    fix:
      isZero(cut) && !isZero(value)
        ? `write at least "${smallest(decimals)}"`
        : `write "${cut}" (cut off), or set \`decimals\` in the service file if the service takes more`,
  });
}

/** A field that must be written, and an example of it. */
export type Required = { readonly path: Path; readonly write: string };

/** A map that is there must have at least one of these fields. An empty map would look as if it had an effect. */
export function requireOneOf(
  source: YamlSource,
  path: Path,
  fields: readonly string[],
  words: { readonly message: string; readonly fix: string },
): void {
  if (source.shapeAt(path) !== 'map' || source.isSpoiled(path)) return;
  if (fields.some((name) => source.has([...path, name]))) return;
  source.report(source.keyPlaceAt(path), { mistake: 'MISSING_FIELD', ...words });
}

/**
 * In live, everything that could lose money must be written in the policy, and is never a default.
 * @param guard an example of a price guard; null: the policy trades nothing
 */
export function requireInLive(source: YamlSource, more: readonly Required[], guard: string | null): void {
  if (source.clean(['environment']) !== 'live') return;
  const ofTrades: readonly Required[] =
    guard === null
      ? []
      : [
          { path: ['guard'], write: guard },
          { path: ['quote', 'settlement'], write: 'quote: { settlement: T0 }' },
          { path: ['settle', 'until'], write: 'settle: { until: funds }' },
        ];
  const required = [...ofTrades, { path: ['shortfall'], write: 'shortfall: skip' }, ...more];
  for (const { path, write } of required) {
    if (source.has(path)) continue;
    const parent = path.slice(0, -1);
    const hasParent = parent.length > 0 && source.has(parent);
    source.report(hasParent ? source.keyPlaceAt(parent) : source.placeAt(['environment']), {
      mistake: 'LIVE_UNSTATED',
      message: `in live \`${path.join('.')}\` must be written out; no default is taken`,
      fix: `write \`${write}\`, or what you mean instead`,
    });
  }
}

const PAID_LIMITS = ['per_payment', 'paid_per_run'] as const;
export type PaidLimit = Money & { readonly name: (typeof PAID_LIMITS)[number]; readonly path: Path };

/** The limits on payments, each currency once in each list. A limit with a mistake is reported and left out. */
export function paidLimits(
  source: YamlSource,
  decimals: Readonly<Record<string, number>>,
): readonly PaidLimit[] {
  return PAID_LIMITS.flatMap((name) => {
    const seen = new Set<string>();
    const found: PaidLimit[] = [];
    for (let index = 0; index < source.lengthAt(['limits', name]); index += 1) {
      const path: Path = ['limits', name, index];
      const limit = limitAt(source, path, decimals);
      if (limit === null) continue;
      if (seen.has(limit.currency)) {
        source.report(source.placeAt(path), {
          mistake: 'LIMIT_TWICE',
          message: `\`${name}\` has a limit in ${limit.currency} already`,
          fix: 'keep one limit per currency',
        });
        continue;
      }
      seen.add(limit.currency);
      found.push({ ...limit, name, path });
    }
    return found;
  });
}

/** The limits on trades, which every kind has. */
export function toTradeLimits(limits: {
  readonly per_trade?: string | undefined;
  readonly per_run?: string | undefined;
}): Pick<Limits, 'perTrade' | 'perRun'> {
  return {
    perTrade: limits.per_trade === undefined ? null : readMoney(limits.per_trade),
    perRun: limits.per_run === undefined ? null : readMoney(limits.per_run),
  };
}

type Parsed =
  z.output<typeof ConvertSchema> | z.output<typeof RebalanceSchema> | z.output<typeof PayoutSchema>;
type ParsedHead = Omit<Parsed, 'kind' | 'limits'> & Pick<z.output<typeof ConvertSchema>, 'schedule'>;

/** The limits on trades and on payments. */
export function toPaidLimits(limits: z.output<typeof ConvertSchema>['limits']): Limits | null {
  if (limits === undefined) return null;
  return {
    ...toTradeLimits(limits),
    perDay: null,
    perPayment: (limits.per_payment ?? []).map(readMoney),
    paidPerRun: (limits.paid_per_run ?? []).map(readMoney),
  };
}

/** The part of a policy's record that every kind has. */
export function toHead(
  parsed: ParsedHead,
  limits: Limits | null,
  worstRates: Guard['worstRates'],
): PolicyHead {
  return {
    name: parsed.name,
    environment: parsed.environment,
    zone: parsed.zone,
    schedule: parsed.schedule === undefined ? null : toSchedule(parsed.schedule),
    guard: parsed.guard === undefined ? null : { worstRates, reference: toReference(parsed.guard) },
    cutoffs: Object.entries(parsed.settle.cutoff ?? {}).map(([currency, text]) => ({
      currency,
      ...readTimeInZone(text),
    })),
    rules: {
      quote: {
        validForSeconds: VALID_FOR_SECONDS[parsed.quote.valid_for],
        settlement: parsed.quote.settlement,
        maxQuotes: parsed.quote.max_quotes,
      },
      settle: {
        until: parsed.settle.until,
        lateAfterMs:
          parsed.settle.late_after === undefined ? null : stated(parseDuration(parsed.settle.late_after)),
      },
      shortfall: parsed.shortfall,
      limits,
      unusualGuard: parsed.guard?.unusual ?? null,
    },
  };
}

const VALID_FOR_SECONDS = { '3s': 3, '15s': 15, '30s': 30, '45s': 45, '60s': 60 } as const;

function toReference(parsed: NonNullable<ParsedHead['guard']>): ReferenceGuard | null {
  if (parsed.reference === undefined) return null;
  const { file, max_age: maxAge } = parsed.reference;
  const worstCostBps = stated(parsed.worst_cost).slice(0, -'bps'.length);
  return { file, maxAgeMs: stated(parseDuration(maxAge)), worstCostBps };
}

/** A value that the checks have proven to be there. This never fills in a value. */
export function stated<T>(value: T | null | undefined): T {
  if (value === null || value === undefined)
    throw new Error('a policy passed its checks without a field that it needs');
  return value;
}
