/**
 * The steps of one payment: the six before every write, the send under the key of the first generation not closed, and
 * whatever a reply or a crash makes of that (M1, M2). A withdrawal is tried again *under the same key* first; the chain
 * rule (design: "The chain rule") says when a later generation may open.
 */
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
import { GENERATIONS_AT_ONCE, eightOf, type Eight, type InstructionsAbout } from '../people/instructions.ts';
import {
  LOOK_BACK_MS,
  candidatesOf,
  couldBe,
  isWithdrawalOf,
  lookForWithdrawal,
  withdrawalDifference,
  type Look,
  type PaymentIdentity,
} from './lookups.ts';
import { add, compare, isDecimal, isPositive } from '../money.ts';
import type { Payment } from '../plan/plan.ts';
import type { Withdrawal } from '../service/records.ts';
import { generationOf, reference } from '../references.ts';
import type { Reply } from '../service/reply.ts';
import {
  ADVICE,
  BUG_OF_OURS,
  SLOW_LOOKUP_MS,
  ask,
  configurationWait,
  hasLeft,
  leavesInDoubt,
  problemOf,
  resourceIdOf,
  serviceWait,
  settleTimeMs,
  unreadable,
  type Context,
  type Steps,
} from './step.ts';
import { NOTHING_SENT, isNewStart, triedAgain, unknownSend, withoutDoubt, type SendState } from './doubt.ts';
import { OPEN, forPerson, type PaymentPhase } from './phase.ts';
import {
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
  type Ready,
  type Subject,
  type Waits,
} from './protocol.ts';

