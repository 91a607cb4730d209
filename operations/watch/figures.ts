/**
 * What a dashboard shows of runs and schedules, as `list --attention` and `doctor` find it: counts, ages and parts, and nothing
 * that names a run, an item or an amount. A worker reads it again and again (`worker/look-round.ts`). Reads only.
 */
import { runName } from '../../domain/references.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import type { Place } from '../place.ts';
import { viewSchedules, type ScheduleView } from '../schedules/starts.ts';
import { readReferenceFile } from '../start/by-schedule.ts';
import { cameBackCount, listAttention, type AttentionReason, type Listed } from './attention.ts';
import type { RunFacts } from '../follow/runs.ts';
import type { FailedPayments } from './came-back.ts';

/** How many runs need a person for one reason, and since when the oldest of them does. Epoch milliseconds. */
export type Needing = { readonly reason: AttentionReason; readonly runs: number; readonly sinceMs: number };

export type Figures = {
  readonly runs: readonly { readonly policy: string; readonly state: string; readonly runs: number }[];
  readonly attention: readonly Needing[];
  /** Payments. */
  readonly cameBack: number;
  readonly missed: number;
  /** By policy: the age of its rates as a part of what the policy allows. */
  readonly references: readonly { readonly policy: string; readonly part: number }[];
};

type Asked = {
  readonly nowMs: number;
  readonly failed: FailedPayments | null;
  /** Where the worker reads files of scheduled policies; null: from nowhere. */
  readonly filesFolder: string | null;
  /** Since when a need is known that does not say it itself, by its run and reason; new ones are added, others taken out. */
  readonly seen: Map<string, number>;
};

export async function readFigures(
  place: Place,
  { nowMs, failed, filesFolder, seen }: Asked,
): Promise<Figures> {
  const { all, listed } = await listAttention(place, nowMs, failed);
  const views = await viewSchedules(place, nowMs);
  return {
    runs: countedRuns(all),
    attention: countedNeeds(listed, nowMs, seen),
    cameBack: listed.reduce((sum, each) => sum + cameBackCount(each), 0),
    missed: views.reduce((sum, { missed }) => sum + missed.length, 0),
    references: await readReferences(views, nowMs, filesFolder),
  };
}

function countedRuns(all: readonly RunFacts[]): Figures['runs'] {
  const counts = new Map<string, Figures['runs'][number]>();
  for (const { run, state } of all) {
    const name = `${run.policy} ${state}`;
    counts.set(name, { policy: run.policy, state, runs: (counts.get(name)?.runs ?? 0) + 1 });
  }
  return [...counts.values()];
}

function countedNeeds(
  listed: readonly Listed[],
  nowMs: number,
  seen: Map<string, number>,
): readonly Needing[] {
  const needing = new Map<AttentionReason, Needing>();
  const known = new Set<string>();
  for (const { facts, reasons } of listed)
    for (const { reason, sinceMs: said } of reasons) {
      const name = `${runName(facts.run)} ${reason}`;
      known.add(name);
      const sinceMs = said ?? seen.get(name) ?? nowMs;
      seen.set(name, sinceMs);
      const before = needing.get(reason);
      needing.set(reason, {
        reason,
        runs: (before?.runs ?? 0) + 1,
        sinceMs: Math.min(before?.sinceMs ?? sinceMs, sinceMs),
      });
    }
  for (const name of seen.keys()) if (!known.has(name)) seen.delete(name);
  return [...needing.values()];
}

async function readReferences(
  views: readonly ScheduleView[],
  nowMs: number,
  folder: string | null,
): Promise<Figures['references']> {
  if (folder === null) return [];
  const read = views.map(async ({ kept }): Promise<Figures['references']> => {
    const loaded = loadPolicy(kept.facts.policyText ?? '', kept.name);
    const reference = loaded.ok ? (loaded.policy.guard?.reference ?? null) : null;
    if (kept.isPaused || reference === null) return [];
    const file = await readReferenceFile(reference.file, folder);
    // What cannot be read is as good as too old.
    const part = file.ok ? (nowMs - Date.parse(file.rates.asOf)) / reference.maxAgeMs : UNREADABLE;
    return [{ policy: kept.name, part: Math.max(part, 0) }];
  });
  return (await Promise.all(read)).flat();
}

/** Stands for the age of a file that cannot be read. */
const UNREADABLE = 1_000;
