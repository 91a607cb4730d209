/**
 * The only accounts that a batch may pay. A command reads the file of destinations and says which they are. Where the worker
 * has a folder of files, it reads the file there itself, and only what is in both may be paid. For a program that may write to
 * Temporal could have said anything in the place of a command.
 */
import { DESTINATIONS_FILE_BYTES, accountsOf, inBoth, type Destinations } from '../domain/destinations.ts';
import { destinationsFileOf, type PayoutPolicy } from '../domain/policy.ts';
import { makeProblem } from '../domain/problems.ts';
import type { NotObserved } from '../domain/run/calls.ts';
import { loadDestinations } from '../language/load-destinations.ts';
import { placeOf } from '../language/text/problem.ts';
import type { Deps } from './deps.ts';

/** The file may come at any moment. */
const ASK_AGAIN_MS = 60_000;

/** @param given as the run was started with; null: any account may be paid */
export async function allowedAccounts(
  deps: Pick<Deps, 'readOwnFile'>,
  policy: PayoutPolicy,
  given: Destinations | null,
): Promise<{ readonly kind: 'read'; readonly destinations: Destinations | null } | NotObserved> {
  const file = destinationsFileOf(policy);
  if (file === null || given === null) return { kind: 'read', destinations: given };
  const own = await deps.readOwnFile(file, DESTINATIONS_FILE_BYTES);
  if (own === null) return { kind: 'read', destinations: given };
  if (!own.ok) return unreadable(file, own.message);
  const loaded = loadDestinations(own.text, file);
  if (!loaded.ok) {
    const told = loaded.problems.map((problem) => `${placeOf(problem)}: ${problem.message}`);
    return unreadable(file, told.slice(0, 3).join('; '));
  }
  return { kind: 'read', destinations: inBoth(given, accountsOf(loaded.destinations)) };
}

function unreadable(file: string, why: string): NotObserved {
  const message = `The file of destinations "${file}" cannot be used from the folder of this worker (CAMBIST_FILES): ${why}.`;
  const problem = makeProblem('DESTINATIONS_UNREADABLE', null, { message });
  return { kind: 'wait', wait: { afterMs: ASK_AGAIN_MS, reason: 'configuration', problem } };
}