/** What is known of a payment's writes. */
export type PaymentState = SendState & {
  readonly phase: PaymentPhase;
  /** The generation that is sent next: the first that is not closed. */
  readonly generation: number;
  /** Temporal run that has walked to it from the first; another one walks again. */
  readonly walkedIn: string | null;
  /** When this Temporal run first saw the generation refused; null: it did not. */
  readonly refusedAtMs: number | null;
  /** This Temporal run has opened a generation before its time, as a new start may do once. */
  readonly hasOpenedEarly: boolean;
  /** Records of closed generations that this Temporal run has been told of. */
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

/** A withdrawal that the service accepted; whether it is paid is read live from its status. */
export type Accepted = {
  readonly withdrawalId: string;
  readonly reference: string;
  readonly status: string;
  readonly amount: string;
};

/** What one call came to, and so what the workflow does next. */
export type PaymentStep =
  /** The service has a record of it: nothing more is sent. */
  | { readonly kind: 'accepted'; readonly accepted: Accepted }
  /** An end, with the proof: no withdrawal exists for this payment. */
  | { readonly kind: 'not paid'; readonly state: PaymentState; readonly problem: Problem }
  | { readonly kind: 'wait'; readonly state: PaymentState; readonly wait: Wait };

/** How often money is looked for while a payment waits for it. */
const MONEY_POLL_MS = 15_000;
/** How often a shortage that no read can show is tried again. */
const BLIND_RETRY_MS = 900_000;
const HOUR_MS = 3_600_000;
/** Other runs are asked about so many records that could be the payment; beyond that it could be one of them. */
const MOST_CANDIDATES = 50;
/**
 * How long after the opening before it the next of eight generations opens by itself: so that seven of them last about
 * as long as the send window. The eighth is kept for a read, or a person, that says the cause is gone.
 */
const OPENING_GAPS_MS: readonly number[] = [
  HOUR_MS / 4,
  HOUR_MS,
  4 * HOUR_MS,
  12 * HOUR_MS,
  36 * HOUR_MS,
  60 * HOUR_MS,
];

/** What the run wants of one payment in one call. */
export type Wanted = {
  /** Null: the leg whose proceeds it pays on is not known to be traded. It is only looked up then. */
  readonly amount: string | null;
  /** What the payments before it in the plan still need in its currency. */
  readonly ahead: string;
  /** Why the run does not want it any more (its leg was not traded); null when it does. */
  readonly unwanted: Problem | null;
  /** What is known of withdrawals that look like it, by others than us; absent: there is none. */
  readonly alike?: Alike;
};

/** Withdrawals that pay the same account the same amount, and that nobody of ours accounts for. */
export type Alike =
  /** A person decides before it is first sent. `recordId`: one of them; null: it is not named. */
  | { readonly kind: 'held'; readonly recordId: string | null }
  /** A person has approved them: they are not this payment, and stand in no way. */
  | { readonly kind: 'approved' };

/** The item of one call, as every step of it needs it. */
type Item = {
  readonly context: Context;
  readonly payment: Payment;
  readonly amount: string;
  readonly ahead: string;
  readonly alike: Alike | null;
  readonly subject: Subject<PaymentState, Withdrawal, PaymentStep>;
  readonly ready: Ready<PaymentState, Withdrawal>;
};

/** Sends one payment, unless it is done, unwanted, outside its send window, or must wait. */
export function* createWithdrawalSteps(
  context: Context,
  payment: Payment,
  { amount, ahead, unwanted, ...wanted }: Wanted,
  before: PaymentState,
): Steps<PaymentStep> {
  if (amount !== null && !isPositive(amount))
    return { kind: 'not paid', state: before, problem: nothingToPay(payment, amount) };
  const alike = wanted.alike ?? null;
  const subject = subjectOf(context, payment, { amount, unwanted, alike });
  const opened = yield* beforeWrite(subject, walkingAnew(context, before));
  if (!isOf('ready', opened)) return opened;
  if (amount === null) throw new RangeError(`Payment "${payment.id}" is wanted without an amount.`);
  const item: Item = { context, payment, amount, ahead, alike, subject, ready: opened };

  const walked = yield* firstNotClosed(item, opened.state);
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

/** Sends the generation to go on with, and those after it that open in the same call. */
function* send(
  item: Item,
  before: PaymentState,
  phase: Exclude<PaymentPhase, { kind: 'spent' }>,
): Steps<PaymentStep> {
  const { context, payment, amount, alike, subject, ready } = item;
  if (alike?.kind === 'held')
    return waits(before, 'person', SLOW_LOOKUP_MS, looksPaid(payment, alike.recordId));
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
    const stopped = yield* mayStillLeave(subject, ready, state);
    if (stopped !== null) return stopped;
    const tag = reference(context.plan.run, payment.id, state.generation);
    const reply = yield* ask<'send withdrawal'>({
      kind: 'send withdrawal',
      request: { account: payment.account, currency: payment.currency, amount, reference: tag },
    });
    const step = yield* afterWithdrawal(item, state, { tag, reply, causeGone, available });
    if (step.kind !== 'next generation') return step;
    state = step.state;
    causeGone = false;
  }
}

/** What a payment gives to the steps before every write. */
function subjectOf(
  context: Context,
  payment: Payment,
  { amount, unwanted, alike }: Pick<Item, 'alike'> & Pick<Wanted, 'amount' | 'unwanted'>,
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
    windowUntilMs: (said) => Math.max(...eightsOf(context, said).map(({ windowUntilMs }) => windowUntilMs)),
    windowPassed: (untilMs) => windowPassed(payment, untilMs),
    looksAlways: false,
    lookUp: (said, state) => lookForPayment(context, said, identify(said, state)),
    adopt: (said, state, record) => adopted({ context, payment, said }, state, record),
    end: (state, problem) => ({ kind: 'not paid', state, problem }),
    readNamed: (said, id) => readNamed({ ...identify(said, NEW_PAYMENT), ownIds: [id] }, id),
    // What was never converted can only have been paid by a run that knew better: lists tell soon enough.
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
  const closedIds = [...said.eights.flatMap(({ openedBy }) => openedBy.recordId ?? []), ...state.closedIds];
  const namedId = said.decision?.kind === 'executed' ? said.decision.recordId : null;
  return {
    reference: payment.reference,
    account: payment.account,
    currency: payment.currency,
    amount,
    opensAtMs: context.plan.sendWindows.opensAtMs,
    namedId,
    ownIds: [...(namedId === null ? [] : [namedId]), ...said.recordIds, ...closedIds],
    otherIds: [...context.otherWithdrawalIds, ...said.otherRecordIds],
    fromGeneration: said.eights.at(-1)?.first ?? 1,
    closedIds,
    follows: said.eights.map(({ openedBy }) => ({
      generation: openedBy.follows,
      recordId: openedBy.recordId,
    })),
    approvedUntilMs: alike?.kind === 'approved' ? said.approvedUntilMs : null,
    failedWords: context.facts.withdrawalStatuses.failed,
  };
}

function* lookForPayment(
  context: Context,
  { eights }: InstructionsAbout,
  identity: PaymentIdentity,
): Steps<Look<Withdrawal>> {
  // Who wants it paid again has seen that the record before has failed.
  const readAfterMs = eights.at(-1)?.openedBy.atMs;
  const scan = yield* ask<'scan withdrawals'>({
    kind: 'scan withdrawals',
    sinceMs: context.plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    wanted: (record) => isWithdrawalOf(identity, record) || couldBe(identity, record),
    reference: identity.reference,
    ...(readAfterMs !== undefined && { readAfterMs }),
  });
  const look = lookForWithdrawal(identity, scan);
  if (look.kind !== 'unproven' || !look.complete) return look;
  // Two runs may pay the same account the same amount on one day: the record of the other one is no doubt of ours.
  const candidates = candidatesOf(identity, scan);
  if (candidates.length > MOST_CANDIDATES) return look;
  const { claimed } = yield* ask<'read claims'>({ kind: 'read claims', records: candidates });
  return claimed.length === 0
    ? look
    : lookForWithdrawal({ ...identity, otherIds: [...identity.otherIds, ...claimed] }, scan);
}

/** A record that is named by its id: it must agree with the plan, and be no other payment's by tag or id. */
function* readNamed(identity: PaymentIdentity, id: string): Steps<Withdrawal | null> {
  const fetched = yield* ask<'fetch withdrawal'>({ kind: 'fetch withdrawal', id });
  return fetched.kind === 'DONE' && isOurs(identity, fetched.value) ? fetched.value : null;
}

function isOurs(identity: PaymentIdentity, record: Withdrawal): boolean {
  const ownTag = record.tag === null || generationOf(identity.reference, record.tag) !== null;
  return ownTag && !identity.otherIds.includes(record.id) && withdrawalDifference(identity, record) === null;
}

// Generations.

/** The eight that belong to the plan, and those that people have opened, in order; each has a send window of its own. */
function eightsOf(
  context: Context,
  said: InstructionsAbout,
): readonly Pick<Eight, 'first' | 'windowUntilMs'>[] {
  return [{ first: 1, windowUntilMs: context.plan.sendWindows.withdrawalsUntilMs }, ...said.eights];
}

/** Another Temporal run walks the generations again, from the first whose window is open. */
function walkingAnew({ attempt }: Context, state: PaymentState): PaymentState {
  if (state.walkedIn === attempt.runId) return state;
  return { ...atGeneration(state, 1), hasOpenedEarly: false, walkedIn: attempt.runId };
}

/** What was known of another generation's refusals is not about this one. */
function atGeneration(state: PaymentState, generation: number): PaymentState {
  if (state.generation === generation) return state;
  return { ...state, generation, refusedAtMs: null, tries: 0, phase: OPEN };
}

/** A generation is closed: the one to go on with. */
type Passed = { readonly kind: 'next generation'; readonly state: PaymentState };

const passedTo = (state: PaymentState, generation: number): Passed => ({
  kind: 'next generation',
  state: atGeneration(state, generation),
});

/**
 * Where the walk by keys goes on in this call: at the generation that it has come to, as long as its window is open. What
 * a person has decided about, or whose window has ended, no key can close any more.
 */
function* firstNotClosed(item: Item, state: PaymentState): Steps<Passed | PaymentStep> {
  const { context, ready } = item;
  const { said } = ready;
  const decided = said.eights.findLast(({ closedBy }) => closedBy !== null);
  if (decided !== undefined && state.generation < decided.first)
    return yield* openEight(item, state, decided);
  // A key says less than its own record: under another API key the same again would be a new payment.
  const { look } = ready.looked ?? { look: null };
  if (look?.kind === 'absent' && look.closed.includes(state.generation)) {
    const passed = yield* passClosed(item, withoutDoubt(state), false);
    if (passed !== null)
      return isOf('next generation', passed) ? yield* firstNotClosed(item, passed.state) : passed;
  }
  const eights = eightsOf(context, said);
  const now = context.nowMs();
  const own = eights[eightOf(state.generation)];
  if (own !== undefined && now <= own.windowUntilMs) return passedTo(state, state.generation);
  const next = said.eights.find(
    ({ first, windowUntilMs }) => first > state.generation && now <= windowUntilMs,
  );
  // Step 3 has seen that some window is open.
  return next === undefined ? passedTo(state, state.generation) : yield* openEight(item, state, next);
}

/**
 * Goes on with eight generations that a person has opened. An instruction closes nothing: unless the first of them was
 * sent before, it leaves only when those below are closed, no doubt is left about any of them, and a lookup shows
 * nothing that could be the payment.
 */
function* openEight(
  item: Item,
  before: PaymentState,
  { first, closedBy }: Pick<Eight, 'first' | 'closedBy'>,
): Steps<Passed | PaymentStep> {
  const { subject, ready } = item;
  const { said } = ready;
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

/** No later generation is sent before its opening is kept where no reset loses it. */
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
    message: `That payment "${payment.id}" goes on under ~${generation} could not be kept in Temporal.`,
    fix: 'Nothing to do: it tries again by itself, and sends nothing before.',
  });
}

