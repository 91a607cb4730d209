/**
 * The steps of one payment: the six before every write, the send under the key of the first generation that is not closed,
 * and what follows from every reply and every crash (M1, M2). A withdrawal is always tried again *under the same key* first.
 * The chain rule (design: "The chain rule") says when a later generation may open.
 */
import { minuteText } from '../waits.ts';
import type { Problem } from '../problems.ts';
import type { Wait } from '../waits.ts';
import {
  FOLLOW_UPS,
  backoffMs,
  followUp,
  isMalformed,
  isShownByBalances,
  waitMs,
  type AfterWithdrawal,
} from '../service/reply-rules.ts';
import type { LookAlike } from './look-alikes.ts';
import {
  GENERATIONS_AT_ONCE,
  closedIdsOf,
  eightOf,
  firstOf,
  type Eight,
  type InstructionsAbout,
} from '../people/instructions.ts';
import {
  LOOK_BACK_MS,
  candidatesOf,
  couldBe,
  isWithdrawalAsPlanned,
  isWithdrawalOf,
  lookForWithdrawal,
  withdrawalDifference,
  type Look,
  type PaymentIdentity,
} from './lookups.ts';
import { moneyText } from '../currencies.ts';
import { add, compare, isDecimal, isPositive } from '../money.ts';
import type { Payment } from '../plan/plan.ts';
import type { Withdrawal } from '../service/records.ts';
import { reference } from '../references.ts';
import type { Reply } from '../service/reply.ts';
import {
  adviceFor,
  BUG_OF_OURS,
  SLOW_LOOKUP_MS,
  ask,
  configurationWait,
  hasLeft,
  leavesInDoubt,
  nameOf,
  problemOf,
  resourceIdOf,
  serviceWait,
  waitToSendAgain,
  settleTimeMs,
  unreadable,
  type Context,
  type Steps,
} from './step.ts';
import {
  NOTHING_SENT,
  isNewStart,
  othersSendMs,
  triedAgain,
  unknownSend,
  withoutDoubt,
  type SendState,
} from './doubt.ts';
import { OPEN, forPerson, type PaymentPhase } from './phase.ts';
import {
  asNoOthers,
  isNamedHereOnly,
  beforeWrite,
  conclude,
  countNotExecuted,
  endUnsent,
  heldElsewhere,
  inDoubt,
  waitsSafely,
  isOf,
  lookUp,
  mayStillLeave,
  settleDoubt,
  waits,
  awaitsApproval,
  waitLonger,
  type Ready,
  type Subject,
  type Waits,
} from './protocol.ts';

/** What is known of a payment's writes. */
export type PaymentState = SendState & {
  readonly phase: PaymentPhase;
  /** The generation that is sent next: the first that is not closed. */
  readonly generation: number;
  /**
   * The Temporal run that has come to this generation, starting from the first. Another Temporal run starts from the first
   * again.
   */
  readonly walkedIn: string | null;
  /** When this Temporal run first saw the service refuse this generation; null: it has not seen that. */
  readonly refusedAtMs: number | null;
  /** True when this Temporal run has opened a generation before its time. A new start may do so once. */
  readonly hasOpenedEarly: boolean;
  /** Records of closed generations that this Temporal run knows of. */
  readonly closedIds: readonly string[];
};

export const NEW_PAYMENT: PaymentState = Object.freeze({
  ...NOTHING_SENT,
  generation: 1,
  walkedIn: null,
  refusedAtMs: null,
  hasOpenedEarly: false,
  closedIds: [],
});

/** A withdrawal that the service has accepted. Its status, which is always read live, tells whether it is paid. */
export type Accepted = {
  readonly withdrawalId: string;
  /** When the service made the record, by its own clock; epoch milliseconds. */
  readonly createdAtMs: number;
  readonly reference: string;
  readonly status: string;
  readonly amount: string;
};

/** The result of one call. It tells the workflow what to do next. */
export type PaymentStep =
  /** The service has a record of the payment, so nothing more is sent. */
  | { readonly kind: 'accepted'; readonly accepted: Accepted }
  /** The payment has ended, and it is proven that no withdrawal exists for it. */
  | { readonly kind: 'not paid'; readonly state: PaymentState; readonly problem: Problem }
  | { readonly kind: 'wait'; readonly state: PaymentState; readonly wait: Wait };

/** While a payment waits for money, the balances are read this often. */
const MONEY_POLL_MS = 15_000;
/** When something is short that no read can show, the payment is tried again this often. */
const BLIND_RETRY_MS = 900_000;
const HOUR_MS = 3_600_000;
/**
 * Other runs are asked about at most this many records that could be the payment. With more such records, the payment could
 * be one of them.
 */
const MOST_CANDIDATES = 50;
/**
 * How long after one opening the next of eight generations opens by itself. So seven generations last about as long as the
 * send window. The eighth is kept until a read, or a person, says that the cause of the refusals is gone.
 */
const OPENING_GAPS_MS: readonly number[] = [
  HOUR_MS / 4,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  36 * HOUR_MS,
  60 * HOUR_MS,
];

/** What the run wants for one payment in one call. */
export type Wanted = {
  /** Null: the payment pays the proceeds of a leg that is not known to be traded. Then it is only looked up. */
  readonly amount: string | null;
  /** What the payments before it in the plan still need in its currency. */
  readonly ahead: string;
  /** Why the run does not want the payment any more (its leg was not traded); null when it does. */
  readonly unwanted: Problem | null;
  /**
   * No Temporal run can have handed it to a sender: its leg is proven not traded, or the plan has ended it and it was never
   * let go. It ends without doubt. Absent: one may have. Only a payment that is unwanted can have it.
   */
  readonly isNeverSent?: true;
  /** Withdrawals that look like this payment; absent: there are none. */
  readonly alike?: LookAlike;
};

