/**
 * The steps of one payment: look, send under the key of the first generation not closed, and whatever a reply or a
 * crash makes of that (M1, M2). A withdrawal is tried again *under the same key* first; the chain rule (design:
 * "The chain rule") says when a later generation may open.
 */
import { FOLLOW_UPS, backoffMs, followUp, waitMs } from './decisions.ts';
import {
  LOOK_BACK_MS,
  couldBe,
  isWithdrawalOf,
  lookForWithdrawal,
  withdrawalDifference,
  type Look,
  type PaymentIdentity,
} from './looks.ts';
import { compare, isDecimal, isPositive } from './money.ts';
import type { Payment } from './plan.ts';
import type { Withdrawal } from './records.ts';
import { generationOf, reference } from './references.ts';
import type { Reply } from './reply.ts';
import {
  ADVICE,
  BUG_OF_OURS,
  NOTHING_SENT,
  SLOW_LOOK_MS,
  ask,
  checkClock,
  configurationWait,
  executedNothing,
  foreignCredentials,
  isOlderThanDoubt,
  isOtherKey,
  isUnknownKey,
  leftUnder,
  problemOf,
  readInstructionsAbout,
  recall,
  serviceWait,
  resourceIdOf,
  settleByTime,
  settleTimeMs,
  triedAgain,
  unknownSend,
  unreadable,
  withOwnKey,
  withoutDoubt,
  type Context,
  type Problem,
  type SendState,
  type Steps,
  type Wait,
} from './stepper.ts';
import type { InstructionsAbout } from './instructions.ts';

/** What is known of a payment's writes. */
export type PaymentState = SendState & {
  /** The generation that is sent next: the first that is not closed. */
  readonly generation: number;
  /** When this Temporal run last had a fresh refusal of a later generation; null: it has opened none in vain. */
  readonly inVainAtMs: number | null;
  /** Temporal run that `inVainAtMs` is about. */
  readonly openedIn: string | null;
  /** Of the last refusal for lack of money: when it came, and what it said was available (null: it did not say). */
  readonly shortSinceMs: number;
  readonly shortAt: string | null;
};

export const NEW_PAYMENT: PaymentState = Object.freeze({
  ...NOTHING_SENT,
  generation: 1,
  inVainAtMs: null,
  openedIn: null,
  shortSinceMs: 0,
  shortAt: null,
});

/** A withdrawal that the service accepted; whether it is paid is read live from its status. */
export type Accepted = { readonly withdrawalId: string; readonly reference: string; readonly status: string };

/** What one call came to, and so what the workflow does next. */
export type PaymentStep =
  | { readonly kind: 'accepted'; readonly state: PaymentState; readonly accepted: Accepted }
  /** An end, with the proof: no withdrawal exists for this payment. */
  | { readonly kind: 'not paid'; readonly state: PaymentState; readonly problem: Problem }
  | { readonly kind: 'wait'; readonly state: PaymentState; readonly wait: Wait };

/** After the eighth generation a refusal stands. */
const MAX_GENERATIONS = 8;
/** How often money is looked for while a payment waits for it. */
const MONEY_POLL_MS = 15_000;
/** How often a shortage that no read can show is tried again. */
const BLIND_RETRY_MS = 900_000;
/** So long the refusal of `~2` stands before a run goes past it again without a read that shows its cause gone; twice as long each time. */
const PASS_AGAIN_MS = 900_000;
/** The one shortage that the balances show. */
const SHOWN_BY_BALANCES = 'WITHDRAWAL_INSUFFICIENT_BALANCE';

/** The item of one call, as every step of it needs it. */
type Item = {
  readonly context: Context;
  readonly payment: Payment;
  readonly amount: string;
  /** What people have said about it. */
  readonly words: InstructionsAbout;
};

/**
 * Sends one payment of `amount`, unless it is done, unwanted, outside its fence, or must wait.
 * @param unwanted why the run does not want it any more (its leg was not traded); null when it does
 */
