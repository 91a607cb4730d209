/**
 * The shapes of what activities answer. A person may press a button beside a pending activity and give it an answer of any
 * kind (design: "What a worker believes"). An answer of another shape is no answer: the workflow counts the call as failed.
 * The shapes say which fields there are and of which kind, never what a text may say. A field that no shape names is never
 * read, so it does no harm: a record that is more than was asked for, or the answer of a worker of a newer build. Pure.
 */
import { isDecimal } from '../money.ts';
import { isKeptPlan, isPlanHead } from '../plan/plan-shape.ts';
import type { Money } from '../policy.ts';
import type { Problem } from '../problems.ts';
import type { Short, Wait } from '../waits.ts';
import type { Doubt, SendState } from '../writes/doubt.ts';
import type { LegState, LegStep, QuoteInHand, Traded } from '../writes/leg-state.ts';
import type { Phase } from '../writes/phase.ts';
import type { Accepted, PaymentState, PaymentStep } from '../writes/withdrawal.ts';
import { isFlag, isRecord, lacking, listOf, orNull, textOf, type Field, type Fields } from '../shape.ts';
import type {
  ChunksAnswer,
  Confirmed,
  ConfirmedWithdrawal,
  GoAnswer,
  LegAnswer,
  Observed,
  PaymentsAnswer,
  PlanAnswer,
  Settlement,
  ShownTrade,
  ShownWithdrawal,
  Stopped,
  WithdrawalsAnswer,
} from './calls.ts';
import type { ChunkCounts, ChunkState, ChunkTotal, Held, Unpaid } from './chunk-state.ts';
import type { Evidence } from './state.ts';
import type { Refusals } from './stop-rule.ts';

/** One field for each of a type, so that none is forgotten. */
type FieldsOf<T> = Readonly<Record<keyof T, Field>>;
type Tagged = { readonly kind: string };
/** The fields of each arm of a union, without `kind`. */
type ArmsOf<T extends Tagged> = {
  readonly [Kind in T['kind']]: FieldsOf<Omit<Extract<T, { readonly kind: Kind }>, 'kind'>>;
};

function shapeOf<T>(fields: FieldsOf<T>): Field {
  return (value) => lacking(value, fields) === null;
}

function unionOf<T extends Tagged>(arms: ArmsOf<T>): Field {
  const fieldsOf: Readonly<Record<string, Fields>> = arms;
  return (value) => {
    const kind = isRecord(value) ? value['kind'] : null;
    if (typeof kind !== 'string' || !Object.hasOwn(fieldsOf, kind)) return false;
    return lacking(value, fieldsOf[kind] ?? {}) === null;
  };
}

const ifAny =
  (field: Field): Field =>
  (value) =>
    value === undefined || field(value);
const isText = textOf(Number.POSITIVE_INFINITY);
/** The workflow calculates with it, so that no other text may come this far. */
const isAmount: Field = (value) => typeof value === 'string' && isDecimal(value);
const idOf =
  (form: RegExp): Field =>
  (value) =>
    typeof value === 'string' && form.test(value);
const isTradeId = idOf(/^tde_[A-Za-z0-9]{1,22}$/);
const isWithdrawalId = idOf(/^wtd_[A-Za-z0-9]{1,22}$/);
const isNumber: Field = (value) => typeof value === 'number';
const isCount: Field = (value) => Number.isSafeInteger(value) && Number(value) >= 0;

const isProblem = shapeOf<Problem>({ code: isText, item: orNull(isText), message: isText, fix: isText });
const isProblems = listOf(isProblem);
const WHY = {
  reason: isText,
  problem: isProblem,
  safeAtMs: ifAny(isNumber),
  sinceMs: ifAny(isNumber),
  short: ifAny(shapeOf<Short>({ currency: isText, needed: isAmount, there: isAmount })),
};
const isWait = shapeOf<Wait>({ ...WHY, afterMs: isNumber });

// What is known of the writes of an item.

