/**
 * Paying: sends every payment that is released, a slice a call, until none is unsent. Takes what it needs of whoever pays
 * (`Paying`): a whole run, or a chunk of a batch.
 */
import { add, normalise } from '../money.ts';
import { NEW_PAYMENT, type PaymentStep, type Wanted } from '../writes/withdrawal.ts';
import type { PaymentsAnswer } from './calls.ts';
import { asForgotten } from './convert.ts';
import type { Paying } from './parts.ts';
import { RunRefused, StepFailed } from './ports.ts';
import { addEvidence, isUnsent, type PaymentRecord } from './state.ts';
import { itemFailed } from './pauses.ts';

/** Payments of one call: one each in small runs, so that each is seen in the UI. */
const SMALL_RUN = 50;
const SLICE = 25;

export async function pay(paying: Paying): Promise<void> {
  const { state, ports, pauses } = paying;
  const size = state.payments.length <= SMALL_RUN ? 1 : SLICE;
  // Counted by timers alone, never by the clock: a worker that takes over while somebody asks how the run stands may
  // see an older time than a later replay, which must ask for the same.
  const leftMs = new Map<PaymentRecord, number>();
  const failures = new Map<PaymentRecord, number>();
  const leftOf = (record: PaymentRecord): number => leftMs.get(record) ?? 0;
  const twins = new Twins(state.payments);
  let { asked } = pauses;
  for (;;) {
    const unsent = state.payments.filter(isUnsent);
    const due = unsent.filter((record) => leftOf(record) <= 0).slice(0, size);
    if (due.length === 0) {
      paying.isSending = false;
      if (unsent.length === 0) {
        // While others are followed, a leg may be decided, or what another Temporal run has ended be taken up.
        await ports.waitUntil(() => paying.isOver() || state.payments.some(isUnsent));
        if (paying.isOver()) return;
      } else {
        const nextMs = Math.min(...unsent.map(leftOf));
        const { releases } = paying;
        // Whoever wakes the run wants every payment looked at now, and so does a leg that has brought money.
        const isEarly = await pauses.sleep(nextMs, asked, () => paying.releases !== releases);
        if (isEarly) leftMs.clear();
        else for (const [record, ms] of leftMs) leftMs.set(record, ms - nextMs);
      }
      asked = pauses.asked;
      paying.isSending = true;
      continue;
    }
    const answer = await paying.write(() =>
      ports.createWithdrawals({
        ...paying.call(),
        items: wantedOf(state.payments, due).map(({ record, wanted }) => ({
          payment: record.payment,
          wanted,
          state: record.state,
        })),
        // Of the same kind: a trade tells nothing about whether requests for withdrawals are whole.
        othersAccepted: state.payments.some(({ accepted }) => accepted !== null),
        twinIds: twins.of(due),
      }),
    );
    if (answer instanceof StepFailed) {
      for (const record of due) {
        const times = (failures.get(record) ?? 0) + 1;
        failures.set(record, times);
        const wait = itemFailed(record.payment.id, answer, times);
        takeStep(record, { kind: 'wait', state: asForgotten(record.state), wait });
      }
    } else {
      for (const record of due) failures.delete(record);
      takeAnswer(due, answer);
    }
    ports.show();
  }

  function takeAnswer(due: readonly PaymentRecord[], answer: PaymentsAnswer): void {
    addEvidence(state, answer.evidence);
    for (const record of due) {
      const item = answer.items.find(({ id }) => id === record.payment.id);
      if (item === undefined)
        throw new RunRefused('ANSWER_INCOMPLETE', `No outcome for payment "${record.payment.id}".`, []);
      takeStep(record, item.step);
      if (record.outcome === 'NOT_PAID') record.endedIn = answer.runId;
    }
    paying.takeUp(answer.runId);
  }

  function takeStep(record: PaymentRecord, step: PaymentStep): void {
    record.waiting = null;
    switch (step.kind) {
      case 'accepted': {
        record.state = NEW_PAYMENT;
        const { withdrawalId, reference, amount, status } = step.accepted;
        record.outcome = 'PENDING';
        record.accepted = { withdrawalId, reference };
        record.acceptedAtMs = ports.nowMs();
        record.amount ??= amount;
        record.status = status;
        twins.add(record);
        pauses.allSoon();
        return;
      }
      case 'not paid':
        record.state = step.state;
        record.outcome = 'NOT_PAID';
        record.problem = step.problem;
        return;
      case 'wait': {
        record.state = step.state;
        const { afterMs, reason, problem } = pauses.paced(record, step.wait);
        leftMs.set(record, afterMs);
        record.outcome = reason === 'person' ? 'NEEDS_HUMAN' : 'PENDING';
        record.waiting = { reason, problem, wakeAtMs: ports.nowMs() + afterMs };
      }
    }
  }
}

/** What is wanted of payments that are due, in plan order; money goes to the payments before them in the plan first. */
function wantedOf(
  payments: readonly PaymentRecord[],
  due: readonly PaymentRecord[],
): readonly { readonly record: PaymentRecord; readonly wanted: Wanted }[] {
  const asked = new Set(due);
  const ahead = new Map<string, string>();
  const wanted: { record: PaymentRecord; wanted: Wanted }[] = [];
  for (const record of payments) {
    if (wanted.length === due.length) break;
    if (!isUnsent(record)) continue;
    const { amount, payment, release } = record;
    const before = ahead.get(payment.currency) ?? '0';
    const unwanted = release?.unwanted ?? null;
    if (asked.has(record)) wanted.push({ record, wanted: { amount, ahead: before, unwanted } });
    if (amount !== null && unwanted === null) ahead.set(payment.currency, add(before, amount));
  }
  return wanted;
}

/**
 * Accepted payments by currency and amount: only a record of such a one could be taken for another payment's, so that no
 * call needs the ids of all.
 */
class Twins {
  readonly #records = new Map<string, Set<PaymentRecord>>();

  constructor(payments: readonly PaymentRecord[]) {
    for (const record of payments) if (record.accepted !== null) this.add(record);
  }

  add(record: PaymentRecord): void {
    const { payment, amount } = record;
    // Of a payment whose own amount is not known any amount could be.
    for (const key of [keyOf(payment.currency, amount), keyOf(payment.currency, null)]) {
      const records = this.#records.get(key) ?? new Set();
      this.#records.set(key, records.add(record));
    }
  }

  /** Ids of those that are accepted still: of one that is taken up once more nothing is known. */
  of(due: readonly PaymentRecord[]): readonly string[] {
    const keys = new Set(due.map(({ payment, amount }) => keyOf(payment.currency, amount)));
    const records = [...keys].flatMap((key) => [...(this.#records.get(key) ?? [])]);
    return [...new Set(records.flatMap(({ accepted }) => accepted?.withdrawalId ?? []))];
  }
}

function keyOf(currency: string, amount: string | null): string {
  return amount === null ? currency : `${currency} ${normalise(amount)}`;
}
