/**
 * Where one chunk of a batch stands, as its workflow answers, and what the run of the batch knows of its
 * chunks. Counts and sums, never a payment. Pure.
 */
import { isLeftOut, type PlanBatch, type PlanChunk } from '../batch.ts';
import { add, compare, isPositive, notNegative, subtract } from '../money.ts';
import type { Money } from '../policy.ts';
import { hasGoFrom } from './payer.ts';
import { refusalsIn, type Refusals } from './stop-rule.ts';
import { isShown, shownFirst, type WaitReason, type Waiting } from '../waits.ts';
import { isUnseen } from '../writes/doubt.ts';
import {
  acceptedOf,
  isOpenPayment,
  isUnsent,
  paymentOutcome,
  paymentProblem,
  type PaymentOutcome,
  type PaymentRecord,
} from './items.ts';

/** The sums of the payments in one currency. */
export type ChunkTotal = {
  readonly currency: string;
  readonly planned: string;
  readonly paid: string;
  readonly notPaid: string;
  readonly needsHuman: string;
  /** The sum of all payments that the service has accepted, also those that have failed since. */
  readonly accepted: string;
};

export type ChunkCounts = {
  readonly planned: number;
  readonly accepted: number;
  readonly paid: number;
  readonly notPaid: number;
  readonly needsHuman: number;
  /** Payments that have not ended. */
  readonly open: number;
  /** Accepted payments that a reply to a send has shown; a lookup has shown the others. */
  readonly sent: number;
  /** Payments that are still to be sent, and wait for something that people should know of. */
  readonly waiting: number;
};

export type ChunkState = {
  readonly number: number;
  /** The payer that the chunk is by the go that it has heard last; null: no go yet. */
  readonly heard: string | null;
  /** True while payments of the chunk are being sent, one slice after the other. */
  readonly isSending: boolean;
  readonly counts: ChunkCounts;
  readonly totals: readonly ChunkTotal[];
  /** The first waits of its payments, most important first. */
  readonly waits: readonly Waiting[];
  /** What the service has refused since the run took up the chunk. */
  readonly refusals: Refusals;
  /** The first codes with which payments have ended unpaid, and how many each. */
  readonly unpaid: readonly Unpaid[];
  /** What its payments wait for, the most frequent first; absent: none waits for anything that people should know of. */
  readonly held?: readonly Held[];
  /**
   * How many of its payments an earlier history may have sent, and this one has not looked up yet; absent: none.
   */
  readonly unseen?: number;
  /** Present: payments have ended undone, and this was not held against the service yet. So its run does not conclude from it. */
  readonly isUnsure?: true;
};

/**
 * Payments in one currency that wait with one code. `value`: what they pay together. `there`: how much of the currency one of
 * them last found, where they wait for money and a read shows it; null otherwise.
 */
export type Held = {
  readonly code: string;
  readonly reason: WaitReason;
  readonly currency: string;
  readonly payments: number;
  readonly value: string;
  readonly there: string | null;
};

/** So many payments have ended unpaid with this code. */
export type Unpaid = { readonly code: string; readonly payments: number };

const MOST_WAITS = 3;
const MOST_CODES = 5;
/** A call reads many chunks, so that the answer of each is short. */
const MOST_HELD = 8;

/** What a chunk knows of itself. */
export type ChunkStanding = {
  readonly number: number;
  readonly heard: string | null;
  readonly isSending: boolean;
  readonly payments: readonly PaymentRecord[];
  readonly waiting: Waiting | null;
  /** True when an earlier history may have sent what this one has not looked up. */
  readonly isAgain: boolean;
  readonly isUnsure: boolean;
};

