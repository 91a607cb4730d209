/**
 * The real Temporal server, for tests of what the dev server does not have (pause of workflows, settings of a cluster): in
 * memory as one process, or over a database as several. It is built on demand and takes about ten minutes the first time, so
 * that only machines ask for it.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { stringify } from 'yaml';
import { ensureTemporalServer } from '../../scripts/temporal-server-binary.mjs';
import { freePort } from '../../worker/dev-server.ts';

export type TemporalServer = {
  /** host:port of gRPC; the namespace is `default`. */
  readonly address: string;
  /** Ends it at once. */
  kill(): Promise<void>;
};

/** Settings of a server by name; each holds for everything. */
type DynamicConfig = Readonly<Record<string, string | number | boolean>>;

const HOST = '127.0.0.1';
const SERVICES = ['frontend', 'matching', 'history', 'worker'] as const;
/** A cold start takes about a second; a busy machine takes many times that. */
const START_TRIES = 240;
const TRY_EVERY_MS = 250;
const RETENTION_MS = 86_400_000;
/** Of what it printed, the end, which tells why it did not start. */
const KEPT_OUTPUT = 4_000;

/** A store that ends with the process. */
const MEMORY = {
  sql: {
    pluginName: 'sqlite',
    databaseName: 'default',
    connectAddr: 'localhost',
    connectProtocol: 'tcp',
    connectAttributes: { mode: 'memory', cache: 'private' },
    maxConns: 1,
    maxIdleConns: 1,
    maxConnLifetime: '1h',
  },
};
const IN_MEMORY = { runs: MEMORY, list: MEMORY };

/** What the dev server is given as well: activities start at once, and no timer waits for a second. */
const BASE: DynamicConfig = {
  'system.enableActivityEagerExecution': true,
  'history.timerProcessorMaxTimeShift': '50ms',
  // Search attributes that a worker has registered are known at once.
  'system.forceSearchAttributesCacheRefreshOnRead': true,
};

/** The settings of a server, which all its processes share. */
export type ServerPlace = { readonly folder: string; readonly address: string };

export type Service = (typeof SERVICES)[number];

/** Some services of a server in one process. */
export type ServerProcess = {
  readonly hasEnded: () => boolean;
  /** Resolves when it is gone, for whatever reason. */
  readonly exited: Promise<unknown>;
  /** Of what it printed, the end. */
  readonly output: () => string;
  /** Ends it at once. */
  kill(): Promise<void>;
};

/**
 * Starts a server in memory with the namespace `default` and resolves when it serves requests.
 *
 * @param dynamicConfig settings of this server, by the names of Temporal's dynamic configuration
 * @throws Error with the end of its output when it does not come up
 */
export async function startTemporalServer(dynamicConfig: DynamicConfig = {}): Promise<TemporalServer> {
  const place = await makePlace({ stores: IN_MEMORY, shards: 1, dynamicConfig });
  const server = await startServices(place, SERVICES);
  const kill = async (): Promise<void> => {
    await server.kill();
    await rm(place.folder, { recursive: true, force: true });
  };
  try {
    await untilServing(place.address, [server]);
  } catch (error) {
    await kill();
    throw error;
  }
  return { address: place.address, kill };
}

/** @param options.stores where it keeps what runs did, and what its list shows */
export async function makePlace(options: {
  readonly stores: { readonly runs: object; readonly list: object };
  readonly shards: number;
  readonly dynamicConfig: DynamicConfig;
}): Promise<ServerPlace> {
  const folder = await mkdtemp(join(tmpdir(), 'cambist-temporal-'));
  const ports = await freePorts(2 * SERVICES.length);
  await mkdir(join(folder, 'config'));
  await writeFile(join(folder, 'config', 'test.yaml'), stringify(configOf(folder, ports, options)));
  await writeFile(join(folder, 'dynamic.yaml'), stringify(dynamicOf({ ...BASE, ...options.dynamicConfig })));
  return { folder, address: `${HOST}:${ports[0]}` };
}