export function* createWithdrawalSteps(
  context: Context,
  payment: Payment,
  amount: string,
  before: PaymentState,
  unwanted: Problem | null = null,
): Steps<PaymentStep> {
  const foreign = foreignCredentials(context);
  if (foreign !== null)
    return wait(triedAgain(before), configurationWait({ ...foreign, item: payment.id }, before.tries));

  if (!isPositive(amount)) return { kind: 'not paid', state: before, problem: nothingToPay(payment, amount) };

  const words = yield* readInstructionsAbout(payment.id);
  const item: Item = { context, payment, amount, words };
  const recalled = recall(context, walkFromFirst(item, before), 'withdrawal');
  let { state } = recalled;
  if (!recalled.fresh || words.decision !== null) {
    const look = yield* lookForPayment(item);
    // "Could be it", and lists that cannot be read, forbid an end, not the same key again, which is itself a look.
    const closed = look.kind === 'differs' && words.decision?.kind === 'not executed';
    const seen = look.kind === 'unproven' || closed ? null : conclude(item, state, look);
    if (seen !== null) return seen;
    const decided = yield* carryOutDecision(item, state, look);
    if (decided !== null) return decided;
  }
  if (words.cancelled) return yield* endUnsent(item, state, cancelled(payment));
  if (unwanted !== null) return yield* endUnsent(item, state, unwanted);

  const { fences, zone, date } = context.plan;
  const now = context.nowMs();
  if (now < fences.opensAtMs) {
    const problem = {
      code: 'NOT_YET_OPEN',
      item: payment.id,
      message: `${date} has not begun in ${zone}.`,
      fix: 'Nothing to do: it goes on then.',
    };
    return wait(state, { afterMs: fences.opensAtMs - now, hold: 'opening', problem });
  }
  const fenceUntilMs = words.payAgain?.windowUntilMs ?? fences.withdrawalsUntilMs;
  if (now > fenceUntilMs) return yield* endUnsent(item, state, fencePassed(payment, fenceUntilMs));
  if (state.spent !== null) return yield* waitOutDoubt(item, state, state.spent);
  if (isOtherKey(context, state)) {
    // Keys may belong to the API key: under another one the same again is no look, so time must settle it first.
    const settled = yield* settleDoubt(item, state, otherKey(item));
    if ('step' in settled) return settled.step;
    state = settled.state;
  }
  if (isUnknownKey(context, state))
    return wait(withOwnKey(context, state), { afterMs: 1_000, hold: 'service', problem: otherKey(item) });
  const apart = yield* clocksApart(item, state);
  if (apart !== null) return apart;

  let causeGone = false;
  if (state.shortOf !== null) {
    const short = yield* stillShort(item, state, state.shortOf);
    if (short !== 'there' && short !== 'unseen') return short;
    causeGone = short === 'there';
  }

  for (;;) {
    const tag = reference(context.plan.run, payment.id, state.generation);
    const reply = yield* ask<'send withdrawal'>({
      kind: 'send withdrawal',
      request: { account: payment.account, currency: payment.currency, amount, reference: tag },
    });
    const step = yield* afterWithdrawal(item, state, { tag, reply, causeGone });
    if (step.kind !== 'next generation') return step;
    state = step.state;
    causeGone = false;
    // The reply may have told that the clocks are apart.
    const nowApart = yield* clocksApart(item, state);
    if (nowApart !== null) return nowApart;
  }
}

/** A refusal that is replayed may be passed: the next generation is sent at once. */
type Passed = { readonly kind: 'next generation'; readonly state: PaymentState };

type Sent = {
  /** Reference with its generation, as it was sent. */
  readonly tag: string;
  readonly reply: Reply<Withdrawal>;
  /** A read has just shown that what the last refusal was for is over. */
  readonly causeGone: boolean;
};