/** A payment during one call, as every step needs it. */
type Item = {
  readonly context: Context;
  readonly payment: Payment;
  readonly amount: string;
  readonly ahead: string;
  readonly alike: LookAlike | null;
  readonly subject: Subject<PaymentState, Withdrawal, PaymentStep>;
  readonly ready: Ready<PaymentState, Withdrawal>;
};

/** Sends one payment, unless it is done, unwanted, outside its send window, or must wait. */
export function* createWithdrawalSteps(
  context: Context,
  planned: Payment,
  { amount, ahead, unwanted, ...wanted }: Wanted,
  before: PaymentState,
): Steps<PaymentStep> {
  // It is looked for, and remembered, by the name under which it is sent, whatever the call says.
  const payment = { ...planned, reference: reference(context.plan.run, planned.id) };
  if (amount !== null && !isPositive(amount))
    return { kind: 'not paid', state: before, problem: nothingToPay(payment, amount) };
  const alike = wanted.alike ?? null;
  const isNeverSent = wanted.isNeverSent === true && unwanted !== null;
  const subject = subjectOf(context, payment, { amount, unwanted, isNeverSent, alike });
  const opened = yield* beforeWrite(subject, walkingAnew(context, before));
  if (!isOf('ready', opened)) return opened;
  if (amount === null) throw new RangeError(`Payment "${payment.id}" is wanted without an amount.`);
  const item: Item = { context, payment, amount, ahead, alike, subject, ready: opened };

  const walked = yield* firstNotClosed(item, asOpened(item, opened.state));
  if (!isOf('next generation', walked)) return walked;
  const { phase } = walked.state;
  switch (phase.kind) {
    case 'open':
    case 'short':
      return yield* send(item, walked.state, phase);
    case 'spent':
      return yield* endUnsent(subject, opened.said, walked.state, phase.problem, opened.looked);
  }
}

/** Sends the generation with which the payment goes on, and then each later one that opens in the same call. */
function* send(
  item: Item,
  before: PaymentState,
  phase: Exclude<PaymentPhase, { kind: 'spent' }>,
): Steps<PaymentStep> {
  const { context, payment, amount, subject, ready } = item;
  const asPaid = looksPaidAlready(item, before);
  if (asPaid !== null) return asPaid;
  const elsewhere = yield* heldElsewhere(subject, before);
  if ('wait' in elsewhere) return elsewhere.wait;
  if ('problem' in elsewhere)
    return yield* endUnsent(subject, ready.said, before, elsewhere.problem, ready.looked);
  let { state } = elsewhere;

  let causeGone = isSaidToBeGone(item, state);
  let available: string | null = null;
  if (phase.kind === 'short' && !causeGone) {
    const short = yield* stillShort(item, state, phase);
    if ('kind' in short) return short;
    causeGone = short.isThere;
    ({ available } = short);
  }

  for (;;) {
    const asked = context.keptRefusals.next(payment.reference, state.generation);
    const paid = yield* shownOfOthers(item, state);
    if (paid !== null) return paid;
    const stopped = yield* mayStillLeave(subject, ready, state);
    if (stopped !== null) return stopped;
    const tag = reference(context.plan.run, payment.id, asked);
    const reply = yield* ask<'send withdrawal'>({
      kind: 'send withdrawal',
      request: { account: payment.account, currency: payment.currency, amount, reference: tag },
    });
    if (isKept(reply)) context.keptRefusals.note(payment.reference, asked);
    if (isKept(reply) && asked < state.generation) continue;
    const step = yield* afterWithdrawal(item, atGeneration(state, asked), {
      tag,
      reply,
      causeGone,
      available,
    });
    if (step.kind === 'wait' && asked < state.generation && isToBeSentAgain(reply)) {
      // It was asked only for what its key brings, so that the payment stays where it is.
      const { sent, doubt } = step.state;
      return { ...step, state: { ...state, sent, doubt, tries: state.tries + 1 } };
    }
    if (step.kind !== 'next generation') return step;
    state = step.state;
    // A person who says that the cause is gone opens one generation. This walks those that were opened before on the way to it.
    causeGone &&= ready.said.opened.some(({ generation }) => generation === step.state.generation);
  }
}

/**
 * The wait of a payment that somebody else may have made. That people have approved its look-alikes counts only where this worker reads so
 * itself. Null: nothing looks like it, or that is approved.
 */
function looksPaidAlready({ payment, alike, ready }: Item, state: PaymentState): PaymentStep | null {
  const { approvedUntilMs, unsignedAlike } = ready.said;
  if (alike === null || (alike.kind === 'approved' && approvedUntilMs !== null)) return null;
  if (unsignedAlike !== null) return awaitsApproval(state, payment.id, unsignedAlike);
  const recordId = alike.kind === 'held' ? alike.recordId : null;
  return waits(state, 'person', SLOW_LOOKUP_MS, looksPaid(payment, recordId));
}