/** Starts some services of a server, which ends with this process. It is not waited for. */
export async function startServices(
  { folder }: ServerPlace,
  services: readonly Service[],
): Promise<ServerProcess> {
  const executable = await ensureTemporalServer();
  const asked = ['--root', folder, '--config', 'config', '--env', 'test', '--allow-no-auth', 'start'];
  const child = spawn(executable, [...asked, ...services.map((name) => `--service=${name}`)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const endWithUs = (): boolean => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  const exited = once(child, 'exit').then(() => process.removeListener('exit', endWithUs));
  return {
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
    exited,
    output: keepOutput(child),
    kill: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}

/** Four services on loopback. */
function configOf(
  folder: string,
  ports: readonly number[],
  { stores, shards }: Pick<Parameters<typeof makePlace>[0], 'stores' | 'shards'>,
): object {
  const services = SERVICES.map((name, index) => [
    name,
    {
      rpc: {
        grpcPort: ports[2 * index],
        membershipPort: ports[2 * index + 1],
        bindOnLocalHost: true,
      },
    },
  ]);
  return {
    log: { stdout: true, level: 'error' },
    persistence: {
      defaultStore: 'default',
      visibilityStore: 'visibility',
      numHistoryShards: shards,
      datastores: { default: stores.runs, visibility: stores.list },
    },
    global: { membership: { maxJoinDuration: '30s', broadcastAddress: HOST } },
    services: Object.fromEntries(services),
    clusterMetadata: {
      enableGlobalNamespace: false,
      failoverVersionIncrement: 10,
      masterClusterName: 'active',
      currentClusterName: 'active',
      clusterInformation: {
        active: {
          enabled: true,
          initialFailoverVersion: 1,
          rpcName: 'frontend',
          rpcAddress: `${HOST}:${ports[0]}`,
        },
      },
    },
    dcRedirectionPolicy: { policy: 'noop' },
    dynamicConfigClient: { filepath: join(folder, 'dynamic.yaml'), pollInterval: '10s' },
  };
}

function dynamicOf(settings: DynamicConfig): object {
  return Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, [{ value }]]));
}

/** Free ports, each another one. */
async function freePorts(count: number): Promise<readonly number[]> {
  const ports = new Set<number>();
  while (ports.size < count) ports.add(await freePort());
  return [...ports];
}

function keepOutput(child: ChildProcess): () => string {
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output = (output + text).slice(-KEPT_OUTPUT);
    });
  return () => output;
}

/**
 * Makes the namespace as soon as it can be made, and waits until it is known.
 *
 * @throws Error with the end of the output of each process when one of them ends, or none answers
 */
export async function untilServing(address: string, processes: readonly ServerProcess[]): Promise<void> {
  let last: unknown = 'one of its processes ended';
  for (let tries = 0; tries < START_TRIES && !processes.some((one) => one.hasEnded()); tries += 1) {
    try {
      const connection = await Connection.connect({ address, connectTimeout: 1_000 });
      try {
        await haveNamespace(connection);
        return;
      } finally {
        await connection.close();
      }
    } catch (error) {
      last = error;
    }
    // Nothing tells that it listens.
    await delay(TRY_EVERY_MS);
  }
  const output = processes.map((one) => one.output()).join('\n');
  throw new Error(`The Temporal server does not serve: ${String(last)}\n${output}`, { cause: last });
}

/** `ALREADY_EXISTS` of gRPC's codes. */
const isAlreadyThere = (code: number): boolean => code === 6;

async function haveNamespace({ workflowService }: Connection): Promise<void> {
  const workflowExecutionRetentionPeriod = msToTs(RETENTION_MS);
  try {
    await workflowService.registerNamespace({ namespace: 'default', workflowExecutionRetentionPeriod });
  } catch (error) {
    // An earlier try has made it.
    if (!isGrpcServiceError(error) || !isAlreadyThere(error.code)) throw error;
  }
  await workflowService.listOpenWorkflowExecutions({ namespace: 'default' });
}