export function chunkStateOf(chunk: ChunkStanding): ChunkState {
  const { number, heard, payments } = chunk;
  const held = heldIn(payments);
  const unseen = unseenIn(chunk);
  return {
    number,
    heard,
    isSending: chunk.isSending && payments.some(isUnsent),
    counts: countsIn(chunk),
    totals: totalsIn(payments),
    // What one payment is short of stands in the sums of `held`.
    waits: waitsIn(chunk).map(({ short: _short, ...waiting }) => waiting),
    refusals: refusalsIn(payments, heard),
    unpaid: unpaidIn(payments),
    ...(held.length > 0 && { held }),
    ...(unseen > 0 && { unseen }),
    ...(chunk.isUnsure && { isUnsure: true }),
  };
}

/** What these payments wait for. */
export function heldIn(payments: readonly PaymentRecord[]): readonly Held[] {
  return mergedHeld(
    payments.filter(isOpenPayment).flatMap(({ payment: { currency }, amount, waiting }): Held[] => {
      if (!isShown(waiting)) return [];
      const { problem, reason, short } = waiting;
      const there = short?.there ?? null;
      return [{ code: problem.code, reason, currency, payments: 1, value: amount ?? '0', there }];
    }),
  ).slice(0, MOST_HELD);
}

/** What the payments of these chunks wait for. */
export function heldOf(chunks: readonly Pick<ChunkRecord, 'state'>[]): readonly Held[] {
  return mergedHeld(chunks.flatMap(({ state }) => state?.held ?? []));
}

/** The rows of several chunks as one list, the most frequent first. */
export function mergedHeld(rows: readonly Held[]): readonly Held[] {
  const merged = new Map<string, Held>();
  for (const row of rows) {
    const key = `${row.code} ${row.currency}`;
    const before = merged.get(key);
    merged.set(
      key,
      before === undefined
        ? row
        : {
            ...before,
            payments: before.payments + row.payments,
            value: add(before.value, row.value),
            there: before.there ?? row.there,
          },
    );
  }
  return [...merged.values()].toSorted((a, b) => b.payments - a.payments);
}

/** How many payments are still to be looked up. */
export function unseenIn({ payments, isAgain }: Pick<ChunkStanding, 'payments' | 'isAgain'>): number {
  return isAgain
    ? payments.filter(({ stage }) => stage.kind === 'unsent' && isUnseen(stage.state)).length
    : 0;
}

/** The codes with which payments of a chunk have ended unpaid. */
export function codesOf({ unpaid }: Pick<ChunkState, 'unpaid'>): readonly string[] {
  return unpaid.map(({ code }) => code);
}

/** The first codes with which payments have ended unpaid, and how many each. */
export function unpaidIn(payments: readonly PaymentRecord[]): readonly Unpaid[] {
  const unpaid = payments.flatMap((record) => {
    const problem = paymentProblem(record);
    return problem === null ? [] : [{ code: problem.code, payments: 1 }];
  });
  return summedUp(unpaid).slice(0, MOST_CODES);
}

/** The codes with which payments of these chunks have ended unpaid, the most frequent code first. */
export function unpaidOf(chunks: readonly Pick<ChunkRecord, 'state'>[]): readonly Unpaid[] {
  return mergedUnpaid(chunks.flatMap(({ state }) => state?.unpaid ?? []));
}

/** The codes of several lists, the most frequent first. */
export function mergedUnpaid(all: readonly Unpaid[]): readonly Unpaid[] {
  return summedUp(all).toSorted((a, b) => b.payments - a.payments);
}

function summedUp(all: readonly Unpaid[]): readonly Unpaid[] {
  const sums = new Map<string, number>();
  for (const { code, payments } of all) sums.set(code, (sums.get(code) ?? 0) + payments);
  return [...sums].map(([code, payments]) => ({ code, payments }));
}

/** Counts the payments. The sums are made apart, because they cost more than all the rest. */
export function countsIn({ payments, waiting }: Pick<ChunkStanding, 'payments' | 'waiting'>): ChunkCounts {
  const counts = { ...NONE, planned: payments.length };
  for (const record of payments) {
    if (acceptedOf(record) !== null) {
      counts.accepted += 1;
      if (record.traceId !== null) counts.sent += 1;
    } else if (isOpenPayment(record) && (isShown(waiting) || isShown(record.waiting))) counts.waiting += 1;
    if (isOpenPayment(record)) counts.open += 1;
    const column = COLUMNS[paymentOutcome(record)];
    if (column !== null) counts[column] += 1;
  }
  return counts;
}