/** What follows from the reply to a withdrawal: the table's word, carried out. */
function* afterWithdrawal(item: Item, state: PaymentState, sent: Sent): Steps<PaymentStep | Passed> {
  const { context, payment } = item;
  const { reply, tag } = sent;
  const follow = followUp(reply);
  const problem = problemOf(reply, payment.id, ADVICE[follow.class]);
  // Whatever its class: a reply that was not understood, or proves nothing, leaves the send in doubt.
  const after: PaymentState =
    reply.kind === 'UNKNOWN' && !executedNothing(reply)
      ? unknownSend(context, state, `the answer was ${problem.code}`)
      : { ...(reply.kind === 'NOT_SENT' ? state : leftUnder(context, state)), tries: state.tries + 1 };
  switch (follow.withdrawal) {
    case 'adopt': {
      if (reply.kind !== 'DONE') break;
      if (context.otherWithdrawalIds.includes(reply.value.id))
        return wait(after, {
          afterMs: SLOW_LOOK_MS,
          hold: 'person',
          problem: recordTaken(payment, reply.value.id),
        });
      const ownTag = reply.value.tag === null || reply.value.tag === tag;
      if (ownTag && withdrawalDifference(identityOf(item), reply.value) === null)
        return accepted(after, reply.value, tag);
      const unknown = unknownSend(context, state, 'the answer was not about our withdrawal');
      return yield* lookThen(item, unknown, problem, 10_000);
    }
    case 'same key again':
      return wait(after, serviceWait(problem, waitMs(reply, state.tries)));
    case 'look, then same key again':
    case 'look, then doubt': {
      const unknown: PaymentState =
        after.doubt === null ? unknownSend(context, state, `the answer was ${problem.code}`) : after;
      const goesOn = follow.withdrawal === 'look, then same key again';
      const next: PaymentState = goesOn ? unknown : { ...unknown, spent: problem };
      const fetched = yield* fetchNamed(item, reply);
      if (fetched !== null) return accepted(next, fetched, fetched.tag ?? tag);
      const afterMs = goesOn ? Math.max(settleTimeMs(reply), backoffMs(state.tries)) : 1_000;
      return yield* lookThen(item, next, problem, afterMs);
    }
    case 'look, then next generation':
    case 'shortfall rule':
    case 'look, then end':
    case 'hold':
      return yield* afterRefusal(item, after, problem, sent);
  }
  throw new RangeError(`A ${reply.kind} reply cannot be followed by "${follow.withdrawal}".`);
}

/**
 * A definitive refusal. It settles an earlier unknown send only when the service judged the payment itself (or replays
 * what it keeps under the key), and only after the moment at which that send could last be accepted.
 */
function* afterRefusal(
  item: Item,
  before: PaymentState,
  problem: Problem,
  { reply, causeGone }: Sent,
): Steps<PaymentStep | Passed> {
  const { context, payment } = item;
  const follow = followUp(reply);
  const now = context.nowMs();
  const isMalformed = problem.code.startsWith('VALIDATION_');
  const mayPass = follow.withdrawal === 'look, then next generation';
  // What follows where no next generation is opened.
  const standing = FOLLOW_UPS[follow.class].withdrawal;
  const inVain = before.generation > 1 && reply.kind === 'REFUSED' && !mayPass;
  const state: PaymentState = inVain ? { ...before, inVainAtMs: now } : before;
  const judged = mayPass || (reply.kind === 'REFUSED' && standing !== 'hold' && !isMalformed);
  if (!judged && (standing === 'hold' || state.doubt !== null))
    return wait(state, configurationWait(problem, state.tries));
  if (state.doubt !== null && now <= state.doubt.lastSendMs) {
    const afterMs = state.doubt.lastSendMs - now + 1_000;
    return wait(state, { afterMs, hold: 'doubt', problem: inDoubt(payment, state.doubt.why) });
  }
  const clear = withoutDoubt(state);
  if (mayPass && clear.generation < MAX_GENERATIONS && (causeGone || mayTryAgain(clear, now))) {
    // The chain rule: the service keeps this refusal under the key, so the key can never succeed any more. But another
    // API key may have paid the same generation: only where nothing could be it does the next one open.
    const look = yield* lookForPayment(item);
    return (
      conclude(item, clear, look) ?? {
        kind: 'next generation',
        state: { ...clear, generation: clear.generation + 1, tries: 0 },
      }
    );
  }
  if (standing === 'hold') return wait(clear, configurationWait(problem, state.tries));
  if (standing === 'shortfall rule' && context.plan.shortfall === 'hold') {
    const afterMs = problem.code === SHOWN_BY_BALANCES ? MONEY_POLL_MS : BLIND_RETRY_MS;
    const short = { shortOf: problem, shortSinceMs: now, shortAt: availableIn(reply) };
    return wait({ ...clear, ...short }, { afterMs, hold: 'money', problem });
  }
  if (isMalformed && !context.othersAccepted)
    return wait(clear, configurationWait({ ...problem, fix: BUG_OF_OURS }, state.tries));
  return yield* endAfterLook(item, clear, problem);
}

