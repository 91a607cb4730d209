/**
 * The one reader of plans: it knows every version of a plan's shape and refuses one that it does not know (design: "The
 * plan is made once"). A plan comes out of Temporal, where others may have put what looks like one.
 */
import type { Leg, Payment, Plan } from './plan.ts';
import { isPart } from './references.ts';
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
  type Shaped,
} from './shape.ts';

const isName: Field = (value) => typeof value === 'string' && isPart(value);
const isCurrency: Field = (value) => typeof value === 'string' && /^[A-Z0-9]{2,12}$/.test(value);
const isAmount: Field = (value) => typeof value === 'string' && /^\d{1,30}(\.\d{1,30})?$/.test(value);
const isDecimals: Field = (value) => Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= 30;

const LEG = {
  id: isName,
  reference: lineOf(300),
  sell: isCurrency,
  buy: isCurrency,
  amount: orNull(recordOf({ side: oneOf('buy', 'sell'), value: isAmount, fixed: isFlag })),
} as const satisfies Readonly<Record<keyof Leg, Field>>;

const isPaymentAmount: Field = (value) =>
  recordOf({ kind: oneOf('fixed'), value: isAmount })(value) ||
  recordOf({
    kind: oneOf('proceeds'),
    leg: isName,
    rounding: oneOf('down', 'half-even'),
    decimals: isDecimals,
  })(value);

const PAYMENT = {
  id: isName,
  reference: lineOf(300),
  account: lineOf(300),
  currency: isCurrency,
  amount: isPaymentAmount,
  dependsOn: orNull(isName),
} as const satisfies Readonly<Record<keyof Payment, Field>>;

const VERSION_1 = {
  version: oneOf(1),
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
  fences: recordOf({ opensAtMs: isMoment, tradesUntilMs: isMoment, withdrawalsUntilMs: isMoment }),
  quote: isRecord,
  guard: orNull(isRecord),
  settle: isRecord,
  shortfall: oneOf('skip', 'hold'),
  lateAfterMs: isRecord,
  limits: orNull(isRecord),
  legs: listOf(recordOf(LEG)),
  payments: listOf(recordOf(PAYMENT)),
  pinnedAtMs: isMoment,
  foundRecords: isFlag,
  pinnedFor: lineOf(200),
} as const satisfies Readonly<Record<keyof Plan, Field>>;

/** A plan as the workflow `plan` completed with it; refused when it is of no version that this program knows. */
export function planOf(value: unknown): Shaped<Plan> {
  const why = misshapen(value, VERSION_1);
  return why === null ? { ok: true, value: value as Plan } : { ok: false, why };
}
