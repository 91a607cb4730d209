/**
 * The progress of a run while a command follows it. On a terminal it is drawn live; elsewhere each step is a line, and a
 * batch gets a line now and then.
 */
import { createLogUpdate } from 'log-update';
import type { Progress } from '../../domain/run/progress.ts';
import type { Output } from '../terminal/output.ts';
import { Pace } from './pace.ts';
import { drawProgress, stepLines } from './progress-text.ts';

export class ProgressView {
  readonly #output: Output;
  readonly #name: string;
  readonly #startedAtMs: number;
  readonly #zone: string | null;
  readonly #pace = new Pace();
  readonly #seen = new Map<string, string>();
  readonly #draw: ReturnType<typeof createLogUpdate> | null;
  readonly #timer: NodeJS.Timeout | null;
  #progress: Progress | null = null;
  #silence: string | null = null;

  /** @param of `zone`: the policy's; null: not known */
  constructor(
    output: Output,
    of: { readonly name: string; readonly startedAtMs: number; readonly zone: string | null },
  ) {
    this.#output = output;
    this.#name = of.name;
    this.#startedAtMs = of.startedAtMs;
    this.#zone = of.zone;
    const stream = output.isJson ? process.stderr : process.stdout;
    this.#draw = output.isLive ? createLogUpdate(stream) : null;
    this.#timer = this.#draw === null ? null : setInterval(() => this.#redraw(), 300);
  }

  take(progress: Progress): void {
    this.#progress = progress;
    const nowMs = this.#output.io.now();
    if (progress.batch !== null) this.#pace.take(progress.batch, nowMs);
    if (this.#draw !== null) return this.#redraw();
    const clock = { nowMs, zone: this.#zone };
    for (const line of stepLines(progress, this.#seen, clock, this.#pace.text)) this.#output.step(line);
  }

  /** Shows how the run stands at last, whole, and draws no more. */
  finish(progress: Progress): void {
    if (this.#draw === null) return this.take(progress);
    this.#progress = progress;
    this.#draw.clear();
    this.close();
    // A drawing that is drawn again and again is cut to the height of the terminal.
    this.#output.progressSink.write(`${this.#drawn}\n`);
  }

  fallSilent(reason: string | null): void {
    if (reason === this.#silence) return;
    this.#silence = reason;
    if (this.#draw !== null) return this.#redraw();
    if (reason !== null) this.#output.note(`${this.#name}: ${reason}; the run is not lost.`);
  }

  /** Draws no more. What is drawn stays on the terminal. */
  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#draw?.done();
  }

  #redraw(): void {
    this.#draw?.(this.#drawn);
  }

  get #drawn(): string {
    const { width, paint, io } = this.#output;
    const drawn = drawProgress({
      name: this.#name,
      progress: this.#progress,
      startedAtMs: this.#startedAtMs,
      nowMs: io.now(),
      zone: this.#zone,
      silence: this.#silence,
      pace: this.#pace.text,
      width,
      paint,
    });
    return this.#output.drawing(drawn);
  }
}
