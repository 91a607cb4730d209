/**
 * Sends every payment that is released, one slice in each call, until none is unsent.
 */
import { add, normalise } from '../money.ts';
import { safetyWaitText, type Wait } from '../waits.ts';
import { asForgotten } from '../writes/doubt.ts';
import type { PaymentState, PaymentStep, Wanted } from '../writes/withdrawal.ts';
import type { PaymentsAnswer } from './calls.ts';
import { HeldTogether, type Asking } from './held-together.ts';
import { acceptedOf, isUnsent, moveTo, type PaymentRecord, type UnsentRecord } from './items.ts';
import type { Paying } from './parts.ts';
import { StepFailed } from './ports.ts';
import { addEvidence } from './state.ts';
import { itemFailed, notAsPlanned } from './pauses.ts';

/** One payment a call up to here, so that each is seen in the UI; those that wait for money look together, since each call is history. */
const SMALL_RUN = 50;

/** Stands for the answer where no call was made. */
const NOTHING: Promise<null> = Promise.resolve(null);

export async function pay(paying: Paying): Promise<void> {
  const { state, ports, pauses } = paying;
  // Counted by timers alone, never by the clock. A worker that takes over while a command asks how the run stands may see an
  // older time than a later replay, and both must ask for the same.
  const leftMs = new Map<PaymentRecord, number>();
  const failures = new Map<PaymentRecord, number>();
  const leftOf = (record: PaymentRecord): number => leftMs.get(record) ?? 0;
  const haveWaited = new Set<PaymentRecord>();
  const held = new HeldTogether();
  const twins = new Twins(state.payments);
  // Both counts are from before the calls that led to a wait. If a person or a release has raised one during such a call, the
  // wait ends at once.
  let { asked } = pauses;
  let { releases } = paying;
  while (!paying.isOver()) {
    const unsent = state.payments.filter(isUnsent);
    const { callSize, sideBySide } = paying.slices;
    const size = state.payments.length <= SMALL_RUN ? 1 : callSize;
    const allDue = unsent.filter((record) => leftOf(record) <= 0);
    const free = allDue.filter((record) => !held.has(record));
    const [first] = free;
    const asking = first === undefined ? held.next(allDue, callSize) : null;
    const ownDue =
      first !== undefined && isPoor(first) ? free.filter(isPoor).slice(0, callSize) : free.slice(0, size);
    const due = asking?.asked ?? ownDue;
    paying.isSending = due.length > 0;
    if (due.length === 0) {
      if (unsent.length === 0) {
        // While other payments are followed, a leg may be decided and release more. A reset may open payments again.
        await ports.waitUntil(() => paying.isOver() || state.payments.some(isUnsent));
      } else {
        const nextMs = Math.min(...unsent.map(leftOf));
        // A person who wakes the run wants every payment looked at now. So does a leg that has brought money.
        const isNews = (): boolean => paying.releases !== releases || paying.isOver();
        const isEarly = await pauses.sleep(nextMs, asked, isNews, whyOf(unsent, ports.nowMs()));
        if (isEarly) {
          leftMs.clear();
          held.releaseAll();
        } else for (const [record, ms] of leftMs) leftMs.set(record, ms - nextMs);
      }
      asked = pauses.asked;
      releases = paying.releases;
      continue;
    }
    for (const record of due) record.isAtWork = true;
    let sent: readonly UnsentRecord[] = [];
    const answered = await paying.write(() => {
      // A chunk may have waited here, and heard of another run of the batch, which has not released these payments yet.
      sent = due.filter(isUnsent);
      if (sent.length === 0) return NOTHING;
      const isFirstTry = !sent.some((record) => haveWaited.has(record));
      return ports.createWithdrawals({
        ...paying.call(),
        items: wantedOf(state.payments, sent).map(({ record, wanted }) => ({
          payment: record.payment,
          wanted,
          state: record.stage.state,
        })),
        // Only withdrawals count: an accepted trade says nothing about whether our requests for withdrawals are well-formed.
        othersAccepted: state.payments.some((record) => acceptedOf(record) !== null),
        twinIds: twins.of(sent),
        ...(sideBySide !== null && { sideBySide, ...(isFirstTry && { isFirstTry }) }),
      });
    });
    for (const record of due) record.isAtWork = false;
    const answer = whole(sent, answered);
    if (answer instanceof StepFailed) {
      for (const record of sent) {
        const times = (failures.get(record) ?? 0) + 1;
        failures.set(record, times);
        const wait = itemFailed(record.payment.id, answer, times);
        keepWaiting(record, asForgotten(record.stage.state), wait);
      }
    } else if (answer !== null) {
      for (const record of sent) failures.delete(record);
      takeAnswer(sent, answer);
    }
    if (asking !== null && sent.length > 0) tellThoseBehind(asking, Math.min(...sent.map(leftOf)));
    ports.show();
  }

  /** They wait on where what holds them still holds those that have asked for all. Else each asks for itself, and at once. */
  function tellThoseBehind(asking: Asking, afterMs: number): void {
    const { records, isHeld } = held.behind(asking);
    for (const record of records) {
      leftMs.set(record, isHeld ? afterMs : 0);
      if (isHeld) pauses.postpone(record, afterMs);
      else held.release(record);
    }
  }

  function takeAnswer(sent: readonly UnsentRecord[], { items, evidence, runId }: PaymentsAnswer): void {
    addEvidence(state, evidence);
    const byId = new Map(items.map((item) => [item.id, item]));
    for (const record of sent) {
      const item = byId.get(record.payment.id);
      if (item === undefined) continue;
      record.traceId = item.traceId ?? record.traceId;
      takeStep(record, item.step, runId);
    }
    paying.takeUp(runId);
  }

  function takeStep(record: UnsentRecord, step: PaymentStep, runId: string | null): void {
    switch (step.kind) {
      case 'accepted': {
        const { amount, ...accepted } = step.accepted;
        const { withdrawalId } = accepted;
        const isContradicted = record.contradicted === withdrawalId;
        record.contradicted = null;
        if (isContradicted) {
          const wait = notAsPlanned(record.payment.id, `withdrawal ${withdrawalId}`);
          return keepWaiting(record, asForgotten(record.stage.state), wait);
        }
        record.waiting = null;
        held.release(record);
        moveTo(record, { kind: 'accepted', accepted: { ...accepted, atMs: ports.nowMs() } });
        record.amount ??= amount;
        twins.add(record);
        pauses.allSoon();
        return;
      }
      case 'not paid':
        record.waiting = null;
        held.release(record);
        return moveTo(record, { kind: 'not paid', problem: step.problem, endedIn: paying.endedIn(runId) });
      case 'wait':
        return keepWaiting(record, step.state, step.wait);
    }
  }

  function keepWaiting(record: UnsentRecord, known: PaymentState, wait: Wait): void {
    haveWaited.add(record);
    const paced = held.takes(record, pauses.paced(record, wait), known);
    leftMs.set(record, paced.afterMs);
    record.stage.state = known;
    record.stage.needsHuman = paced.reason === 'person';
    pauses.note(record, paced);
  }
}

