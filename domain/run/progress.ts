/** Where a run stands, item by item, as data for a terminal. Pure. */
import { reportPage, statusOf, type Report, type ReportPage, type ReportStatus } from './report.ts';
import {
  legOutcome,
  paymentOutcome,
  type LegRecord,
  type PaymentOutcome,
  type PaymentRecord,
} from './items.ts';
import { isLeftOut } from '../batch.ts';
import { sumsOf } from '../plan/amounts.ts';
import type { Money } from '../policy.ts';
import type { RunState } from './state.ts';
import { isShown, shownFirst, type Waiting } from '../waits.ts';
import { isUnseen } from '../writes/doubt.ts';
import { leadingWait } from './missing.ts';
import {
  countsOf,
  hasHeard,
  isDone,
  heldOf,
  leftOutIn,
  mergedHeld,
  mergedUnpaid,
  sumOfCounts,
  totalsOf,
  totalsOfChunks,
  unpaidOf,
  withTotals,
  type ChunkCounts,
  type ChunkRecord,
  type ChunkState,
  type ChunkTotal,
  type Held,
  type Unpaid,
} from './chunk-state.ts';

/** Where a run stands, for a terminal: one line per step. */
export type Progress = {
  readonly status: ReportStatus;
  /** The step that is under way or was done last, item by item, in the order of the plan. */
  readonly items: readonly {
    readonly id: string;
    readonly kind: 'plan' | 'leg' | 'payment' | 'batch';
    readonly step: string;
    readonly waiting: Waiting | null;
  }[];
  /** How the batch stands; null: the run has no batch, or no plan yet. */
  readonly batch: BatchProgress | null;
  /** Set from the cancel to the end of the run. `by`: who said so; null until a command has read it. */
  readonly cancel?: { readonly by: string | null };
  /**
   * How many payments a batch has that still waits for its plan, as the command has read; absent: it has not,
   * or there are none.
   */
  readonly submitted?: number;
};

/** False while a run has no plan. A run that has ended waits for none. */
export function isPlanned({ items }: Progress): boolean {
  return items.every(({ kind, step }) => kind !== 'plan' || step === PLANNED);
}

const PLANNED = 'made';

/** How the payments of a batch stand. */
export type BatchStanding = {
  readonly counts: ChunkCounts;
  /** The sums, by currency. */
  readonly totals: readonly ChunkTotal[];
  /** The codes with which payments have ended unpaid, the most frequent first. */
  readonly unpaid: readonly Unpaid[];
  /** What payments wait for, the most frequent first. */
  readonly held: readonly Held[];
  /** How many payments are still to be looked up at the service: an earlier Temporal run may have paid them. */
  readonly unseen: number;
  readonly waiting: Waiting | null;
};

/**
 * How a batch stands as far as its run has heard. A chunk does not tell its run everything: the chunks with the numbers
 * `open` know more, and `others` says how all the other chunks stand.
 */
export type BatchProgress = BatchStanding & {
  readonly open: readonly number[];
  readonly others: BatchStanding;
  /** What is not paid because the plan had left it out, at most: once it is mended, no trade of the plan brings its money. */
  readonly leftOut: readonly Money[];
};

/** A part of the progress, as for a report. */
export type ProgressPage = { readonly progress: Progress; readonly next: number | null };

const PAYMENTS_OF_A_PAGE = 100;

/** Reads all parts and puts them together. */
export async function readProgress(read: (offset: number) => Promise<ProgressPage>): Promise<Progress> {
  let { progress, next } = await read(0);
  while (next !== null) {
    const more = await read(next);
    progress = { ...progress, items: [...progress.items, ...more.progress.items] };
    ({ next } = more);
  }
  return progress;
}

/** How a batch stands by what all its open chunks say themselves. */
export function standingWith(
  { others }: Pick<BatchProgress, 'others'>,
  chunks: readonly ChunkState[],
): BatchStanding {
  const held = mergedHeld([...others.held, ...chunks.flatMap((chunk) => chunk.held ?? [])]);
  return {
    counts: sumOfCounts([others.counts, ...chunks.map(({ counts }) => counts)]),
    totals: others.totals.map((total) => withTotals(total, chunks)),
    unpaid: mergedUnpaid([...others.unpaid, ...chunks.flatMap(({ unpaid }) => unpaid)]),
    held,
    unseen: chunks.reduce((sum, { unseen = 0 }) => sum + unseen, others.unseen),
    waiting: leadingWait([others.waiting, ...chunks.flatMap(({ waits }) => waits)], held),
  };
}

/** The same progress with newer figures of its batch. */
export function withStanding(progress: Progress, standing: BatchStanding): Progress {
  if (progress.batch === null) return progress;
  return {
    ...progress,
    items: progress.items.map((item) => (item.kind === 'batch' ? batchItem(standing) : item)),
    batch: { ...progress.batch, ...standing },
  };
}

