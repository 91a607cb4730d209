/**
 * Time that passes on a stage by its clocks, not by waiting: those of its workers and of its service go forward together.
 * Where a test waits for runs, it passes whenever nobody on the stage is at work, the runs look at once, and polls that
 * sleep go on. What then still waits in real time is Temporal's own (a lost worker that must be missed).
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter, once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import { WorkflowNotFoundError, type WorkflowHandle } from '@temporalio/client';
import { msToNumber, tsToMs } from '@temporalio/common/lib/time.js';
import type { Context } from '@temporalio/activity';
import type { WorkerInterceptors } from '@temporalio/worker';
import { machineClock, type TimedClock } from '../../activities/deps.ts';
import { wakeSignal } from '../../workflows/names.ts';

/** As often as a run in doubt looks by itself: who is away for longer must doubt anew, as a backup may be restored meanwhile. */
const LOOK_EVERY_MS = 10_000;
/** Nobody is at work who has done nothing for so long. */
const QUIET_MS = 300;
/** A woken run looks by then; otherwise it needs something else than time. */
const LOOKS_WITHIN_MS = 2_000;
const PACE_MS = 50;

type Wakeable = {
  readonly wake: () => Promise<void>;
  /**
   * Whether Temporal has something of it in work, or waits for a worker to take it: on a busy machine that may take its time.
   * @param isAsleep of an activity that it has in work
   */
  readonly isAtWork: (isAsleep: (activity: string) => boolean) => Promise<boolean>;
};

/** A run as Temporal knows it. */
export function wakeable(handle: WorkflowHandle): Wakeable {
  return {
    wake: () => handle.signal(wakeSignal),
    isAtWork: async (isAsleep) => {
      const { raw, runId } = await handle.describe();
      if (raw.pendingWorkflowTask) return true;
      return (raw.pendingActivities ?? []).some(({ activityId, nextAttemptScheduleTime: next }) =>
        next ? tsToMs(next) <= Date.now() : !isAsleep(`${runId} ${activityId}`),
      );
    },
  };
}

export class PassingTime {
  readonly #advanceService: (ms: number) => void;
  #aheadMs = 0;
  #atWork = 0;
  #lastWorkAtMs = performance.now();
  #lastPassAtMs = -Infinity;
  readonly #waiting: Wakeable[] = [];
  #isPacing = false;
  #pacing: Promise<void> = Promise.resolve();
  /** Activities that only sleep. */
  readonly #asleep = new Set<string>();
  readonly #passed = new EventEmitter().setMaxListeners(0);
  /** Set for whoever waits for time to pass. */
  readonly #passing = new AsyncLocalStorage<true>();

  constructor(advanceService: (ms: number) => void) {
    this.#advanceService = advanceService;
  }

  readonly now = (): number => Date.now() + this.#aheadMs;

  /** Of the workers on the stage. */
  readonly clock: TimedClock = {
    ...machineClock,
    wallMs: this.now,
    monotonicMs: () => machineClock.monotonicMs() + this.#aheadMs,
  };

  /** Count what the workers on the stage are doing. */
  readonly interceptors: WorkerInterceptors = {
    activity: [
      (context) => {
        Object.assign(context, { sleep: this.#sleepOf(context) });
        return {
          inbound: {
            execute: async (input, next) => {
              this.#begin();
              try {
                return await next(input);
              } finally {
                this.#end();
              }
            },
          },
        };
      },
    ],
  };

  #begin(): void {
    this.#atWork += 1;
  }

  #end(): void {
    this.#atWork -= 1;
    this.#lastWorkAtMs = performance.now();
  }

  /** The sleep of an activity, which is no work, and which ends as well when so much time has passed on the stage. */
  #sleepOf({ cancelled, info }: Context): Context['sleep'] {
    const name = `${info.workflowExecution?.runId} ${info.activityId}`;
    let sleptUntilMs = this.#aheadMs;
    return async (duration) => {
      const untilMs = sleptUntilMs + msToNumber(duration);
      if (this.#aheadMs < untilMs) {
        this.#asleep.add(name);
        this.#end();
        const woken = new AbortController();
        try {
          const until = { signal: woken.signal };
          // A timer of its own, which ends with the wait: Temporal's would go on after it.
          const slept = delay(msToNumber(duration), undefined, until);
          await Promise.race([slept, once(this.#passed, 'passed', until), cancelled]);
        } finally {
          woken.abort();
          this.#begin();
          this.#asleep.delete(name);
        }
      }
      sleptUntilMs = Math.min(untilMs, this.#aheadMs);
    };
  }

  pass(ms: number): void {
    this.#aheadMs += ms;
    this.#advanceService(ms);
    this.#passed.emit('passed');
  }

  /** Lets time pass for a run until `work` is done. */
  async during<T>(run: Wakeable, work: () => Promise<T>): Promise<T> {
    this.#waiting.push(run);
    if (!this.#isPacing) this.#pacing = this.#pace();
    try {
      return await this.#passing.run(true, work);
    } finally {
      this.#waiting.splice(this.#waiting.indexOf(run), 1);
    }
  }

  /** What is typed is work, unless time is to pass until it ends: no quote dies while a run goes on by itself. */
  async typed<T>(work: () => Promise<T>): Promise<T> {
    if (this.#passing.getStore()) return work();
    this.#begin();
    try {
      return await work();
    } finally {
      this.#end();
    }
  }

  /** Resolves when nobody is being woken any more: gRPC would try that again on a connection that is closed. */
  atRest(): Promise<void> {
    return this.#pacing;
  }

  async #pace(): Promise<void> {
    this.#isPacing = true;
    while (this.#waiting.length > 0) {
      // Time passes step by step.
      await delay(PACE_MS);
      if (!this.#isQuiet()) continue;
      // See above.
      if (await this.#isAnyAtWork()) {
        this.#lastWorkAtMs = performance.now();
        continue;
      }
      this.pass(LOOK_EVERY_MS);
      this.#lastPassAtMs = performance.now();
      // See above.
      await Promise.allSettled([...new Set(this.#waiting)].map(wakeIfOpen));
    }
    this.#isPacing = false;
  }

  async #isAnyAtWork(): Promise<boolean> {
    // Of one that is not there, or whose server is not, there is nothing in work.
    const isAsleep = (activity: string): boolean => this.#asleep.has(activity);
    const atWork = this.#waiting.map((run) => run.isAtWork(isAsleep).catch(() => false));
    return (await Promise.all(atWork)).includes(true);
  }

  #isQuiet(): boolean {
    if (this.#atWork > 0) return false;
    const now = performance.now();
    const hasLooked = this.#lastWorkAtMs > this.#lastPassAtMs;
    return now - Math.max(this.#lastWorkAtMs, this.#lastPassAtMs) > (hasLooked ? QUIET_MS : LOOKS_WITHIN_MS);
  }
}

/** Wakes a run, unless it has ended. */
export async function wakeIfOpen(run: Pick<Wakeable, 'wake'>): Promise<void> {
  try {
    await run.wake();
  } catch (error) {
    if (!(error instanceof WorkflowNotFoundError)) throw error;
  }
}
