/**
 * What a person should know of the reference rates before a start: a rate that has moved by more than a tenth since the policy's last
 * plan. It may be so, so this stops nothing.
 */
import { movedRates } from '../../domain/plan/moved-rates.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import type { ReferenceRates } from '../../domain/policy.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { listRuns } from '../follow/runs.ts';
import type { Place } from '../place.ts';

/** So many of the policy's newest runs are looked at for a plan that has reference rates. */
const MOST_RUNS = 10;

/** One line for each rate that has moved. */
export async function ratesMoved(
  place: Pick<Place, 'client' | 'mode'>,
  run: RunName,
  { rates }: ReferenceRates,
): Promise<readonly string[]> {
  const { client, mode } = place;
  const all = await listRuns(client, mode, { policy: run.policy, onlyOpen: false, limit: MOST_RUNS });
  for (const { run: other } of all) {
    if (other.id === run.id) continue;
    // A plan that this program cannot read says nothing of the rates.
    const plan = await readFirstPlan(client, mode, other).catch(() => null);
    if (plan !== null && hasRates(plan)) return movedRates(plan, rates).map(lineOf.bind(null, plan));
  }
  return [];
}

function hasRates({ legs }: Plan): boolean {
  return legs.some(({ guard }) => (guard?.referenceRate ?? null) !== null);
}

/** What is told of one rate. */
export function lineOf(
  { run }: Pick<Plan, 'run'>,
  { sell, buy, was, now }: ReturnType<typeof movedRates>[number],
): string {
  return `By the reference rates 1 ${sell} is ${now} ${buy}; it was ${was} in the plan of ${runName(run)}. That is more than 10 % apart: see that the file is right.`;
}
