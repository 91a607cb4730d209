/** What other runs of ours have done, as they answer whoever asks (`durable/other-runs/claims.ts`). */
import {
  Answers,
  holdsOf,
  rivalry,
  type Claim,
  type Holds,
  type Standing,
} from '../../../domain/run/claims.ts';
import { runName } from '../../../domain/references.ts';
import type { Withdrawal } from '../../../domain/service/records.ts';
import type { Rival } from '../../../domain/writes/step.ts';
import type { Execution } from './execution.ts';
import type { Temporal } from './temporal.ts';

/** Whose these records are, as the payments of these runs say. */
export function whose(
  runs: readonly Temporal[],
  records: readonly Pick<Withdrawal, 'id'>[],
): readonly Claim[] {
  const answers = new Answers(records.map(({ id }) => id));
  for (const each of runs) {
    const { run } = each.ours.input;
    const newest = each.newest();
    if (newest !== undefined) answers.add(run, toldBy(newest, null), standingOf(newest));
    for (const chunk of each.chunks)
      answers.add(run, chunk.newest()?.chunk?.holds(null) ?? null, { isOpen: true, isOnly: true });
  }
  return answers.claims;
}

/** What the newest of a run, and of its chunks, tell of these items. */
export function holdsOfAll(run: Temporal, names: readonly string[]): readonly (Holds | null)[] {
  const newest = run.newest();
  return [
    newest === undefined ? null : toldBy(newest, names),
    ...run.chunks.map((chunk) => chunk.newest()?.chunk?.holds(names) ?? null),
  ];
}

function toldBy({ state, runId }: Execution, names: readonly string[] | null): Holds {
  return holdsOf(state, { runId, heard: null, isFirst: false }, names);
}

function standingOf({ standing }: Execution): Standing {
  return { isOpen: standing === 'open', isOnly: true };
}

/** A later run of the policy on the same date that has done it, or a silent one that may have. */
export function rivalOf(runs: readonly Temporal[], temporal: Temporal, item: string): Rival {
  const { run } = temporal.ours.input;
  const isChunk = temporal.number !== null;
  const startedAtMs = temporal.firstStartMs();
  for (const other of isChunk ? [] : runs) {
    const newest = other.newest();
    const isOther = other !== temporal && other.ours.input.run.policy === run.policy;
    if (!isOther || newest === undefined || newest.startedAtMs <= startedAtMs) continue;
    const name = runName(other.ours.input.run);
    if (!other.hasWorkers()) return { rival: null, silent: other.planRun?.plan ? name : null };
    if (rivalry(toldBy(newest, [item]), standingOf(newest), item) === 'has')
      return { rival: name, silent: null };
  }
  return { rival: null, silent: null };
}
