/**
 * Our runs as a schedule has them: what each is called, what its policy asks for, and what it pays. Made from the settings of the
 * schedule; no policy is read from a text here.
 */
import type { ReadInput } from '../../../activities/observing.ts';
import type { BatchPayment } from '../../../domain/batch.ts';
import { sum } from '../../../domain/money.ts';
import type {
  Guard,
  Limits,
  Money,
  PayoutPolicy,
  Policy,
  RebalancePolicy,
  ReferenceRates,
  WithdrawSpec,
} from '../../../domain/policy.ts';
import type { RunInput } from '../../../domain/run/calls.ts';
import { hashOfChunk } from '../../../language/batch/chunk-hash.ts';
import { formatOf } from '../../support/batch-format.ts';
import { RATES } from './prices.ts';
import type { BatchSettings, PolicySettings, RebalanceSettings } from './schedule.ts';

const DATE = '2026-11-21';
const ITEMS = ['usd-mxn-1', 'supplier', 'second'] as const;
const ITEMS_OF_REBALANCES = ['mxn-usd-1', 'usd-eur-1', 'usd-gbp-1'] as const;
/** The guard and the limit of a conversion that has them, in Mexican pesos. */
export const WORST_RATE = '17';
export const MOST_BOUGHT = '17300';
/** What a conversion leaves of the US dollars where it sells all others. */
export const KEPT = '500.00';
/** Of every rebalancing. */
export const TARGETS = {
  leastUsd: '1000',
  eur: '2500',
  bandEur: '250',
  leastGbp: '400',
  mostMxn: '1000',
  worstCostBps: 200,
} as const;
/** The limit of a batch that funds itself, where it has one, in US dollars. */
export const MOST_SPENT = '60';
/** Too old when trades of the date stop. */
const REFERENCE_RATES: ReferenceRates = {
  asOf: '2026-11-20T20:00:00Z',
  rates: RATES.map((text) => {
    const [value = '', currency = '', , per = ''] = text.split(' ');
    return { value, currency, per };
  }),
};

const BY_REFERENCE: Guard = {
  worstRates: [],
  reference: { file: 'rates.yaml', maxAgeMs: 30 * 3_600_000, worstCostBps: `${TARGETS.worstCostBps}` },
};
const NO_LIMITS: Limits = { perTrade: null, perRun: null, perDay: null, perPayment: [], paidPerRun: [] };

/** One run of ours: what it is called, what its policy asks, and what sets its items apart from those of another run. */
export type Ours = {
  readonly input: RunInput;
  readonly policy: PolicySettings;
  readonly prefix: string;
  /** The payments of a batch, chunk by chunk; null: it is none. */
  readonly batch: readonly (readonly BatchPayment[])[] | null;
  /** Null: it rebalances nothing. */
  readonly rebalance: RebalanceSettings | null;
  /** What people can say something of; not every plan has all of them. */
  readonly items: readonly [string, string, string];
};

/** A batch; the other one of its policy has every other payment of it. */
export function batchOf(which: 'the' | 'the other', policy: PolicySettings, of: BatchSettings): Ours {
  const isOther = which === 'the other';
  const sizes = isOther ? of.otherChunks : of.chunks;
  let count = 0;
  const batch = sizes.map((size) => Array.from({ length: size }, () => paymentOf((count += 1) - 1, isOther)));
  const plain = oursOf('p', policy);
  const { run } = plain.input;
  const input: RunInput = {
    ...plain.input,
    run: isOther ? { ...run, id: `${run.id}-b` } : run,
    batch: {
      payments: count,
      totals: [{ currency: 'MXN', value: sum(batch.flat().map(([, , , amount]) => amount)) }],
      chunks: batch.map((payments) => ({ payments: payments.length, hash: hashOfChunk(payments) })),
    },
  };
  return { ...plain, input, prefix: isOther ? 'b/' : '', batch };
}

