/**
 * The steps of one payment: look, send under the key of the first generation not closed, and whatever a reply or a
 * crash makes of that (M1, M2). A withdrawal is tried again *under the same key* first; the chain rule (design:
 * "The chain rule") says when a later generation may open.
 */
import { backoffMs, waitMs } from './decisions.ts';
import {
  LOOK_BACK_MS,
  couldBe,
  isWithdrawalOf,
  lookForWithdrawal,
  withdrawalDifference,
  type Look,
  type PaymentIdentity,
} from './looks.ts';
import { compare } from './money.ts';
import type { Payment } from './plan.ts';
import type { Withdrawal } from './records.ts';
import { reference } from './references.ts';
import type { Reply } from './reply.ts';
import {
  ADVICE,
  NOTHING_SENT,
  SLOW_LOOK_MS,
  ask,
  configurationWait,
  executedNothing,
  followUp,
  foreignCredentials,
  isOtherKey,
  problemOf,
  readCancelled,
  recall,
  resourceIdOf,
  settleByTime,
  settleTimeMs,
  skewedClock,
  unknownSend,
  unreadable,
  type Context,
  type Problem,
  type SendState,
  type Steps,
  type Wait,
} from './stepper.ts';

/** What is known of a payment's writes. */
export type PaymentState = SendState & {
  /** The generation that is sent next: the first that is not closed. */
  readonly generation: number;
  /** This Temporal run has had a fresh refusal of a later generation: it opens no further one by itself. */
  readonly openedHere: boolean;
  /** Temporal run that `openedHere` is about. */
  readonly openedIn: string | null;
};