/** What the steps before every write need to know of a payment. */
function subjectOf(
  context: Context,
  payment: Payment,
  {
    amount,
    unwanted,
    isNeverSent,
    alike,
  }: Pick<Item, 'alike'> & Pick<Wanted, 'amount' | 'unwanted'> & { readonly isNeverSent: boolean },
): Subject<PaymentState, Withdrawal, PaymentStep> {
  const { facts } = context;
  const identify = (said: InstructionsAbout, state: PaymentState) =>
    identityOf(context, payment, { amount, alike, said, state });
  return {
    context,
    call: 'withdrawal',
    item: payment.id,
    currencies: [payment.currency],
    name: `payment "${payment.id}"`,
    unwanted,
    isNeverSent,
    windowUntilMs: (said) => Math.max(...eightsOf(context, said).map(({ windowUntilMs }) => windowUntilMs)),
    windowPassed: (untilMs) => windowPassed(payment, untilMs),
    looksAlways: false,
    lookUp: (said, state) => lookForPayment(context, payment, said, identify(said, state)),
    adopt: (said, state, record) => adopted({ context, payment, said }, state, record),
    end: (said, state, problem) =>
      (unwanted === null ? awaiting({ context, payment, said }, state) : null) ?? {
        kind: 'not paid',
        state,
        problem,
      },
    readNamed: (said, id) => readNamed(payment, { ...identify(said, NEW_PAYMENT), ownIds: [id] }, id),
    // The leg is not known to be traded. Only an earlier run that knew of its trade can have paid, and the lists show that
    // soon enough.
    settleDoubtMs: amount === null ? 2 * facts.listLagMs : facts.settleDoubtMs.withdrawal,
    doubtPollMs: SLOW_LOOKUP_MS,
  };
}

function identityOf(
  context: Context,
  payment: Payment,
  known: Pick<Item, 'alike'> & {
    readonly amount: string | null;
    readonly said: InstructionsAbout;
    readonly state: PaymentState;
  },
): PaymentIdentity {
  const { amount, alike, said, state } = known;
  const { eights } = said;
  // A record closes its generation only where people have opened a later one.
  const closedIds = eights.length === 0 ? [] : [...closedIdsOf(eights), ...state.closedIds];
  const namedId = said.decision?.kind === 'executed' ? said.decision.recordId : null;
  const ownIds = [...(namedId === null ? [] : [namedId]), ...closedIdsOf(eights), ...state.closedIds];
  // What a person says of a record does not count against what the service has said.
  const notThisIds = said.notThisIds.filter((id) => !ownIds.includes(id));
  return {
    reference: payment.reference,
    account: payment.account,
    currency: payment.currency,
    amount,
    opensAtMs: context.plan.sendWindows.opensAtMs,
    namedId,
    ownIds,
    otherIds: [...context.otherWithdrawalIds, ...notThisIds],
    fromGeneration: eights.at(-1)?.first ?? 1,
    closedIds,
    follows: eights.map(({ openedBy }) => ({
      generation: openedBy.follows,
      recordId: openedBy.recordId,
    })),
    approvedUntilMs: alike?.kind === 'approved' ? said.approvedUntilMs : null,
    failedWords: context.facts.withdrawalStatuses.failed,
  };
}

function* lookForPayment(
  context: Context,
  payment: Payment,
  { eights }: InstructionsAbout,
  identity: PaymentIdentity,
): Steps<Look<Withdrawal>> {
  // The person who wants the payment paid again has seen its earlier record fail. So an older reading of that record does
  // not count.
  const readAfterMs = eights.at(-1)?.openedBy.atMs;
  const scan = yield* ask<'scan withdrawals'>({
    kind: 'scan withdrawals',
    sinceMs: context.plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    wanted: (record) => isWithdrawalOf(identity, record) || couldBe(identity, record),
    reference: identity.reference,
    ...(readAfterMs !== undefined && { readAfterMs }),
  });
  const look = lookForWithdrawal(identity, scan);
  const { namedId } = identity;
  // Only a person says that this record is the payment's. Two people may have named it for two payments.
  const isOnlyNamed = look.kind === 'found' && look.record.tag === null && look.record.id === namedId;
  if (!isOnlyNamed && (look.kind !== 'unproven' || !look.complete)) return look;
  // Two runs may pay the same amount to the same account on one day. A record of the other run is no reason for doubt here.
  const candidates = isOnlyNamed ? [look.record] : candidatesOf(identity, scan);
  if (candidates.length > MOST_CANDIDATES) return look;
  const { claimed: counted } = yield* ask<'read claims'>({ kind: 'read claims', records: candidates });
  const isFree = !isOnlyNamed || (yield* isNamedHereOnly(payment.id, look.record)) === true;
  const claimed = isFree ? counted : [...counted, ...candidates.map(({ id }) => id)];
  if (claimed.length === 0) return look;
  const ownIds = identity.ownIds.filter((id) => !claimed.includes(id));
  return lookForWithdrawal({ ...identity, ownIds, otherIds: [...identity.otherIds, ...claimed] }, scan);
}

/**
 * Reads the record with this id. The record must agree with the plan, and must not belong to another payment by its tag or
 * id. A record without a tag must be that of no other run: two people may have named it for two payments.
 */
function* readNamed(
  payment: Payment,
  identity: PaymentIdentity,
  id: string,
): Steps<Withdrawal | 'another’s' | 'unreadable' | null> {
  const fetched = yield* ask<'fetch withdrawal'>({ kind: 'fetch withdrawal', id });
  if (fetched.kind !== 'DONE' || !isOurs(identity, fetched.value)) return null;
  const record = fetched.value;
  if (record.tag !== null) return record;
  return yield* asNoOthers(payment.id, record, identity.namedId === id);
}

function isOurs(identity: PaymentIdentity, record: Withdrawal): boolean {
  return !identity.otherIds.includes(record.id) && isWithdrawalAsPlanned(identity, record);
}

// Generations.

/**
 * The eight generations of the plan, then each eight that people have opened, in order. Each eight has a send window of its
 * own.
 */
function eightsOf(
  context: Context,
  said: InstructionsAbout,
): readonly Pick<Eight, 'first' | 'windowUntilMs'>[] {
  return [{ first: 1, windowUntilMs: context.plan.sendWindows.withdrawalsUntilMs }, ...said.eights];
}

