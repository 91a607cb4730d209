// Starts and stops Temporal's dev server for `cambist up`, `cambist temporal` and the tests.
// For one machine only: it binds loopback, and nothing in it is meant for production.

import { spawn, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer, Socket } from 'node:net';
import { Connection } from '@temporalio/client';
import { SEARCH_ATTRIBUTES } from '../workflows/names.ts';
import { CLOSED_TO_BROWSERS, openUiDoor } from './ui-door.ts';

export type DevServerOptions = {
  /** Port of gRPC. Default: 7233, or any free one when that is taken. 0: any free one. A given port must be free. */
  readonly port?: number;
  /** Port of the web UI. Default: 8233, or any free one when that is taken. 0: any free one. */
  readonly uiPort?: number;
  /** Without the web UI. Default: false. */
  readonly headless?: boolean;
  /** Address at which the UI has sealed values opened (`codec-server.ts`). Default: it shows them as they are. */
  readonly codecEndpoint?: string;
  /** Keeps everything in this SQLite file, across restarts and kills. Default: in memory, and two times faster. */
  readonly dbFile?: string;
  /** For tests: timers of the server are due after 50 ms instead of a second. Default: false. */
  readonly shortTimers?: boolean;
  /** For tests: further settings of the server, `name=value`. */
  readonly dynamicConfig?: readonly string[];
  /** Search attributes that are registered as keywords before the first run. Default: those that runs set. */
  readonly searchAttributes?: readonly string[];
  /** Called as soon as there is a process, long before the server answers. */
  readonly onSpawn?: (pid: number) => void;
};

/** With these, timers fire at once when they are due, and a queue is read as soon as it has something. */
const SHORT_TIMERS = [
  'history.timerProcessorMaxTimeShift="50ms"',
  'history.timerProcessorMaxPollRPS=1000',
  'history.transferProcessorMaxPollRPS=1000',
];

export type DevServer = {
  /** host:port of gRPC. */
  readonly address: string;
  /** Null when there is no web UI. */
  readonly uiUrl: string | null;
  readonly pid: number;
  /** Resolves when the server is gone, for whatever reason. */
  readonly exited: Promise<void>;
  /** Lets this process end while the server runs. The server then ends too. */
  unref(): void;
  /** Ends the server in order. Safe to call twice. */
  stop(): Promise<void>;
  /** Ends the server as a power cut would (SIGKILL). */
  kill(): Promise<void>;
};

/** The server could not be started; `output` is the end of what it printed. */
export class DevServerFailed extends Error {
  readonly code = 'DEV_SERVER_FAILED';
  readonly output: string;

  constructor(reason: string, output: string) {
    super(`The Temporal dev server did not start: ${reason}${output && `\n${output}`}`);
    this.name = 'DevServerFailed';
    this.output = output;
  }
}

const HOST = '127.0.0.1';
export const USUAL_PORT = 7233;
const USUAL_UI_PORT = 8233;
/** A cold start with a new database file takes about a second; a busy machine several times that. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 10_000;
/**
 * So many characters are kept from the beginning of what the server printed, and from the end: the cause
 * stands at the beginning, and hundreds of lines of a stack follow.
 */
const KEPT_OUTPUT = 2_000;
/**
 * Ports that no system gives to outgoing connections. While a server is started again, an outgoing connection
 * could take any other port.
 */