function isPoor({ waiting }: PaymentRecord): boolean {
  return waiting?.reason === 'money';
}

/** An answer that leaves payments out counts as a failed call, because the worker may have sent them. */
function whole(
  sent: readonly UnsentRecord[],
  answer: PaymentsAnswer | StepFailed | null,
): PaymentsAnswer | StepFailed | null {
  if (answer === null || answer instanceof StepFailed) return answer;
  const ids = new Set(answer.items.map(({ id }) => id));
  return sent.every(({ payment }) => ids.has(payment.id))
    ? answer
    : new StepFailed('the answer about the payments leaves some of them out');
}

/** What people read beside the timer of payments that wait. */
function whyOf(unsent: readonly PaymentRecord[], nowMs: number): string {
  const [first] = unsent;
  if (unsent.length > 1 || first === undefined) return `Looks again: ${unsent.length} payments wait`;
  const safeAtMs = first.waiting?.safeAtMs;
  if (safeAtMs === undefined) return 'Looks again: a payment waits';
  return `${first.payment.id}: ${safetyWaitText(safeAtMs, nowMs)}`;
}

/** What the run wants for the payments that are due, in plan order. Money goes to the payments before them first. */
function wantedOf(
  payments: readonly PaymentRecord[],
  due: readonly UnsentRecord[],
): readonly { readonly record: UnsentRecord; readonly wanted: Wanted }[] {
  const asked = new Set<PaymentRecord>(due);
  const ahead = new Map<string, string>();
  const wanted: { record: UnsentRecord; wanted: Wanted }[] = [];
  for (const record of payments) {
    if (wanted.length === due.length) break;
    if (!isUnsent(record)) continue;
    const { amount, payment, stage } = record;
    const before = ahead.get(payment.currency) ?? '0';
    const { unwanted, isNeverSent, alike } = stage.release;
    if (asked.has(record))
      wanted.push({
        record,
        wanted: {
          amount,
          ahead: before,
          unwanted,
          ...(isNeverSent === true && { isNeverSent }),
          ...(alike !== undefined && { alike }),
        },
      });
    // A payment that waits for a person keeps no money from the payments after it.
    if (amount !== null && unwanted === null && alike?.kind !== 'held')
      ahead.set(payment.currency, add(before, amount));
  }
  return wanted;
}

/**
 * Accepted payments by currency and amount. A record can be taken for another payment's only if both are the same, so that
 * a call needs the ids of few.
 */
class Twins {
  readonly #records = new Map<string, Set<PaymentRecord>>();

  constructor(payments: readonly PaymentRecord[]) {
    for (const record of payments) if (acceptedOf(record) !== null) this.add(record);
  }

  add(record: PaymentRecord): void {
    const { payment, amount } = record;
    // The amount of this payment is not known, so that it could be any amount.
    for (const key of [keyOf(payment.currency, amount), keyOf(payment.currency, null)]) {
      const records = this.#records.get(key) ?? new Set();
      this.#records.set(key, records.add(record));
    }
  }

  /** The ids of payments that are still accepted. Nothing is known of a payment that was taken up again. */
  of(due: readonly PaymentRecord[]): readonly string[] {
    const keys = new Set(due.map(({ payment, amount }) => keyOf(payment.currency, amount)));
    const records = [...keys].flatMap((key) => [...(this.#records.get(key) ?? [])]);
    return [...new Set(records.flatMap((record) => acceptedOf(record)?.withdrawalId ?? []))];
  }
}

function keyOf(currency: string, amount: string | null): string {
  return amount === null ? currency : `${currency} ${normalise(amount)}`;
}
