/**
 * Follows accepted payments to their terminal status: a payment is `PAID` at a paid status, and not before.
 * Tells of payments that are late, or have a status that is in no list. Uses the same parts of a run as
 * paying.
 */
import type { Problem } from '../problems.ts';
import { minuteText, type Wait } from '../waits.ts';
import { activityFailed } from './activity-failed.ts';
import type { WithdrawalsCall } from './calls.ts';
import type { Paying } from './parts.ts';
import {
  NO_RUN,
  isFollowedFromTheBeginning,
  isUnsent,
  moveTo,
  type Accepted,
  type PaymentRecord,
  type SentPayment,
} from './items.ts';
import { backedOff, statusUnknown } from './pauses.ts';
import { OpenPoll, StepFailed } from './ports.ts';
import { isWithdrawalAsTold, ownersOf } from './shown.ts';
import { doubtWithdrawal, undoneIn } from './state.ts';

/** What people are told of an accepted payment that has no terminal status. */
type Follow = { isWatched: boolean; isUnknown: boolean; isLate: boolean };

export async function track(paying: Paying): Promise<void> {
  const follows = new Map<Accepted, Follow>();
  const followOf = (accepted: Accepted): Follow => {
    const follow = follows.get(accepted) ?? { isWatched: false, isUnknown: false, isLate: false };
    follows.set(accepted, follow);
    return follow;
  };
  await Promise.all([followStatuses(paying, followOf), noticeLate(paying, followOf)]);
}

type FollowOf = (accepted: Accepted) => Follow;

function isFollowed(record: PaymentRecord): record is PaymentRecord & { stage: SentPayment } {
  return record.stage.kind === 'accepted' || record.stage.kind === 'paid';
}

/** True when the payment is accepted and has no terminal status. */
function isUnderWay(record: PaymentRecord): record is PaymentRecord & { stage: SentPayment } {
  return record.stage.kind === 'accepted';
}

async function followStatuses(paying: Paying, followOf: FollowOf): Promise<void> {
  const { state, ports, pauses } = paying;
  const { payments } = state;
  const byId = new Map(payments.map((record) => [record.payment.id, record]));
  let stops = 0;
  for (;;) {
    // While a payment is unsent, `pay` goes on in a new history, between two calls that write.
    if (!payments.some(isUnsent) && ports.historyIsLong()) await paying.leaveLongHistory();
    const isToPoll = (): boolean => !paying.isSending && !paying.isIdle() && payments.some(isFollowed);
    await ports.waitUntil(() => paying.isOver() || isToPoll());
    if (paying.isOver()) return;
    const followed = payments.filter(isFollowed);
    const known = new Set(followed.map(({ stage }) => stage.accepted));
    // True when another payment was accepted or is followed anew: the next poll asks about it too.
    const isOutdated = (): boolean =>
      !paying.isSending && payments.filter(isFollowed).some(({ stage }) => !known.has(stage.accepted));
    const { asked } = pauses;
    const poll = new OpenPoll(
      ports.awaitWithdrawals({
        ...callOf(paying),
        undoneIn: undoneIn(state),
        isLast: paying.isLast(),
        items: followed.map(({ payment, stage: { kind, accepted } }) => ({
          id: payment.id,
          withdrawalId: accepted.withdrawalId,
          paid: kind === 'paid',
          status: accepted.status,
          isUnknown: followOf(accepted).isUnknown,
          ...(kind === 'accepted' && accepted.isAnew === true && { isAnew: true }),
        })),
      }),
    );
    await ports.waitUntil(() => !poll.isOpen || paying.isOver() || paying.isIdle() || isOutdated());
    const told = await poll.end();
    if (told === null) continue;
    if (told instanceof StepFailed) {
      stops += 1;
      await pauses.pause(state, activityFailed(told.message, stops), asked, isOutdated);
      pauses.goesOn(state);
      ports.show();
      continue;
    }
    const { ended, wait, runId, hasToldEnd } = told;
    paying.hasToldEnd = hasToldEnd;
    const owners = ended.length > 0 ? ownersOf(payments) : null;
    const doubted = new Set<PaymentRecord>();
    for (const { id, record: shown, paid, isUnknown } of ended) {
      const record = byId.get(id);
      if (record === undefined || !isFollowed(record)) continue;
      const { accepted } = record.stage;
      // A person has answered in place of the worker, or the payment has another record by now. The next poll asks again.
      if (shown !== null && shown.id !== accepted.withdrawalId) continue;
      const also = owners?.get(accepted.withdrawalId) ?? [];
      if (shown === null || also.length > 1 || !isWithdrawalAsTold(record, shown)) {
        // Which of several payments the record pays is not known.
        for (const each of [record, ...also]) doubted.add(each);
        continue;
      }
      const isSeen = accepted.status !== shown.status || isFollowedFromTheBeginning(accepted);
      if (paid === true && isSeen) accepted.paidAtMs ??= paying.ports.nowMs();
      accepted.status = shown.status;
      const follow = followOf(accepted);
      follow.isUnknown = isUnknown;
      if (paid === true) moveTo(record, { kind: 'paid', accepted });
      const endedIn = accepted.isAnew === true ? NO_RUN : paying.endedIn(runId);
      if (paid === false) moveTo(record, { kind: 'failed', accepted, endedIn });
      tell(paying, record, follow);
    }
    if (doubted.size > 0) {
      paying.hasToldEnd = false;
      for (const record of doubted) doubtWithdrawal(record);
      paying.release();
    }
    paying.takeUp(runId);
    stops = wait === null ? 0 : stops + 1;
    if (wait !== null) await pauses.pause(state, backedOff(wait, stops), asked, isOutdated);
    // The wait is ended now, because the next poll may last long, and gives no answer while all is well.
    pauses.goesOn(state);
    ports.show();
  }
}

