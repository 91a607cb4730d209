/**
 * A clock of worker and service that is put forward, so that nobody waits for a doubt to be over. Temporal's own time does
 * not go with it: what an activity is told of it is put forward likewise, by as much as the clock was ahead at that
 * moment. Otherwise a run that was started late would take its doubt for long over.
 */
import type { Clock } from '../../activities/deps.ts';
import type { WorkerOptions } from '../../worker/worker.ts';

export class MovedClock implements Clock {
  readonly #moves: { readonly atMs: number; readonly byMs: number }[] = [];

  /** How far it is ahead by now. */
  get aheadMs(): number {
    return this.#aheadAt(Date.now());
  }

  readonly wallMs = (): number => Date.now() + this.aheadMs;
  readonly monotonicMs = (): number => performance.now();

  advance(byMs: number): void {
    this.#moves.push({ atMs: Date.now(), byMs });
  }

  /** Puts forward the start of the Temporal run, wherever an activity is told of it. */
  readonly interceptors: NonNullable<WorkerOptions['interceptors']> = {
    activity: [
      () => ({
        inbound: {
          execute: (input, next) => next({ ...input, args: input.args.map((arg) => this.#told(arg)) }),
        },
      }),
    ],
  };

  #told(arg: unknown): unknown {
    const { runStartedAtMs } = (arg ?? {}) as { readonly runStartedAtMs?: unknown };
    if (typeof runStartedAtMs !== 'number') return arg;
    return { ...(arg as object), runStartedAtMs: runStartedAtMs + this.#aheadAt(runStartedAtMs) };
  }

  #aheadAt(realMs: number): number {
    return this.#moves.reduce((sum, { atMs, byMs }) => (atMs <= realMs ? sum + byMs : sum), 0);
  }
}