const isDespite = orNull(shapeOf({ available: isText, atMs: isNumber }));
const isPhase = unionOf<Phase>({
  open: {},
  short: { problem: isProblem, despite: isDespite },
  refused: { problem: isProblem },
  spent: { problem: isProblem },
});
const SEND_STATE = {
  knownIn: orNull(isText),
  knownAtMs: isNumber,
  sent: isFlag,
  doubt: orNull(
    shapeOf<Doubt>({
      lastSendMs: isNumber,
      absentAtMs: orNull(isNumber),
      under: orNull(isText),
      why: isText,
    }),
  ),
  heard: orNull(shapeOf({ id: isText, sinceMs: isNumber })),
  askedIn: orNull(isText),
  quietUntilMs: ifAny(isNumber),
  tries: isCount,
  phase: isPhase,
} satisfies FieldsOf<SendState>;
const SIDES = { sellAmount: isAmount, buyAmount: isAmount };
const QUOTED = { ...SIDES, onDate: ifAny(listOf(shapeOf<Money>({ currency: isText, value: isAmount }))) };
const isQuote = shapeOf<QuoteInHand>({
  id: isText,
  ...QUOTED,
  usableUntilMs: isNumber,
  probed: isFlag,
  seal: ifAny(isText),
});
const isLegState = shapeOf<LegState>({
  ...SEND_STATE,
  quote: orNull(isQuote),
  quotes: isCount,
  held: isFlag,
  available: orNull(isText),
});
const isPaymentState = shapeOf<PaymentState>({
  ...SEND_STATE,
  generation: isCount,
  walkedIn: orNull(isText),
  refusedAtMs: orNull(isNumber),
  hasOpenedEarly: isFlag,
  closedIds: listOf(isText),
});

const isTraded = shapeOf<Traded>({
  ...SIDES,
  tradeId: isTradeId,
  quoteId: isText,
  createdAtMs: isNumber,
  quoted: orNull(shapeOf(QUOTED)),
  status: isText,
});
const ACCEPTED = {
  withdrawalId: isWithdrawalId,
  createdAtMs: isNumber,
  reference: isText,
  status: isText,
  amount: isAmount,
} satisfies FieldsOf<Accepted>;
const isAccepted = shapeOf<Accepted>(ACCEPTED);
const isEvidence = listOf(
  shapeOf<Evidence>({
    at: isText,
    item: isText,
    call: isText,
    result: isText,
    traceId: orNull(isText),
    replayed: orNull(isFlag),
    quote: orNull(shapeOf({ ...SIDES, id: isText })),
  }),
);

// Calls that write.

export const isLegAnswer = shapeOf<LegAnswer>({
  step: unionOf<LegStep | Stopped>({
    quoted: { state: isLegState },
    requote: { state: isLegState },
    traded: {
      traded: isTraded,
      worse: orNull(isProblem),
      isHeld: isFlag,
      isFoundLate: ifAny(isFlag),
    },
    'not traded': { state: isLegState, problem: isProblem },
    wait: { state: isLegState, wait: isWait },
    stopped: { wait: isWait, mayHaveSent: isFlag },
  }),
  evidence: isEvidence,
  runId: isText,
});

const isPaymentStep = unionOf<PaymentStep>({
  accepted: { accepted: isAccepted },
  'not paid': { state: isPaymentState, problem: isProblem },
  wait: { state: isPaymentState, wait: isWait },
});
export const isPaymentsAnswer = shapeOf<PaymentsAnswer>({
  items: listOf(
    shapeOf<PaymentsAnswer['items'][number]>({ id: isText, step: isPaymentStep, traceId: ifAny(isText) }),
  ),
  evidence: isEvidence,
  runId: orNull(isText),
});

// Polls.

const isShownTrade = shapeOf<ShownTrade>({
  id: isTradeId,
  quoteId: isText,
  buyCurrency: isText,
  sellCurrency: isText,
  buyAmount: orNull(isAmount),
  sellAmount: orNull(isAmount),
  executedAmount: isAmount,
  status: isText,
  clientReferenceId: orNull(isText),
});
const isShownWithdrawal = shapeOf<ShownWithdrawal>({
  id: isWithdrawalId,
  currency: isText,
  withdrawalAmount: isAmount,
  status: isText,
  withdrawalAccountId: orNull(isText),
  tag: orNull(isText),
});
export const isSettlement = unionOf<Settlement>({
  settled: { record: isShownTrade },
  failed: { record: isShownTrade },
  news: { record: isShownTrade, isUnknown: isFlag },
  missing: {},
  'other run': { runId: isText },
  cancelled: {},
  wait: { wait: isWait },
});

export const isWithdrawalsAnswer = shapeOf<WithdrawalsAnswer>({
  wait: orNull(isWait),
  ended: listOf(
    shapeOf<WithdrawalsAnswer['ended'][number]>({
      id: isText,
      record: orNull(isShownWithdrawal),
      paid: orNull(isFlag),
      isUnknown: isFlag,
    }),
  ),
  runId: orNull(isText),
  hasToldEnd: isFlag,
});

