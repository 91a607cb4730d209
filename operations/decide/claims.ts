/**
 * Whether a record without a name of ours belongs to another run: Temporal still shows a run that got this record as the
 * service's reply for another item (design: "In doubt, absent, generations"). Reads only.
 */
import { CREATED_SLACK_MS } from '../../domain/writes/lookups.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { readFirstPlan } from '../../durable/plans.ts';
import { recordsOfBatches } from '../../durable/batches/records.ts';
import { CommandFailure } from '../failure.ts';
import type { Place } from '../place.ts';
import { readRun } from '../follow/read-run.ts';
import { listRuns } from '../follow/runs.ts';

const BATCHES_LIMIT_MS = 30_000;

/** Records that may belong to other runs. `currencies`: the currencies that they move. */
export type Unnamed = {
  readonly id: string;
  readonly createdAt: string;
  readonly currencies: readonly string[];
};

/**
 * `policy.id item` of the other run whose report names the record; null when no report does.
 * @throws CommandFailure when a run that may have sent it cannot be read
 */
export async function claimantOf(
  place: Place,
  options: { readonly run: RunName; readonly organisation: string; readonly record: Unnamed },
): Promise<string | null> {
  const { client, mode } = place;
  const { record } = options;
  const own = runName(options.run);
  const sinceMs = Date.parse(record.createdAt) - CREATED_SLACK_MS;
  const batches = new Set<string>();
  const runs = await listRuns(client, mode, { policy: null, onlyOpen: false, limit: null });
  for (const facts of runs) {
    if (runName(facts.run) === own || (facts.closedAtMs !== null && facts.closedAtMs < sinceMs)) continue;
    // A plan can be read without a worker, and usually shows whether a run can be meant.
    const plan = await readFirstPlan(client, mode, facts.run);
    if (plan === null || plan.credentials.organisation !== options.organisation) continue;
    const moved = [
      ...plan.legs.flatMap(({ sell, buy }) => [sell, buy]),
      ...plan.payments.map((payment) => payment.currency),
      ...(plan.batch?.totals ?? []).map(({ currency }) => currency),
    ];
    if (!record.currencies.some((currency) => moved.includes(currency))) continue;
    if (plan.batch !== null) {
      batches.add(runName(facts.run));
      continue;
    }
    const { report } = await readRun(place, facts);
    const item =
      report.legs.find((leg) => leg.tradeId === record.id) ??
      report.payments.find((payment) => payment.withdrawalId === record.id);
    if (item !== undefined) return `${runName(facts.run)} ${item.id}`;
  }
  return batches.size > 0 ? paymentOfBatch(place, { batches, sinceMs, id: record.id }) : null;
}

/** Asks all chunks of these batches at once. */
async function paymentOfBatch(
  { client, mode }: Place,
  {
    batches,
    sinceMs,
    id,
  }: { readonly batches: ReadonlySet<string>; readonly sinceMs: number; readonly id: string },
): Promise<string | null> {
  const untilMs = performance.now() + BATCHES_LIMIT_MS;
  const { items, silent } = await recordsOfBatches(client, { mode, sinceMs, untilMs, ids: [id], batches });
  const item = items.get(id) ?? null;
  if (item === null && silent !== null)
    throw new CommandFailure('infrastructure', [
      {
        code: 'OTHER_RUN_SILENT',
        place: silent,
        message: `not every chunk of it answers, so whether record ${id} is one of its payments is not known`,
        fix: 'See that a worker runs (`npx cambist worker`), then type the same again.',
      },
    ]);
  return item;
}
