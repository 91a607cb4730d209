/**
 * What the next start of a run, or a reset of it, does with each item: by its report, and by what people said. `replay`,
 * `explain-reset`, `--go-on` and `--pay-again` all tell people this. It is advice, since a worker looks at the service and
 * at what people said once more before it sends. Pure.
 */
import { isLeftOut } from '../batch.ts';
import { isFromBalances } from '../plan/plan.ts';
import { classOf } from '../service/reply-rules.ts';
import {
  instructionsAbout,
  isCancelled,
  itemsNamedIn,
  nextOpening,
  type Recorded,
} from '../people/instructions.ts';
import { isReplaced } from '../replacement.ts';
import { firstReference, generationOf } from '../references.ts';
import type { Problem } from '../problems.ts';
import type { Report, ReportLeg, ReportPayment } from './report.ts';

export type Next =
  /** It is traded or paid. */
  | 'done'
  /** The service has accepted it, and the run follows it to its end. */
  | 'followed'
  | 'tried again'
  /** Its amount was computed from balances. */
  | 'tried again while the balances ask for it'
  /** A person has opened generations of it, and the service has no record of them yet. */
  | 'paid again'
  /** Its key is never sent again, and only a person can open another generation. */
  | 'left to --pay-again'
  | 'left to a person'
  /** It is cancelled, and only `--go-on` takes that back. */
  | 'cancelled'
  /** Another run has taken the place of this one. */
  | 'left to another run';

export type NextOfItem = { readonly next: Next } & (
  | { readonly kind: 'leg'; readonly item: ReportLeg }
  | {
      readonly kind: 'payment';
      readonly item: ReportPayment;
      /**
       * Why no trade of the plan may bring its money, if it is sent now: the plan has left it out, or money was missing when all
       * its trades were made. Null: neither.
       */
      readonly unfunded: 'left out' | 'money missing' | null;
    }
);

/** True for an item that a worker may send. */
export function isTriedAgain({ next }: Pick<NextOfItem, 'next'>): boolean {
  switch (next) {
    case 'tried again':
    case 'tried again while the balances ask for it':
    case 'paid again':
      return true;
    case 'done':
    case 'followed':
    case 'left to --pay-again':
    case 'left to a person':
    case 'cancelled':
    case 'left to another run':
      return false;
  }
}

/** With one of these codes, a payment that the service has never accepted is not sent again under its key. */
const CLOSING: readonly Problem['code'][] = ['WINDOW_PASSED', 'DECIDED_NOT_EXECUTED'];

/** A start of a run. */
export type Start = {
  /** It is one by `--go-on`. */
  readonly takesCancelBack: boolean;
  /** Epoch milliseconds. What a person has opened is paid only while its window is open. */
  readonly nowMs: number;
};

/**
 * @param said what people said about the run, as `spelledOut` makes it
 * @returns the legs and then the payments, in the order of the report
 */
export function nextStart(
  { legs, payments, problems }: Pick<Report, 'legs' | 'payments' | 'problems'>,
  said: readonly Recorded[],
  { takesCancelBack, nowMs }: Start,
): readonly NextOfItem[] {
  const stopped = stoppedBy(said, takesCancelBack);
  const closed = new Set(problems.flatMap(({ code, item }) => (CLOSING.includes(code) ? [item] : [])));
  const about = saidByItem(said);
  const codes = new Map(problems.map(({ code, item }) => [item, code as string]));
  const mayStillBuy = new Set(legs.filter(({ outcome }) => outcome !== 'TRADED').map(({ buy }) => buy));
  return [
    ...legs.map((leg): NextOfItem => ({ kind: 'leg', item: leg, next: nextOfLeg(leg, stopped) })),
    ...payments.map((payment): NextOfItem => {
      const isOpened = hasOpened(payment, about.get(payment.id) ?? [], nowMs);
      const isClosed = payment.withdrawalId !== null || closed.has(payment.id);
      return {
        kind: 'payment',
        item: payment,
        next: nextOfPayment(payment, { stopped, isOpened, isClosed }),
        unfunded: unfundedBy(codes.get(payment.id), mayStillBuy.has(payment.currency)),
      };
    }),
  ];
}

function unfundedBy(
  code: string | undefined,
  mayStillBuy: boolean,
): Extract<NextOfItem, { kind: 'payment' }>['unfunded'] {
  if (code === undefined) return null;
  if (isLeftOut(code)) return 'left out';
  const isMissing = classOf({ code, details: {} }) === 'wait for money';
  return isMissing && !mayStillBuy ? 'money missing' : null;
}

function stoppedBy(said: readonly Recorded[], takesCancelBack: boolean): Next | null {
  if (isReplaced(said)) return 'left to another run';
  return !takesCancelBack && isCancelled(said) ? 'cancelled' : null;
}

function nextOfLeg({ outcome, why }: ReportLeg, stopped: Next | null): Next {
  switch (outcome) {
    case 'TRADED':
      return 'done';
    case 'NEEDS_HUMAN':
      return 'left to a person';
    case 'NOT_TRADED':
    case 'PENDING':
      return (
        stopped ??
        (isFromBalances({ why: { kind: why } }) ? 'tried again while the balances ask for it' : 'tried again')
      );
  }
}

function nextOfPayment(
  { outcome, withdrawalId }: ReportPayment,
  of: {
    readonly stopped: Next | null;
    /** A person has opened generations that have no record yet. */
    readonly isOpened: boolean;
    /** The key that it has now is never sent again. */
    readonly isClosed: boolean;
  },
): Next {
  switch (outcome) {
    case 'PAID':
      // It came back, and a person has opened generations after the run had ended.
      return of.isOpened && of.stopped === null ? 'paid again' : 'done';
    case 'NEEDS_HUMAN':
      return 'left to a person';
    case 'PENDING':
      return withdrawalId === null ? (of.stopped ?? 'tried again') : 'followed';
    case 'NOT_PAID':
      if (of.isOpened) return of.stopped ?? 'paid again';
      return of.isClosed ? 'left to --pay-again' : (of.stopped ?? 'tried again');
  }
}

/** What people said about each item, in order. Each instruction is read once, however many items a batch has. */
function saidByItem(said: readonly Recorded[]): ReadonlyMap<string, readonly Recorded[]> {
  const about = new Map<string, Recorded[]>();
  for (const each of said) {
    for (const item of itemsNamedIn(each)) {
      const list = about.get(item);
      if (list === undefined) about.set(item, [each]);
      else list.push(each);
    }
  }
  return about;
}

/** Whether a person has opened generations above the one that the report names, and they may still be sent. */
function hasOpened(
  { id, reference: current }: ReportPayment,
  instructions: readonly Recorded[],
  nowMs: number,
): boolean {
  if (instructions.length === 0) return false;
  const generation = generationOf(firstReference(current), current) ?? 1;
  const said = instructionsAbout({ instructions, facts: [] }, id);
  const next = nextOpening(said, { follows: generation, nowMs, keepsOut: () => true });
  return next.kind === 'opened before';
}
