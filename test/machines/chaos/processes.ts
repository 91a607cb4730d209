/** The processes of a chaos run: workers that are started again whenever they end, and a dev server on a file. */
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startDevServer, type DevServer } from '../../../worker/dev-server.ts';
import { startBuiltWorker, type BuiltWorker } from '../../support/built-worker.ts';

const RESTART_AFTER_MS = 300;

export type WorkerOptions = {
  readonly name: string;
  readonly env: NodeJS.ProcessEnv;
  /** Where it writes what it prints. */
  readonly folder: string;
};

/** One worker after the other under the same name: whatever ends it, the next one begins. */
export class WorkerProcess {
  readonly #options: WorkerOptions;
  #worker: BuiltWorker | null = null;
  #movedMs = 0;
  #isWanted = true;
  #isFrozen = false;
  /** Resolves when the first of them takes work. */
  readonly ready: Promise<void>;
  #isReady: () => void = () => {};

  constructor(options: WorkerOptions) {
    this.#options = options;
    this.ready = new Promise((resolve) => {
      this.#isReady = resolve;
    });
    this.#start();
  }

  /** As a power cut. False when there is no process at this moment. */
  kill(): boolean {
    this.#isFrozen = false;
    return this.#worker?.process.kill('SIGKILL') ?? false;
  }

  /** False when there is no process at this moment. */
  freeze(): boolean {
    this.#isFrozen = this.#worker?.process.kill('SIGSTOP') ?? false;
    return this.#isFrozen;
  }

  thaw(): void {
    if (this.#isFrozen) this.#worker?.thaw();
    this.#isFrozen = false;
  }

  moveClock(movedMs: number): void {
    this.#movedMs = movedMs;
    // One that is being started is told by its arguments; one that has just ended needs no telling.
    if (this.#worker?.process.connected === true) this.#worker.process.send({ movedMs }, () => {});
  }

  async end(): Promise<void> {
    this.#isWanted = false;
    const worker = this.#worker;
    if (worker === null || worker.process.exitCode !== null || worker.process.signalCode !== null) return;
    await worker.kill();
  }

  #start(): void {
    const { name, env, folder } = this.#options;
    const log = createWriteStream(join(folder, `${name}.log`), { flags: 'a' });
    const worker = startBuiltWorker({ env, movedMs: this.#movedMs });
    const child = worker.process;
    log.write(`--- ${new Date().toISOString()} process ${child.pid}\n`);
    child.stdout?.pipe(log, { end: false });
    child.stderr?.pipe(log, { end: false });
    void worker.ready.then(this.#isReady);
    child.once('close', (code, signal) => {
      this.#isFrozen = false;
      log.end(`--- ${new Date().toISOString()} ended with ${signal ?? code}\n`);
      if (!this.#isWanted) return;
      setTimeout(() => {
        if (this.#isWanted) this.#start();
      }, RESTART_AFTER_MS);
    });
    this.#worker = worker;
  }
}

/** A dev server whose records outlive its kills, always at the same port. */
export class ServerProcess {
  readonly port: number;
  readonly #dbFile: string;
  #server: DevServer;

  static async start(folder: string): Promise<ServerProcess> {
    const dbFile = join(folder, 'temporal.db');
    const server = await startDevServer({ port: 0, headless: true, shortTimers: true, dbFile });
    return new ServerProcess(server, dbFile);
  }

  private constructor(server: DevServer, dbFile: string) {
    this.#server = server;
    this.#dbFile = dbFile;
    this.port = Number(server.address.split(':')[1]);
  }

  /** As a power cut that lasts this long. */
  async killFor(ms: number): Promise<void> {
    await this.#server.kill();
    await sleep(ms);
    this.#server = await startDevServer({
      port: this.port,
      headless: true,
      shortTimers: true,
      dbFile: this.#dbFile,
    });
  }

  async end(): Promise<void> {
    await this.#server.kill();
  }
}
