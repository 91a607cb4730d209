/** Where a run stands, item by item, as data for a terminal. Pure. */
import { statusOf, type ReportStatus } from './report.ts';
import { legOutcome, paymentOutcome, type LegRecord, type PaymentRecord } from './items.ts';
import type { RunState } from './state.ts';
import type { Waiting } from '../waits.ts';

/** Where a run stands, for a terminal: one line per step. */
export type Progress = {
  readonly status: ReportStatus;
  /** What happens now, or was last done, item by item, in plan order. */
  readonly items: readonly {
    readonly id: string;
    readonly kind: 'plan' | 'leg' | 'payment';
    readonly step: string;
    readonly waiting: Waiting | null;
  }[];
};

/** Part of it, as of a report. */
export type ProgressPage = { readonly progress: Progress; readonly next: number | null };

const PAYMENTS_OF_A_PAGE = 100;

/** Puts the parts together. */
export async function readProgress(read: (offset: number) => Promise<ProgressPage>): Promise<Progress> {
  let { progress, next } = await read(0);
  while (next !== null) {
    const more = await read(next);
    progress = { ...progress, items: [...progress.items, ...more.progress.items] };
    ({ next } = more);
  }
  return progress;
}

/** Item by item, in words, for a terminal; the part that begins at this payment. */
export function progressPage(state: RunState, offset: number): ProgressPage {
  const plan = {
    id: 'plan',
    kind: 'plan',
    step: state.plan === null ? 'reading' : 'made',
    waiting: state.waiting,
  } as const;
  const legs = state.legs.map((record) => ({
    id: record.leg.id,
    kind: 'leg' as const,
    step: legStep(record),
    waiting: record.waiting,
  }));
  const end = offset + PAYMENTS_OF_A_PAGE;
  const payments = state.payments.slice(offset, end).map((record) => ({
    id: record.payment.id,
    kind: 'payment' as const,
    step: paymentStep(record),
    waiting: record.waiting,
  }));
  const items = offset === 0 ? [plan, ...legs, ...payments] : payments;
  return {
    progress: { status: statusOf(state), items },
    next: end < state.payments.length ? end : null,
  };
}

function legStep(record: LegRecord): string {
  const { stage } = record;
  switch (stage.kind) {
    case 'converting':
      if (stage.needsHuman) return legOutcome(record);
      return stage.state.quote === null ? 'quoting' : 'trading';
    case 'traded':
      return `${legOutcome(record)}${stage.settled === true ? ', settled' : ''}`;
    case 'not traded':
      return legOutcome(record);
  }
}

function paymentStep(record: PaymentRecord): string {
  const { stage } = record;
  switch (stage.kind) {
    case 'unsent':
      return stage.needsHuman ? paymentOutcome(record) : 'to be sent';
    case 'accepted':
      return `accepted, ${stage.accepted.status}`;
    case 'paid':
    case 'failed':
    case 'not paid':
      return paymentOutcome(record);
  }
}
