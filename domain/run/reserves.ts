/** What a run will still take from the organisation's money. Other runs ask before they plan. Pure. */
import type { Leg, Plan } from '../plan/plan.ts';
import { add } from '../money.ts';
import {
  NOTHING_RESERVED,
  mostSold,
  openLeg,
  reservedBy,
  type OpenLeg,
  type Reservation,
  type Reserved,
  type Unsent,
} from '../plan/reserved.ts';
import type { SendState } from '../writes/doubt.ts';
import { owedIn } from './chunk-state.ts';
import { releasedIn } from './release.ts';
import type { LegRecord, PaymentRecord } from './items.ts';
import { adoptPlan, newRunState, type RunState } from './state.ts';

/**
 * What a run will still do; null while it has no plan. Where the service may have done some of it already, the answer
 * says so: a run that reads the balances after it may find the same money there once more.
 * @param runId the run's own Temporal run; null: what it has done is not known
 */
export function reservationIn(state: RunState, runId: string | null): Reservation | null {
  const { plan, legs, payments } = state;
  if (plan === null) return null;
  const isUntold = ({ doubt, knownIn, sent }: SendState): boolean => {
    const isFresh = knownIn === null && !sent && plan.madeFor === runId && !plan.foundRecords;
    const isKnown = knownIn !== null && knownIn === runId;
    return doubt !== null || !(isFresh || isKnown);
  };
  const converting: Leg[] = [];
  const open: OpenLeg[] = [];
  const unsent: Unsent[] = [];
  const untold = new Map<string, number>();
  const isNotTold = ({ waiting }: LegRecord | PaymentRecord, ...currencies: readonly string[]): void => {
    const sinceMs = waiting?.sinceMs ?? Infinity;
    for (const one of currencies) untold.set(one, Math.min(untold.get(one) ?? Infinity, sinceMs));
  };
  const short = new Map<string, string>();
  for (const record of legs) {
    const { leg, stage, isAtWork } = record;
    if (stage.kind !== 'converting') continue;
    converting.push(leg);
    if (stage.state.phase.kind === 'short')
      short.set(leg.sell, add(short.get(leg.sell) ?? '0', mostSold(leg) ?? '0'));
    const isBeingTraded = isAtWork && stage.state.quote !== null;
    const isLegTold = !isBeingTraded && !isUntold(stage.state);
    if (!isLegTold) isNotTold(record, leg.sell, leg.buy);
    if (leg.amount !== null) open.push(openLeg(leg, isLegTold));
  }
  for (const record of payments) {
    const { payment, amount, stage, isAtWork } = record;
    if (stage.kind !== 'unsent') continue;
    const { currency, dependsOn } = payment;
    unsent.push({ currency, amount, dependsOn });
    const needed = legs.find(({ leg }) => leg.id === dependsOn)?.stage;
    // The payment is sent only once its leg is traded, and this leg is known not to be traded.
    const cannotBeSent = needed?.kind === 'converting' && !isUntold(needed.state);
    const isKnownUnsent = cannotBeSent && !stage.state.sent && stage.state.doubt === null;
    const isUnread = amount === null && needed?.kind === 'handed on';
    if (isAtWork || isUnread || (isUntold(stage.state) && !isKnownUnsent)) isNotTold(record, currency);
  }
  // This adds what a batch pays once it is bought. How much it still pays of other currencies, only its
  // chunks know at any moment.
  const released = releasedIn(state);
  for (const { currency } of plan.batch?.payable ?? [])
    if (!released.includes(currency))
      unsent.push({ currency, amount: owedIn(state, currency), dependsOn: null });
  const reserved = reservedBy(converting, unsent, new Set(untold.keys())).map((one): Reserved => {
    const waitedFor = short.get(one.currency);
    const sinceMs = untold.get(one.currency) ?? Infinity;
    return {
      ...one,
      ...(waitedFor !== undefined && { short: waitedFor }),
      ...(sinceMs < Infinity && { untoldSinceMs: sinceMs }),
    };
  });
  return { reserved, legs: open };
}

/** The same for a run of which only the plan is known. */
export function reservationOfPlan(plan: Plan, runId: string | null): Reservation {
  const state = newRunState(plan.run, '', plan.policy);
  adoptPlan(state, plan);
  return reservationIn(state, runId) ?? NOTHING_RESERVED;
}