/** The eight to which a generation belongs; absent: it is not the plan's, and no person has opened it. */
function ownEight(
  { context, ready }: Item,
  generation: number,
): Pick<Eight, 'first' | 'windowUntilMs'> | undefined {
  return eightsOf(context, ready.said).find(({ first }) => eightOf(first) === eightOf(generation));
}

/** Another Temporal run goes through the generations again, from the first whose window is open. */
function walkingAnew({ attempt }: Context, state: PaymentState): PaymentState {
  if (state.walkedIn === attempt.runId) return state;
  return { ...atGeneration(state, 1), hasOpenedEarly: false, walkedIn: attempt.runId };
}

/** A generation counts by what is kept of its opening, never because an answer in the history says so (M1). */
function asOpened({ ready }: Item, state: PaymentState): PaymentState {
  const isOpened = ready.said.opened.some(({ generation }) => generation === state.generation);
  return isOpened ? state : atGeneration(state, 1);
}

/** The state at another generation. Refusals of the earlier one say nothing about it. */
function atGeneration(state: PaymentState, generation: number): PaymentState {
  if (state.generation === generation) return state;
  return { ...state, generation, refusedAtMs: null, tries: 0, phase: OPEN };
}

/** A generation is closed. `state` has the generation with which the payment goes on. */
type Passed = { readonly kind: 'next generation'; readonly state: PaymentState };

const passedTo = (state: PaymentState, generation: number): Passed => ({
  kind: 'next generation',
  state: atGeneration(state, generation),
});

/**
 * Finds the generation to send in this call: the one to which the payment has come, as long as its window is open. A key
 * cannot close a generation that a person has decided about, or whose window is over.
 */
function* firstNotClosed(item: Item, state: PaymentState): Steps<Passed | PaymentStep> {
  const { context, ready } = item;
  const { said } = ready;
  const now = context.nowMs();
  const openFrom = (from: number) =>
    said.eights.find(({ first, windowUntilMs }) => first >= from && now <= windowUntilMs);
  const decided = said.eights.findLast(({ closedBy }) => closedBy !== null);
  if (decided !== undefined && state.generation < decided.first) {
    const open = openFrom(decided.first);
    return open === undefined
      ? yield* endTooLate(item, state)
      : yield* openEight(item, state, { first: open.first, closedBy: decided.closedBy });
  }
  // The record of a generation proves more than its key: under another API key, the same key again would be a new payment.
  const { look } = ready.looked ?? { look: null };
  if (look?.kind === 'absent' && look.closed.includes(state.generation)) {
    const passed = yield* passToLater(item, withoutDoubt(state));
    if (passed === null) return yield* endTooLate(item, state);
    return isOf('next generation', passed) ? yield* firstNotClosed(item, passed.state) : passed;
  }
  const own = ownEight(item, state.generation);
  if (own !== undefined && now <= own.windowUntilMs) return passedTo(state, state.generation);
  const next = openFrom(state.generation + 1);
  // Step 3 has made sure that some window is open.
  return next === undefined ? passedTo(state, state.generation) : yield* openEight(item, state, next);
}

/** The generations below are closed, and the windows of all that people have opened above them are over. */
function* endTooLate({ context, payment, subject, ready }: Item, state: PaymentState): Steps<PaymentStep> {
  const { said, looked } = ready;
  const untilMs = said.eights.at(-1)?.windowUntilMs ?? context.plan.sendWindows.withdrawalsUntilMs;
  return yield* endUnsent(subject, said, state, windowPassed(payment, untilMs), looked);
}

/**
 * Goes on with eight generations that a person has opened. The instruction itself closes nothing. The first of the eight is
 * sent only when all lower generations are closed, none of them is in doubt, and a lookup shows nothing that could be the
 * payment; or when it was sent before. The records that people have named as failed must have failed.
 */
function* openEight(
  item: Item,
  before: PaymentState,
  { first, closedBy }: Pick<Eight, 'first' | 'closedBy'>,
): Steps<Passed | PaymentStep> {
  const { subject, ready } = item;
  const { said } = ready;
  const paid = yield* namedAsFailed(item, before, first);
  if (paid !== null) return paid;
  if (said.opened.some(({ generation }) => generation === first)) return passedTo(before, first);
  const looked = yield* lookUp(subject, said, before);
  let state = before;
  if (closedBy !== null) {
    const counted = countNotExecuted(subject, said, before, looked, closedBy);
    if ('step' in counted) return counted.step;
    state = counted.over;
  }
  const why = forPerson(before.phase) ?? inDoubt(subject, before, null);
  const settled = yield* settleDoubt(subject, said, state, { problem: why, looked });
  if ('step' in settled) return settled.step;
  return yield* noteOpening(item, settled.over, first);
}

/**
 * Reads each record that people have named as failed, up to these eight generations, by its id: the lists may not show it. One
 * that has not failed may still pay the payment. Null: all have failed.
 */
function* namedAsFailed(item: Item, state: PaymentState, upTo: number): Steps<PaymentStep | null> {
  const { context, payment, subject, ready, amount, alike } = item;
  const { said } = ready;
  const ids = closedIdsOf(said.eights.filter(({ first }) => first <= upTo));
  const identity = identityOf(context, payment, { amount, alike, said, state });
  for (const id of new Set(ids)) {
    const live = yield* statusOf(context, id);
    if (live === 'not there') return waits(state, 'person', SLOW_LOOKUP_MS, noSuchRecord(payment, id));
    if (live === null)
      return waitLonger(
        state,
        serviceWait(unreadable(payment.id, `withdrawal ${id}`), backoffMs(state.tries)),
      );
    if (context.facts.withdrawalStatuses.failed.includes(live.status)) continue;
    return isOurs(identity, live)
      ? subject.adopt(said, state, live)
      : waits(state, 'person', SLOW_LOOKUP_MS, notFailed(payment, live));
  }
  return null;
}