/**
 * The most important wait of a run, without those that people need not know; null: there is none. Where a batch, or more than
 * one item, waits for money, it tells the sums that are missing.
 * @param isMeant leaves waits out
 */
export function mainWait(
  { items, batch }: Pick<Progress, 'items' | 'batch'>,
  isMeant: (waiting: Waiting) => boolean = isShown,
): Waiting | null {
  const waits = items.flatMap(({ waiting }) => (waiting !== null && isMeant(waiting) ? [waiting] : []));
  const isOfMany = batch !== null || waits.filter(({ reason }) => reason === 'money').length > 1;
  return isOfMany ? leadingWait(waits, batch?.held ?? []) : (shownFirst(waits)[0] ?? null);
}

/** The progress of a run that has ended, as its report tells it. */
export function progressOfEnded(report: Report, { isBatch }: { readonly isBatch: boolean }): Progress {
  const legs = report.legs.map(({ id, outcome, settled }) => ({
    id,
    kind: 'leg' as const,
    step: settled === true ? `${outcome}, settled` : outcome,
    waiting: null,
  }));
  const { status } = report;
  if (isBatch) {
    const standing = standingOfReport(report);
    const batch = { ...standing, open: [], others: standing, leftOut: leftOutOf(report) };
    return { status, items: [...legs, batchItem(standing)], batch };
  }
  const payments = report.payments.map(({ id, outcome }) => ({
    id,
    kind: 'payment' as const,
    step: outcome,
    waiting: null,
  }));
  return { status, items: [...legs, ...payments], batch: null };
}

/** The sums of the payments that the plan had left out, and that are not paid: nothing is bought for them. */
export function leftOutOf({ payments, problems }: Pick<Report, 'payments' | 'problems'>): readonly Money[] {
  const codes = new Map(problems.map(({ item, code }) => [item, code]));
  return sumsOf(
    payments.flatMap(({ id, outcome, currency, amount }) => {
      const isLeft = outcome === 'NOT_PAID' && isLeftOut(codes.get(id) ?? '');
      return isLeft && amount !== null ? [{ currency, value: amount }] : [];
    }),
  );
}

function standingOfReport({ payments, totals, problems }: Report): BatchStanding {
  const accepted = payments.filter(({ withdrawalId }) => withdrawalId !== null);
  const seen = totalsOf(payments);
  const codes = new Map(problems.map(({ item, code }) => [item, code]));
  const of = (outcome: PaymentOutcome): number => payments.filter((one) => one.outcome === outcome).length;
  return {
    counts: {
      planned: payments.length,
      accepted: accepted.length,
      // A report does not say which of the accepted payments a lookup has found.
      sent: accepted.length,
      waiting: 0,
      paid: of('PAID'),
      notPaid: of('NOT_PAID'),
      needsHuman: of('NEEDS_HUMAN'),
      open: of('PENDING') + of('NEEDS_HUMAN'),
    },
    totals: totals.map((total) => ({
      ...total,
      accepted: seen.find(({ currency }) => currency === total.currency)?.accepted ?? '0',
    })),
    unpaid: mergedUnpaid(
      payments.flatMap(({ id, outcome }) => {
        const code = codes.get(id);
        return outcome === 'NOT_PAID' && code !== undefined ? [{ code, payments: 1 }] : [];
      }),
    ),
    held: [],
    unseen: 0,
    waiting: null,
  };
}

/**
 * The part of the progress that begins at this payment: item by item, in words, for a terminal.
 * @param isAgain the run, or chunk, was started or reset once more
 */
export function progressPage(state: RunState, offset: number, isAgain: boolean): ProgressPage {
  const plan = {
    id: 'plan',
    kind: 'plan',
    step: state.plan === null ? 'reading' : PLANNED,
    waiting: state.waiting,
  } as const;
  const legs = state.legs.map((record) => ({
    id: record.leg.id,
    kind: 'leg' as const,
    step: legStep(record, isAgain),
    waiting: record.waiting,
  }));
  const end = offset + PAYMENTS_OF_A_PAGE;
  const payments = state.payments.slice(offset, end).map((record) => ({
    id: record.payment.id,
    kind: 'payment' as const,
    step: paymentStep(record, isAgain),
    waiting: record.waiting,
  }));
  const batch = batchOf(state, isAgain);
  const ofBatch = batch === null ? [] : [batchItem(batch)];
  const items = offset === 0 ? [plan, ...legs, ...ofBatch, ...payments] : payments;
  return {
    progress: {
      status: statusOf(state),
      items,
      batch,
      ...(state.cancelled && !state.ended && { cancel: { by: null } }),
    },
    next: end < state.payments.length ? end : null,
  };
}

/** A part of a run's report. The first part of a batch also says how the batch stands. */
export type RunPage = ReportPage & { readonly progress?: Progress };

