/** Policies of kind payout: the rules that join several fields, and the record. */
import type * as z from 'zod';
import { parseDuration } from '../../calendar/business-date.ts';
import type { BatchFormat, PayoutFund, PayoutPolicy, StopRule, WorstRate } from '../../domain/policy.ts';
import { checkStructure } from '../text/check-structure.ts';
import type { Reserved } from '../text/check-structure.ts';
import { readPercent, readRate, unquotedComplaint } from '../text/leaves.ts';
import { quoted } from '../text/printable.ts';
import type { Path, YamlSource } from '../text/yaml-source.ts';
import {
  limitAt,
  paidLimits,
  requireInLive,
  requireOneOf,
  stated,
  toHead,
  toPaidLimits,
  warnUnknownCurrency,
  type Required,
} from './load-head.ts';
import { PayoutSchema } from './policy-schema.ts';

type Decimals = Readonly<Record<string, number>>;

/** Reads a document of this kind; null when it has a mistake (the mistakes are in `source.problems()`). */
export function readPayout(source: YamlSource, decimals: Decimals): PayoutPolicy | null {
  const parsed = checkStructure(PayoutSchema, source, RESERVED);
  checkFund(source);
  checkColumns(source);
  checkNumbers(source);
  requireOneOf(source, ['payout', 'ignore'], ['id', 'account', 'currency', 'amount'], {
    message: '`ignore` names no row',
    fix: 'write the text that such a row has in a column: `{ id: Summe }`',
  });
  checkStopRule(source);
  checkGuard(source);
  checkLimits(source, decimals);
  const isFunded = source.clean(MODE) !== 'none';
  requireInLive(source, requiredInLive(source, isFunded), isFunded ? GUARD : null);
  return parsed === null || source.problems().length > 0 ? null : toPayoutPolicy(parsed);
}

const FUND: Path = ['payout', 'fund'];
const FROM: Path = [...FUND, 'from'];
const MODE: Path = [...FUND, 'mode'];
const DESTINATIONS: Path = ['payout', 'destinations'];
const STOP_AFTER: Path = ['payout', 'stop_after'];
const GUARD = 'guard: { reference: { file: rates/daily.yaml, max_age: 30h }, worst_cost: 30bps }';

/** Fields that only other kinds have. */
const RESERVED: Reserved = {
  schedule: {
    message: 'a payout has no schedule: it is started by the person who has the batch file',
    fix: 'delete it',
  },
  convert: {
    message: '`convert` belongs to policies of kind convert',
    fix: 'write `kind: convert`, or delete it',
  },
  withdraw: {
    message:
      '`withdraw` belongs to policies of kind convert; the payments of a payout stand in its batch file',
    fix: 'move the payments into a batch file',
  },
  rebalance: {
    message: '`rebalance` belongs to policies of kind rebalance',
    fix: 'write `kind: rebalance`, or delete it',
  },
  'limits.per_day': {
    message: '`per_day` does not exist for payouts; limits of a run do: `per_run`, `paid_per_run`',
    fix: 'delete it',
  },
};

/** A policy that trades nothing has no currency to sell, no guard and no limit on trades. */
function checkFund(source: YamlSource): void {
  if (source.shapeAt(FUND) !== 'map' || source.isSpoiled(FUND)) return;
  const mode = source.clean(MODE);
  warnUnknownCurrency(source, FROM);
  if (mode === 'net' && !source.has(FROM)) {
    source.report(source.placeAt(MODE), {
      mistake: 'MISSING_FIELD',
      message: '`mode: net` needs `from`, the currency with which the others are bought',
      fix: 'write it beside it: `{ from: USD, mode: net }`',
    });
  }
  if (mode !== 'none') return;
  if (source.has(FROM)) {
    source.report(source.keyPlaceAt(FROM), {
      mistake: 'CONTRADICTION',
      message: '`from` goes with `mode: net`; with `none` nothing is traded',
      fix: 'delete `from`, or write `mode: net`',
    });
  }
  for (const path of BOUNDS_OF_TRADES)
    if (source.has(path))
      source.warn(source.keyPlaceAt(path), {
        mistake: 'CONTRADICTION',
        message: `\`${path.join('.')}\` bounds nothing: with \`mode: none\` nothing is traded`,
        fix: 'delete it, or write `mode: net`',
      });
}