/**
 * Looks once more before a generation leaves where some of another eight may have left: no key tells of those, and what Temporal
 * keeps of an opening proves nothing. Whatever the service shows of the payment, and has not failed, counts. Null: it shows nothing.
 */
function* shownOfOthers({ subject, ready }: Item, state: PaymentState): Steps<PaymentStep | null> {
  const { said, otherKeys } = ready;
  const areOthers =
    said.eights.length > 0 ||
    said.awaited !== null ||
    said.opened.some(({ generation }) => eightOf(generation) > 0);
  if (!areOthers && (!otherKeys || state.generation === 1)) return null;
  const { look } = yield* lookUp(subject, said, state);
  // A record that only could be the payment does not forbid to send the same key again.
  if (look.kind === 'unproven' && look.complete) return null;
  return conclude(subject, said, state, look);
}

/** Records, where no reset loses it, that a later generation is opened. The generation is not sent before that. */
function* noteOpening(
  { context, payment }: Item,
  state: PaymentState,
  generation: number,
): Steps<Passed | Waits<PaymentState>> {
  const facts = [{ kind: 'opened', item: payment.id, generation, atMs: context.nowMs() }] as const;
  if (yield* ask<'note facts'>({ kind: 'note facts', facts })) return passedTo(state, generation);
  return waits(triedAgain(state), 'service', backoffMs(state.tries), {
    code: 'INSTRUCTIONS_AWAY',
    item: payment.id,
    message: `Temporal could not record that payment "${payment.id}" goes on under its next reference, ~${generation}. Nothing is sent before that.`,
    fix: 'Nothing to do: the run tries again by itself, and sends nothing before that.',
  });
}

/**
 * The service refuses the generation for good. Goes on with a generation that was opened before, with eight that a person has
 * opened, or with the next of the eight when its time has come. Null: for now, the refusal counts.
 */
function* passClosed(
  item: Item,
  state: PaymentState,
  causeGone: boolean,
): Steps<Passed | PaymentStep | null> {
  const { context, ready, subject } = item;
  const { said } = ready;
  const now = context.nowMs();
  const last = lastOfEight(state);
  const sentBefore = said.opened
    .map(({ generation }) => generation)
    .filter((generation) => generation > state.generation && generation <= last);
  if (sentBefore.length > 0) return passedTo(state, Math.min(...sentBefore));
  const passed = yield* passToLater(item, state);
  if (passed !== null) return passed;
  // What was opened above may be in doubt, or paid. So no generation of this eight opens any more.
  const isLeft =
    said.eights.some(({ first }) => first > last) || said.opened.some(({ generation }) => generation > last);
  if (isLeft || state.generation === last) return null;
  const isLast = state.generation + 1 === last;
  const isEarly = !causeGone && now < turnAtMs(item, state);
  if (!causeGone && (isLast || (isEarly && !mayOpenEarly(item, state)))) return null;
  if (ready.otherKeys) {
    // Another API key may have paid this generation. The next one opens only if no record could be the payment.
    const { look } = yield* lookUp(subject, said, state);
    const seen = conclude(subject, said, state, look);
    if (seen !== null) return seen;
  }
  return yield* noteOpening(item, isEarly ? { ...state, hasOpenedEarly: true } : state, state.generation + 1);
}

/** Goes on with the eight above that a person has opened. Null: there is none, or its window is over. */
function* passToLater(item: Item, state: PaymentState): Steps<Passed | PaymentStep | null> {
  const now = item.context.nowMs();
  const last = lastOfEight(state);
  const open = item.ready.said.eights.find(
    ({ first, windowUntilMs }) => first > last && now <= windowUntilMs,
  );
  return open === undefined ? null : yield* openEight(item, state, open);
}

function lastOfEight({ generation }: PaymentState): number {
  return firstOf(eightOf(generation) + 1) - 1;
}

/** A new start or a reset may open one generation before its time, because a person may have mended the cause. */
function mayOpenEarly({ context }: Item, { hasOpenedEarly }: PaymentState): boolean {
  return isNewStart(context) && !hasOpenedEarly;
}

/**
 * The state after a refusal that the service has kept. Where the first send of a generation brings it, the generation was sent
 * before, and Temporal has lost that. So opening it once more has tried nothing, and the next may be opened early.
 */
function afterKept({ tries, doubt }: PaymentState, clear: PaymentState): PaymentState {
  return tries === 1 && doubt === null ? { ...clear, hasOpenedEarly: false } : clear;
}

/** When the generations of the same eight were opened, newest last. */
function openingsOf({ ready }: Item, { generation }: PaymentState): readonly number[] {
  return ready.said.opened
    .filter((opened) => eightOf(opened.generation) === eightOf(generation))
    .map(({ atMs }) => atMs);
}

/** When the next generation opens by itself. This is never so late that its window would be over. */
function turnAtMs(item: Item, state: PaymentState): number {
  const now = item.context.nowMs();
  const lastMs = Math.max(...openingsOf(item, state), state.refusedAtMs ?? 0) || now;
  const nth = (state.generation - 1) % GENERATIONS_AT_ONCE;
  const gapMs = OPENING_GAPS_MS[nth] ?? Infinity;
  const untilMs = ownEight(item, state.generation)?.windowUntilMs ?? now;
  return Math.max(Math.min(lastMs + gapMs, untilMs - HOUR_MS), lastMs + HOUR_MS / 4);
}

/** True when a person has said, since the last opening, that the cause of the refusal is gone. */
function isSaidToBeGone(item: Item, state: PaymentState): boolean {
  const sinceMs = Math.max(...openingsOf(item, state), 0);
  return item.ready.said.causeGone.some(({ atMs }) => atMs > sinceMs);
}