/** Generations are few: after one in vain the next waits, for a cause that only another send can show to be gone (M7). */
function mayTryAgain({ inVainAtMs, generation }: PaymentState, now: number): boolean {
  return inVainAtMs === null || now - inVainAtMs >= PASS_AGAIN_MS * 2 ** Math.max(generation - 2, 0);
}

/** What the service said was available when it refused; null where it does not say. */
function availableIn(reply: Reply<Withdrawal>): string | null {
  const available = reply.kind === 'REFUSED' ? reply.error.details['availableAmount'] : null;
  return typeof available === 'string' && isDecimal(available) ? available : null;
}

/** A person's decision about an item of which no record was found: checked against the service, then carried out. */
function* carryOutDecision(
  item: Item,
  state: PaymentState,
  look: Look<Withdrawal>,
): Steps<PaymentStep | null> {
  const { decision } = item.words;
  if (decision === null) return null;
  if (decision.kind === 'not executed') {
    // One complete look: what merely could be it has been judged by the person, unless it is newer than the word.
    if (look.kind === 'unproven' && (!look.complete || (look.newestAtMs ?? 0) > decision.atMs))
      return conclude(item, state, look);
    const problem = decidedAgainst(item.payment, decision);
    if (isOlderThanDoubt(decision, state)) return yield* endUnsent(item, state, problem);
    return { kind: 'not paid', state, problem };
  }
  const fetched = yield* ask<'fetch withdrawal'>({ kind: 'fetch withdrawal', id: decision.recordId });
  if (fetched.kind === 'DONE' && isOurs(item, fetched.value))
    return accepted(state, fetched.value, fetched.value.tag ?? item.payment.reference);
  return wait(state, {
    afterMs: SLOW_LOOK_MS,
    hold: 'person',
    problem: decisionUnproven(item.payment, decision.recordId),
  });
}

/** The withdrawal that a failed write names by its id, when it is there and is ours. */
function* fetchNamed(item: Item, reply: Reply<Withdrawal>): Steps<Withdrawal | null> {
  const id = resourceIdOf(reply);
  if (id === null) return null;
  const fetched = yield* ask<'fetch withdrawal'>({ kind: 'fetch withdrawal', id });
  return fetched.kind === 'DONE' && isOurs(item, fetched.value) ? fetched.value : null;
}

/** A record that was named by its id: it must agree with the plan, and be no other payment's by tag or id. */
function isOurs(item: Item, record: Withdrawal): boolean {
  const { context, payment } = item;
  const ownTag = record.tag === null || generationOf(payment.reference, record.tag) !== null;
  return (
    ownTag &&
    !context.otherWithdrawalIds.includes(record.id) &&
    withdrawalDifference(identityOf(item), record) === null
  );
}

/** Doubt that the same key cannot end: settled by a record or by time, else the wait for either. */
function* settleDoubt(
  item: Item,
  state: PaymentState,
  problem: Problem,
): Steps<{ readonly state: PaymentState } | { readonly step: PaymentStep }> {
  const seen = conclude(item, state, yield* lookForPayment(item));
  if (seen !== null) return { step: seen };
  // By a wrong clock no time has passed.
  const apart = yield* clocksApart(item, state);
  if (apart !== null) return { step: apart };
  const settled = settleByTime(item.context, state, item.context.facts.settleDoubtMs.withdrawal);
  if (settled.over) return { state: settled.state };
  const afterMs = Math.min(settled.nextLookMs, SLOW_LOOK_MS);
  return { step: wait(settled.state, { afterMs, hold: 'doubt', problem }) };
}

/** The wait while the clocks are apart; null when they agree. */
function* clocksApart(
  { context, payment }: Item,
  state: PaymentState,
): Steps<Extract<PaymentStep, { kind: 'wait' }> | null> {
  const skewed = yield* checkClock(context);
  if (skewed === null) return null;
  const pause = configurationWait({ ...skewed, item: payment.id }, state.tries);
  return { kind: 'wait', state: triedAgain(state), wait: pause };
}