/** What a policy says of trades, and of waiting for them. */
const BOUNDS_OF_TRADES: readonly Path[] = [
  ['guard'],
  ['quote'],
  ['settle', 'until'],
  ['settle', 'late_after'],
  ['limits', 'per_trade'],
  ['limits', 'per_run'],
];

/** No two fields may name the same column. */
function checkColumns(source: YamlSource): void {
  const names = ['id', 'account', 'currency', 'amount'] as const;
  const seen = new Map<string, string>();
  for (const name of names) {
    const whole: Path = ['payout', 'columns', name];
    const path: Path = source.shapeAt(whole) === 'map' ? [...whole, 'column'] : whole;
    const column = source.clean(path) ?? name;
    const other = seen.get(column);
    seen.set(column, other ?? name);
    if (other === undefined || source.isSpoiled(path)) continue;
    const written = source.has(path) ? path : (['payout', 'columns', other] as const);
    source.report(source.placeAt(written), {
      mistake: 'COLUMN_TWICE',
      message: `\`${other}\` and \`${name}\` are both read from the column ${quoted(column)}`,
      fix: 'name two different columns',
    });
  }
}

/** One sign cannot separate both, the decimals and the thousands. */
function checkNumbers(source: YamlSource): void {
  const numbers: Path = ['payout', 'numbers'];
  const group = source.clean([...numbers, 'group']);
  if (group === null || group !== source.clean([...numbers, 'decimal'])) return;
  source.report(source.placeAt([...numbers, 'group']), {
    mistake: 'CONTRADICTION',
    message: `${quoted(group)} cannot separate both the decimals and the thousands`,
    fix: 'name the sign that separates thousands, or delete `group`',
  });
}

function checkStopRule(source: YamlSource): void {
  requireOneOf(source, STOP_AFTER, ['failed', 'ratio', 'same_code'], {
    message: '`stop_after` names no rule',
    fix: 'write one in it, such as `failed: 5`, `ratio: 10%` or `same_code: 3`',
  });
}

/** Every trade sells the funding currency. A worst rate for the other direction would bound nothing. */
function checkGuard(source: YamlSource): void {
  const guard: Path = ['guard'];
  if (source.shapeAt(guard) !== 'map' || source.isSpoiled(guard)) return;
  const has = (field: string): boolean => source.has([...guard, field]);
  if (has('reference') !== has('worst_cost')) {
    source.report(source.keyPlaceAt([...guard, has('reference') ? 'reference' : 'worst_cost']), {
      mistake: 'MISSING_FIELD',
      message: '`reference` and `worst_cost` need each other',
      fix: `write \`${GUARD}\``,
    });
  } else if (!has('reference') && !has('worst_rate')) {
    source.report(source.keyPlaceAt(guard), {
      mistake: 'MISSING_FIELD',
      message: '`guard` is empty: it guards against nothing',
      fix: `write \`${GUARD}\``,
    });
  }
  const from = source.clean(FROM);
  const bought = new Set<string>();
  const list: Path = [...guard, 'worst_rate'];
  for (let index = 0; index < source.lengthAt(list); index += 1) {
    const path: Path = [...list, index];
    const text = source.clean(path);
    if (text === null) continue;
    if (source.written(path)?.quoted === false) {
      source.report(source.placeAt(path), unquotedComplaint(text));
      continue;
    }
    const { currency, per } = readRate(text);
    if (currency === per || (from !== null && per !== from)) {
      source.report(source.placeWithin(path, per, 'end'), {
        mistake: 'RATE_PAIR',
        message: `a payout only sells ${from ?? 'its funding currency'}, which stands after \`per\`, for another currency`,
        fix: `write what one ${from ?? 'unit of it'} must bring at least: "0.90 EUR per ${from ?? 'USD'}"`,
      });
    } else if (bought.has(currency)) {
      source.report(source.placeAt(path), {
        mistake: 'RATE_TWICE',
        message: `the worst rate for buying ${currency} is in the list already`,
        fix: 'delete one of the two',
      });
    }
    bought.add(currency);
  }
}

const TRADE_LIMITS = ['per_trade', 'per_run'] as const;

