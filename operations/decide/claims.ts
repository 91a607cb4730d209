/**
 * Whose is a record without a name of ours? Temporal still shows a run that counts this record as an item's own (design: "In
 * doubt, absent, generations"). Reads only.
 */

import { approvalIn, newestSaid } from '../../domain/people/instructions.ts';
import type { Plan } from '../../domain/plan/plan.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { accountedFor } from '../../domain/run/claims.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import { claimsOf } from '../../durable/other-runs/claims.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { CommandFailure } from '../failure.ts';
import type { Ours } from '../batches/look-alikes.ts';
import type { Place } from '../place.ts';
import { keptAbout } from './keep-instruction.ts';

/** A person who decides waits for an answer so long. */
const CLAIMANT_WITHIN_MS = 30_000;
const LOOK_ALIKES_WITHIN_MS = 10_000;

/**
 * `policy.id item` of the other run that counts the record as its own; null when none does.
 * @param plan of the run that asks
 * @throws CommandFailure when a run that may have sent it does not answer
 */
export async function claimantOf(
  { client, mode }: Place,
  { run, credentials }: Pick<Plan, 'run' | 'credentials'>,
  record: Trade | Withdrawal,
): Promise<string | null> {
  const [claim] = await claimsOf(client).whose({ mode, run }, [record], CLAIMANT_WITHIN_MS);
  if (claim === undefined || claim.by.kind === 'nobody') return null;
  const { by } = claim;
  if (by.kind === 'item') return by.run === runName(run) ? null : `${by.run} ${by.item}`;
  const moves = 'quoteId' in record ? [record.sellCurrency, record.buyCurrency] : [record.currency];
  for (const other of by.runs) {
    if (runName(other) === runName(run)) continue;
    // A plan can be read without a worker, and shows whether the run can have sent the record.
    const plan = await readFirstPlan(client, mode, other);
    if (plan === null || plan.credentials.organisation !== credentials.organisation) continue;
    const moved = [
      ...plan.legs.flatMap(({ sell, buy }) => [sell, buy]),
      ...plan.payments.map((payment) => payment.currency),
      ...(plan.batch?.totals ?? []).map(({ currency }) => currency),
    ];
    if (!moves.some((currency) => moved.includes(currency))) continue;
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

/** What Temporal says of a batch, and whose the records are that look like its payments. */
export async function readOurs(place: Place, run: RunName): Promise<Ours> {
  const { client, mode } = place;
  const kept = await keptAbout(place, run);
  return {
    approval: approvalIn(kept),
    seen: newestSaid(kept.instructions, 'run'),
    madeAtMs: (await readFirstPlan(client, mode, run))?.madeAtMs ?? null,
    accountFor: async (records) =>
      accountedFor(await claimsOf(client).whose({ mode, run }, records, LOOK_ALIKES_WITHIN_MS)),
  };
}