// Replies.

type Sent = {
  /** The reference with its generation, as it was sent. */
  readonly tag: string;
  readonly reply: Reply<Withdrawal>;
  /** True when a read, or a person, has just shown that the cause of the last refusal is gone. */
  readonly causeGone: boolean;
  /** How much of its currency a read of the balances has just shown; null: the balances were not read. */
  readonly available: string | null;
};

/** True for a refusal that the service keeps under the key: the key can never pay. */
function isKept(reply: Reply<Withdrawal>): boolean {
  return followUp(reply).withdrawal === 'look up, then next generation';
}

/** True for a reply that says nothing of the payment. */
function isToBeSentAgain(reply: Reply<Withdrawal>): boolean {
  return followUp(reply).withdrawal === 'same key again';
}

/** Does what the table of replies says about the reply to a withdrawal. */
function* afterWithdrawal(item: Item, state: PaymentState, sent: Sent): Steps<PaymentStep | Passed> {
  const { context, payment } = item;
  const { reply, tag } = sent;
  const follow = followUp(reply);
  const problem = problemOf(reply, payment.id, adviceFor(reply, context.plan.rules));
  // This holds for every class: a reply that was not understood, or that proves nothing, leaves the send in doubt.
  const after: PaymentState = leavesInDoubt(reply)
    ? unknownSend(context, state, `the answer was ${problem.code}`)
    : { ...state, sent: state.sent || hasLeft(reply), tries: state.tries + 1 };
  switch (follow.withdrawal) {
    case 'adopt': {
      if (reply.kind !== 'DONE') break;
      const ownTag = reply.value.tag === null || reply.value.tag === tag;
      if (
        ownTag &&
        withdrawalDifference(
          identityOf(context, payment, {
            amount: item.amount,
            alike: item.alike,
            said: item.ready.said,
            state,
          }),
          reply.value,
        ) === null
      )
        return yield* afterSuccess(item, after, reply.value, tag);
      const unknown = unknownSend(context, state, 'the answer was not about our withdrawal');
      return yield* lookThen(item, unknown, problem, 10_000);
    }
    case 'same key again':
      return wait(after, waitToSendAgain(reply, problem, state.tries));
    case 'look up, then same key again':
    case 'look up, then doubt': {
      const unknown: PaymentState =
        after.doubt === null ? unknownSend(context, state, `the answer was ${problem.code}`) : after;
      const goesOn = follow.withdrawal === 'look up, then same key again';
      const next: PaymentState = goesOn ? unknown : { ...unknown, phase: { kind: 'spent', problem } };
      const id = resourceIdOf(reply);
      const named = id === null ? null : yield* item.subject.readNamed(item.ready.said, id);
      if (named !== null && typeof named !== 'string')
        return adopted({ context, payment, said: item.ready.said }, next, named, tag);
      const afterMs = goesOn ? Math.max(settleTimeMs(reply), backoffMs(state.tries)) : 1_000;
      return yield* lookThen(item, next, problem, afterMs);
    }
    case 'look up, then next generation':
    case 'shortfall rule':
    case 'look up, then end':
    case 'hold':
      return yield* afterRefusal(item, after, problem, sent);
  }
  throw new RangeError(`A ${reply.kind} reply cannot be followed by "${follow.withdrawal}".`);
}

/**
 * The service has answered the key with a success. A replayed success gives only the id. When a person has opened a later
 * generation, the live status of the record tells whether the record still counts.
 */
function* afterSuccess(
  item: Item,
  state: PaymentState,
  record: Withdrawal,
  tag: string,
): Steps<PaymentStep | Passed> {
  const { context, payment } = item;
  const { said } = item.ready;
  const adopter = { context, payment, said };
  const isFollowed = said.eights.some(({ first }) => first > state.generation);
  const isSaidToBe = isFollowed || (said.awaited?.first ?? 0) > state.generation;
  if (!isSaidToBe || isOfOthers(adopter, record)) return adopted(adopter, state, record, tag);
  const live = yield* statusOf(context, record.id);
  if (live === null || live === 'not there')
    return wait(
      state,
      serviceWait(unreadable(payment.id, `withdrawal ${record.id}`), backoffMs(state.tries)),
    );
  if (!isFollowed || !context.facts.withdrawalStatuses.failed.includes(live.status))
    return adopted(adopter, state, live, tag);
  // Its own record has a failed status, so the generation is closed.
  const closed = { ...withoutDoubt(state), closedIds: [...state.closedIds, record.id] };
  const passed = yield* passToLater(item, closed);
  return passed ?? adopted(adopter, state, live, tag);
}

/**
 * Reads the record with its status of now, by its id, or from the list when that answer is not whole. Null: it could not be
 * read. `not there`: the service says that it has no such record, and shows none in its whole list.
 */
function* statusOf({ plan }: Context, id: string): Steps<Withdrawal | 'not there' | null> {
  const fetched = yield* ask<'fetch withdrawal'>({ kind: 'fetch withdrawal', id });
  if (fetched.kind === 'DONE') return fetched.value;
  const sinceMs = plan.sendWindows.opensAtMs - LOOK_BACK_MS;
  const { records, complete } = yield* ask<'scan withdrawals'>({
    kind: 'scan withdrawals',
    sinceMs,
    wanted: (record) => record.id === id,
  });
  const isUnknown = complete && nameOf(fetched) === 'WITHDRAWAL_NOT_FOUND';
  return records[0] ?? (isUnknown ? 'not there' : null);
}

/**
 * Handles a definitive refusal. It settles an earlier unknown send only if the service judged the payment itself, or replays
 * what it keeps under the key. It must also come after the last moment at which the service could accept that send.
 */
