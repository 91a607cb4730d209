/**
 * The worker of `cambist up`: a process of its own, so that it can be killed. When it ends, whatever ended it, another one
 * is started after a pause, until `stop`.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { CommandFailure } from '../../operations/failure.ts';

export type WorkerKeeping = {
  /** Starts one worker process, which prints a line with `"ready"` when it takes work. */
  readonly spawn: () => ChildProcess;
  /** Called with each process as soon as it exists, and again when it is gone. */
  readonly onSpawn: (pid: number) => void;
  readonly onGone: (pid: number) => void;
  readonly say: (line: string) => void;
  /** For tests: the wait before another start; default: real time. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** The first pause; each further one is twice as long as the one before. */
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** A worker that has served so long had a good start: the next pause is the first one again. */
const GOOD_START_MS = 60_000;
/** A worker may take this long to finish its work. */
const END_LIMIT_MS = 8_000;

export class KeptWorker {
  readonly #keeping: WorkerKeeping;
  readonly #stopping = new AbortController();
  readonly #killNow = (): void => void this.#process?.kill('SIGKILL');
  #process: ChildProcess | null = null;
  #kept: Promise<void> = Promise.resolve();

  constructor(keeping: WorkerKeeping) {
    this.#keeping = keeping;
  }

  /** The number of the process that serves now; null in a pause. */
  get pid(): number | null {
    return this.#process?.pid ?? null;
  }

  /** Resolves when the first worker takes work. @throws CommandFailure when it ends before */
  async start(): Promise<void> {
    process.once('exit', this.#killNow);
    const first = this.#spawn();
    if (!(await isReady(first))) {
      throw new CommandFailure('infrastructure', [
        {
          code: 'WORKER_FAILED',
          place: null,
          message: 'the worker did not start; what it said stands above',
          fix: 'Mend what it names, then try again.',
        },
      ]);
    }
    this.#kept = this.#keep(first);
  }

  /** Ends the worker in order, or the pause before the next one. Safe to call where none was started. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    process.removeListener('exit', this.#killNow);
    if (this.#process !== null) await endProcess(this.#process);
    await this.#kept;
  }

  async #keep(first: ChildProcess): Promise<void> {
    const { say, pause = realPause } = this.#keeping;
    const { signal } = this.#stopping;
    let worker = first;
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      const startedAt = performance.now();
      // One worker after the other.
      await hasEnded(worker);
      if (signal.aborted) return;
      if (performance.now() - startedAt >= GOOD_START_MS) pauseMs = FIRST_PAUSE_MS;
      say(`${howItEnded(worker)}; runs wait. Starting another one in ${pauseMs / 1_000} s …`);
      await pause(pauseMs, signal);
      if (signal.aborted) return;
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
      worker = this.#spawn();
      if (await isReady(worker)) say(`Another worker takes the work: process ${worker.pid ?? 0}.`);
    }
  }

  #spawn(): ChildProcess {
    const worker = this.#keeping.spawn();
    this.#process = worker;
    if (worker.pid === undefined) worker.on('error', () => {});
    else this.#keeping.onSpawn(worker.pid);
    void this.#untilGone(worker);
    return worker;
  }

  async #untilGone(worker: ChildProcess): Promise<void> {
    await hasEnded(worker);
    this.#process = null;
    if (worker.pid !== undefined) this.#keeping.onGone(worker.pid);
  }
}

/** Resolves when the worker takes work, or has ended before. */
function isReady(worker: ChildProcess): Promise<boolean> {
  return new Promise((resolve) => {
    void hasEnded(worker).then(() => resolve(false));
    if (worker.stdout === null) return resolve(false);
    createInterface({ input: worker.stdout }).on('line', (line) => {
      if (line.includes('"ready"')) resolve(true);
    });
  });
}

/** A process without a number could not be started at all. */
function isOver({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null;
}

async function hasEnded(worker: ChildProcess): Promise<void> {
  if (!isOver(worker)) await once(worker, 'exit');
}

function howItEnded({ pid, exitCode, signalCode }: ChildProcess): string {
  if (pid === undefined) return 'No worker could be started';
  return `The worker (process ${pid}) ended ${signalCode === null ? `with exit code ${exitCode}` : `by ${signalCode}`}`;
}

async function endProcess(worker: ChildProcess): Promise<void> {
  if (isOver(worker)) return;
  const ended = once(worker, 'exit');
  worker.kill('SIGTERM');
  const timer = setTimeout(() => worker.kill('SIGKILL'), END_LIMIT_MS);
  await ended;
  clearTimeout(timer);
}

async function realPause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {});
}

/** `file`: the program of the package. The worker gets a process group of its own, so that Ctrl-C reaches only this process, which then ends the worker in order. */
export function spawnWorker(file: string, env: NodeJS.ProcessEnv, cwd: string): ChildProcess {
  return spawn(process.execPath, [file, 'worker', '--json'], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
