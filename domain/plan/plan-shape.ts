/**
 * The one reader of plans. It refuses a plan of a version that it does not know (design: "The plan is made once"). A plan
 * comes from Temporal, where others may have put something that looks like a plan.
 */
import {
  wholePlan,
  type KeptPayment,
  type KeptPlan,
  type Leg,
  type Plan,
  type PlanHead,
  type Position,
} from './plan.ts';
import { RESTRAINTS } from './restraints.ts';
import { CHUNK } from '../batch.ts';
import { IN_PLACE } from '../replacement.ts';
import type { PayoutRules, PolicyRules } from '../policy.ts';
import { isPart } from '../references.ts';
import {
  isRecord,
  isFlag,
  isMoment,
  lineOf,
  listOf,
  misshapen,
  oneOf,
  orNull,
  recordOf,
  type Field,
  type Fields,
  type Shaped,
} from '../shape.ts';

const isName: Field = (value) => typeof value === 'string' && isPart(value);
const isCurrency: Field = (value) => typeof value === 'string' && /^[A-Z0-9]{2,12}$/.test(value);
const isAmount: Field = (value) => typeof value === 'string' && /^\d{1,30}(\.\d{1,30})?$/.test(value);
const isDecimals: Field = (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= 30;

/** A rate is never zero, since other numbers are divided by it. */
const isFactor: Field = (value) =>
  typeof value === 'string' && /^\d{1,150}(\.\d{1,150})?$/.test(value) && /[1-9]/.test(value);

const isReason: Field = (value) =>
  recordOf({ kind: oneOf('fixed', 'found', 'forgotten') })(value) ||
  recordOf({ kind: oneOf('all above'), available: lineOf(60), keep: isAmount })(value) ||
  recordOf({ kind: oneOf('target'), currency: isCurrency })(value);

const isGuard = recordOf({
  bound: orNull(recordOf({ buyFactor: lineOf(300), sellFactor: lineOf(300) })),
  text: lineOf(400),
  // 0: no rate counts as fresh.
  staleAtMs: orNull((value) => value === 0 || isMoment(value)),
  referenceRate: orNull(
    recordOf({
      times: isFactor,
      over: isFactor,
      currency: isCurrency,
      decimals: isDecimals,
    }),
  ),
});

const LEG = {
  id: isName,
  reference: lineOf(300),
  sell: isCurrency,
  buy: isCurrency,
  amount: orNull(recordOf({ side: oneOf('buy', 'sell'), value: isAmount, fixed: isFlag })),
  why: isReason,
  guard: orNull(isGuard),
  needsFromSales: isAmount,
} as const satisfies Readonly<Record<keyof Leg, Field>>;

const POSITION = {
  currency: isCurrency,
  withdrawable: lineOf(60),
  projected: orNull(lineOf(60)),
  target: orNull(lineOf(60)),
  low: orNull(lineOf(60)),
  high: orNull(lineOf(60)),
  wanted: orNull(recordOf({ side: oneOf('buy', 'sell'), value: isAmount })),
  traded: isAmount,
  restraint: orNull(oneOf(...RESTRAINTS)),
} as const satisfies Readonly<Record<keyof Position, Field>>;

const isPaymentAmount: Field = (value) =>
  recordOf({ kind: oneOf('fixed'), value: isAmount })(value) ||
  recordOf({
    kind: oneOf('proceeds', 'rest'),
    leg: isName,
    rounding: oneOf('down', 'half-even'),
    decimals: isDecimals,
  })(value);

const PAYMENT = {
  id: isName,
  account: lineOf(300),
  currency: isCurrency,
  amount: isPaymentAmount,
  dependsOn: orNull(isName),
} as const satisfies Readonly<Record<keyof KeptPayment, Field>>;

const isMoney = recordOf({ value: isAmount, currency: isCurrency });
const isCount: Field = (value) => Number.isSafeInteger(value) && Number(value) > 0;

const isChunk = recordOf({
  payments: isCount,
  hash: lineOf(64),
  unpayable: orNull(lineOf(CHUNK.payments)),
  alike: (value) => value === undefined || lineOf(CHUNK.payments)(value),
});

const RULES = {
  quote: isRecord,
  settle: isRecord,
  shortfall: oneOf('skip', 'hold'),
  limits: orNull(isRecord),
  unusualGuard: orNull(lineOf(100)),
} as const satisfies Readonly<Record<keyof PolicyRules, Field>>;

const PAYOUT_RULES = {
  parallel: isCount,
  stopAfter: orNull(isRecord),
  canary: orNull(isCount),
  dedupeMs: isCount,
} as const satisfies Readonly<Record<keyof PayoutRules, Field>>;

const isBatch = recordOf({
  payments: isCount,
  totals: listOf(isMoney),
  payable: listOf(isMoney),
  heldBy: listOf(lineOf(200)),
  chunks: listOf(isChunk),
  rules: recordOf(PAYOUT_RULES),
});

const VERSION_1 = {
  version: oneOf(1),
  ...IN_PLACE,
  bodyLayout: oneOf(1),
  run: recordOf({ policy: isName, id: isName }),
  credentials: recordOf({
    mode: oneOf('SANDBOX', 'LIVE'),
    organisation: lineOf(300),
    keyName: lineOf(300),
  }),
  policy: recordOf({ name: isName, hash: lineOf(100) }),
  zone: lineOf(100),
  date: (value) => typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value),
  sendWindows: recordOf({ opensAtMs: isMoment, tradesUntilMs: isMoment, withdrawalsUntilMs: isMoment }),
  rules: recordOf(RULES),
  lateAfterMs: isRecord,
  legs: listOf(recordOf(LEG)),
  notNeeded: listOf(
    recordOf({ id: isName, sell: isCurrency, buy: isCurrency, available: lineOf(60), keep: isAmount }),
  ),
  positions: listOf(recordOf(POSITION)),
  payments: listOf(recordOf(PAYMENT)),
  batch: orNull(isBatch),
  totals: listOf(recordOf({ what: oneOf('sell', 'buy', 'pay'), currency: isCurrency, value: isAmount })),
  madeAtMs: isMoment,
  foundRecords: isFlag,
  madeFor: lineOf(200),
} as const satisfies Readonly<Record<keyof KeptPlan, Field>>;

