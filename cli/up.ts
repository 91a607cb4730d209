/**
 * `cambist up`: everything for a look round. Temporal and the sandbox belong to this process, the worker is a process of
 * its own, so that it can be killed and started again. Ctrl-C ends all of them, the worker first.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { DEV_ENVIRONMENT_FILE } from '../worker/config.ts';
import { startDevServer, type DevServer } from '../worker/dev-server.ts';
import { DEFAULT_TASK_QUEUE } from '../workflows/names.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import type { Ending } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import type { Output } from './output.ts';
import { untilInterrupted } from './ready.ts';
import { openSandbox } from './sandbox.ts';

export function addUp(program: Command, session: Session): void {
  const command = program
    .command('up')
    .summary('Temporal, sandbox and worker in one go, to look round')
    .description(
      'Starts everything for a look round and keeps it up until Ctrl-C: a Temporal dev server with its UI, the sandbox ' +
        'and a worker, on the usual ports or free ones. Makes a key in .cambist/key.json, and .cambist/dev.json, which ' +
        'the other commands in this folder read when CAMBIST_BASE_URL is not set. With TEMPORAL_ADDRESS that server is used.',
    )
    .action((options: JsonOption) => act(session, options, up));
  teach(command, {
    examples: ['cambist up', 'cambist run policies/mxn-supplier.yaml      (in a second terminal)'],
    endings: ['done', 'refused by us', 'infrastructure'],
  });
}

async function up(output: Output): Promise<Ending> {
  const { io } = output;
  const devFile = join(io.cwd, DEV_ENVIRONMENT_FILE);
  const keyFile = join(dirname(devFile), 'key.json');
  await refuseSecond(devFile);
  await mkdir(dirname(devFile), { recursive: true, mode: 0o700 });
  if (io.env['CAMBIST_BASE_URL'] !== undefined)
    output.note('CAMBIST_BASE_URL is set: other commands use that service, not the sandbox of this one.');
  // From the first moment on, so that nothing stays behind.
  const interrupted = untilInterrupted(io);
  const closing: (() => Promise<unknown>)[] = [];
  try {
    const temporal = io.env['TEMPORAL_ADDRESS'] ? null : await startDevServer();
    if (temporal !== null) closing.unshift(() => temporal.stop());
    const { sandbox, stop } = await openSandbox({ keyFile });
    closing.unshift(stop);
    const variables = variablesOf({
      temporal,
      env: io.env,
      baseUrl: sandbox.baseUrl,
      adminUrl: sandbox.adminUrl,
      keyFile,
    });
    closing.unshift(() => rm(devFile, { force: true }));
    await writeFile(devFile, `${JSON.stringify(variables, null, 2)}\n`, { mode: 0o600 });
    const worker = startWorkerProcess({ ...io.env, ...variables }, io.cwd);
    closing.unshift(() => endProcess(worker));
    await untilReady(worker);
    showReady(output, { variables, temporal, worker, adminUrl: sandbox.adminUrl });
    void once(worker, 'exit').then(() =>
      output.note('The worker ended. Start another one with `cambist worker`; runs wait for it.'),
    );
    const temporalEnded = temporal === null ? new Promise<never>(() => {}) : temporal.exited;
    const isOver = await Promise.race([interrupted.then(() => true), temporalEnded.then(() => false)]);
    worker.removeAllListeners('exit');
    if (!isOver) output.note('The Temporal dev server ended by itself.');
    return isOver ? 'done' : 'infrastructure';
  } finally {
    if (closing.length > 0) output.note('Ending …');
    for (const close of closing) await close().catch(() => undefined);
  }
}

/** What the other commands read. */
function variablesOf(parts: {
  readonly temporal: DevServer | null;
  readonly env: NodeJS.ProcessEnv;
  readonly baseUrl: string;
  readonly adminUrl: string;
  readonly keyFile: string;
}): Record<string, string> {
  const { temporal, env } = parts;
  const uiUrl = temporal?.uiUrl ?? null;
  return {
    CAMBIST_BASE_URL: parts.baseUrl,
    CAMBIST_KEY_FILE: parts.keyFile,
    CAMBIST_APP_MODE: 'SANDBOX',
    CAMBIST_TASK_QUEUE: env['CAMBIST_TASK_QUEUE'] ?? DEFAULT_TASK_QUEUE,
    CAMBIST_SANDBOX_ADMIN_URL: parts.adminUrl,
    CAMBIST_UP_PID: String(process.pid),
    ...(temporal === null
      ? { TEMPORAL_ADDRESS: env['TEMPORAL_ADDRESS'] ?? '' }
      : { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: 'default', TEMPORAL_TLS: 'false' }),
    ...(uiUrl !== null && { CAMBIST_UI_URL: uiUrl }),
  };
}