/**
 * The generation is closed for good. Goes on with one that was opened before, with what a person has opened, or with the
 * next of the eight when its time has come; null: the refusal stands for now.
 */
function* passClosed(
  item: Item,
  state: PaymentState,
  causeGone: boolean,
): Steps<Passed | PaymentStep | null> {
  const { context, ready, subject } = item;
  const { said } = ready;
  const now = context.nowMs();
  const eight = eightOf(state.generation);
  const last = (eight + 1) * GENERATIONS_AT_ONCE;
  const sentBefore = said.opened
    .map(({ generation }) => generation)
    .filter((generation) => generation > state.generation && generation <= last);
  if (sentBefore.length > 0) return passedTo(state, Math.min(...sentBefore));
  const later = said.eights.find(({ first, windowUntilMs }) => first > last && now <= windowUntilMs);
  if (later !== undefined) return yield* openEight(item, state, later);
  if (state.generation === last) return null;
  const isLast = state.generation + 1 === last;
  const isEarly = !causeGone && now < turnAtMs(item, state);
  if (!causeGone && (isLast || (isEarly && !mayOpenEarly(item, state)))) return null;
  if (ready.otherKeys) {
    // Another API key may have paid this generation: only where nothing could be it does the next one open.
    const { look } = yield* lookUp(subject, said, state);
    const seen = conclude(subject, said, state, look);
    if (seen !== null) return seen;
  }
  return yield* noteOpening(item, isEarly ? { ...state, hasOpenedEarly: true } : state, state.generation + 1);
}

