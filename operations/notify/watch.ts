/**
 * Looks again and again at what needs a person, and tells a receiver what is new or solved (`news.ts`): each piece at least once and in
 * order, also over a restart of this process. What is not taken is told again, later each time.
 */
import { randomUUID } from 'node:crypto';
import { afterDelivery, afterLook, type WatchState } from './news.ts';
import type { AttentionNow } from './attention-now.ts';
import type { Receiver } from './receivers.ts';
import type { StateFile } from './state-file.ts';

/** The pause from one look to the next. */
const LOOK_EVERY_MS = 60_000;
/** The pauses before something is told again. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

type Options = {
  readonly file: Pick<StateFile, 'write'>;
  readonly receiver: Receiver;
  /** `isServiceRead`: false when it is not known whether money came back. */
  readonly look: () => Promise<{ readonly now: AttentionNow; readonly isServiceRead: boolean }>;
  readonly nowMs: () => number;
  /** Called with what people should know: a look or a delivery that failed. */
  readonly note: (message: string) => void;
  /** Resolves after so long, or when `signal` ends it. */
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** Watches until `signal` ends it. Rejects only where the state cannot be kept. */
export async function watch(start: WatchState, options: Options, signal: AbortSignal): Promise<void> {
  const { file, receiver, look, nowMs, note, pause } = options;
  let state = start;
  let pauseMs = FIRST_PAUSE_MS;
  let lookAtMs = nowMs();
  let tellAtMs = nowMs();
  const keep = async (next: WatchState): Promise<void> => {
    await file.write(next);
    state = next;
  };
  /** False when the receiver did not take it. */
  const tellAll = async (): Promise<boolean> => {
    for (const news of state.outbox) {
      if (signal.aborted) return true;
      // One after the other, so that nothing is solved before it was new.
      const why = await receiver(news);
      if (why !== null) {
        note(`${news.id} (${news.code}, ${news.name}) was not taken: ${why}. It is told again.`);
        return false;
      }
      await keep(afterDelivery(state, news));
    }
    return true;
  };
  while (!signal.aborted) {
    if (nowMs() >= lookAtMs) {
      lookAtMs = nowMs() + LOOK_EVERY_MS;
      const seen = await look().catch((error: unknown) => {
        note(
          `What needs a person could not be read: ${error instanceof Error ? error.message : String(error)}`,
        );
        return null;
      });
      if (seen !== null)
        await keep(
          afterLook(state, seen.now, {
            nowMs: nowMs(),
            isServiceRead: seen.isServiceRead,
            newId: randomUUID,
          }),
        );
    }
    if (nowMs() >= tellAtMs) {
      const isAllTold = await tellAll();
      tellAtMs = isAllTold ? nowMs() : nowMs() + pauseMs;
      pauseMs = isAllTold ? FIRST_PAUSE_MS : Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
    const nextAtMs = state.outbox.length === 0 ? lookAtMs : Math.min(lookAtMs, tellAtMs);
    await pause(Math.max(nextAtMs - nowMs(), 0), signal);
  }
}