/** Two of them in one folder would take each other's file away. */
async function refuseSecond(devFile: string): Promise<void> {
  const text = await readFile(devFile, 'utf8').catch(() => null);
  if (text === null) return;
  const pid = Number(/"CAMBIST_UP_PID": "([0-9]+)"/.exec(text)?.[1] ?? Number.NaN);
  if (!Number.isInteger(pid) || pid === process.pid || !isAlive(pid)) return;
  throw new CommandFailure('refused by us', [
    {
      code: 'UP_ALREADY',
      place: devFile,
      message: `\`cambist up\` runs in this folder already (process ${pid})`,
      fix: 'Use that one, or end it first.',
    },
  ]);
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The package's own command, whether this runs from the sources or from a build. */
function binFile(): string {
  const here = dirname(fileURLToPath(import.meta.url));
  const root = here.endsWith(join('dist', 'cli')) ? join(here, '..', '..') : join(here, '..');
  return join(root, 'bin', 'cambist.mjs');
}

/** In a group of its own: Ctrl-C reaches this process only, which ends the worker in order. */
function startWorkerProcess(env: NodeJS.ProcessEnv, cwd: string): ChildProcess {
  const worker = spawn(process.execPath, [binFile(), 'worker', '--json'], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  process.once('exit', () => worker.kill('SIGKILL'));
  return worker;
}

/** Resolves with its line `ready`; its own messages go to stderr. */
async function untilReady(worker: ChildProcess): Promise<void> {
  const ready = new Promise<boolean>((resolve) => {
    worker.once('error', () => resolve(false));
    worker.once('close', () => resolve(false));
    if (worker.stdout === null) return resolve(false);
    createInterface({ input: worker.stdout }).on('line', (line) => {
      if (line.includes('"ready"')) resolve(true);
    });
  });
  if (await ready) return;
  throw new CommandFailure('infrastructure', [
    {
      code: 'WORKER_FAILED',
      place: null,
      message: 'the worker did not start; what it said stands above',
      fix: 'Mend what it names, then try again.',
    },
  ]);
}

/** How long a worker may take to finish what it has under way. */
const END_LIMIT_MS = 8_000;

async function endProcess(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null || worker.signalCode !== null) return;
  const ended = once(worker, 'exit');
  worker.kill('SIGTERM');
  const timer = setTimeout(() => worker.kill('SIGKILL'), END_LIMIT_MS);
  await ended;
  clearTimeout(timer);
}

function showReady(
  output: Output,
  parts: {
    readonly variables: Record<string, string>;
    readonly temporal: DevServer | null;
    readonly worker: ChildProcess;
    readonly adminUrl: string;
  },
): void {
  const { variables, temporal, worker, adminUrl } = parts;
  const pid = worker.pid ?? 0;
  const uiUrl = temporal?.uiUrl ?? null;
  if (output.isJson) {
    const ready = {
      ready: 'up',
      temporal: { address: variables['TEMPORAL_ADDRESS'], uiUrl },
      sandbox: { baseUrl: variables['CAMBIST_BASE_URL'], adminUrl },
      worker: { pid },
      keyFile: variables['CAMBIST_KEY_FILE'],
      environmentFile: DEV_ENVIRONMENT_FILE,
    };
    output.ready('', ready);
    return;
  }
  output.show(
    [
      `ready up`,
      `  Temporal     ${variables['TEMPORAL_ADDRESS'] ?? ''}`,
      ...(uiUrl === null ? [] : [`  Temporal UI  ${uiUrl}`]),
      `  sandbox      ${variables['CAMBIST_BASE_URL'] ?? ''}  (admin ${adminUrl})`,
      `  worker       process ${pid}`,
      `  key          ${variables['CAMBIST_KEY_FILE'] ?? ''}`,
      '',
      'In a second terminal, in this folder:  cambist run policies/mxn-supplier.yaml',
      'Ctrl-C ends all of it.',
    ].join('\n'),
  );
}
