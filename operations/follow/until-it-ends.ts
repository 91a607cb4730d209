/**
 * Follows a run from outside: asks for its progress, less and less often while nothing changes, and waits for its end. It
 * changes nothing. When a worker or the Temporal server is away for a while, it goes on waiting.
 */
import { readProgress } from '../../domain/run/progress.ts';
import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  QueryRejectedError,
  ServiceError,
  WorkflowFailedError,
  WorkflowNotFoundError,
  isGrpcServiceError,
  type Client,
} from '@temporalio/client';
import { runName, workflowIdOf, type RunName } from '../../domain/references.ts';
import type { Mode } from '../../domain/service/records.ts';
import type { Problem } from '../../domain/problems.ts';
import { isShortSafetyWait, shownFirst } from '../../domain/waits.ts';
import { progressQuery } from '../../workflows/names.ts';
import type { Progress } from '../../domain/run/progress.ts';
import { describe, isOpen } from '../../durable/described.ts';
import { LiveBatch } from '../batches/open-chunks.ts';

/** How following a run ends. */
export type Followed =
  /** The run is closed: read its report. */
  | { readonly kind: 'ended' }
  /** The run has waited for something for a while, held by it or not: say for what. */
  | { readonly kind: 'held' }
  /** No worker has taken the run's first task. The run stays started. */
  | { readonly kind: 'untaken' }
  /** No worker answers any more, or Temporal does not. The run goes on when they are back. */
  | { readonly kind: 'silent' }
  /** A person has paused the run in Temporal. It goes on when a person unpauses it. */
  | { readonly kind: 'paused' }
  | { readonly kind: 'detached' };

export type FollowOptions = {
  readonly client: Client;
  readonly mode: Mode;
  readonly run: RunName;
  /** True: go on following while the run is held. */
  readonly stay: boolean;
  /** Aborted when the person leaves. */
  readonly left: AbortSignal;
  /** Asks Temporal whether no worker has taken the first task. */
  readonly isUntaken: () => Promise<boolean>;
  readonly onProgress: (progress: Progress) => void;
  /** Called with the reason when no answer came, and with null when answers come again. */
  readonly onSilence: (reason: string | null) => void;
};

const FIRST_POLL_MS = 300;
/** A batch changes all the time, and each question takes a worker's time from paying. */
const BATCH_POLL_MS = 1_000;
const SLOWEST_POLL_MS = 2_000;
const QUERY_LIMIT_MS = 3_000;
/** A run that has been held for this long will be held for longer. */
const HELD_MS = 15_000;
/** A worker may take this long for the first task of a run. */
export const UNTAKEN_MS = 10_000;
const SILENT_MS = 60_000;

/** Resolves as soon as there is nothing more to show, or the person has left. */
export async function followRun(options: FollowOptions): Promise<Followed> {
  const over = new AbortController();
  // Every poll for the end listens to this signal, so Node must not warn of many listeners.
  setMaxListeners(0, over.signal);
  const end = untilEnd(options.client, workflowIdOf(options.mode, options.run), over.signal);
  const watched = watch(options, over.signal);
  try {
    return await Promise.race([
      end.then((): Followed => ({ kind: 'ended' })),
      watched,
      untilLeft(options.left, over.signal),
    ]);
  } finally {
    over.abort();
    // Both finish their last call before the connection is closed: gRPC would repeat a call on a closed connection.
    await Promise.allSettled([end, watched]);
  }
}

/** Asks for the progress again and again. It ends only when there is a reason to stop before the run ends. */
async function watch(options: FollowOptions, over: AbortSignal): Promise<Followed> {
  const { client, mode, run } = options;
  const workflowId = workflowIdOf(mode, run);
  const live = new LiveBatch({ client, mode, run }, () => performance.now());
  const startedMs = performance.now();
  let answeredMs: number | null = null;
  let heldSinceMs: number | null = null;
  let pollMs = FIRST_POLL_MS;
  let last = '';
  for (;;) {
    const answer = await ask(client, workflowId, over);
    const nowMs = performance.now();
    if (over.aborted) return { kind: 'detached' };
    if (answer.ok) {
      if (answeredMs === null || last === '') options.onSilence(null);
      answeredMs = nowMs;
      const progress = await live.read(answer.progress);
      if (over.aborted) return { kind: 'detached' };
      options.onProgress(progress);
      const text = JSON.stringify(progress);
      const soonestMs = progress.batch === null ? FIRST_POLL_MS : BATCH_POLL_MS;
      pollMs = text === last ? Math.min(pollMs * 1.3, SLOWEST_POLL_MS) : soonestMs;
      last = text;
      // A run that waits for its settlement in good time is not held, but nobody need look on either.
      heldSinceMs = isSafetyWait(progress, Date.now()) ? null : (heldSinceMs ?? nowMs);
      if (!options.stay && heldSinceMs !== null && nowMs - heldSinceMs >= HELD_MS) return { kind: 'held' };
    } else {
      last = '';
      if (answer.reason === PAUSED && !options.stay) return { kind: 'paused' };
      const silentMs = nowMs - (answeredMs ?? startedMs);
      if (answeredMs === null && silentMs >= UNTAKEN_MS && (await options.isUntaken().catch(() => false)))
        return { kind: 'untaken' };
      if (!options.stay && silentMs >= SILENT_MS) return { kind: 'silent' };
      if (silentMs >= 2 * QUERY_LIMIT_MS || answer.reason === PAUSED) options.onSilence(answer.reason);
      pollMs = FIRST_POLL_MS;
    }
    await sleep(pollMs, undefined, { signal: over }).catch(() => undefined);
  }
}

