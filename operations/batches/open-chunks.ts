/**
 * Asks the open chunks of a batch directly, since the chunks tell the run only what decides something. The command asks
 * seldom enough that the workers keep their time for paying.
 */
import type { Client } from '@temporalio/client';
import type { RunName } from '../../domain/references.ts';
import type { ChunkState } from '../../domain/run/chunk-state.ts';
import { standingWith, withStanding, type BatchStanding, type Progress } from '../../domain/run/progress.ts';
import type { Mode } from '../../domain/service/records.ts';
import { chunkIdOf, chunkQuery } from '../../workflows/names.ts';

type BatchInTemporal = { readonly client: Client; readonly mode: Mode; readonly run: RunName };

/** The command asks this many chunks side by side. */
const SIDE_BY_SIDE = 8;
const QUESTION_LIMIT_MS = 3_000;

/**
 * The progress of a run, with what the open chunks of its batch say now. When one of them does not answer, the result is
 * what the run itself knows.
 */
export async function readLive(asked: BatchInTemporal, progress: Progress): Promise<Progress> {
  const standing = await readStanding(asked, progress);
  return standing === null ? progress : withStanding(progress, standing);
}

/**
 * After the chunks have answered, the command waits for this long, or for this many times the time that the asking took if
 * that is longer.
 */
const PAUSE_MS = 2_000;
const PAUSE_TIMES = 9;

/** The same for a person who watches: the chunks are asked again and again, with pauses. */
export class LiveBatch {
  readonly #asked: BatchInTemporal;
  readonly #nowMs: () => number;
  #askAgainAtMs = -Infinity;
  #standing: BatchStanding | null = null;

  /** @param nowMs a clock that never goes back */
  constructor(asked: BatchInTemporal, nowMs: () => number) {
    this.#asked = asked;
    this.#nowMs = nowMs;
  }

  /** Never throws. Where the chunks do not answer, their last answers count. */
  async read(progress: Progress): Promise<Progress> {
    if (progress.batch === null) return progress;
    const startedMs = this.#nowMs();
    if (progress.batch.open.length === 0) {
      this.#standing = null;
      return progress;
    }
    if (startedMs >= this.#askAgainAtMs) {
      this.#standing = (await readStanding(this.#asked, progress)) ?? this.#standing;
      const tookMs = this.#nowMs() - startedMs;
      this.#askAgainAtMs = startedMs + tookMs + Math.max(PAUSE_MS, PAUSE_TIMES * tookMs);
    }
    return this.#standing === null ? progress : withStanding(progress, this.#standing);
  }
}

/** Null when one of the chunks does not answer. */
async function readStanding(asked: BatchInTemporal, { batch }: Progress): Promise<BatchStanding | null> {
  if (batch === null) return null;
  const states: ChunkState[] = [];
  for (let first = 0; first < batch.open.length; first += SIDE_BY_SIDE) {
    const numbers = batch.open.slice(first, first + SIDE_BY_SIDE);
    const answers = await Promise.allSettled(numbers.map((number) => ask(asked, number)));
    for (const answer of answers) {
      if (answer.status === 'rejected') return null;
      states.push(answer.value);
    }
  }
  return standingWith(batch, states);
}

/** Asks the newest Temporal run of the chunk's id. */
function ask({ client, mode, run }: BatchInTemporal, number: number): Promise<ChunkState> {
  return client.withDeadline(Date.now() + QUESTION_LIMIT_MS, () =>
    client.workflow.getHandle(chunkIdOf(mode, run, number)).query(chunkQuery),
  );
}
