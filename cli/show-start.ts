/**
 * Shows the result of a start that a person asked of a schedule. When there is a run, it shows what `cambist run` would
 * show.
 */
import type { Ending } from '../domain/endings.ts';
import { policyHash } from '../language/policy/policy-hash.ts';
import { EXIT_CODES, endingOfCode, firstOf } from '../operations/exit-codes.ts';
import { CommandFailure, troubleOfItem } from '../operations/failure.ts';
import type { Place } from '../operations/place.ts';
import { describeRun } from '../operations/follow/runs.ts';
import type { Start } from '../operations/schedules/came.ts';
import { requireSchedule } from '../operations/schedules/kept.ts';
import { follow } from './follow.ts';
import type { Output } from './terminal/output.ts';
import { startDocument, toldOf } from './views/schedules-text.ts';

/** Follows the run that was started or found, as `run` does; or tells why there is none. */
export async function showStart(
  output: Output,
  place: Place,
  { start, stay }: { readonly start: Start; readonly stay: boolean },
): Promise<Ending> {
  const { came, run } = start;
  if (came.kind === 'refused')
    throw new CommandFailure(
      firstOf(came.problems.map(({ code }) => endingOfCode(code))),
      came.problems.map(troubleOfItem),
    );
  if (came.kind !== 'done' || came.result.kind === 'day off') {
    const ending: Ending = came.kind === 'done' ? 'done' : 'infrastructure';
    output.document({ ...startDocument(start), exitCode: EXIT_CODES[ending] });
    output.say(toldOf(start));
    return ending;
  }
  output.note(came.result.line);
  const { facts } = await requireSchedule(place, run.policy);
  const described = await describeRun(place.client, place.mode, run);
  return follow(
    {
      output,
      place,
      run,
      policyHash: policyHash(facts.policyText ?? '') ?? '',
      startedBy: null,
      zone: facts.zone,
      stay,
    },
    described?.startedAtMs ?? output.io.now(),
  );
}