/** The first two of a batch are twins. */
function paymentOf(index: number, isOther: boolean): BatchPayment {
  if (isOther && index % 2 === 1) return [`other-${index}`, `wac_other_${index}`, 'MXN', `${500 + index}`];
  const id = ['supplier', 'second'][index] ?? `payee-${index}`;
  return index < 2 ? [id, 'wac_supplier', 'MXN', '200'] : [id, `wac_${index}`, 'MXN', `${200 + index}`];
}

/** A rebalancing; the other one is of another policy with the same targets, or of the same policy on the same day. */
export function rebalanceOf(which: 'the' | 'the other', policy: PolicySettings, of: RebalanceSettings): Ours {
  const isOther = which === 'the other';
  const plain = oursOf(isOther && of.other === 'policy' ? 'q' : 'p', policy);
  const { run } = plain.input;
  const isSecond = isOther && of.other === 'run';
  return {
    ...plain,
    input: isSecond ? { ...plain.input, run: { ...run, id: `${run.id}-b` } } : plain.input,
    prefix: isSecond ? 'b/' : plain.prefix,
    rebalance: of,
    items: ITEMS_OF_REBALANCES,
  };
}

export function oursOf(name: 'p' | 'q', policy: PolicySettings): Ours {
  const input: RunInput = {
    run: { policy: name, id: '2026-11-21' },
    mode: 'SANDBOX',
    policyText: 'the policy',
    policyHash: 'a'.repeat(64),
    policyFile: `${name}.yaml`,
    files: {},
    startedBy: 'ana',
  };
  return {
    input,
    policy,
    prefix: name === 'p' ? '' : `${name}/`,
    batch: null,
    rebalance: null,
    items: ITEMS,
  };
}

/** What a policy of this kind pays, in Mexican pesos. */
export function paymentsOf({ pays }: Pick<PolicySettings, 'pays'>): readonly WithdrawSpec[] {
  const supplier = (amount: WithdrawSpec['amount']): WithdrawSpec => ({
    id: 'supplier',
    account: 'wac_supplier',
    amount,
  });
  const second = (value: string): WithdrawSpec => ({ ...supplier({ kind: 'fixed', value }), id: 'second' });
  const proceeds = supplier({ kind: 'proceeds', rounding: 'down' });
  const fixed = supplier({ kind: 'fixed', value: '17000.00' });
  switch (pays) {
    case 'nobody':
      return [];
    case 'proceeds':
      return [proceeds];
    case 'fixed':
      return [fixed];
    case 'twins':
      return [fixed, second('17000.00')];
    case 'both':
      return [proceeds, second('17000.00')];
    // By the price something is left, nothing, or less than nothing.
    case 'rest':
      return [supplier({ kind: 'rest', rounding: 'down' }), second('16900.00')];
    // More than fit one call: slices, in which payments leave side by side. The first two are twins.
    case 'batch':
      return Array.from({ length: BATCH }, (_, index) => ({
        id: ['supplier', 'second'][index] ?? `payee-${index}`,
        account: index < 2 ? 'wac_supplier' : `wac_${index}`,
        amount: { kind: 'fixed', value: index < 2 ? '200.00' : `${200 + index}.00` },
      }));
  }
}

/** Payments of a batch. */
const BATCH = 60;

function payoutOf(
  { input, policy }: Ours,
  { parallel, stopAfter, canary, dedupeMs = 30 * 86_400_000, isFunded }: BatchSettings,
): PayoutPolicy {
  return {
    kind: 'payout',
    name: input.run.policy,
    environment: 'sandbox',
    zone: 'UTC',
    schedule: null,
    cutoffs: [],
    guard: isFunded ? BY_REFERENCE : null,
    rules: {
      quote: { validForSeconds: 30, settlement: 'T0', maxQuotes: 5 },
      unusualGuard: null,
      settle: { until: isFunded ? policy.settle : 'funds', lateAfterMs: 3_600_000 },
      shortfall: policy.shortfall,
      limits:
        isFunded && policy.limit ? { ...NO_LIMITS, perRun: { value: MOST_SPENT, currency: 'USD' } } : null,
    },
    payout: {
      fund: isFunded ? { kind: 'net', from: 'USD' } : { kind: 'none' },
      format: formatOf(),
      rules: {
        parallel,
        stopAfter: stopAfter === null ? null : { failed: stopAfter, ratioPercent: null, sameCode: null },
        canary,
        dedupeMs,
      },
      destinations: null,
    },
  };
}