export const NEW_PAYMENT: PaymentState = Object.freeze({
  ...NOTHING_SENT,
  generation: 1,
  openedHere: false,
  openedIn: null,
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

/** Sends one payment of `amount`, unless it is done, unwanted, outside its fence, or must wait. */
export function* createWithdrawalSteps(
  context: Context,
  payment: Payment,
  amount: string,
  before: PaymentState,
): Steps<PaymentStep> {
  const foreign = foreignCredentials(context);
  if (foreign !== null)
    return wait(before, configurationWait({ ...foreign, item: payment.id }, before.tries));

  const recalled = recall(context, forgetGenerations(context, before), 'withdrawal');
  let { state } = recalled;
  if (!recalled.fresh) {
    const seen = conclude(payment, state, yield* lookForPayment(context, payment, amount));
    // "Could be it" forbids an end, not the same key again, which is itself a look.
    if (seen !== null && !(seen.kind === 'wait' && seen.wait.hold === 'doubt')) return seen;
  }
  if (yield* readCancelled()) return yield* endUnsent(context, payment, amount, state, cancelled(payment));

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
  if (now > fences.withdrawalsUntilMs)
    return yield* endUnsent(context, payment, amount, state, fencePassed(context, payment));
  if (state.spent !== null) return yield* stayInDoubt(context, payment, amount, state, state.spent);
  // Keys may belong to the API key: under another one the same again is no look, so what is in doubt does not leave.
  if (state.doubt !== null && isOtherKey(context))
    return yield* stayInDoubt(context, payment, amount, state, otherKey(context, payment));
  const skewed = skewedClock(context);
  if (skewed !== null) return wait(state, configurationWait({ ...skewed, item: payment.id }, state.tries));

  let causeGone = false;
  if (state.shortOf !== null) {
    const short = yield* stillShort(payment, amount, state, state.shortOf);
    if (short === 'unseen') causeGone = false;
    else if (short === null) causeGone = true;
    else return short;
  }

  for (;;) {
    const tag = reference(context.plan.run, payment.id, state.generation);
    const reply = yield* ask<'send withdrawal'>({
      kind: 'send withdrawal',
      request: { account: payment.account, currency: payment.currency, amount, reference: tag },
    });
    const step = yield* afterWithdrawal(context, payment, amount, state, tag, reply, causeGone);
    if (step.kind !== 'next generation') return step;
    state = step.state;
    causeGone = false;
  }
}

/** A refusal that is replayed may be passed: the next generation is sent at once. */
type Passed = { readonly kind: 'next generation'; readonly state: PaymentState };

/** What follows from the reply to a withdrawal: the table's word, carried out. */
function* afterWithdrawal(
  context: Context,
  payment: Payment,
  amount: string,
  state: PaymentState,
  tag: string,
  reply: Reply<Withdrawal>,
  causeGone: boolean,
): Steps<PaymentStep | Passed> {
  const follow = followUp(reply);
  const problem = problemOf(reply, payment.id, ADVICE[follow.class]);
  const sent: PaymentState = {
    ...state,
    sent: state.sent || reply.kind !== 'NOT_SENT',
    tries: state.tries + 1,
  };
  switch (follow.withdrawal) {
    case 'adopt': {
      if (reply.kind !== 'DONE') break;
      const identity = identityOf(context, payment, amount);
      const ownTag = reply.value.tag === null || reply.value.tag === tag;
      if (ownTag && withdrawalDifference(identity, reply.value) === null)
        return accepted(sent, reply.value, tag);
      const unknown = unknownSend(context, state, 'the answer was not about our withdrawal');
      return yield* lookThen(context, payment, amount, unknown, problem, 10_000);
    }
    case 'same key again': {
      const known = executedNothing(reply)
        ? sent
        : unknownSend(context, state, 'an answer said that it is in work');
      return wait(known, { afterMs: waitMs(reply, state.tries), hold: 'service', problem });
    }
    case 'look, then same key again': {
      let unknown = unknownSend(context, state, `the answer was ${problem.code}`);
      // The failure replayed: the same key will never say more.
      if (reply.kind === 'UNKNOWN' && reply.error !== null && reply.facts.replayed === true)
        unknown = { ...unknown, spent: problem };
      const id = resourceIdOf(reply);
      if (id !== null) {
        const fetched = yield* ask<'fetch withdrawal'>({ kind: 'fetch withdrawal', id });
        if (fetched.kind === 'DONE') {
          const identity = { ...identityOf(context, payment, amount), ownIds: [id] };
          const seen = conclude(
            payment,
            unknown,
            lookForWithdrawal(identity, { records: [fetched.value], complete: false, reason: null }),
          );
          if (seen !== null && seen.kind === 'accepted') return seen;
        }
      }
      return yield* lookThen(
        context,
        payment,
        amount,
        unknown,
        problem,
        Math.max(settleTimeMs(reply), backoffMs(state.tries)),
      );
    }
    case 'look, then doubt': {
      const unknown = unknownSend(context, { ...state, spent: problem }, `the answer was ${problem.code}`);
      return yield* lookThen(context, payment, amount, unknown, problem, 1_000);
    }
    case 'shortfall rule':
    case 'look, then end':
    case 'hold':
      return yield* afterRefusal(context, payment, amount, sent, problem, reply, {
        follow: follow.withdrawal,
        causeGone,
      });
  }
  throw new RangeError(`A ${reply.kind} reply cannot be followed by "${follow.withdrawal}".`);
}

/** A definitive refusal: settles an earlier unknown send only when it comes after that could last be accepted. */
function* afterRefusal(
  context: Context,
  payment: Payment,
  amount: string,
  sent: PaymentState,
  problem: Problem,
  reply: Reply<Withdrawal>,
  how: { readonly follow: 'shortfall rule' | 'look, then end' | 'hold'; readonly causeGone: boolean },
): Steps<PaymentStep | Passed> {
  const now = context.nowMs();
  if (sent.doubt !== null && now <= sent.doubt.lastSendMs) {
    return wait(sent, {
      afterMs: sent.doubt.lastSendMs - now + 1_000,
      hold: 'doubt',
      problem: inDoubt(payment, sent.doubt.why),
    });
  }
  const replayed = reply.kind === 'REFUSED' && reply.facts.replayed === true;
  const clear: PaymentState = {
    ...sent,
    doubt: null,
    openedHere: sent.openedHere || (sent.generation > 1 && !replayed),
  };
  // The chain rule: the service keeps this refusal under the key, so the key can never succeed any more.
  if (replayed && clear.generation < MAX_GENERATIONS && (!clear.openedHere || how.causeGone)) {
    return { kind: 'next generation', state: { ...clear, generation: clear.generation + 1, tries: 0 } };
  }
  if (how.follow === 'hold') return wait(clear, configurationWait(problem, sent.tries));
  if (how.follow === 'shortfall rule' && context.plan.shortfall === 'hold') {
    const afterMs = problem.code === 'WITHDRAWAL_INSUFFICIENT_BALANCE' ? MONEY_POLL_MS : BLIND_RETRY_MS;
    return wait({ ...clear, shortOf: problem }, { afterMs, hold: 'money', problem });
  }
  if (problem.code.startsWith('VALIDATION_') && !context.othersAccepted) {
    const fix =
      'The request was malformed: most likely a fault of this program. Report it; nothing was executed.';
    return wait(clear, configurationWait({ ...problem, fix }, sent.tries));
  }
  return yield* endAfterLook(context, payment, amount, clear, problem);
}

/** In doubt and not to be sent again: over by time, and then a person decides. */
function* stayInDoubt(
  context: Context,
  payment: Payment,
  amount: string,
  state: PaymentState,
  problem: Problem,
): Steps<PaymentStep> {
  const seen = conclude(payment, state, yield* lookForPayment(context, payment, amount));
  if (seen !== null) return seen;
  const settled = settleByTime(context, state, context.facts.settleDoubtMs.withdrawal);
  if (!settled.over)
    return wait(settled.state, {
      afterMs: Math.min(settled.nextLookMs, SLOW_LOOK_MS),
      hold: 'doubt',
      problem,
    });
  return wait(settled.state, { afterMs: SLOW_LOOK_MS, hold: 'person', problem });
}

/** An end that nothing sent may stand against: in doubt it waits until time has settled it. */
function* endUnsent(
  context: Context,
  payment: Payment,
  amount: string,
  state: PaymentState,
  problem: Problem,
): Steps<PaymentStep> {
  if (state.doubt === null) return yield* endAfterLook(context, payment, amount, state, problem);
  const seen = conclude(payment, state, yield* lookForPayment(context, payment, amount));
  if (seen !== null) return seen;
  const settled = settleByTime(context, state, context.facts.settleDoubtMs.withdrawal);
  if (settled.over) return yield* endAfterLook(context, payment, amount, settled.state, problem);
  const doubtful = inDoubt(payment, `${state.doubt.why}; meanwhile: ${problem.message}`);
  return wait(settled.state, {
    afterMs: Math.min(settled.nextLookMs, SLOW_LOOK_MS),
    hold: 'doubt',
    problem: doubtful,
  });
}

/** An end needs one look more (step 6). */
function* endAfterLook(
  context: Context,
  payment: Payment,
  amount: string,
  state: PaymentState,
  problem: Problem,
): Steps<PaymentStep> {
  const look = yield* lookForPayment(context, payment, amount);
  return conclude(payment, state, look) ?? { kind: 'not paid', state, problem };
}

/** Looks after an unknown send; nothing found: wait, and the next call sends the same again. */
function* lookThen(
  context: Context,
  payment: Payment,
  amount: string,
  state: PaymentState,
  problem: Problem,
  afterMs: number,
): Steps<PaymentStep> {
  const seen = conclude(payment, state, yield* lookForPayment(context, payment, amount));
  if (seen !== null && !(seen.kind === 'wait' && seen.wait.hold === 'doubt')) return seen;
  return wait(state, { afterMs, hold: 'doubt', problem });
}

/** Is the money there that a held payment waits for? `unseen`: no read can show it. Null: it is there. */
function* stillShort(
  payment: Payment,
  amount: string,
  state: PaymentState,
  problem: Problem,
): Steps<PaymentStep | 'unseen' | null> {
  if (problem.code !== 'WITHDRAWAL_INSUFFICIENT_BALANCE') return 'unseen';
  const reply = yield* ask<'read balances'>({ kind: 'read balances' });
  if (reply.kind !== 'DONE')
    return wait(state, { afterMs: waitMs(reply, state.tries), hold: 'money', problem });
  const available =
    reply.value.balances.find((row) => row.currency === payment.currency)?.withdrawable ?? '0';
  return compare(available, amount) >= 0
    ? null
    : wait(state, { afterMs: MONEY_POLL_MS, hold: 'money', problem });
}

function* lookForPayment(context: Context, payment: Payment, amount: string): Steps<Look<Withdrawal>> {
  const identity = identityOf(context, payment, amount);
  const sweep = yield* ask<'sweep withdrawals'>({
    kind: 'sweep withdrawals',
    sinceMs: context.plan.fences.opensAtMs - LOOK_BACK_MS,
    wanted: (record) => isWithdrawalOf(identity, record) || couldBe(identity, record),
  });
  return lookForWithdrawal(identity, sweep);
}

/** What a look settles; null when it found the payment absent. */
function conclude(payment: Payment, state: PaymentState, look: Look<Withdrawal>): PaymentStep | null {
  switch (look.kind) {
    case 'found':
      return accepted(state, look.record, look.record.tag ?? payment.reference);
    case 'differs':
      return wait(state, {
        afterMs: SLOW_LOOK_MS,
        hold: 'person',
        problem: {
          code: 'RECORD_DIFFERS',
          item: payment.id,
          message: `Withdrawal ${look.record.id} carries ${payment.reference}, but ${look.difference}.`,
          fix: 'A person compares the record with the plan; nothing is sent for this payment.',
        },
      });
    case 'unproven':
      return wait(
        { ...state, tries: state.tries + 1 },
        {
          afterMs: Math.max(1_000, backoffMs(state.tries)),
          hold: 'doubt',
          problem: unreadable(payment.id, look.reason),
        },
      );
    case 'absent':
      return null;
  }
}

function identityOf(context: Context, payment: Payment, amount: string): PaymentIdentity {
  return {
    reference: payment.reference,
    account: payment.account,
    currency: payment.currency,
    amount,
    opensAtMs: context.plan.fences.opensAtMs,
    ownIds: [],
    otherIds: context.otherWithdrawalIds,
  };
}

/** Another Temporal run walks the generations from the first. */
function forgetGenerations(context: Context, state: PaymentState): PaymentState {
  const { runId } = context.attempt;
  return state.openedIn === runId ? state : { ...state, generation: 1, openedHere: false, openedIn: runId };
}

function accepted(state: PaymentState, record: Withdrawal, tag: string): PaymentStep {
  return {
    kind: 'accepted',
    state: { ...state, doubt: null, shortOf: null, spent: null, verdict: null },
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

function fencePassed(context: Context, payment: Payment): Problem {
  return {
    code: 'FENCE_PASSED',
    item: payment.id,
    message: `Payment "${payment.id}" was not sent by ${new Date(context.plan.fences.withdrawalsUntilMs).toISOString()}; after that its key is too old to be safe.`,
    fix: 'Pay it in a new run.',
  };
}

function otherKey(context: Context, payment: Payment): Problem {
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