const [LOWEST_PORT, HIGHEST_PORT] = [15_000, 29_999] as const;
/** The server chooses ports for its own parts, and may find that another program has taken one meanwhile. */
const PORT_LOST = /(?:Failed to start gRPC listener|can't set frontend port).*address already in use/;
/** So may one of the ports be taken that no browser reaches. */
const CLOSED_PORT_LOST = new RegExp(`(:|port )(${CLOSED_TO_BROWSERS.join('|')}): .*address already in use`);
const STARTS_AT_MOST = 3;
const PORTS_TRIED = 20;

/**
 * Starts a dev server and resolves once it serves requests. It ends with this process at the latest.
 *
 * @throws DevServerFailed when it does not come up; ScriptFailed when there is no executable and none can be made
 */
export async function startDevServer(options: DevServerOptions = {}): Promise<DevServer> {
  // Never bundled into this: `bin/cambist.mjs` knows the failures of the scripts by their class.
  const { ensureTemporal } = await import('#temporal-binary');
  const executable = await ensureTemporal();
  for (let start = 1; ; start += 1) {
    try {
      // The tries run one after the other on purpose.
      return await startOnce(executable, options);
    } catch (error) {
      const isPortLost =
        error instanceof DevServerFailed
          ? [PORT_LOST, CLOSED_PORT_LOST].some((lost) => lost.test(error.output))
          : error instanceof Error && 'code' in error && error.code === 'EADDRINUSE';
      if (!isPortLost || start === STARTS_AT_MOST) throw error;
    }
  }
}

async function startOnce(executable: string, options: DevServerOptions): Promise<DevServer> {
  const port = await choosePort(options.port, USUAL_PORT);
  const ui = options.headless ? null : await choosePortsOfUi(options.uiPort);
  // At once, so that no other program takes the port while the server starts.
  const door = ui === null ? null : await openUiDoor(HOST, ui.port, ui.innerPort);
  // On a terminal, the server gets a process group of its own. So Ctrl-C reaches the worker first, and this
  // program ends the server after it.
  const child = spawn(executable, serverArguments(options, port, ui), {
    detached: process.stdin.isTTY,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  endWithThisProcess(child);
  if (child.pid !== undefined) options.onSpawn?.(child.pid);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await exited;
    clearTimeout(timer);
    await door?.close();
  };
  const address = `${HOST}:${port}`;
  try {
    await untilServing(child, address);
  } catch (error) {
    await end('SIGKILL');
    throw error;
  }
  return {
    address,
    uiUrl: ui === null ? null : `http://${HOST}:${ui.port}`,
    pid: child.pid ?? 0,
    exited,
    unref: () => {
      child.unref();
      door?.unref();
      for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref();
    },
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
  };
}

function serverArguments(options: DevServerOptions, port: number, ui: PortsOfUi | null): string[] {
  const settings = [
    // Off by default in server 1.29. Without it, each activity waits for a poll of its own, and quotes live only seconds.
    'system.enableActivityEagerExecution=true',
    // Its HTTP API does not ask who calls, and accepts what any web page in a browser on this machine sends.
    'frontend.httpAllowedHosts=["none.invalid"]',
    ...(options.shortTimers ? SHORT_TIMERS : []),
    ...(options.dynamicConfig ?? []),
  ];
  const attributes = options.searchAttributes ?? SEARCH_ATTRIBUTES;
  return [
    'server',
    'start-dev',
    `--ip=${HOST}`,
    `--port=${port}`,
    '--log-level=error',
    ...(ui === null ? ['--headless'] : [`--ui-port=${ui.innerPort}`, `--metrics-port=${ui.metricsPort}`]),
    ...(options.codecEndpoint === undefined ? [] : [`--ui-codec-endpoint=${options.codecEndpoint}`]),
    ...(options.dbFile === undefined ? [] : [`--db-filename=${options.dbFile}`]),
    ...settings.map((setting) => `--dynamic-config-value=${setting}`),
    ...attributes.map((name) => `--search-attribute=${name}=Keyword`),
  ];
}

/** Resolves when the namespace `default` answers; rejects when the process ends before, or after the time limit. */
async function untilServing(child: ChildProcess, address: string): Promise<void> {
  let output = '';
  let timer: NodeJS.Timeout | undefined;
  const failed = new Promise<never>((_resolve, reject) => {
    const fail = (reason: string) => reject(new DevServerFailed(reason, output));
    child.once('error', (error) => fail(error.message));
    // At `close`, the last of the output has been read.
    child.once('close', (code, signal) => fail(`it ended with ${signal ?? `exit code ${code}`}`));
    timer = setTimeout(
      () => fail(`it did not answer within ${START_TIMEOUT_MS / 1_000} s`),
      START_TIMEOUT_MS,
    );
  });
  failed.catch(() => {});
  // First the server itself must say that it listens. On a port that is taken, another server would answer.
  const port = address.slice(address.lastIndexOf(':'));
  const listening = new Promise<void>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output = shorten(output + text);
        if (stream === child.stdout && output.includes(port)) resolve();
      });
    }
  });
  try {
    await Promise.race([listening, failed]);
    const connection = await Promise.race([Connection.connect({ address }), failed]);
    try {
      await Promise.race([connection.workflowService.describeNamespace({ namespace: 'default' }), failed]);
    } finally {
      await connection.close();
    }
  } finally {
    clearTimeout(timer);
  }
}