/** A new start or a reset opens one generation before its time: somebody may have mended the cause. */
function mayOpenEarly({ context }: Item, { hasOpenedEarly }: PaymentState): boolean {
  return isNewStart(context) && !hasOpenedEarly;
}

/** Openings of the eight of a generation, newest last. */
function openingsOf({ ready }: Item, { generation }: PaymentState): readonly number[] {
  return ready.said.opened
    .filter((opened) => eightOf(opened.generation) === eightOf(generation))
    .map(({ atMs }) => atMs);
}

/** When the next generation opens by itself; never so late that the window would end before it. */
function turnAtMs(item: Item, state: PaymentState): number {
  const now = item.context.nowMs();
  const lastMs = Math.max(...openingsOf(item, state), state.refusedAtMs ?? 0) || now;
  const nth = (state.generation - 1) % GENERATIONS_AT_ONCE;
  const gapMs = OPENING_GAPS_MS[nth] ?? Infinity;
  const untilMs = eightsOf(item.context, item.ready.said)[eightOf(state.generation)]?.windowUntilMs ?? now;
  return Math.max(Math.min(lastMs + gapMs, untilMs - HOUR_MS), lastMs + HOUR_MS / 4);
}

/** A person has said, since the last opening, that the cause of the refusal is gone. */
function isSaidToBeGone(item: Item, state: PaymentState): boolean {
  const sinceMs = Math.max(...openingsOf(item, state), 0);
  return item.ready.said.causeGone.some(({ atMs }) => atMs > sinceMs);
}

// Replies.

type Sent = {
  /** Reference with its generation, as it was sent. */
  readonly tag: string;
  readonly reply: Reply<Withdrawal>;
  /** A read, or a person, has just told that what the last refusal was for is over. */
  readonly causeGone: boolean;
  /** What a read of the balances has just shown of its currency; null: none was made. */
  readonly available: string | null;
};

