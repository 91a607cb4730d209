/**
 * The two streams of a command. Beside help, this is the only place that writes to them, and it takes out what a terminal
 * would obey. With `--json` stdout gets one JSON document and nothing else; all other text goes to stderr.
 */
import pc from 'picocolors';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { CommandFailure } from '../../operations/failure.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { Caller } from '../../operations/place.ts';
import type { Io, Sink } from './io.ts';
import { forJson, forTerminal, plain } from './safe.ts';
import { paragraphOf, wrap, type Paint } from './text.ts';

/** The width of a command that does not write to a terminal. */
const USUAL_COLUMNS = 80;
const FEWEST_COLUMNS = 40;

export class Output {
  readonly io: Io;
  readonly isJson: boolean;
  /** Colours for text on stdout. */
  readonly paint: Paint;
  /** The stream for progress: stdout, or stderr when stdout is for the document. */
  readonly progressSink: Sink;

  constructor(io: Io, isJson: boolean) {
    this.io = io;
    this.isJson = isJson;
    this.progressSink = isJson ? io.stderr : io.stdout;
    this.paint = paintFor(io.stdout, io.env);
  }

  /** What an operation needs from the command that calls it. */
  get caller(): Caller {
    const { env, cwd, now } = this.io;
    return { env, cwd, now, say: (message) => this.note(message) };
  }

  get width(): number {
    return Math.max(FEWEST_COLUMNS, this.io.stdout.columns ?? USUAL_COLUMNS);
  }

  get #noteWidth(): number {
    return Math.max(FEWEST_COLUMNS, this.io.stderr.columns ?? USUAL_COLUMNS);
  }

  /** True when progress can be drawn again and again in one place. */
  get isLive(): boolean {
    return this.progressSink.isTTY === true && this.io.env['TERM'] !== 'dumb';
  }

  /**
   * Text for a person; prints nothing with `--json`. Each text becomes one line, whatever it contains, and is wrapped at the
   * width.
   */
  say(...lines: readonly string[]): void {
    if (!this.isJson) this.#write(this.io.stdout, wrap(plain(lines).join('\n'), this.width));
  }

  /** Tables, reports and pictures: text from a view, which has made the lines and has made the values in them plain. */
  show(text: string): void {
    if (!this.isJson) this.#write(this.io.stdout, text);
  }

  /** Prints the document of `--json`; nothing without `--json`. */
  document(value: unknown): void {
    if (this.isJson) this.io.stdout.write(`${forJson(JSON.stringify(value, null, 2))}\n`);
  }

  /** Prints one of the documents of `--jsonl`, on a line of its own. */
  line(value: unknown): void {
    this.io.stdout.write(`${forJson(JSON.stringify(value))}\n`);
  }

  /** The line that tells that a server is ready: `text` for a person, `value` on one line with `--json`. */
  ready(text: string, value: unknown): void {
    if (this.isJson) this.line(value);
    else this.#write(this.io.stdout, text);
  }

  /** One line of progress; a long one goes on below it. */
  step(line: string): void {
    const width = this.isJson ? this.#noteWidth : this.width;
    this.#write(this.progressSink, wrap(plain(line), width, '  '));
  }

  /** A drawing for `progressSink`, safe to draw again and again. */
  drawing(text: string): string {
    return forTerminal(text, coloursOn(this.progressSink, this.io.env));
  }

  /** A remark that is not the result: always to stderr. Each text becomes one line, as in `say`. */
  note(...lines: readonly string[]): void {
    this.#write(this.io.stderr, wrap(plain(lines).join('\n'), this.#noteWidth));
  }

  /** A line of a log, always to stderr: `text` for a person, `value` on one line with `--json`. */
  log(text: string, value: unknown): void {
    if (this.isJson) this.io.stderr.write(`${forJson(JSON.stringify(value))}\n`);
    else this.note(text);
  }

  /** A remark, unless it is null. */
  remark(line: string | null): void {
    if (line !== null) this.note(line);
  }

  /** A fault that stops nothing yet. */
  warn(trouble: Trouble): void {
    this.#write(this.io.stderr, `warning ${paragraphOf(trouble, this.#noteWidth - 'warning '.length)}`);
  }

  /** What went wrong. `difference`: the lines by which the two texts of the failure differ, with - and +. */
  fail(failure: CommandFailure, difference: string | null = null): void {
    const exitCode = EXIT_CODES[failure.ending];
    const { problems } = failure;
    if (this.isJson) return this.document({ problems, ...(difference !== null && { difference }), exitCode });
    const width = this.#noteWidth;
    const paint = paintFor(this.io.stderr, this.io.env);
    const paragraphs = problems.map((problem) => {
      const text = paragraphOf(problem, width);
      return text.replace(problem.code, paint.bad(problem.code));
    });
    this.#write(this.io.stderr, paragraphs.join('\n\n'));
    if (difference !== null) this.#write(this.io.stderr, `\n${difference}`);
  }

  #write(sink: Sink, text: string): void {
    sink.write(`${forTerminal(text, coloursOn(sink, this.io.env))}\n`);
  }
}

/** NO_COLOR turns colours off, and FORCE_COLOR turns them on; otherwise only a terminal gets colours. */
function coloursOn(sink: Sink, env: NodeJS.ProcessEnv): boolean {
  const forced = env['FORCE_COLOR'] !== undefined && env['FORCE_COLOR'] !== '0';
  return !env['NO_COLOR'] && env['TERM'] !== 'dumb' && (forced || sink.isTTY === true);
}

function paintFor(sink: Sink, env: NodeJS.ProcessEnv): Paint {
  const colours = pc.createColors(coloursOn(sink, env));
  return {
    good: colours.green,
    bad: colours.red,
    warn: colours.yellow,
    strong: colours.bold,
    faint: colours.dim,
  };
}