function shorten(output: string): string {
  if (output.length <= 2 * KEPT_OUTPUT) return output;
  return `${output.slice(0, KEPT_OUTPUT)}\n…\n${output.slice(-KEPT_OUTPUT)}`;
}

/** A port that was asked for is used as it is. A usual port is replaced by any free one when it is taken. */
export async function choosePort(asked: number | undefined, usual: number): Promise<number> {
  if (asked !== undefined && asked !== 0) return asked;
  return asked === undefined && (await isFree(usual)) ? usual : freePort();
}

/**
 * A port on which nobody listens, and which no outgoing connection is given: it is still free when what listens on
 * it ends and starts again.
 *
 * @throws DevServerFailed when each port that was tried is taken
 */
export async function freePort(): Promise<number> {
  for (let tried = 0; tried < PORTS_TRIED; tried += 1) {
    const port = randomInt(LOWEST_PORT, HIGHEST_PORT + 1);
    // One free port is enough.
    if (await isFree(port)) return port;
  }
  throw new DevServerFailed(`no free port on ${HOST}`, '');
}

/** `port`: of the door, which browsers use. No browser reaches the others, the UI itself and the server's counters. */
type PortsOfUi = { readonly port: number; readonly innerPort: number; readonly metricsPort: number };

async function choosePortsOfUi(asked: number | undefined): Promise<PortsOfUi> {
  const port = await choosePort(asked, USUAL_UI_PORT);
  const closed: number[] = [];
  const first = randomInt(CLOSED_TO_BROWSERS.length);
  for (const each of [...CLOSED_TO_BROWSERS.slice(first), ...CLOSED_TO_BROWSERS.slice(0, first)])
    if (closed.length < 2 && (await isFree(each))) closed.push(each);
  const [innerPort, metricsPort] = closed;
  if (innerPort !== undefined && metricsPort !== undefined) return { port, innerPort, metricsPort };
  throw new DevServerFailed(
    `each port that browsers leave alone is taken (${CLOSED_TO_BROWSERS.join(', ')})`,
    '',
  );
}

/** Whether this process can listen on the port. */
async function isFree(port: number): Promise<boolean> {
  const server = createServer();
  try {
    server.listen(port, HOST);
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

const children = new Set<ChildProcess>();

/**
 * No server outlives this process, unless SIGKILL ends the process. A program that handles signals decides by
 * itself when to end its servers.
 */
function endWithThisProcess(child: ChildProcess): void {
  if (children.size === 0) {
    process.on('exit', killAll);
    // Before all other listeners, because one that has done its part may remove itself from the list.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.prependListener(signal, endUnlessHandled);
  }
  children.add(child);
  child.once('exit', () => {
    children.delete(child);
    if (children.size > 0) return;
    process.removeListener('exit', killAll);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
      process.removeListener(signal, endUnlessHandled);
  });
}

function endUnlessHandled(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) > 1) return;
  killAll();
  process.removeListener(signal, endUnlessHandled);
  process.kill(process.pid, signal);
}

function killAll(): void {
  for (const child of children) child.kill('SIGKILL');
}