function* afterRefusal(
  item: Item,
  before: PaymentState,
  problem: Problem,
  { reply, causeGone, available }: Sent,
): Steps<PaymentStep | Passed> {
  const { context, subject, ready } = item;
  const follow = followUp(reply);
  const now = context.nowMs();
  // What follows when no later generation takes over.
  const standing: AfterWithdrawal = FOLLOW_UPS[follow.class].withdrawal;
  const state: PaymentState = { ...before, refusedAtMs: before.refusedAtMs ?? now };
  const judged =
    isKept(reply) || (reply.kind === 'REFUSED' && standing !== 'hold' && !isMalformed(problem.code));
  if (!judged && (standing === 'hold' || state.doubt !== null))
    return wait(state, configurationWait(problem, state.tries));
  if (state.doubt !== null && now <= state.doubt.lastSendMs) {
    const afterMs = state.doubt.lastSendMs - now + 1_000;
    const why = inDoubt(subject, state, problem);
    return waitsSafely(subject, state, { afterMs, safeAtMs: now + afterMs, problem: why });
  }
  // What is in doubt may be a generation of the same eight above this one, and this key tells nothing of that.
  const last = lastOfEight(state);
  const isBelow = ready.said.opened.some(
    ({ generation }) => generation > state.generation && generation <= last,
  );
  const clear = isBelow ? state : withoutDoubt(state);
  if (isKept(reply)) {
    // The chain rule: the service keeps this refusal under the key, so the key can never succeed any more.
    const passed = yield* passClosed(item, afterKept(before, clear), causeGone);
    if (passed !== null) return passed;
  }
  if (standing === 'hold') return wait(clear, configurationWait(problem, state.tries));
  if (standing === 'shortfall rule' && context.plan.rules.shortfall === 'hold') {
    const afterMs = isShownByBalances(problem.code) ? MONEY_POLL_MS : BLIND_RETRY_MS;
    const there = availableIn(reply) ?? available;
    const despite = there === null ? null : { available: there, atMs: now };
    return wait(
      { ...clear, phase: { kind: 'short', problem, despite } },
      { afterMs, reason: 'money', problem, ...shortBy(item, there) },
    );
  }
  if (isMalformed(problem.code) && !context.othersAccepted)
    return wait(clear, configurationWait({ ...problem, fix: BUG_OF_OURS }, state.tries));
  return yield* endUnsent(subject, ready.said, clear, problem);
}

/**
 * What is short for the payment and those before it; nothing where that is not known, or where as much is there.
 * @param there what is withdrawable in its currency; null: not known
 */
function shortBy({ payment: { currency }, amount, ahead }: Item, there: string | null): Pick<Wait, 'short'> {
  const needed = add(ahead, amount);
  return there === null || compare(there, needed) >= 0 ? {} : { short: { currency, needed, there } };
}

/** How much was available when the service refused, as it says; null when it does not say. */
function availableIn(reply: Reply<Withdrawal>): string | null {
  const available = reply.kind === 'REFUSED' ? reply.error.details['availableAmount'] : null;
  return typeof available === 'string' && isDecimal(available) ? available : null;
}

/**
 * Looks the payment up after an unknown send. When nothing is found, the payment waits, and the next call sends the same
 * again.
 */
function* lookThen(
  { subject, ready }: Item,
  state: PaymentState,
  problem: Problem,
  afterMs: number,
): Steps<PaymentStep> {
  const { look } = yield* lookUp(subject, ready.said, state);
  // A record that could be the payment, or a list that cannot be read, forbids an end. It does not forbid to send the same
  // key again, which is itself a lookup.
  const seen = look.kind === 'unproven' ? null : conclude(subject, ready.said, state, look);
  return seen ?? waits(state, 'doubt', afterMs, problem);
}

/**
 * Checks whether the money is there for a held payment and for the payments before it in the plan. When it is not, the
 * payment waits. `isThere` is false where no read can show the money; then the payment is tried all the same.
 */
function* stillShort(
  item: Item,
  state: PaymentState,
  { problem, despite }: Extract<PaymentPhase, { kind: 'short' }>,
): Steps<PaymentStep | { readonly isThere: boolean; readonly available: string | null }> {
  if (!isShownByBalances(problem.code)) return { isThere: false, available: null };
  const reply = yield* ask<'read balances'>({ kind: 'read balances' });
  if (reply.kind !== 'DONE') return waits(triedAgain(state), 'money', waitMs(reply, state.tries), problem);
  const row = reply.value.balances.find(({ currency }) => currency === item.payment.currency);
  const available = row?.withdrawable ?? '0';
  const waiting = wait(state, {
    afterMs: MONEY_POLL_MS,
    reason: 'money',
    problem,
    ...shortBy(item, available),
  });
  if (compare(available, add(item.ahead, item.amount)) < 0) return waiting;
  if (despite === null || compare(available, despite.available) > 0) return { isThere: true, available };
  // The service refused the payment although as much money was there. Something else is short, and no read can show it.
  const isDue = item.context.nowMs() - despite.atMs >= BLIND_RETRY_MS;
  return isDue ? { isThere: false, available } : waiting;
}

type Adopter = {
  readonly context: Context;
  readonly payment: Payment;
  readonly said: InstructionsAbout;
};

/** True for a record that another payment of the run counts as its own. */
function isOfOthers({ context }: Adopter, { id }: Withdrawal): boolean {
  return context.otherWithdrawalIds.includes(id);
}

/**
 * The wait while people must approve that the payment is paid again, before it ends unpaid. Once its window is over nobody can. What of
 * it was opened may have been sent by approvals that have expired since, so it stays in doubt as long as a send at the end of the
 * window would. Null: nobody has said so, or all that is over.
 */
