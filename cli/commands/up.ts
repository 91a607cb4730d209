/**
 * `cambist up`: everything that a person needs for a first try. Temporal and the sandbox belong to this process. The worker
 * is a process of its own, which can be killed: another one is started. Ctrl-C ends all of them, the worker first.
 */
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Command } from 'commander';
import { DEV_ENVIRONMENT_FILE, DEV_KEY_FILE, devFilesFolder, isHere } from '../../config/dev-environment.ts';
import { USUAL_PORT as TEMPORAL_PORT, startDevServer, type DevServer } from '../../worker/dev-server.ts';
import { taskQueueOf } from '../../config/task-queue.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { Ending } from '../../domain/endings.ts';
import type { Io } from '../terminal/io.ts';
import type { Output } from '../terminal/output.ts';
import { untilInterrupted } from '../terminal/ready.ts';
import { holderOf } from './port-holder.ts';
import { USUAL_PORT, openSandbox } from './sandbox.ts';
import { UP_FILE, UpChildren } from './up-children.ts';
import { KeptWorker, spawnWorker } from './up-worker.ts';

/** A person who sets one of these variables has a service (see `withDevEnvironment`). */
const SET_BY_HAND = ['CAMBIST_BASE_URL', 'CAMBIST_KEY_FILE', 'CAMBIST_READ_KEY_FILE', 'CAMBIST_APP_MODE'];

/** Temporal's data, which are kept from one use to the next; a path in the working folder. */
const TEMPORAL_DATA = '.cambist/temporal.db';
const SANDBOX_DATA = '.cambist/sandbox.jsonl';

type UpOptions = JsonOption & { readonly fresh?: boolean };

export function addUp(command: Command, session: Session): void {
  command
    .description(
      'Starts everything that you need to look round, and keeps it up until Ctrl-C: a Temporal dev server with its UI, the sandbox ' +
        'and a worker, on the usual ports or free ones. Makes a key in .cambist/key.json, and .cambist/dev.json, which ' +
        'the other commands in this folder read when no service is configured. Runs and the records of the sandbox are ' +
        'kept in .cambist/ until --fresh. With TEMPORAL_ADDRESS that server is used. With CAMBIST_SEAL_KEYS what Temporal keeps is ' +
        'sealed, and the UI shows it all the same.',
    )
    .option('--fresh', 'start anew: without the runs, balances and records of the last time')
    .action((options: UpOptions) => act(session, options, (output) => up(output, options)));
  teach(command, {
    examples: ['npx cambist up', 'npx cambist run policies/mxn-supplier.yaml      (in a second terminal)'],
    endings: ['done', 'bad input', 'refused by us', 'infrastructure'],
  });
}

async function up(output: Output, { fresh = false }: UpOptions): Promise<Ending> {
  const { io } = output;
  const devFile = join(io.cwd, DEV_ENVIRONMENT_FILE);
  const keyFile = join(io.cwd, DEV_KEY_FILE);
  const children = new UpChildren(join(io.cwd, UP_FILE));
  await children.takeOver(output);
  const byHand = SET_BY_HAND.filter((name) => io.env[name]);
  if (byHand.length > 0)
    output.note(
      `warning: ${byHand.join(' and ')} set by hand: other commands use that, not the sandbox of this one.`,
    );
  // The command listens to signals from the first moment, so that it leaves nothing behind.
  const interrupted = untilInterrupted(io);
  const closing: (() => Promise<unknown>)[] = [() => children.forget()];
  try {
    const isKept = await prepareData(io.cwd, fresh);
    const opener = await openCodec(io);
    if (opener !== null) closing.unshift(() => opener.close());
    const temporal = await startTemporal(output, children, opener?.endpoint ?? null);
    if (temporal?.uiUrl) opener?.letAsk(temporal.uiUrl);
    if (temporal !== null) closing.unshift(() => temporal.stop());
    output.step('Starting the sandbox …');
    const { sandbox, stop } = await openSandbox({ keyFile, statePath: join(io.cwd, SANDBOX_DATA) });
    closing.unshift(stop);
    const { baseUrl, adminUrl } = sandbox;
    await sayWhoHas(output, temporal?.address ?? null, TEMPORAL_PORT);
    await sayWhoHas(output, new URL(baseUrl).host, USUAL_PORT);
    const variables = variablesOf({ temporal, env: io.env, baseUrl, adminUrl, sealKeys: sealKeysIn(io) });
    closing.unshift(() => rm(devFile, { force: true }));
    // The file is written anew, so that the mode and the owner of an earlier file do not count.
    await rm(devFile, { force: true });
    const serviceFile = join(io.cwd, SERVICE_FILE);
    await writeFile(serviceFile, SERVICE_FACTS, { mode: 0o600 });
    await writeFile(devFile, `${JSON.stringify(variables, null, 2)}\n`, { mode: 0o600 });
    output.step('Starting a worker …');
    const environment = workerEnvironment(io.env, variables, { keyFile, serviceFile, cwd: io.cwd });
    const worker = new KeptWorker({
      spawn: () => spawnWorker(binFile(), environment, io.cwd),
      onSpawn: (pid) => children.add(pid),
      onGone: (pid) => children.remove(pid),
      say: (line) => output.note(line),
    });
    closing.unshift(() => worker.stop());
    await worker.start();
    showReady(output, { variables, temporal, workerPid: worker.pid ?? 0, adminUrl, keyFile, isKept });
    const temporalEnded = temporal === null ? new Promise<never>(() => {}) : temporal.exited;
    const isOver = await Promise.race([interrupted.then(() => true), temporalEnded.then(() => false)]);
    if (!isOver) output.note('The Temporal dev server ended by itself.');
    return isOver ? 'done' : 'infrastructure';
  } finally {
    output.note('Ending …');
    for (const close of closing) await close().catch(() => undefined);
  }
}