export function waitsIn({
  payments,
  waiting,
}: Pick<ChunkStanding, 'payments' | 'waiting'>): readonly Waiting[] {
  return shownFirst([waiting, ...payments.map((record) => record.waiting)]).slice(0, MOST_WAITS);
}

/** In which column an outcome is counted, and summed up. */
const COLUMNS = {
  PAID: 'paid',
  NOT_PAID: 'notPaid',
  NEEDS_HUMAN: 'needsHuman',
  PENDING: null,
} as const satisfies Readonly<Record<PaymentOutcome, keyof ChunkCounts | null>>;

type Sums = { -readonly [Name in keyof ChunkTotal]: ChunkTotal[Name] };

/** What the sums need of a payment, as an item or as a line of the report. */
type Summand = {
  readonly currency: string;
  readonly amount: string | null;
  readonly outcome: PaymentOutcome;
  readonly withdrawalId: string | null;
};

/** The sums of payments, in the order of the currencies. */
export function totalsOf(payments: readonly Summand[]): readonly ChunkTotal[] {
  const totals = new Map<string, Sums>();
  for (const { currency, amount, outcome, withdrawalId } of payments) {
    const value = amount ?? '0';
    const total = totals.get(currency) ?? nothing(currency);
    totals.set(currency, total);
    total.planned = add(total.planned, value);
    if (withdrawalId !== null) total.accepted = add(total.accepted, value);
    const column = COLUMNS[outcome];
    if (column !== null) total[column] = add(total[column], value);
  }
  return [...totals.values()].toSorted((a, b) => (a.currency < b.currency ? -1 : 1));
}

export function totalsIn(payments: readonly PaymentRecord[]): readonly ChunkTotal[] {
  return totalsOf(
    payments.map((record) => ({
      currency: record.payment.currency,
      amount: record.amount,
      outcome: paymentOutcome(record),
      withdrawalId: acceptedOf(record)?.withdrawalId ?? null,
    })),
  );
}

function nothing(currency: string): Sums {
  return { currency, planned: '0', paid: '0', notPaid: '0', needsHuman: '0', accepted: '0' };
}

/** A chunk as the run of its batch knows it. */
export type ChunkRecord = {
  readonly number: number;
  readonly planned: PlanChunk;
  /** True when the chunk has its go, so that its payments may leave. */
  mayGo: boolean;
  /** The `releases` of the run when the chunk was told last; -1: it was not told. */
  toldOf: number;
  /** The state of the chunk as it was last read; null: it was not read yet, or there is no such chunk. */
  state: ChunkState | null;
  /** True when the workflow of the chunk has ended. */
  isClosed: boolean;
  /** Set while Temporal has no such chunk. */
  waiting: Waiting | null;
};

export function newChunks(batch: PlanBatch | null): ChunkRecord[] {
  return (batch?.chunks ?? []).map((planned, index) => ({
    number: index + 1,
    planned,
    mayGo: false,
    toldOf: -1,
    state: null,
    isClosed: false,
    waiting: null,
  }));
}

/**
 * True when the chunk has told the Temporal run `runId` that nothing of it is open. What it told an earlier
 * Temporal run does not count any more, even if everything was paid: a payment may have come back, or a
 * person may want it paid again.
 */
export function isDone({ state }: ChunkRecord, runId: string | null): boolean {
  return state !== null && state.counts.open === 0 && state.isUnsure !== true && hasHeard(state, runId);
}

/** True when the chunk has its go from this Temporal run. */
export function hasHeard(state: ChunkState | null, runId: string | null): boolean {
  const heard = state?.heard ?? null;
  return runId !== null && heard !== null && hasGoFrom(heard, runId);
}