function awaiting({ context, payment, said }: Adopter, state: PaymentState): Waits<PaymentState> | null {
  const { awaited, opened, cancelled } = said;
  const now = context.nowMs();
  // Who writes past the commands may name a moment that is far ahead. It keeps no payment waiting.
  if (awaited === null || cancelled || awaited.openedBy.atMs > now + HOUR_MS) return null;
  if (now <= awaited.windowUntilMs) return awaitsApproval(state, payment.id, awaited.waitsFor);
  if (!opened.some(({ generation }) => generation >= awaited.first)) return null;
  const lastSendMs = Math.max(awaited.windowUntilMs + othersSendMs(context), state.doubt?.lastSendMs ?? 0);
  const safeAtMs = lastSendMs + context.facts.settleDoubtMs.withdrawal;
  if (now > safeAtMs) return null;
  const why = `it was opened as ~${awaited.first}, and may have been sent by approvals that count no longer`;
  const doubt = { lastSendMs, absentAtMs: null, under: null, why, ...state.doubt };
  const named = { context, item: payment.id, name: `payment "${payment.id}"` };
  const problem = inDoubt(named, { ...state, doubt }, windowPassed(payment, awaited.windowUntilMs));
  const afterMs = Math.min(safeAtMs - now + 1_000, SLOW_LOOKUP_MS);
  return waitsSafely({ context }, { ...state, doubt }, { afterMs, safeAtMs, problem });
}

/**
 * Takes this record as the payment's own, unless another payment of the run counts it as its own. One that has failed is not
 * taken while people must approve that the payment is paid again.
 */
function adopted(
  adopter: Adopter,
  state: PaymentState,
  record: Withdrawal,
  sentAs: string = adopter.payment.reference,
): PaymentStep {
  const { context, payment } = adopter;
  if (isOfOthers(adopter, record) || !context.take(record.id))
    return waits(state, 'person', SLOW_LOOKUP_MS, recordTaken(payment, record.id));
  const isFailed = context.facts.withdrawalStatuses.failed.includes(record.status);
  const accepted: PaymentStep = { kind: 'accepted', accepted: acceptedAs(record, sentAs) };
  return (isFailed ? awaiting(adopter, state) : null) ?? accepted;
}

/** @param sentAs under which reference it was sent, as far as that is known: the record may show no tag */
export function acceptedAs(record: Withdrawal, sentAs: string): Accepted {
  return {
    withdrawalId: record.id,
    createdAtMs: Date.parse(record.createdAt),
    reference: record.tag ?? sentAs,
    status: record.status,
    amount: record.withdrawalAmount,
  };
}

/** Proceeds can round down to nothing. The service takes no withdrawal of nothing, so none can have been sent. */
function nothingToPay(payment: Payment, amount: string): Problem {
  return {
    code: 'NOTHING_TO_PAY',
    item: payment.id,
    message: `After rounding, the amount of payment "${payment.id}" is ${moneyText(amount, payment.currency)}.`,
    fix: 'Convert more, so that something is left after rounding.',
  };
}

function looksPaid(payment: Payment, recordId: string | null): Problem {
  const which = recordId === null ? 'A withdrawal' : `Withdrawal ${recordId}`;
  return {
    code: 'LOOKS_PAID',
    item: payment.id,
    message: `${which} pays the same amount to the same account as payment "${payment.id}" would, and no run of Cambist has made it.`,
    fix: 'If it is another payment, and this one is to be paid too: `npx cambist run … --go-on look-alikes`. Else decide with `npx cambist resolve`: --executed with its id if it is this payment, --not-executed if this one is not to be paid.',
  };
}

function windowPassed(payment: Payment, untilMs: number): Problem {
  return {
    code: 'WINDOW_PASSED',
    item: payment.id,
    message: `Payment "${payment.id}" was not sent by ${minuteText(untilMs)}. After that it is too late: the service could forget the payment’s idempotency key, and pay twice.`,
    fix: 'Pay it in a new run.',
  };
}

/** A person has said that the payment is paid again, and the record that has failed by that word has not. */
function notFailed(payment: Payment, { id, status }: Withdrawal): Problem {
  return {
    code: 'DECISION_UNPROVEN',
    item: payment.id,
    message: `A person has said that withdrawal ${id} of payment "${payment.id}" has failed, but the service says that it is ${status}, and it is not the payment as planned. The payment is not paid again.`,
    fix: 'Find out whose record that is. To end the payment unpaid: `npx cambist resolve`, --not-executed. Then it can be paid in a new run.',
  };
}

/** A person has said that a record has failed of which the service knows nothing: that proves no failure. */
function noSuchRecord(payment: Payment, id: string): Problem {
  return {
    code: 'DECISION_UNPROVEN',
    item: payment.id,
    message: `A person has said that withdrawal ${id} of payment "${payment.id}" has failed, but the service says that it has no withdrawal with this id. So nothing proves that it has failed, and the payment is not paid again.`,
    fix: 'Ask the service what has become of it. To end the payment unpaid: `npx cambist resolve`, --not-executed. Then it can be paid in a new run.',
  };
}

/**
 * The problem when the service answers the key of this payment with a record that a person has named for another payment.
 */
function recordTaken(payment: Payment, id: string): Problem {
  return {
    code: 'RECORD_TAKEN',
    item: payment.id,
    message: `The service says that withdrawal ${id} is payment "${payment.id}", but a person has named it for another payment of this run.`,
    fix: 'Find out which of the two payments was made. If it is the other one, say of this one that it was not executed: `npx cambist resolve`, --not-executed.',
  };
}

function wait(state: PaymentState, pause: Wait): PaymentStep {
  return { kind: 'wait', state, wait: pause };
}
