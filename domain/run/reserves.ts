/** What a run will still take of the organisation's money, as other runs ask for it before they plan. Pure. */
import type { Leg, Plan } from '../plan/plan.ts';
import { reservedBy, type Reserved, type Unsent } from '../plan/reserved.ts';
import type { SendState } from '../writes/doubt.ts';
import { adoptPlan, newRunState, type RunState } from './state.ts';

/**
 * Null while there is no plan. What the service may have taken already is told as such: whoever reads the balances after
 * it may find it there once more.
 * @param runId the run's own Temporal run; null: what it has done is not known
 */
export function reservedIn(
  { plan, legs, payments }: RunState,
  runId: string | null,
): readonly Reserved[] | null {
  if (plan === null) return null;
  const isUntold = ({ doubt, knownIn, sent }: SendState): boolean => {
    const isFresh = knownIn === null && !sent && plan.madeFor === runId && !plan.foundRecords;
    const isKnown = knownIn !== null && knownIn === runId;
    return doubt !== null || !(isFresh || isKnown);
  };
  const converting: Leg[] = [];
  const unsent: Unsent[] = [];
  const currencies = new Set<string>();
  for (const { leg, stage, isAtWork } of legs) {
    if (stage.kind !== 'converting') continue;
    converting.push(leg);
    const isBeingTraded = isAtWork && stage.state.quote !== null;
    if (isBeingTraded || isUntold(stage.state)) currencies.add(leg.sell).add(leg.buy);
  }
  for (const { payment, amount, stage, isAtWork } of payments) {
    if (stage.kind !== 'unsent') continue;
    const { currency, dependsOn } = payment;
    unsent.push({ currency, amount, dependsOn });
    const needed = legs.find(({ leg }) => leg.id === dependsOn)?.stage;
    // Sent only once its leg is traded, which it is known not to be.
    const cannotBeSent = needed?.kind === 'converting' && !isUntold(needed.state);
    const isKnownUnsent = cannotBeSent && !stage.state.sent && stage.state.doubt === null;
    if (isAtWork || (isUntold(stage.state) && !isKnownUnsent)) currencies.add(currency);
  }
  return untold(reservedBy(converting, unsent), currencies);
}

/** Of a run of which nothing but its plan is known. */
export function reservedOfPlan(plan: Plan, runId: string | null): readonly Reserved[] {
  const state = newRunState(plan.run, '', plan.policy);
  adoptPlan(state, plan);
  return reservedIn(state, runId) ?? [];
}

/** What is taken of these currencies cannot be told: nobody plans with them. */
function untold(reserved: readonly Reserved[], currencies: ReadonlySet<string>): readonly Reserved[] {
  const others = new Set(currencies);
  for (const { currency } of reserved) others.delete(currency);
  return [
    ...reserved.map((one) => (currencies.has(one.currency) ? { ...one, isTold: false } : one)),
    ...[...others].map((currency) => ({ currency, takes: '0', changes: '0', gross: '0', isTold: false })),
  ];
}
