/**
 * The two streams of a command. With `--json` stdout carries one JSON document and nothing else; everything said on the
 * way goes to stderr.
 */
import pc from 'picocolors';
import { EXIT_CODES } from './exit-codes.ts';
import type { CommandFailure } from './failure.ts';
import type { Io, Sink } from './io.ts';
import { paragraphOf, wrap, type Paint } from './text.ts';

/** What a command that writes to no terminal takes for its width. */
const USUAL_COLUMNS = 80;
const FEWEST_COLUMNS = 40;

export class Output {
  readonly io: Io;
  readonly isJson: boolean;
  /** For what goes to stdout. */
  readonly paint: Paint;
  /** Where progress goes: stdout, but stderr when stdout is for the document. */
  readonly progressSink: Sink;

  constructor(io: Io, isJson: boolean) {
    this.io = io;
    this.isJson = isJson;
    this.progressSink = isJson ? io.stderr : io.stdout;
    this.paint = paintFor(io.stdout, io.env);
  }

  get width(): number {
    return Math.max(FEWEST_COLUMNS, this.io.stdout.columns ?? USUAL_COLUMNS);
  }

  /** True when progress may be drawn over and over in one place. */
  get isLive(): boolean {
    return this.progressSink.isTTY === true && this.io.env['TERM'] !== 'dumb';
  }

  /** For a person: silent with `--json`. Lines are wrapped at the width. */
  say(text: string): void {
    if (!this.isJson) this.io.stdout.write(`${wrap(text, this.width)}\n`);
  }

  /** As `say`, for what has its lines already: tables, pictures, differences. */
  show(text: string): void {
    if (!this.isJson) this.io.stdout.write(`${text}\n`);
  }

  /** The document of `--json`; nothing without it. */
  document(value: unknown): void {
    if (this.isJson) this.io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  }

  /** One line of progress. */
  step(text: string): void {
    this.progressSink.write(`${text}\n`);
  }

  /** A remark that is not the answer: always to stderr. */
  note(text: string): void {
    this.io.stderr.write(`${wrap(text, this.io.stderr.columns ?? USUAL_COLUMNS)}\n`);
  }

  /** What went wrong. */
  fail(failure: CommandFailure): void {
    const exitCode = EXIT_CODES[failure.ending];
    const { problems, difference } = failure;
    if (this.isJson) return this.document({ problems, ...(difference !== null && { difference }), exitCode });
    const width = Math.max(FEWEST_COLUMNS, this.io.stderr.columns ?? USUAL_COLUMNS);
    const paint = paintFor(this.io.stderr, this.io.env);
    const paragraphs = problems.map((problem) => {
      const text = paragraphOf(problem, width);
      return text.replace(problem.code, paint.bad(problem.code));
    });
    this.io.stderr.write(`${paragraphs.join('\n\n')}\n`);
    if (difference !== null) this.io.stderr.write(`\n${difference}\n`);
  }
}

/** NO_COLOR counts for everyone, FORCE_COLOR for those who ask; else colours are for terminals. */
function paintFor(sink: Sink, env: NodeJS.ProcessEnv): Paint {
  const forced = env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '0';
  const isOn = !env['NO_COLOR'] && env['TERM'] !== 'dumb' && (forced || sink.isTTY === true);
  const colours = pc.createColors(isOn);
  return {
    good: colours.green,
    bad: colours.red,
    warn: colours.yellow,
    strong: colours.bold,
    faint: colours.dim,
  };
}