/** Never sent again by itself: when time has settled the doubt, a person decides. */
function* waitOutDoubt(item: Item, state: PaymentState, problem: Problem): Steps<PaymentStep> {
  const settled = yield* settleDoubt(item, state, problem);
  if ('step' in settled) return settled.step;
  return wait(settled.state, { afterMs: SLOW_LOOK_MS, hold: 'person', problem });
}

/** An end that nothing sent may stand against: in doubt it waits until time has settled it. */
function* endUnsent(item: Item, state: PaymentState, problem: Problem): Steps<PaymentStep> {
  // What the service called ours is for a person to decide, also when nobody wants it any more.
  if (state.spent !== null) return yield* waitOutDoubt(item, state, state.spent);
  if (state.doubt === null) return yield* endAfterLook(item, state, problem);
  const doubtful = inDoubt(item.payment, `${state.doubt.why}; meanwhile: ${problem.message}`);
  const settled = yield* settleDoubt(item, state, doubtful);
  return 'step' in settled ? settled.step : yield* endAfterLook(item, settled.state, problem);
}

/** An end needs one look more (step 6). */
function* endAfterLook(item: Item, state: PaymentState, problem: Problem): Steps<PaymentStep> {
  const seen = conclude(item, state, yield* lookForPayment(item));
  return seen ?? { kind: 'not paid', state, problem };
}

/** Looks after an unknown send; nothing found: wait, and the next call sends the same again. */
function* lookThen(item: Item, state: PaymentState, problem: Problem, afterMs: number): Steps<PaymentStep> {
  const look = yield* lookForPayment(item);
  const seen = look.kind === 'unproven' ? null : conclude(item, state, look);
  return seen ?? wait(state, { afterMs, hold: 'doubt', problem });
}

/** Is the money there that a held payment waits for? `unseen`: no read can show it. */
function* stillShort(
  item: Item,
  state: PaymentState,
  problem: Problem,
): Steps<PaymentStep | 'there' | 'unseen'> {
  if (problem.code !== SHOWN_BY_BALANCES) return 'unseen';
  const reply = yield* ask<'read balances'>({ kind: 'read balances' });
  if (reply.kind !== 'DONE')
    return wait(triedAgain(state), { afterMs: waitMs(reply, state.tries), hold: 'money', problem });
  const row = reply.value.balances.find(({ currency }) => currency === item.payment.currency);
  const available = row?.withdrawable ?? '0';
  const enough = compare(available, item.amount) >= 0;
  // It was refused with so much there already: something else is short, which no read can show.
  const risen = state.shortAt === null || compare(available, state.shortAt) > 0;
  if (enough && risen) return 'there';
  if (enough && item.context.nowMs() - state.shortSinceMs >= BLIND_RETRY_MS) return 'unseen';
  return wait(state, { afterMs: MONEY_POLL_MS, hold: 'money', problem });
}

function* lookForPayment(item: Item): Steps<Look<Withdrawal>> {
  const identity = identityOf(item);
  const sweep = yield* ask<'sweep withdrawals'>({
    kind: 'sweep withdrawals',
    sinceMs: item.context.plan.fences.opensAtMs - LOOK_BACK_MS,
    wanted: (record) => isWithdrawalOf(identity, record) || couldBe(identity, record),
  });
  return lookForWithdrawal(identity, sweep);
}

/** What a look settles; null when it found the payment absent. */
function conclude(item: Item, state: PaymentState, look: Look<Withdrawal>): PaymentStep | null {
  const { payment } = item;
  switch (look.kind) {
    case 'found':
      return accepted(state, look.record, look.record.tag ?? payment.reference);
    case 'differs':
      return wait(state, {
        afterMs: SLOW_LOOK_MS,
        hold: 'person',
        problem: recordDiffers(payment, look.record.id, look.difference),
      });
    case 'unproven':
      if (look.complete)
        return wait(state, {
          afterMs: SLOW_LOOK_MS,
          hold: 'person',
          problem: couldBeIt(payment, look.reason),
        });
      return wait(triedAgain(state), {
        afterMs: backoffMs(state.tries),
        hold: 'doubt',
        problem: unreadable(payment.id, look.reason),
      });
    case 'absent':
      return null;
  }
}