/** True when no person has anything to do and the end is near: every wait, if there is any, is a safety wait. */
export function isSafetyWait({ items }: Progress, nowMs: number): boolean {
  return shownFirst(items.map(({ waiting }) => waiting)).every((waiting) =>
    isShortSafetyWait(waiting, nowMs),
  );
}

/** Temporal refuses a question only to a workflow that is paused. */
const PAUSED = 'a person has paused it in Temporal';

type Answer =
  { readonly ok: true; readonly progress: Progress } | { readonly ok: false; readonly reason: string };

async function ask(client: Client, workflowId: string, over: AbortSignal): Promise<Answer> {
  try {
    const progress = await client.withAbortSignal(over, () =>
      client.withDeadline(Date.now() + QUERY_LIMIT_MS, () =>
        readProgress((offset) => client.workflow.getHandle(workflowId).query(progressQuery, offset)),
      ),
    );
    return { ok: true, progress };
  } catch (error) {
    // Each of these faults passes: the first task is not finished, the worker is away, the server starts again.
    if (error instanceof QueryRejectedError) return { ok: false, reason: PAUSED };
    return { ok: false, reason: isTemporalAway(error) ? 'Temporal does not answer' : 'no worker answers' };
  }
}

/** Resolves when the run is closed. After a reset, it waits for the new Temporal run, which has the same workflow id. */
async function untilEnd(client: Client, workflowId: string, over: AbortSignal): Promise<void> {
  while (!over.aborted) {
    const handle = client.workflow.getHandle(workflowId);
    try {
      await client.withAbortSignal(over, () => handle.result());
      return;
    } catch (error) {
      if (over.aborted) return;
      if (error instanceof WorkflowFailedError) {
        if (await isClosed(client, workflowId)) return;
      } else if (error instanceof WorkflowNotFoundError) {
        throw error;
      } else if (!(error instanceof ServiceError) && !isGrpcServiceError(error)) {
        throw error;
      }
      await sleep(SLOWEST_POLL_MS, undefined, { signal: over }).catch(() => undefined);
    }
  }
}

async function isClosed(client: Client, workflowId: string): Promise<boolean> {
  try {
    const shown = await describe(client, workflowId);
    return shown !== null && !isOpen(shown);
  } catch {
    return false;
  }
}

function untilLeft(left: AbortSignal, over: AbortSignal): Promise<Followed> {
  return new Promise((resolve) => {
    const leave = (): void => resolve({ kind: 'detached' });
    if (left.aborted) leave();
    left.addEventListener('abort', leave, { once: true, signal: over });
  });
}

const UNAVAILABLE = 14;

function isTemporalAway(error: unknown): boolean {
  const cause = error instanceof ServiceError ? error.cause : error;
  if (!isGrpcServiceError(cause)) return false;
  const code: number = cause.code;
  return code === UNAVAILABLE;
}

/** The problem of a run that cannot be followed any further. The run itself is not lost. */
export function problemOfSilence(run: RunName, kind: 'untaken' | 'silent'): Problem {
  return kind === 'untaken'
    ? {
        code: 'NO_WORKER',
        item: null,
        message: `${runName(run)} is started, but no worker took it within ${UNTAKEN_MS / 1_000} s.`,
        fix: 'Start one with `npx cambist worker`; the run then goes on by itself.',
      }
    : {
        code: 'NO_WORKER',
        item: null,
        message: `No worker answers for ${runName(run)} any more.`,
        fix: 'See that Temporal and a worker are there (`npx cambist worker`); the run then goes on by itself.',
      };
}