/** What the activities read of the policy of a run (`activities/observing.ts`). */
export function readInputOf(ours: Ours, batch: BatchSettings | null): ReadInput {
  const { policyHash: hash, batch: manifest = null } = ours.input;
  const policy = policyOf(ours, batch);
  const referenceRates = ours.rebalance !== null || batch?.isFunded === true ? REFERENCE_RATES : null;
  return {
    kind: 'read',
    policy,
    policyHash: hash,
    policyFile: 'p.yaml',
    date: DATE,
    referenceRates,
    destinations: null,
    manifest,
  };
}

function policyOf(ours: Ours, batch: BatchSettings | null): Policy {
  if (batch !== null) return payoutOf(ours, batch);
  if (ours.rebalance !== null) return rebalancePolicyOf(ours, ours.rebalance);
  const { input, policy } = ours;
  const { amount, shortfall, validForSeconds, guard, limit, settle } = policy;
  const amounts = {
    sell: { kind: 'sell', value: '1000.00' },
    buy: { kind: 'buy', value: '17000.00' },
    'sell all': { kind: 'sell-all', keep: KEPT },
  } as const;
  return {
    kind: 'convert',
    name: input.run.policy,
    environment: 'sandbox',
    zone: 'UTC',
    schedule: null,
    cutoffs: [],
    guard: guard
      ? {
          worstRates: [{ sell: 'USD', buy: 'MXN', rate: { value: WORST_RATE, currency: 'MXN', per: 'USD' } }],
          reference: null,
        }
      : null,
    rules: {
      quote: { validForSeconds, settlement: 'T0', maxQuotes: 5 },
      unusualGuard: null,
      settle: { until: settle, lateAfterMs: 3_600_000 },
      shortfall,
      limits: limit ? { ...NO_LIMITS, perTrade: { value: MOST_BOUGHT, currency: 'MXN' } } : null,
    },
    convert: { sell: 'USD', buy: 'MXN', amount: amounts[amount] },
    withdraw: paymentsOf(policy),
  };
}

function rebalancePolicyOf({ input, policy }: Ours, of: RebalanceSettings): RebalancePolicy {
  const usd = (value: string | null): Money | null => (value === null ? null : { value, currency: 'USD' });
  const { perTrade, perRun, perDay, maxTrades } = of;
  return {
    kind: 'rebalance',
    name: input.run.policy,
    environment: 'sandbox',
    zone: 'UTC',
    schedule: null,
    cutoffs: [],
    guard: BY_REFERENCE,
    rules: {
      quote: { validForSeconds: policy.validForSeconds, settlement: 'T0', maxQuotes: 5 },
      unusualGuard: null,
      settle: { until: 'status', lateAfterMs: 3_600_000 },
      shortfall: policy.shortfall,
      limits: { ...NO_LIMITS, perTrade: usd(perTrade), perRun: usd(perRun), perDay: usd(perDay) },
    },
    rebalance: {
      base: { currency: 'USD', min: TARGETS.leastUsd },
      targets: [
        { currency: 'EUR', goal: { kind: 'keep', keep: TARGETS.eur, band: TARGETS.bandEur } },
        { currency: 'GBP', goal: { kind: 'range', min: TARGETS.leastGbp, max: null } },
        { currency: 'MXN', goal: { kind: 'range', min: null, max: TARGETS.mostMxn } },
      ],
      neverSell: [],
      minTrade: '50',
      maxTrades,
    },
  };
}

/** A batch besides this one has a payment of this id too. */
export function isInAnotherBatch(id: string, ours: Ours, runs: readonly { readonly ours: Ours }[]): boolean {
  return runs.some((run) => run.ours !== ours && (run.ours.batch ?? []).flat().some(([name]) => name === id));
}