function identityOf({ context, payment, amount, words }: Item): PaymentIdentity {
  return {
    reference: payment.reference,
    account: payment.account,
    currency: payment.currency,
    amount,
    opensAtMs: context.plan.fences.opensAtMs,
    ownIds: words.decision?.kind === 'executed' ? [words.decision.recordId] : [],
    otherIds: context.otherWithdrawalIds,
    fromGeneration: words.payAgain?.generation ?? 1,
    failedWords: context.facts.withdrawalStatuses.failed,
  };
}

/** Another Temporal run walks the generations again from the first that no person has closed. */
function walkFromFirst({ context, words }: Item, state: PaymentState): PaymentState {
  const { runId } = context.attempt;
  const first = words.payAgain?.generation ?? 1;
  if (state.openedIn === runId && state.generation >= first) return state;
  // Another generation than was being sent: what was known of that one's refusals is not about it.
  const moved = state.generation < first ? { spent: null, shortOf: null, verdict: null } : {};
  return { ...state, ...moved, generation: first, inVainAtMs: null, openedIn: runId };
}

function accepted(state: PaymentState, record: Withdrawal, tag: string): PaymentStep {
  return {
    kind: 'accepted',
    state: { ...withoutDoubt(state), shortOf: null, spent: null, verdict: null },
    accepted: { withdrawalId: record.id, reference: tag, status: record.status },
  };
}

function cancelled(payment: Payment): Problem {
  return {
    code: 'CANCELLED',
    item: payment.id,
    message: 'The run was cancelled before this payment was sent.',
    fix: 'Start the run with --go-on to pay it after all.',
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

function fencePassed(payment: Payment, fenceUntilMs: number): Problem {
  return {
    code: 'FENCE_PASSED',
    item: payment.id,
    message: `Payment "${payment.id}" was not sent by ${new Date(fenceUntilMs).toISOString()}; after that its key is too old to be safe.`,
    fix: 'Pay it in a new run.',
  };
}

function recordDiffers(payment: Payment, id: string, difference: string): Problem {
  return {
    code: 'RECORD_DIFFERS',
    item: payment.id,
    message: `Withdrawal ${id} carries ${payment.reference}, but ${difference}.`,
    fix: 'A person compares the record with the plan; nothing is sent for this payment.',
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

function couldBeIt(payment: Payment, reason: string): Problem {
  return {
    code: 'RECORD_COULD_BE_IT',
    item: payment.id,
    message: `Whether payment "${payment.id}" was accepted cannot be proven: ${reason}.`,
    fix: 'A person decides: name the record if it is this payment, or say that it was not executed.',
  };
}

function decidedAgainst(payment: Payment, decision: { readonly by: string; readonly why: string }): Problem {
  return {
    code: 'DECIDED_NOT_EXECUTED',
    item: payment.id,
    message: `${decision.by} decided that payment "${payment.id}" was not executed: ${decision.why}`,
    fix: 'Pay it by a new generation, if it is still owed.',
  };
}

function decisionUnproven(payment: Payment, recordId: string): Problem {
  return {
    code: 'DECISION_UNPROVEN',
    item: payment.id,
    message: `A person named withdrawal ${recordId} for payment "${payment.id}", but the service shows no such withdrawal that agrees with the plan.`,
    fix: 'Name the right record, or decide again.',
  };
}

function otherKey({ context, payment }: Item): Problem {
  return {
    code: 'API_KEY_CHANGED',
    item: payment.id,
    message: `The worker uses another API key (${context.credentials.keyName}) than the plan (${context.plan.credentials.keyName}), and this payment may have been sent under the old one.`,
    fix: 'Nothing to do when the lists show tags: it looks until time has settled it. Going back to the old key is quicker.',
  };
}

function inDoubt(payment: Payment, why: string): Problem {
  return {
    code: 'IN_DOUBT',
    item: payment.id,
    message: `Whether payment "${payment.id}" was accepted is not known yet (${why}).`,
    fix: 'Nothing to do: it looks, and sends the same again under the same key, until the service’s records have settled it.',
  };
}

function wait(state: PaymentState, pause: Wait): PaymentStep {
  return { kind: 'wait', state, wait: pause };
}
