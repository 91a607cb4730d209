/**
 * Tracking: follows accepted payments to their terminal status, `PAID` at a paid status and not before, and says what is
 * late or has a status that nobody knows. Takes what paying takes.
 */
import type { Problem } from '../problems.ts';
import type { Paying } from './parts.ts';
import { isOpenPayment, isUnsent, type PaymentRecord } from './state.ts';
import { backedOff, statusUnknown } from './pauses.ts';

/** How an accepted payment that has no terminal status stands: what people are told of it. */
type Follow = { isWatched: boolean; isUnknown: boolean; isLate: boolean };

export async function track(paying: Paying): Promise<void> {
  const follows = new Map<PaymentRecord, Follow>();
  const followOf = (record: PaymentRecord): Follow => {
    const follow = follows.get(record) ?? { isWatched: false, isUnknown: false, isLate: false };
    follows.set(record, follow);
    return follow;
  };
  await Promise.all([followStatuses(paying, followOf), noticeLate(paying, followOf)]);
}

type FollowOf = (record: PaymentRecord) => Follow;

/** A paid one is watched as long as the run is open: it may still be returned. */
function isFollowed({ accepted, outcome }: PaymentRecord): boolean {
  return accepted !== null && outcome !== 'NOT_PAID';
}

async function followStatuses(paying: Paying, followOf: FollowOf): Promise<void> {
  const { state, ports, pauses } = paying;
  const { payments } = state;
  const byId = new Map(payments.map((record) => [record.payment.id, record]));
  let stops = 0;
  for (;;) {
    // While something is unsent `pay` leaves, between two calls that write.
    if (!payments.some(isUnsent)) await paying.leaveLongHistory();
    await ports.waitUntil(() => paying.isOver() || (!paying.isSending && payments.some(isFollowed)));
    if (paying.isOver()) return;
    const followed = payments.filter(isFollowed);
    // Another one was accepted meanwhile: it is followed as well.
    const isOutdated = (): boolean =>
      !paying.isSending && payments.filter(isFollowed).length > followed.length;
    const { asked } = pauses;
    const { answer, giveUp } = ports.awaitWithdrawals({
      plan: paying.call().plan,
      undoneIn: paying.undoneIn(),
      isLast: paying.isLast(),
      items: followed.map((record) => ({
        id: record.payment.id,
        withdrawalId: record.accepted?.withdrawalId ?? '',
        paid: record.outcome === 'PAID',
        status: record.status,
        isUnknown: followOf(record).isUnknown,
      })),
    });
    let isOpen = true;
    const close = (): void => {
      isOpen = false;
    };
    answer.then(close, close);
    await ports.waitUntil(() => !isOpen || paying.isOver() || isOutdated());
    if (isOpen) {
      giveUp();
      await answer.catch(() => undefined);
      continue;
    }
    const { ended, wait, runId, hasToldEnd } = await answer;
    paying.hasToldEnd = hasToldEnd;
    paying.takeUp(runId);
    for (const { id, status, paid, isUnknown } of ended) {
      const record = byId.get(id);
      if (record === undefined) continue;
      record.status = status;
      followOf(record).isUnknown = isUnknown;
      if (paid !== null) record.outcome = paid ? 'PAID' : 'NOT_PAID';
      if (paid === false) {
        record.problem = paymentFailed(record, status);
        record.endedIn = runId;
      }
      tell(paying, record, followOf(record));
    }
    stops = wait === null ? 0 : stops + 1;
    if (wait !== null) await pauses.pause(state, backedOff(wait, stops), asked, isOutdated);
    ports.show();
  }
}

/** An accepted payment without a terminal status after `late_after` is late, and says so. By timers, as in `pay`. */
async function noticeLate(paying: Paying, followOf: FollowOf): Promise<void> {
  const { state, ports, lateAfterMs } = paying;
  const { payments } = state;
  const isNew = (record: PaymentRecord): boolean =>
    isOpenPayment(record) && record.accepted !== null && !followOf(record).isWatched;
  for (;;) {
    await ports.waitUntil(() => paying.isOver() || (!paying.isSending && payments.some(isNew)));
    if (paying.isOver()) return;
    // One timer for all that were accepted by now: what is accepted later has the next one.
    const watched = payments.filter(isNew);
    for (const record of watched) followOf(record).isWatched = true;
    const lastMs = Math.max(...watched.map(({ acceptedAtMs }) => acceptedAtMs ?? ports.nowMs()));
    const leftMs = Math.max(lastMs + lateAfterMs.withdrawal - ports.nowMs(), 1);
    await ports.waitUntil(() => paying.isOver() || !watched.some(isOpenPayment), leftMs);
    for (const record of watched.filter(isOpenPayment)) {
      followOf(record).isLate = true;
      tell(paying, record, followOf(record));
    }
    ports.show();
  }
}

/** Shows what an accepted payment waits for that people should know: a status in no list, or a late one. */
function tell({ ports }: Paying, record: PaymentRecord, { isUnknown, isLate }: Follow): void {
  const problem = isUnknown ? statusUnknownOf(record) : isLate ? withdrawalLate(record) : null;
  const isShown = problem !== null && isOpenPayment(record);
  record.waiting = isShown
    ? { reason: isUnknown ? 'configuration' : 'settlement', problem, wakeAtMs: ports.nowMs() }
    : null;
}

function statusUnknownOf(record: PaymentRecord): Problem {
  return statusUnknown({
    item: record.payment.id,
    subject: `withdrawal ${record.accepted?.withdrawalId ?? ''}`,
    status: record.status ?? '',
    field: 'withdrawal_statuses',
    lists: 'paid, failed or pending',
  });
}

function withdrawalLate(record: PaymentRecord): Problem {
  return {
    code: 'WITHDRAWAL_LATE',
    item: record.payment.id,
    message: `Withdrawal ${record.accepted?.withdrawalId ?? ''} was accepted and is still "${record.status ?? ''}", later than expected.`,
    fix: 'Ask the operator of the service; it looks again by itself and is never paid again meanwhile.',
  };
}

function paymentFailed(record: PaymentRecord, status: string): Problem {
  return {
    code: 'WITHDRAWAL_FAILED',
    item: record.payment.id,
    message: `The service accepted withdrawal ${record.accepted?.withdrawalId ?? ''} and then said "${status}".`,
    fix: 'Find out why at the service; it is never paid again by itself.',
  };
}