/** Null where the person has named a server, which is used instead. */
async function startTemporal(
  output: Output,
  children: UpChildren,
  codecEndpoint: string | null,
): Promise<DevServer | null> {
  const { cwd, env } = output.io;
  if (env['TEMPORAL_ADDRESS']) {
    output.step(`Using the Temporal at ${env['TEMPORAL_ADDRESS']} (TEMPORAL_ADDRESS).`);
    return null;
  }
  output.step('Starting a Temporal dev server …');
  return startDevServer({
    dbFile: join(cwd, TEMPORAL_DATA),
    onSpawn: (pid) => children.add(pid),
    ...(codecEndpoint !== null && { codecEndpoint }),
  });
}

/** The server through which the UI shows what is sealed; null where nothing is. */
async function openCodec(io: Io): Promise<{
  readonly endpoint: string;
  /** Lets the pages of the UI ask, whose port is known only once it runs. */
  readonly letAsk: (uiUrl: string) => void;
  readonly close: () => Promise<void>;
} | null> {
  const file = sealKeysIn(io);
  if (file === null) return null;
  const { keysInFile } = await import('../../config/seal/key-file.ts');
  const { openCodecServer } = await import('../../worker/codec-server.ts');
  const origins: string[] = [];
  // The UI of a dev server can send no header of ours, so that the token is in the address that it is given.
  const token = randomBytes(24).toString('base64url');
  const { url, close } = await openCodecServer({ keys: keysInFile(file), port: 0, token, origins });
  const letAsk = (uiUrl: string): void => {
    origins.push(uiUrl, uiUrl.replace('127.0.0.1', 'localhost'));
  };
  return { endpoint: `${url}/${token}`, letAsk, close };
}

/** The whole path of the file of keys; null: none is named. */
function sealKeysIn({ env, cwd }: Io): string | null {
  const named = env['CAMBIST_SEAL_KEYS'];
  return named ? resolve(cwd, named) : null;
}

/**
 * Prepares the folder for the data that are kept. When the sandbox's records are gone, Temporal's data are removed too:
 * otherwise Temporal would show payments that the sandbox does not know.
 * @returns whether data of the last use are there
 */
async function prepareData(cwd: string, fresh: boolean): Promise<boolean> {
  const sandboxData = join(cwd, SANDBOX_DATA);
  if (fresh) await rm(sandboxData, { force: true });
  const isKept = existsSync(sandboxData);
  if (!isKept)
    for (const suffix of ['', '-wal', '-shm', '-journal'])
      await rm(join(cwd, `${TEMPORAL_DATA}${suffix}`), { force: true });
  return isKept;
}

/** Tells why a server is not on its usual port. `host`: where it is; null: this command did not start it. */
async function sayWhoHas(output: Output, host: string | null, usual: number): Promise<void> {
  if (host === null || host.endsWith(`:${usual}`)) return;
  const holder = await holderOf(usual);
  if (holder !== null) output.note(`Port ${usual} is taken by ${holder}; ${host} is used instead.`);
}

/** The variables that the other commands read. The key and the mode are left out, since they are always the same. */
function variablesOf(parts: {
  readonly temporal: DevServer | null;
  readonly env: NodeJS.ProcessEnv;
  readonly baseUrl: string;
  readonly adminUrl: string;
  readonly sealKeys: string | null;
}): Record<string, string> {
  const { temporal, env, sealKeys } = parts;
  const uiUrl = temporal?.uiUrl ?? null;
  return {
    CAMBIST_BASE_URL: parts.baseUrl,
    CAMBIST_TASK_QUEUE: taskQueueOf(env, 'SANDBOX'),
    CAMBIST_SANDBOX_ADMIN_URL: parts.adminUrl,
    ...(temporal === null
      ? ownTemporal(env)
      : { TEMPORAL_ADDRESS: temporal.address, TEMPORAL_NAMESPACE: 'default', TEMPORAL_TLS: 'false' }),
    ...(uiUrl !== null && { CAMBIST_UI_URL: uiUrl }),
    ...(sealKeys !== null && { CAMBIST_SEAL_KEYS: sealKeys }),
  };
}

