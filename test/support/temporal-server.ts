/**
 * The real Temporal server, in memory, for tests of what the dev server does not have (pause of workflows, settings of a
 * cluster). It is built on demand and takes about ten minutes the first time, so that only machines ask for it.
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

/** Settings of the server by name; each holds for everything. */
type DynamicConfig = Readonly<Record<string, string | number | boolean>>;

const HOST = '127.0.0.1';
const SERVICES = ['frontend', 'matching', 'history', 'worker'] as const;
/** A cold start takes about a second; a busy machine takes many times that. */
const START_TRIES = 240;
const TRY_EVERY_MS = 250;
const RETENTION_MS = 86_400_000;
/** Of what it printed, the end, which tells why it did not start. */
const KEPT_OUTPUT = 4_000;

/** What the dev server is given as well: activities start at once, and no timer waits for a second. */
const BASE: DynamicConfig = {
  'system.enableActivityEagerExecution': true,
  'history.timerProcessorMaxTimeShift': '50ms',
  // Search attributes that a worker has registered are known at once.
  'system.forceSearchAttributesCacheRefreshOnRead': true,
};

/**
 * Starts a server with the namespace `default` and resolves when it serves requests.
 *
 * @param dynamicConfig settings of this server, by the names of Temporal's dynamic configuration
 * @throws Error with the end of its output when it does not come up
 */
export async function startTemporalServer(dynamicConfig: DynamicConfig = {}): Promise<TemporalServer> {
  const executable = await ensureTemporalServer();
  const folder = await mkdtemp(join(tmpdir(), 'cambist-temporal-'));
  const ports = await freePorts(2 * SERVICES.length);
  const address = `${HOST}:${ports[0]}`;
  await mkdir(join(folder, 'config'));
  await writeFile(join(folder, 'config', 'test.yaml'), stringify(configOf(folder, ports)));
  await writeFile(join(folder, 'dynamic.yaml'), stringify(dynamicOf({ ...BASE, ...dynamicConfig })));
  const asked = ['--root', folder, '--config', 'config', '--env', 'test', '--allow-no-auth', 'start'];
  const child = spawn(executable, asked, { stdio: ['ignore', 'pipe', 'pipe'] });
  const endWithUs = (): boolean => child.kill('SIGKILL');
  process.once('exit', endWithUs);
  const exited = once(child, 'exit');
  const kill = async (): Promise<void> => {
    process.removeListener('exit', endWithUs);
    child.kill('SIGKILL');
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  const output = keepOutput(child);
  try {
    await untilServing(child, address);
  } catch (error) {
    await kill();
    throw new Error(`The Temporal server did not start: ${String(error)}\n${output()}`, { cause: error });
  }
  return { address, kill };
}

/** Four services on loopback, and stores in memory that end with the process. */
function configOf(folder: string, ports: readonly number[]): object {
  const store = {
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
      numHistoryShards: 1,
      datastores: { default: store, visibility: store },
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

/** Makes the namespace as soon as it can be made, and waits until it is known. */
async function untilServing(child: ChildProcess, address: string): Promise<void> {
  let last: unknown = null;
  for (let tries = 0; tries < START_TRIES; tries += 1) {
    if (child.exitCode !== null) throw new Error(`it ended with exit code ${child.exitCode}`);
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
  throw new Error(`it does not answer: ${String(last)}`);
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