/** The funding currency is on one side of every trade, so limits on trades are in that currency. */
function checkLimits(source: YamlSource, decimals: Decimals): void {
  const from = source.clean(FROM);
  for (const name of TRADE_LIMITS) {
    const path: Path = ['limits', name];
    const limit = limitAt(source, path, decimals);
    if (limit === null || from === null || limit.currency === from) continue;
    source.report(source.placeWithin(path, limit.currency, 'end'), {
      mistake: 'LIMIT_CURRENCY',
      message: `a limit in ${quoted(limit.currency)} cannot be compared with every trade; each sells ${from}`,
      fix: `state it in ${from}`,
    });
  }
  paidLimits(source, decimals);
  requireOneOf(source, ['limits'], ['per_trade', 'per_run', 'per_payment', 'paid_per_run', 'per_day'], {
    message: '`limits` is empty: it limits nothing',
    fix: 'write `per_payment: ["50000.00 EUR"]` or `per_run: "900000.00 USD"` in it',
  });
}

function requiredInLive(source: YamlSource, isFunded: boolean): readonly Required[] {
  const traded = [
    { name: 'per_trade', write: 'per_trade: "500000.00 USD"' },
    { name: 'per_run', write: 'per_run: "900000.00 USD"' },
  ];
  const paid = [
    { name: 'per_payment', write: 'per_payment: ["50000.00 EUR"]' },
    { name: 'paid_per_run', write: 'paid_per_run: ["900000.00 EUR"]' },
  ];
  const wanted = [...(isFunded ? traded : []), ...paid];
  const limits = source.has(['limits'])
    ? wanted.map(({ name, write }) => ({ path: ['limits', name], write }))
    : [{ path: ['limits'], write: `limits: { ${wanted.map(({ write }) => write).join(', ')} }` }];
  return [
    { path: STOP_AFTER, write: 'stop_after: { failed: 5 }' },
    { path: DESTINATIONS, write: 'destinations: destinations.yaml' },
    ...limits,
  ];
}

type Parsed = z.output<typeof PayoutSchema>;

/** The record of a policy in which every check has passed. */
function toPayoutPolicy(parsed: Parsed): PayoutPolicy {
  const { fund, parallel, stop_after: stopAfter, canary, dedupe, destinations } = parsed.payout;
  return {
    kind: 'payout',
    ...toHead(parsed, toPaidLimits(parsed.limits), (parsed.guard?.worst_rate ?? []).map(toWorstRate)),
    schedule: null,
    payout: {
      fund: toFund(fund),
      format: toFormat(parsed.payout),
      rules: {
        parallel,
        stopAfter: toStopRule(stopAfter),
        canary: canary ?? null,
        dedupeMs: stated(parseDuration(dedupe)),
      },
      destinations: destinations ?? null,
    },
  };
}

function toFormat({ columns, numbers, encoding, ignore }: Parsed['payout']): BatchFormat {
  const { id, ...others } = columns;
  const names = { id: typeof id === 'string' ? id : id.column, ...others };
  const ignored = (['id', 'account', 'currency', 'amount'] as const).flatMap((column) => {
    const text = ignore?.[column];
    return text === undefined ? [] : [[names[column], text]];
  });
  return {
    columns: names,
    slugs: typeof id !== 'string',
    numbers: { decimal: numbers?.decimal ?? '.', group: numbers?.group ?? null },
    encoding,
    ignore: ignored.length === 0 ? null : (Object.fromEntries(ignored) as Record<string, string>),
  };
}

function toFund({ mode, from }: Parsed['payout']['fund']): PayoutFund {
  return mode === 'none' ? { kind: 'none' } : { kind: 'net', from: stated(from) };
}

function toStopRule(rule: Parsed['payout']['stop_after']): StopRule | null {
  if (rule === undefined) return null;
  return {
    failed: rule.failed ?? null,
    ratioPercent: rule.ratio === undefined ? null : stated(readPercent(rule.ratio)),
    sameCode: rule.same_code ?? null,
  };
}

/** The currency after `per` is sold. */
function toWorstRate(text: string): WorstRate {
  const rate = readRate(text);
  return { sell: rate.per, buy: rate.currency, rate };
}
