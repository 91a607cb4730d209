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
  readonly #pace = new Pace();
  readonly #seen = new Map<string, string>();
  readonly #draw: ReturnType<typeof createLogUpdate> | null;
  readonly #timer: NodeJS.Timeout | null;
  #progress: Progress | null = null;
  #silence: string | null = null;

  constructor(output: Output, name: string, startedAtMs: number) {
    this.#output = output;
    this.#name = name;
    this.#startedAtMs = startedAtMs;
    const stream = output.isJson ? process.stderr : process.stdout;
    this.#draw = output.isLive ? createLogUpdate(stream) : null;
    this.#timer = this.#draw === null ? null : setInterval(() => this.#redraw(), 300);
  }

  take(progress: Progress): void {
    this.#progress = progress;
    const nowMs = this.#output.io.now();
    if (progress.batch !== null) this.#pace.take(progress.batch, nowMs);
    if (this.#draw !== null) return this.#redraw();
    for (const line of stepLines(progress, this.#seen, nowMs, this.#pace.text)) this.#output.step(line);
  }

  /** Shows the last lines of a run that ended between two questions. */
  finish(progress: Progress): void {
    if (this.#draw === null) this.take(progress);
  }

  fallSilent(reason: string | null): void {
    if (reason === this.#silence) return;
    this.#silence = reason;
    if (this.#draw !== null) return this.#redraw();
    if (reason !== null) this.#output.note(`${this.#name}: ${reason}; the run is not lost.`);
  }

  close(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#draw?.clear();
    this.#draw?.done();
  }

  #redraw(): void {
    const { width, paint, io } = this.#output;
    const drawn = drawProgress({
      name: this.#name,
      progress: this.#progress,
      startedAtMs: this.#startedAtMs,
      nowMs: io.now(),
      silence: this.#silence,
      pace: this.#pace.text,
      width,
      paint,
    });
    this.#draw?.(this.#output.drawing(drawn));
  }
}
