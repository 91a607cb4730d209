/** What a run will still take of the organisation's money, as other runs ask for it before they plan. Pure. */
import type { Plan } from '../plan/plan.ts';
import { reservedBy, type Reserved } from '../plan/reserved.ts';
import { adoptPlan, newRunState, type RunState } from './state.ts';

/** Null while there is no plan. */
export function reservedIn({ plan, legs, payments }: RunState): readonly Reserved[] | null {
  if (plan === null) return null;
  return reservedBy(
    legs.flatMap(({ leg, stage }) => (stage.kind === 'converting' ? leg : [])),
    payments.flatMap(({ payment, amount, stage }) =>
      stage.kind === 'unsent' ? { currency: payment.currency, amount, dependsOn: payment.dependsOn } : [],
    ),
  );
}

/** Of a run of which nothing but its plan is known. */
export function reservedOfPlan(plan: Plan): readonly Reserved[] {
  const state = newRunState(plan.run, '', plan.policy);
  adoptPlan(state, plan);
  return reservedIn(state) ?? [];
}

/** What it will take cannot be told: nobody plans with any of its currencies. */
export function untold(reserved: readonly Reserved[]): readonly Reserved[] {
  return reserved.map((one) => ({ ...one, isTold: false }));
}
