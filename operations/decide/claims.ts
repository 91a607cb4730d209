/**
 * Whether a record without a name of ours belongs to another run: Temporal still shows a run that got this record as the
 * service's reply for another item (design: "In doubt, absent, generations"). Reads only.
 */

import { runName, type RunName } from '../../domain/references.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';

/** A person who decides waits for an answer so long. */
const ASKED_WITHIN_MS = 30_000;

/** A record that may belong to another run. `currencies`: the currencies that it moves. */
export type Unnamed = {
  readonly id: string;
  readonly createdAt: string;
  readonly currencies: readonly string[];
};

/**
 * `policy.id item` of the other run that counts the record as its own; null when none does.
 * @throws CommandFailure when a run that may have sent it does not answer
 */
export async function claimantOf(
  { client, mode }: Place,
  options: { readonly run: RunName; readonly organisation: string; readonly record: Unnamed },
): Promise<string | null> {
  const { run, record } = options;
  const [claim] = await claimsOf(client).whose({ mode, run }, [record], ASKED_WITHIN_MS);
  if (claim === undefined || claim.by.kind === 'nobody') return null;
  const { by } = claim;
  if (by.kind === 'item') return by.run === runName(run) ? null : `${by.run} ${by.item}`;
  for (const other of by.runs) {
    if (runName(other) === runName(run)) continue;
    // A plan can be read without a worker, and shows whether the run can have sent the record.
    const plan = await readFirstPlan(client, mode, other);
    if (plan === null || plan.credentials.organisation !== options.organisation) continue;
    const moved = [
      ...plan.legs.flatMap(({ sell, buy }) => [sell, buy]),
      ...plan.payments.map((payment) => payment.currency),
      ...(plan.batch?.totals ?? []).map(({ currency }) => currency),
    ];
    if (!record.currencies.some((currency) => moved.includes(currency))) continue;
    throw new CommandFailure('infrastructure', [
      {
        code: 'OTHER_RUN_SILENT',
        place: runName(other),
        message: `it does not answer, or a chunk of it does not, so whether record ${record.id} is one of its own is not known`,
        fix: 'See that a worker runs (`npx cambist worker`), then type the same again.',
      },
    ]);
  }
  return null;
}