function callOf(paying: Paying): Pick<WithdrawalsCall, 'plan' | 'chunk'> {
  const { plan, chunk } = paying.call();
  return chunk === undefined ? { plan } : { plan, chunk };
}

/** A payment, and the acceptance that is watched. A payment that is taken up again is accepted anew. */
type Watched = { readonly record: PaymentRecord; readonly accepted: Accepted };

/**
 * An accepted payment without a terminal status after `late_after` is late, and is told as late. This uses
 * timers, as `pay` does.
 */
async function noticeLate(paying: Paying, followOf: FollowOf): Promise<void> {
  const { state, ports, lateAfterMs } = paying;
  const { payments } = state;
  const isNew = (record: PaymentRecord): boolean =>
    isUnderWay(record) && !followOf(record.stage.accepted).isWatched;
  const isStill = ({ record, accepted }: Watched): boolean =>
    isUnderWay(record) && record.stage.accepted === accepted;
  for (;;) {
    await ports.waitUntil(() => paying.isOver() || (!paying.isSending && payments.some(isNew)));
    if (paying.isOver()) return;
    // One timer for all payments accepted by now. Payments accepted later get the next timer.
    const watched: readonly Watched[] = payments
      .filter(isUnderWay)
      .filter(isNew)
      .map((record) => ({ record, accepted: record.stage.accepted }));
    for (const { accepted } of watched) followOf(accepted).isWatched = true;
    const lastMs = Math.max(...watched.map(({ accepted }) => accepted.atMs));
    const lateAtMs = lastMs + lateAfterMs.withdrawal;
    const leftMs = Math.max(lateAtMs - ports.nowMs(), 1);
    const who = watched.length === 1 ? 'A payment is' : `${watched.length} payments are`;
    const why = `${who} late from ${minuteText(lateAtMs)} on`;
    await ports.waitUntil(() => paying.isOver() || !watched.some(isStill), leftMs, why);
    for (const { record, accepted } of watched.filter(isStill)) {
      const follow = followOf(accepted);
      follow.isLate = true;
      tell(paying, record, follow);
    }
    ports.show();
  }
}

/** Shows why people should know of an accepted payment: its status is in no list, or it is late. */
function tell({ pauses, lateAfterMs }: Paying, record: PaymentRecord, { isUnknown, isLate }: Follow): void {
  const isShown = isUnderWay(record) && (isUnknown || isLate);
  if (!isShown) {
    record.waiting = null;
    return;
  }
  const { payment, stage } = record;
  const { accepted } = stage;
  const { id } = payment;
  const wait: Wait = isUnknown
    ? { reason: 'configuration', problem: statusUnknownOf(id, accepted), afterMs: 0 }
    : {
        reason: 'settlement',
        problem: withdrawalLate(id, accepted),
        afterMs: 0,
        sinceMs: accepted.atMs + lateAfterMs.withdrawal,
      };
  pauses.note(record, wait);
}

function statusUnknownOf(item: string, { withdrawalId, status }: Accepted): Problem {
  const subject = `withdrawal ${withdrawalId}`;
  return statusUnknown({
    item,
    subject,
    status,
    field: 'withdrawal_statuses',
    lists: 'paid, failed or pending',
  });
}

function withdrawalLate(item: string, { withdrawalId, status }: Accepted): Problem {
  return {
    code: 'WITHDRAWAL_LATE',
    item,
    message: `The service accepted withdrawal ${withdrawalId}, and still says "${status}" of it. This takes longer than usual.`,
    fix: 'Ask the operator of the service. The run looks again by itself, and never pays it again meanwhile.',
  };
}
