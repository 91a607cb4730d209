/** All that `list --attention` shows at one moment: runs, and what is missed, unfinished, paused and halted beside them. Reads only. */
import type { Halt } from '../../domain/halt.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { listUnfinished, type Unfinished } from '../batches/unfinished.ts';
import { pausedIn } from '../follow/paused.ts';
import { currentHalts } from '../halt/switch.ts';
import type { Place } from '../place.ts';
import type { Missed } from '../schedules/missed.ts';
import { listMissed } from '../schedules/starts.ts';
import { listAttention, type Listed } from '../watch/attention.ts';
import type { FailedPayments } from '../watch/came-back.ts';

export type AttentionNow = {
  readonly runs: readonly Listed[];
  readonly acknowledged: number;
  readonly missed: readonly Missed[];
  readonly unfinished: readonly Unfinished[];
  readonly halts: readonly Halt[];
  /** What is paused beside runs. */
  readonly paused: readonly Trouble[];
  readonly pausedRuns: readonly Trouble[];
};

export async function attentionNow(
  place: Place,
  nowMs: number,
  failed: FailedPayments | null,
): Promise<AttentionNow> {
  const { listed: runs, acknowledged } = await listAttention(place, nowMs, failed);
  const missed = await listMissed(place, nowMs);
  const unfinished = await listUnfinished(place.client, place.mode, nowMs);
  const halts = await currentHalts(place);
  const { runs: pausedRuns, besideRuns: paused } = await pausedIn(place);
  return { runs, acknowledged, missed, unfinished, halts, paused, pausedRuns };
}