/**
 * The variables of a Temporal server that was there already. When it is on this machine, the other commands get its address;
 * otherwise they need variables of their own.
 */
function ownTemporal(env: NodeJS.ProcessEnv): Record<string, string> {
  const address = env['TEMPORAL_ADDRESS'] ?? '';
  const namespace = env['TEMPORAL_NAMESPACE'];
  if (!isHere(address)) return {};
  return { TEMPORAL_ADDRESS: address, ...(namespace && { TEMPORAL_NAMESPACE: namespace }) };
}

/** The service facts of the sandbox, for the worker of `up`, unless the person names a service file. */
const SERVICE_FILE = '.cambist/service.yaml';
const SERVICE_FACTS = 'list_lag: 1s # the sandbox lists new records at once\n';

/**
 * The environment of the worker, without variables for another service or another Temporal. It also has no build id, because
 * no person makes a build current in this Temporal.
 */
function workerEnvironment(
  env: NodeJS.ProcessEnv,
  variables: Readonly<Record<string, string>>,
  {
    keyFile,
    serviceFile,
    cwd,
  }: { readonly keyFile: string; readonly serviceFile: string; readonly cwd: string },
): NodeJS.ProcessEnv {
  const isOwnTemporal = variables['TEMPORAL_TLS'] !== undefined;
  const kept = Object.entries(env).filter(
    ([name]) =>
      name !== 'CAMBIST_READ_KEY_FILE' &&
      !(isOwnTemporal && (name === 'CAMBIST_BUILD_ID' || name.startsWith('TEMPORAL_'))),
  );
  return {
    ...Object.fromEntries(kept),
    ...variables,
    CAMBIST_FILES: env['CAMBIST_FILES'] || devFilesFolder(cwd),
    CAMBIST_SERVICE_FILE: env['CAMBIST_SERVICE_FILE'] || serviceFile,
    CAMBIST_KEY_FILE: keyFile,
    CAMBIST_APP_MODE: 'SANDBOX',
  };
}

/** The package's own command. */
function binFile(): string {
  return fileOfPackage('bin/cambist.mjs');
}

/** A file of the package: this code runs from its source, or as it is bundled in dist/cli/. */
function fileOfPackage(path: string): string {
  return fileURLToPath(new URL(`../../${path}`, import.meta.url));
}

const SAMPLE = 'policies/mxn-supplier.yaml';

/** The sample as a person types it in this folder: the package's own, where the folder has none. */
function sampleFrom(cwd: string): string {
  if (existsSync(join(cwd, SAMPLE))) return SAMPLE;
  const file = fileOfPackage(SAMPLE);
  return /[^\w./:\\-]/.test(file) ? `"${file}"` : file;
}

function showReady(
  output: Output,
  parts: {
    readonly variables: Record<string, string>;
    readonly temporal: DevServer | null;
    readonly workerPid: number;
    readonly adminUrl: string;
    readonly keyFile: string;
    readonly isKept: boolean;
  },
): void {
  const { variables, temporal, workerPid, adminUrl, keyFile, isKept } = parts;
  const temporalAddress = variables['TEMPORAL_ADDRESS'] ?? output.io.env['TEMPORAL_ADDRESS'] ?? '';
  const uiUrl = temporal?.uiUrl ?? null;
  if (output.isJson) {
    const ready = {
      ready: 'up',
      temporal: { address: temporalAddress, uiUrl },
      sandbox: { baseUrl: variables['CAMBIST_BASE_URL'], adminUrl },
      worker: { pid: workerPid },
      keyFile,
      environmentFile: DEV_ENVIRONMENT_FILE,
      isKept,
    };
    output.ready('', ready);
    return;
  }
  output.show(
    [
      `ready up`,
      `  Temporal     ${temporalAddress}`,
      ...(uiUrl === null ? [] : [`  Temporal UI  ${uiUrl}`]),
      `  sandbox      ${variables['CAMBIST_BASE_URL'] ?? ''}  (admin ${adminUrl})`,
      `  worker       process ${workerPid}`,
      `  key          ${keyFile}`,
      `  data         .cambist/${isKept ? ', with what was there before (`npx cambist up --fresh` starts anew)' : ', kept for the next time'}`,
      '',
      'In a second terminal, in this folder:',
      `  npx cambist run ${sampleFrom(output.io.cwd)}`,
      'Ctrl-C ends all of it.',
    ].join('\n'),
  );
}