const {
  policy: _policy,
  legs: _legs,
  payments: _payments,
  batch: _batch,
  positions: _positions,
  ...HEAD_1
} = VERSION_1;

/** The plan as activities answer it: they have read it by `planOf`. */
export const isKeptPlan: Field = recordOf(VERSION_1);
/** The same of a plan without its items. */
export const isPlanHead: Field = recordOf(HEAD_1 satisfies Readonly<Record<keyof PlanHead, Field>>);

/** The versions that this program can read, each with its own shape. */
const VERSIONS: Readonly<Record<Plan['version'], Fields>> = { 1: VERSION_1 };

/**
 * Reads the plan with which the workflow `plan` completed. Refuses it when its version, or its body layout, is not known
 * here.
 */
export function planOf(value: unknown): Shaped<Plan> {
  const version = isRecord(value) ? value['version'] : null;
  if (!isKnownVersion(version))
    return {
      ok: false,
      why: `The plan is of version ${told(version)}, and this version of Cambist reads ${known(VERSIONS)}.`,
    };
  const layout = isRecord(value) ? value['bodyLayout'] : null;
  if (layout !== 1)
    return {
      ok: false,
      why: `Its requests are written in layout ${told(layout)}, and this version of Cambist writes only layout 1.`,
    };
  const why = misshapen(value, VERSIONS[version]);
  if (why !== null) return { ok: false, why };
  return { ok: true, value: wholePlan(value as KeptPlan) };
}

function isKnownVersion(version: unknown): version is Plan['version'] {
  return typeof version === 'number' && Object.hasOwn(VERSIONS, version);
}

function known(versions: object): string {
  return Object.keys(versions).join(', ');
}

/** The value as a text, for a message; it may be anything. */
function told(value: unknown): string {
  return typeof value === 'number' ? `${value}` : 'that is not known';
}
