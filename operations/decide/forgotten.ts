/**
 * A run of which Temporal has neither the plan nor what people said, because both are past their retention, or were lost. What
 * was cancelled, decided or replaced is not known any more. So no command lets such a run go on: a person compares what the
 * service shows with what is owed.
 */
import type { Kept } from '../../domain/people/instructions.ts';
import { runName, type RunName } from '../../domain/references.ts';
import { LOOK_BACK_MS } from '../../domain/writes/lookups.ts';
import { dateOfRunId, sendWindowsOf } from '../../calendar/business-date.ts';
import type { Settings } from '../../config/config.ts';
import { findPlan } from '../../durable/plans.ts';
import { READ_BOUNDS } from '../../service/pages.ts';
import { findOfRun, type FoundOfRun } from '../../service/records-of-run.ts';
import { CommandFailure } from '../failure.ts';
import { isEndedFromOutside, type RunFacts } from '../follow/runs.ts';
import type { Place } from '../place.ts';
import { atService } from '../preflight.ts';

/** A person waits so long for the service's lists. The answer is no without them too. */
const LOOKS_WITHIN_MS = 10_000;
/** At most this many records are named. */
const NAMED = 5;

/**
 * Checked before a person lets a run go on, or has something of it paid again.
 * @param kept what people said about the run; null: Temporal has nothing of that
 * @throws CommandFailure for a run that Temporal has forgotten. A run that was ended before it had a plan, or was never there,
 * is none, unless the service shows something of it
 */
export async function requireRemembered(
  place: Place,
  settings: Settings,
  {
    run,
    zone,
    facts,
    kept,
  }: {
    readonly run: RunName;
    readonly zone: string;
    readonly facts: RunFacts | null;
    readonly kept: Kept | null;
  },
): Promise<void> {
  if (kept !== null || (await findPlan(place.client, place.mode, run)) !== null) return;
  const date = dateOfRunId(run.id);
  const opensAtMs = date === null ? 0 : sendWindowsOf(date, zone).opensAtMs;
  const seen = await atService(settings, (service) =>
    findOfRun(service, run, {
      sinceMs: opensAtMs - LOOK_BACK_MS,
      bounds: { ...READ_BOUNDS, withinMs: LOOKS_WITHIN_MS },
    }),
  );
  const hadPlan = facts !== null && !isEndedFromOutside(facts);
  if (hadPlan || seen.found.length > 0) throw forgotten(run, seen);
}

/** @param seen what the service shows of the run */
function forgotten(run: RunName, { found, stopped }: FoundOfRun): CommandFailure {
  const more = found.length > NAMED ? ` and ${found.length - NAMED} more` : '';
  const cut = stopped === null ? '' : ', as far as its lists could be read';
  const shows = found.length === 0 ? 'nothing of it' : `${found.slice(0, NAMED).join(', ')}${more}`;
  return new CommandFailure('refused by us', [
    {
      code: 'NO_PLAN',
      place: runName(run),
      message: `Temporal has neither the plan of the run nor what people said about it any more, so it is not known what may still be done; the service shows ${shows}${cut}; nothing was sent`,
      fix: 'Compare this with what is owed. What is still to be done is a new run, under another --id.',
    },
  ]);
}
