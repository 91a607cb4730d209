/**
 * What a start says of payments that other runs have made under other names. In live they are made again only once a person has
 * named their list. A schedule cannot ask, so its start is refused, and a person starts the run.
 */
import { runName, type RunName } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import type { Trouble } from '../../language/text/problem.ts';
import {
  beforeHead,
  beforeLine,
  hasKnownPayments,
  seeLookAlikes,
  type SeenMadeBefore,
} from '../batches/look-alikes.ts';
import { readOurs } from '../decide/claims.ts';
import { CommandFailure } from '../failure.ts';
import type { AskedStart } from './run-policy.ts';

/**
 * Checked before a schedule starts a run that has no plan yet.
 * @returns what is told of the start. @throws CommandFailure in live, and where the service cannot be read
 */
export async function heedBySchedule(asked: AskedStart): Promise<readonly string[]> {
  const { place, run, settings, policyFile, now } = asked;
  const { policy } = policyFile;
  if (!hasKnownPayments(policy)) return [];
  const ours = await readOurs(place, run);
  if (ours.madeAtMs !== null) return [];
  const { before } = await seeLookAlikes({ settings, run, policy, batch: null, ours, now });
  return before === null ? [] : toldBySchedule(before, { run, mode: place.mode });
}

/** @throws CommandFailure in live */
export function toldBySchedule(
  before: SeenMadeBefore,
  { run, mode }: { readonly run: RunName; readonly mode: Mode },
): readonly string[] {
  if (mode === 'SANDBOX') return [beforeHead(before), ...before.first.map(beforeLine)];
  throw refusedAsMadeBefore(
    before,
    run,
    `Look at them. If they are to be made all the same, start the run by hand on its date: \`npx cambist run POLICY --again ${before.name}\`. If not, acknowledge it: \`npx cambist list --acknowledge ${runName(run)}\`.`,
  );
}

export function refusedAsMadeBefore(before: SeenMadeBefore, run: RunName, fix: string): CommandFailure {
  return new CommandFailure('refused by us', [
    {
      code: 'MADE_BEFORE',
      place: runName(run),
      message: `${beforeHead(before)} Nothing was started.`,
      fix,
    },
    ...before.first.map((one): Trouble => ({
      code: 'PAID_ALREADY',
      place: null,
      message: beforeLine(one),
      fix: '',
    })),
  ]);
}