/**
 * As `reportPage`, and how a batch stands: no second question is needed, and no worker after the end.
 * @param isAgain as in `progressPage`
 */
export function runPage(state: RunState, offset: number, isAgain: boolean): RunPage {
  const page = reportPage(state, offset);
  if (offset > 0 || page.chunks === 0) return page;
  return { ...page, progress: progressPage(state, 0, isAgain).progress };
}

function batchOf(state: RunState, isAgain: boolean): BatchProgress | null {
  const { chunks, knownAs } = state;
  if (chunks.length === 0) return null;
  const isOpen = (chunk: ChunkRecord): boolean => chunk.mayGo && !isDone(chunk, knownAs);
  const others = chunks.filter((chunk) => !isOpen(chunk));
  return {
    ...standingOf(state, chunks, isAgain),
    open: chunks.filter(isOpen).map(({ number }) => number),
    others: standingOf(state, others, isAgain),
    leftOut: leftOutIn(chunks, state.plan?.batch ?? null),
  };
}

/** How these chunks stand. In the sums, `planned` is that of the whole batch. */
function standingOf(state: RunState, chunks: readonly ChunkRecord[], isAgain: boolean): BatchStanding {
  const waits = chunks.flatMap((chunk) => [chunk.waiting, ...(chunk.state?.waits ?? [])]);
  const held = heldOf(chunks);
  return {
    counts: countsOf(chunks),
    totals: totalsOfChunks(chunks, state.plan?.batch ?? null),
    unpaid: unpaidOf(chunks),
    held,
    unseen: unseenOf(state, chunks, isAgain),
    waiting: leadingWait(waits, held),
  };
}

/**
 * How many payments of these chunks are still to be looked up. What a chunk told an earlier Temporal run is looked up anew.
 * @param isAgain as in `progressPage`
 */
export function unseenOf(
  { knownAs }: Pick<RunState, 'knownAs'>,
  chunks: readonly ChunkRecord[],
  isAgain: boolean,
): number {
  return chunks.reduce((sum, { state, planned }) => {
    const isUntold = isAgain && !hasHeard(state, knownAs);
    return sum + (isUntold ? planned.payments : (state?.unseen ?? 0));
  }, 0);
}

function batchItem({ counts, unseen, waiting }: BatchStanding): Progress['items'][number] {
  const step = `${lookingText(unseen, counts)}${batchStep(counts)}`;
  return { id: 'payments', kind: 'batch', step, waiting };
}

/** Stands at the beginning of the step of what an earlier Temporal run may have done, until the service has been asked. */
const LOOKING = 'looking';

/** Stands before the counts of a batch of which payments are still to be looked up; empty where there are none. */
export function lookingText(unseen: number, { planned }: Pick<ChunkCounts, 'planned'>): string {
  return unseen === 0 ? '' : `${LOOKING}, ${unseen} of ${planned} to be looked up; `;
}

/** How many items are still to be looked up: what the progress says of them may be less than what is done. */
export function lookingIn({ items, batch }: Progress): number {
  const others = items.filter(({ kind, step }) => kind !== 'batch' && step.startsWith(LOOKING));
  return others.length + (batch?.unseen ?? 0);
}

/** `1200 of 2000 accepted, 800 paid, 3 not paid`. */
function batchStep({ planned, accepted, paid, notPaid, needsHuman }: ChunkCounts): string {
  const more = [
    ...(notPaid > 0 ? [`${notPaid} not paid`] : []),
    ...(needsHuman > 0 ? [`${needsHuman} need a person`] : []),
  ];
  return [`${accepted} of ${planned} accepted`, `${paid} paid`, ...more].join(', ');
}

function legStep(record: LegRecord, isAgain: boolean): string {
  const { stage } = record;
  switch (stage.kind) {
    case 'converting':
      if (stage.needsHuman) return legOutcome(record);
      if (isAgain && isUnseen(stage.state)) return `${LOOKING} whether it was traded`;
      return stage.state.quote === null ? 'quoting' : 'trading';
    case 'handed on':
      return 'reading its trade again';
    case 'traded':
      return `${legOutcome(record)}${stage.settled === true ? ', settled' : ''}`;
    case 'not traded':
      return legOutcome(record);
  }
}

function paymentStep(record: PaymentRecord, isAgain: boolean): string {
  const { stage } = record;
  switch (stage.kind) {
    case 'unsent':
      if (stage.needsHuman) return paymentOutcome(record);
      // Before its leg is decided, it was not sent either.
      return isAgain && stage.release !== null && isUnseen(stage.state)
        ? `${LOOKING} whether it was sent`
        : 'to be sent';
    case 'accepted':
      return `accepted, ${stage.accepted.status}`;
    case 'paid':
    case 'failed':
    case 'not paid':
      return paymentOutcome(record);
  }
}