/** Whether the first payments are accepted: as many as the canary says, but no more than can be paid, as the plan says. */
export function isCanaryAccepted(canary: number | null, first: ChunkRecord | undefined): boolean {
  if (canary === null || first === undefined) return true;
  const { unpayable, payments } = first.planned;
  const payable = unpayable === null ? payments : unpayable.replaceAll(/[^.]/g, '').length;
  return acceptedIn(first) >= Math.min(canary, payable);
}

/**
 * Whether no payment of the first chunk can be accepted any more.
 * @param knownAs the Temporal run of the batch; what the chunk told an earlier one does not count as refused
 */
export function hasNoCanary(first: ChunkRecord | undefined, knownAs: string | null): boolean {
  if (first === undefined) return true;
  const { state, planned } = first;
  const notPaid = hasHeard(state, knownAs) ? (state?.counts.notPaid ?? 0) : 0;
  return acceptedIn(first) >= planned.payments - notPaid;
}

function acceptedIn({ state }: ChunkRecord): number {
  return state?.counts.accepted ?? 0;
}

/** The counts of all chunks together. */
export function countsOf(chunks: readonly ChunkRecord[]): ChunkCounts {
  return sumOfCounts(
    chunks.map(
      ({ state, planned }) => state?.counts ?? { ...NONE, planned: planned.payments, open: planned.payments },
    ),
  );
}

export function sumOfCounts(all: readonly ChunkCounts[]): ChunkCounts {
  const sum = { ...NONE };
  for (const counts of all)
    for (const name of Object.keys(sum) as (keyof ChunkCounts)[]) sum[name] += counts[name];
  return sum;
}

const NONE = { planned: 0, accepted: 0, paid: 0, notPaid: 0, needsHuman: 0, open: 0, sent: 0, waiting: 0 };

/** The sums of all chunks together. What is planned is as the plan says. */
export function totalsOfChunks(
  chunks: readonly ChunkRecord[],
  batch: PlanBatch | null,
): readonly ChunkTotal[] {
  const states = chunks.flatMap(({ state }) => state ?? []);
  return (batch?.totals ?? []).map(({ currency, value }) =>
    withTotals({ ...nothing(currency), planned: value }, states),
  );
}

/** The sums with those of these chunks. What is planned stays. */
export function withTotals(total: ChunkTotal, chunks: readonly ChunkState[]): ChunkTotal {
  const all = { ...total };
  for (const one of chunks.flatMap(({ totals }) => totals)) {
    if (one.currency !== total.currency) continue;
    for (const name of ['paid', 'notPaid', 'needsHuman', 'accepted'] as const)
      all[name] = add(all[name], one[name]);
  }
  return all;
}

/**
 * What a batch would pay beside what its plan funds, at most, if everything that the plan has left out were mended. Empty
 * where no payment has ended for such a reason.
 */
export function leftOutIn(chunks: readonly ChunkRecord[], batch: PlanBatch | null): readonly Money[] {
  if (batch === null || !unpaidOf(chunks).some(({ code }) => isLeftOut(code))) return [];
  return totalsOfChunks(chunks, batch).flatMap(({ currency, planned, notPaid }) => {
    const funded = batch.payable.find((one) => one.currency === currency)?.value ?? '0';
    const unfunded = subtract(planned, funded);
    const value = compare(unfunded, notPaid) < 0 ? unfunded : notPaid;
    return isPositive(value) ? [{ currency, value }] : [];
  });
}

/** What a batch still has to pay in a currency, as far as its run knows. */
export function owedIn(
  {
    chunks,
    plan,
  }: { readonly chunks: readonly ChunkRecord[]; readonly plan: { readonly batch: PlanBatch | null } | null },
  currency: string,
): string {
  const payable = plan?.batch?.payable.find((one) => one.currency === currency)?.value ?? '0';
  const total = totalsOfChunks(chunks, plan?.batch ?? null).find((one) => one.currency === currency);
  return notNegative(subtract(payable, total?.accepted ?? '0'));
}
