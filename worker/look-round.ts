/**
 * Keeps the gauges of a worker up to date. What the worker itself knows is cheap, and is set every few seconds. What Temporal
 * says of runs and schedules is read once a minute, and takes at most a twentieth of the worker's time. What has come back is
 * looked for at the service much less often. Each worker that shows metrics reads for itself, so that every one of them is
 * right: the same gauge of several workers is to be read by `max`, not by `sum`.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../activities/deps.ts';
import { drillOf, type Closed, type Halt } from '../domain/halt.ts';
import type { CeilingUse } from '../domain/writes/ceilings.ts';
import type { Figures } from '../operations/watch/figures.ts';
import type { FailedPayments } from '../operations/watch/came-back.ts';
import type { Metrics, Row } from './metrics.ts';

/** How often, in milliseconds. Tests look more often. */
export type LookingPace = { readonly ownMs: number; readonly runsMs: number; readonly cameBackMs: number };

export const LOOKING_PACE: LookingPace = { ownMs: 5_000, runsMs: 60_000, cameBackMs: 900_000 };
/** After a look the worker waits at least so many times as long as the look took. */
const REST = 19;

type Options = {
  readonly metrics: Pick<Metrics, 'show'>;
  readonly clock: Clock;
  readonly pace: LookingPace;
  /** The halts that this worker goes by. */
  readonly halts: () => readonly Halt[];
  readonly onMachine: () => Closed | null;
  readonly isUnreadable: () => boolean;
  readonly ceilings: () => Promise<readonly CeilingUse[]>;
  readonly readFailed: () => Promise<FailedPayments>;
  readonly readFigures: (failed: FailedPayments | null) => Promise<Figures>;
};

/** Looks until `signal` ends it. What cannot be read is tried again later, and stays as it was shown last. */
export async function keepLookingRound(options: Options, signal: AbortSignal): Promise<void> {
  await Promise.all([keepOwn(options, signal), keepRuns(options, signal)]);
}

async function keepOwn(options: Options, signal: AbortSignal): Promise<void> {
  const { metrics, halts, onMachine, isUnreadable, ceilings, pace } = options;
  while (!signal.aborted) {
    metrics.show('cambist_halts', haltRows(halts(), onMachine() !== null, isUnreadable()));
    // One reading after the other.
    metrics.show('cambist_ceiling_used_ratio', (await ceilings().catch(() => [])).map(ceilingRow));
    await pause(pace.ownMs, signal);
  }
}

async function keepRuns(options: Options, signal: AbortSignal): Promise<void> {
  const { metrics, clock, pace } = options;
  let failed: FailedPayments | null = null;
  let failedAtMs = Number.NEGATIVE_INFINITY;
  while (!signal.aborted) {
    const beganMs = clock.monotonicMs();
    try {
      if (beganMs - failedAtMs >= pace.cameBackMs) {
        failedAtMs = beganMs;
        failed = await options.readFailed().catch(() => failed);
      }
      show(metrics, await options.readFigures(failed), clock.wallMs());
    } catch {
      // Temporal is away, or a worker: `cambist_looked_timestamp_seconds` tells how old the figures are.
    }
    await pause(Math.max(pace.runsMs, REST * (clock.monotonicMs() - beganMs)), signal);
  }
}

/** Resolves after so long, or when the worker ends. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

function show(metrics: Options['metrics'], figures: Figures, nowMs: number): void {
  const { runs, attention, cameBack, missed, references } = figures;
  metrics.show(
    'cambist_runs',
    runs.map(({ policy, state, runs: value }) => ({ labels: { policy, state }, value })),
  );
  metrics.show(
    'cambist_attention_runs',
    attention.map(({ reason, runs: value }) => ({ labels: { reason }, value })),
  );
  metrics.show(
    'cambist_attention_oldest_seconds',
    attention.map(({ reason, sinceMs }) => ({
      labels: { reason },
      value: Math.max(nowMs - sinceMs, 0) / 1_000,
    })),
  );
  metrics.show('cambist_came_back_payments', [alone(cameBack)]);
  metrics.show('cambist_missed_starts', [alone(missed)]);
  metrics.show(
    'cambist_reference_age_ratio',
    references.map(({ policy, part }) => ({ labels: { policy }, value: part })),
  );
  metrics.show('cambist_looked_timestamp_seconds', [alone(nowMs / 1_000)]);
}

function haltRows(halts: readonly Halt[], isOnMachine: boolean, isUnreadable: boolean): readonly Row[] {
  const counts = {
    everything: 0,
    policy: 0,
    currency: 0,
    machine: isOnMachine ? 1 : 0,
    unreadable: isUnreadable ? 1 : 0,
  };
  for (const { scope } of halts) {
    if (drillOf(scope) !== null) continue;
    counts[scope.policy !== null ? 'policy' : scope.currency !== null ? 'currency' : 'everything'] += 1;
  }
  return Object.entries(counts).map(([of, value]) => ({ labels: { of }, value }));
}

function ceilingRow({ kind, policy, per, currency, part }: CeilingUse): Row {
  return { labels: { kind, policy: policy ?? 'all', per, currency }, value: part };
}

function alone(value: number): Row {
  return { labels: {}, value };
}