const isConfirmedWithdrawal = shapeOf<ConfirmedWithdrawal>({
  ...ACCEPTED,
  reference: orNull(isText),
  isPaid: isFlag,
  hasFailed: ifAny(isFlag),
});
export const isConfirmed = unionOf<Confirmed>({
  shown: { trades: listOf(isTraded), withdrawals: listOf(isConfirmedWithdrawal) },
  wait: { wait: isWait },
});

// Reads.

export const isPlanAnswer = unionOf<PlanAnswer>({
  plan: { plan: isKeptPlan },
  refused: { problems: isProblems },
  waiting: { waiting: orNull(shapeOf(WHY)) },
  cancelled: {},
  'other policy': { planned: isText, given: isText },
});

const isChunkState = shapeOf<ChunkState>({
  number: isCount,
  heard: orNull(isText),
  isSending: isFlag,
  counts: shapeOf<ChunkCounts>({
    planned: isCount,
    accepted: isCount,
    paid: isCount,
    notPaid: isCount,
    needsHuman: isCount,
    open: isCount,
    sent: isCount,
    waiting: isCount,
  }),
  totals: listOf(
    shapeOf<ChunkTotal>({
      currency: isText,
      planned: isAmount,
      paid: isAmount,
      notPaid: isAmount,
      needsHuman: isAmount,
      accepted: isAmount,
    }),
  ),
  waits: listOf(shapeOf({ ...WHY, wakeAtMs: isNumber })),
  refusals: shapeOf<Refusals>({
    refused: isCount,
    sent: isCount,
    inARow: orNull(shapeOf({ code: isText, times: isCount })),
  }),
  unpaid: listOf(shapeOf<Unpaid>({ code: isText, payments: isCount })),
  held: ifAny(
    listOf(
      shapeOf<Held>({
        code: isText,
        reason: isText,
        currency: isText,
        payments: isCount,
        value: isAmount,
        there: orNull(isAmount),
      }),
    ),
  ),
  unseen: ifAny(isCount),
  isUnsure: ifAny(isFlag),
});
export const isChunksAnswer = shapeOf<ChunksAnswer>({
  chunks: listOf(
    shapeOf<ChunksAnswer['chunks'][number]>({
      number: isCount,
      state: orNull(isChunkState),
      isClosed: isFlag,
    }),
  ),
  runId: isText,
});

export const isGoAnswer = unionOf<GoAnswer>({
  go: {
    plan: isPlanHead,
    isFresh: isFlag,
    unpayable: orNull(isText),
    neverSent: ifAny(listOf(isCount)),
    heldBy: listOf(isText),
    alike: ifAny(isText),
    alikeIds: ifAny(isRecord),
    released: listOf(isText),
    most: orNull(isCount),
    stopped: orNull(isProblem),
    wakes: isCount,
    rules: isRecord,
    sideBySide: isCount,
    callSize: isCount,
    runId: isText,
  },
  over: { runId: isText },
  reopened: { runId: isText },
  wait: { wait: isWait },
  refused: { problem: isProblem },
});

/** This checks only the fields of what was observed: the plan that is made of it is read by its own closed shape. */
export const isObserved = unionOf<Observed>({
  observed: {
    policy: isRecord,
    policyHash: isText,
    date: isText,
    sendWindows: isRecord,
    hasTurn: isFlag,
    referenceRates: orNull(isRecord),
    decimals: isRecord,
    lateAfterMs: isRecord,
    observation: isRecord,
    batch: orNull(isRecord),
    paid: listOf(isRecord),
  },
  made: { plan: isKeptPlan },
  wait: { wait: isWait },
  refused: { problems: isProblems },
});

/** Of `startScheduled` (`workflows/calls.ts`). */
const STARTED = { date: isText, line: isText };
export const isScheduledAnswer = unionOf<
  | { readonly kind: 'started' | 'open' | 'ended' | 'day off'; readonly date: string; readonly line: string }
  | { readonly kind: 'refused'; readonly problems: readonly Problem[] }
>({
  started: STARTED,
  open: STARTED,
  ended: STARTED,
  'day off': STARTED,
  refused: { problems: isProblems },
});

/** Of `tryScheduled` (`workflows/calls.ts`), which `schedule apply` reads as the result of a workflow. */
export const isTrialAnswer = unionOf<
  { readonly kind: 'able' } | { readonly kind: 'not yet' | 'refused'; readonly problems: readonly Problem[] }
>({
  able: {},
  'not yet': { problems: isProblems },
  refused: { problems: isProblems },
});

/** An activity that only does something answers nothing. */
export const isNothing: Field = (value) => value === undefined || value === null;
