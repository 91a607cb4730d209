/**
 * A whole stage for end-to-end tests: the sandbox over real HTTP with real signatures, a real Temporal dev server, and
 * a worker in this process. Each stage has its own organisation, task queue and policies, so that files can run side
 * by side on one server.
 */
import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Runtime, DefaultLogger } from '@temporalio/worker';
import type { WorkflowHandle } from '@temporalio/client';
import type { Report } from '../../domain/report.ts';
import { workflowIdOf, type RunName } from '../../domain/references.ts';
import { todayIn } from '../../language/business-date.ts';
import { loadPolicy } from '../../language/load-policy.ts';
import { generateKey } from '../../sandbox/keys.ts';
import { startSandbox, type Sandbox, type SandboxOptions } from '../../sandbox/server.ts';
import { loadSettings } from '../../worker/config.ts';
import { connectTemporal, type Temporal } from '../../worker/temporal.ts';
import { startWorker, type RunningWorker, type WorkerOptions } from '../../worker/worker.ts';
import {
  RUN_TYPE,
  modeAttribute,
  policyAttribute,
  reportQuery,
  type RunInput,
} from '../../workflows/names.ts';
import { testServerAddress, uniqueName } from './dev-server.ts';

try {
  Runtime.install({ logger: new DefaultLogger('ERROR') });
} catch {
  // Another stage of this file has installed it.
}

export type Stage = {
  readonly sandbox: Sandbox;
  readonly temporal: Temporal;
  /** The environment of a worker or command on this stage. */
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  startWorker(options?: Partial<WorkerOptions>): Promise<StageWorker>;
  /** Starts a run of a policy's text; its name is made unique. */
  start(policyText: string, options?: { readonly id?: string; readonly name?: string }): Promise<Run>;
  close(): Promise<void>;
};

export type StageWorker = RunningWorker & { readonly ended: Promise<void> };

export type Run = {
  readonly name: RunName;
  readonly input: RunInput;
  readonly handle: WorkflowHandle;
  /** Waits for the end, whatever it is, and reads the report. */
  report(): Promise<Report>;
};

/** Quick settlement and payment, and doubt that ends in seconds: everything else is as a user has it. */
const QUICK: NonNullable<SandboxOptions['settings']> = {
  settlementMs: { IMMEDIATE: 0, T0: 300, T1: 600, T2: 900 },
  withdrawalSteps: [{ status: 'PENDING', forMs: 200 }],
};
const SERVICE_FILE = 'settle_doubt: { trade: 2s, withdrawal: 4s }\n';

export async function openStage(
  options: SandboxOptions & { readonly serviceFile?: string; readonly temporalAddress?: string } = {},
): Promise<Stage> {
  const { serviceFile = SERVICE_FILE, temporalAddress, ...sandboxOptions } = options;
  const folder = await mkdtemp(join(tmpdir(), 'cambist-test-'));
  const key = generateKey();
  const sandbox = await startSandbox({
    ...sandboxOptions,
    settings: { ...QUICK, ...sandboxOptions.settings },
    keys: [{ name: key.name, publicKeyPem: key.publicKeyPem, scope: 'write', mode: 'SANDBOX' }],
  });
  const keyFile = join(folder, 'key.json');
  const facts = join(folder, 'service.yaml');
  await writeFile(keyFile, JSON.stringify({ name: key.name, privateKey: key.privateKeyPem }), {
    mode: 0o600,
  });
  await writeFile(facts, serviceFile);
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    TZ: 'UTC',
    CAMBIST_BASE_URL: sandbox.baseUrl,
    CAMBIST_KEY_FILE: keyFile,
    CAMBIST_APP_MODE: 'SANDBOX',
    CAMBIST_SERVICE_FILE: facts,
    CAMBIST_TASK_QUEUE: uniqueName('queue'),
    TEMPORAL_ADDRESS: temporalAddress ?? (await testServerAddress()),
  };
  const temporal = await connectTemporal(env);
  const workers: StageWorker[] = [];
  return {
    sandbox,
    temporal,
    env,
    folder,
    startWorker: async (more = {}) => {
      const worker = await startWorker({ settings: await loadSettings(env, folder), env, ...more });
      const running = { ...worker, ended: worker.run() };
      workers.push(running);
      return running;
    },
    start: (policyText, { id, name } = {}) => startRun({ temporal, env, policyText, id, name }),
    close: async () => {
      for (const worker of workers) stop(worker);
      await Promise.allSettled(workers.map((worker) => worker.ended));
      await temporal.connection.close();
      await sandbox.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function stop(worker: StageWorker): void {
  try {
    worker.shutdown();
  } catch {
    // It has stopped already.
  }
}

async function startRun(options: {
  readonly temporal: Temporal;
  readonly env: NodeJS.ProcessEnv;
  readonly policyText: string;
  readonly id: string | undefined;
  readonly name: string | undefined;
}): Promise<Run> {
  const { temporal, env } = options;
  const name = options.name ?? uniqueName('p');
  const policyText = options.policyText.replace(/^name: .*$/m, `name: ${name}`);
  const loaded = loadPolicy(policyText, 'policy.yaml');
  const zone = loaded.ok ? loaded.policy.zone : 'UTC';
  const run: RunName = { policy: name, id: options.id ?? todayIn(zone, Date.now()) };
  const input: RunInput = {
    run,
    mode: 'SANDBOX',
    policyText,
    policyHash: createHash('sha256').update(policyText).digest('hex'),
    policyFile: 'policy.yaml',
    files: {},
  };
  const workflowId = workflowIdOf('SANDBOX', run);
  await temporal.client.workflow.start(RUN_TYPE, {
    workflowId,
    taskQueue: env['CAMBIST_TASK_QUEUE'] ?? '',
    args: [input],
    workflowIdConflictPolicy: 'USE_EXISTING',
    typedSearchAttributes: [
      { key: policyAttribute, value: name },
      { key: modeAttribute, value: 'SANDBOX' },
    ],
  });
  const handle = temporal.client.workflow.getHandle(workflowId);
  return {
    name: run,
    input,
    handle,
    report: async () => {
      await handle.result().catch(() => undefined);
      return handle.query(reportQuery);
    },
  };
}
