/** What other runs of ours have done, as they answer whoever asks (`durable/other-runs/`). */
import { hasDone, holdsOf } from '../../../domain/run/claims.ts';
import { runName } from '../../../domain/references.ts';
import { acceptedOf } from '../../../domain/run/items.ts';
import type { Withdrawal } from '../../../domain/service/records.ts';
import type { Rival } from '../../../domain/writes/step.ts';
import type { Temporal } from './temporal.ts';

/** Which of these records payments of these runs count as theirs. */
export function recordsOf(runs: readonly Temporal[], records: readonly Withdrawal[]): readonly string[] {
  const claimed = runs
    .flatMap((each) => each.payments())
    .flatMap((record) => acceptedOf(record)?.withdrawalId ?? []);
  return claimed.filter((id) => records.some((record) => record.id === id));
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
    const holds = holdsOf(newest.state, { runId: newest.runId, heard: null, isFirst: false }, [item]);
    if (hasDone(holds, item)) return { rival: name, silent: null };
  }
  return { rival: null, silent: null };
}