/** What follows from the reply to a withdrawal: what the table says, carried out. */
function* afterWithdrawal(item: Item, state: PaymentState, sent: Sent): Steps<PaymentStep | Passed> {
  const { context, payment } = item;
  const { reply, tag } = sent;
  const follow = followUp(reply);
  const problem = problemOf(reply, payment.id, ADVICE[follow.class]);
  // Whatever its class: a reply that was not understood, or proves nothing, leaves the send in doubt.
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
      return wait(after, serviceWait(problem, waitMs(reply, state.tries)));
    case 'look up, then same key again':
    case 'look up, then doubt': {
      const unknown: PaymentState =
        after.doubt === null ? unknownSend(context, state, `the answer was ${problem.code}`) : after;
      const goesOn = follow.withdrawal === 'look up, then same key again';
      const next: PaymentState = goesOn ? unknown : { ...unknown, phase: { kind: 'spent', problem } };
      const id = resourceIdOf(reply);
      const named = id === null ? null : yield* item.subject.readNamed(item.ready.said, id);
      if (named !== null && named !== 'unreadable')
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
 * The key has succeeded. A replay gives the id only: where a person has opened a later generation, the record's status
 * says now whether it still stands.
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
  if (!isFollowed || isOfOthers(adopter, record)) return adopted(adopter, state, record, tag);
  const live = yield* statusOf(context, record.id);
  if (live === null)
    return wait(
      state,
      serviceWait(unreadable(payment.id, `withdrawal ${record.id}`), backoffMs(state.tries)),
    );
  if (!context.facts.withdrawalStatuses.failed.includes(live.status))
    return adopted(adopter, state, live, tag);
  // Closed by its own record in a failed status.
  const closed = { ...withoutDoubt(state), closedIds: [...state.closedIds, record.id] };
  const passed = yield* passClosed(item, closed, false);
  return passed ?? adopted(adopter, state, live, tag);
}

/** The record as it stands now: by its id, or in the list where that answer is not whole; null: it could not be read. */
function* statusOf({ plan }: Context, id: string): Steps<Withdrawal | null> {
  const fetched = yield* ask<'fetch withdrawal'>({ kind: 'fetch withdrawal', id });
  if (fetched.kind === 'DONE') return fetched.value;
  const sinceMs = plan.sendWindows.opensAtMs - LOOK_BACK_MS;
  const { records } = yield* ask<'scan withdrawals'>({
    kind: 'scan withdrawals',
    sinceMs,
    wanted: (record) => record.id === id,
  });
  return records[0] ?? null;
}

/**
 * A definitive refusal. It settles an earlier unknown send only when the service judged the payment itself (or replays
 * what it keeps under the key), and only after the moment at which that send could last be accepted.
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
  const isKept = follow.withdrawal === 'look up, then next generation';
  // What follows where no later generation is gone on with.
  const standing: AfterWithdrawal = FOLLOW_UPS[follow.class].withdrawal;
  const state: PaymentState = { ...before, refusedAtMs: before.refusedAtMs ?? now };
  const judged = isKept || (reply.kind === 'REFUSED' && standing !== 'hold' && !isMalformed(problem.code));
  if (!judged && (standing === 'hold' || state.doubt !== null))
    return wait(state, configurationWait(problem, state.tries));
  if (state.doubt !== null && now <= state.doubt.lastSendMs) {
    const afterMs = state.doubt.lastSendMs - now + 1_000;
    const why = inDoubt(subject, state, problem);
    return waitsSafely(subject, state, { afterMs, safeAtMs: now + afterMs, problem: why });
  }
  const clear = withoutDoubt(state);
  if (isKept) {
    // The chain rule: the service keeps this refusal under the key, so the key can never succeed any more.
    const passed = yield* passClosed(item, clear, causeGone);
    if (passed !== null) return passed;
  }
  if (standing === 'hold') return wait(clear, configurationWait(problem, state.tries));
  if (standing === 'shortfall rule' && context.plan.shortfall === 'hold') {
    const afterMs = isShownByBalances(problem.code) ? MONEY_POLL_MS : BLIND_RETRY_MS;
    const there = availableIn(reply) ?? available;
    const despite = there === null ? null : { available: there, atMs: now };
    return waits({ ...clear, phase: { kind: 'short', problem, despite } }, 'money', afterMs, problem);
  }
  if (isMalformed(problem.code) && !context.othersAccepted)
    return wait(clear, configurationWait({ ...problem, fix: BUG_OF_OURS }, state.tries));
  return yield* endUnsent(subject, ready.said, clear, problem);
}

/** What the service said was available when it refused; null where it does not say. */
function availableIn(reply: Reply<Withdrawal>): string | null {
  const available = reply.kind === 'REFUSED' ? reply.error.details['availableAmount'] : null;
  return typeof available === 'string' && isDecimal(available) ? available : null;
}

/** Looks up after an unknown send; nothing found: wait, and the next call sends the same again. */
function* lookThen(
  { subject, ready }: Item,
  state: PaymentState,
  problem: Problem,
  afterMs: number,
): Steps<PaymentStep> {
  const { look } = yield* lookUp(subject, ready.said, state);
  // "Could be it", and lists that cannot be read, forbid an end, not the same key again, which is itself a lookup.
  const seen = look.kind === 'unproven' ? null : conclude(subject, ready.said, state, look);
  return seen ?? waits(state, 'doubt', afterMs, problem);
}

/**
 * Is the money there that a held payment waits for, and for the payments before it in the plan? A wait while it is not;
 * `isThere` is false where no read can show it, and it is tried all the same.
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
  const waiting = waits(state, 'money', MONEY_POLL_MS, problem);
  if (compare(available, add(item.ahead, item.amount)) < 0) return waiting;
  if (despite === null || compare(available, despite.available) > 0) return { isThere: true, available };
  // It was refused with so much there already: something else is short, which no read can show.
  const isDue = item.context.nowMs() - despite.atMs >= BLIND_RETRY_MS;
  return isDue ? { isThere: false, available } : waiting;
}

type Adopter = {
  readonly context: Context;
  readonly payment: Payment;
  readonly said: InstructionsAbout;
};

/** True for a record that another payment of the run counts as its own. */
function isOfOthers({ context, said }: Adopter, { id }: Withdrawal): boolean {
  return context.otherWithdrawalIds.includes(id) || said.otherRecordIds.includes(id);
}

/** The payment as this record, unless another payment of the run counts it as its own. */
function adopted(
  adopter: Adopter,
  state: PaymentState,
  record: Withdrawal,
  sentAs: string = adopter.payment.reference,
): PaymentStep {
  const { context, payment } = adopter;
  if (isOfOthers(adopter, record) || !context.take(record.id))
    return waits(state, 'person', SLOW_LOOKUP_MS, recordTaken(payment, record.id));
  return {
    kind: 'accepted',
    accepted: {
      withdrawalId: record.id,
      reference: record.tag ?? sentAs,
      status: record.status,
      amount: record.withdrawalAmount,
    },
  };
}

/** Proceeds can round down to nothing; there is no such withdrawal, so none can have been sent. */
function nothingToPay(payment: Payment, amount: string): Problem {
  return {
    code: 'NOTHING_TO_PAY',
    item: payment.id,
    message: `The amount of payment "${payment.id}" comes to ${amount} ${payment.currency}.`,
    fix: 'Convert more, so that something is left after rounding.',
  };
}

function looksPaid(payment: Payment, recordId: string | null): Problem {
  const which = recordId === null ? 'A withdrawal' : `Withdrawal ${recordId}`;
  return {
    code: 'LOOKS_PAID',
    item: payment.id,
    message: `${which} pays what payment "${payment.id}" would pay, to the same account, and no run of ours accounts for it.`,
    fix: 'A person decides: approve it with `npx cambist run … --approve-lookalikes` to pay it as well, or use `npx cambist resolve`: --executed with its id if it is this payment, --not-executed if it is not to be paid.',
  };
}

function windowPassed(payment: Payment, untilMs: number): Problem {
  return {
    code: 'WINDOW_PASSED',
    item: payment.id,
    message: `Payment "${payment.id}" was not sent by ${new Date(untilMs).toISOString()}; after that its key is too old to be safe.`,
    fix: 'Pay it in a new run.',
  };
}

/** The service answers this payment's key with a record that a person has named for another one. */
function recordTaken(payment: Payment, id: string): Problem {
  return {
    code: 'RECORD_TAKEN',
    item: payment.id,
    message: `The service says that withdrawal ${id} is payment "${payment.id}", but another payment of this run counts it as its own.`,
    fix: 'A person finds out which of the two was made. If the record was named for the other one by mistake, say "not executed" of this one: the record stays with the other.',
  };
}

function wait(state: PaymentState, pause: Wait): PaymentStep {
  return { kind: 'wait', state, wait: pause };
}
