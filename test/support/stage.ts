/**
 * A whole stage for end-to-end tests: the sandbox over real HTTP with real signatures, a real Temporal dev server, and
 * a worker in this process. Each stage has its own organisation, task queue and policies, so that files can run side
 * by side on one server, and many runs side by side on one stage.
 */
import { readReport } from '../../domain/run/report.ts';
import assert from 'node:assert/strict';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Runtime, makeTelemetryFilterString } from '@temporalio/worker';
import { globalHandlers } from '@temporalio/worker/lib/workflow/vm-shared.js';
import type { WorkflowHandle } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import type { Report } from '../../domain/run/report.ts';
import type { Mode } from '../../domain/service/records.ts';
import { runPrefix, workflowIdOf, type RunName } from '../../domain/references.ts';
import { todayIn } from '../../calendar/business-date.ts';
import { loadPolicy } from '../../language/policy/load-policy.ts';
import { policyHash } from '../../language/policy/policy-hash.ts';
import { generateKey } from '../../sandbox/keys.ts';
import { startSandbox, type FaultEffect, type Sandbox, type SandboxOptions } from '../../sandbox/server.ts';
import { loadSettings } from '../../config/config.ts';
import { connectTemporal, type Temporal } from '../../config/temporal.ts';
import { freePort } from '../../worker/dev-server.ts';
import { startWorker, type RunningWorker, type WorkerOptions } from '../../worker/worker.ts';
import { RUN_TYPE, chunkIdOf, modeAttribute, policyAttribute, reportQuery } from '../../workflows/names.ts';
import type { RunInput } from '../../domain/run/calls.ts';
import { testServerAddress, uniqueName } from './dev-server.ts';
import { makeKeyFile } from '../../operations/seal-keys.ts';
import { ROOT } from './root.ts';
import { openTlsDoor } from './tls-door.ts';
import { PassingTime, wakeable } from './passing-time.ts';
import { Patience } from './patience.ts';
import { patiently } from './patiently.ts';
import { Follower, ListeningLogger } from './shown.ts';

try {
  // What Temporal's own core warns of belongs to these tests: runs that are reset while a worker is at work on them.
  // Not forwarded: that would keep a process alive that starts no worker.
  Runtime.install({
    // A signal ends the process. It does not only end its workers, for which tests would then wait.
    shutdownSignals: [],
    logger: new ListeningLogger(),
    telemetryOptions: {
      logging: { console: {}, filter: makeTelemetryFilterString({ core: 'ERROR', other: 'ERROR' }) },
    },
  });
} catch {
  // This file's own test has installed one, and nobody hears what is shown.
}

export type StageOptions = SandboxOptions & {
  /** Text of the operator's service file. */
  readonly serviceFile?: string;
  /** host:port of Temporal; absent: the server that the tests share. */
  readonly temporalAddress?: string;
  /** Time passes while a test waits for a run; for stages whose workers are all in this process. Default: false. */
  readonly timePasses?: boolean;
  /** Default: SANDBOX. LIVE: the service has live books, and Temporal is reached by a secured door. */
  readonly mode?: Mode;
  /** What Temporal keeps is sealed, by keys of the stage's own. Default: in LIVE. */
  readonly sealed?: boolean;
};

export type Stage = {
  /** The service; after `reopenSandbox` another one at the same address, with the same records. */
  readonly sandbox: Sandbox;
  readonly temporal: Temporal;
  /** The environment of a worker or command on this stage. */
  readonly env: NodeJS.ProcessEnv;
  readonly folder: string;
  /** Of the workers in this process, and of the service. */
  readonly time: PassingTime;
  /** Lets time pass for the run of this workflow id until `work` is done; for stages whose workers are all in this process. */
  during<T>(workflowId: string, work: () => Promise<T>): Promise<T>;
  /** `env` is what differs from the stage's own. */
  startWorker(options?: Partial<WorkerOptions>): Promise<StageWorker>;
  /** Starts a run of a policy's text; its name is made unique unless one is given. */
  start(policyText: string, options?: StartOptions): Promise<Run>;
  /** A run that somebody else has started. */
  find(policyText: string, options: StartOptions): Run;
  /** Starts a run and waits until its first write of this kind is held at the service. */
  startHeld(policyText: string, operation: Write, how: HoldOptions): Promise<Held>;
  /** Switches the API key of the stage off and on at the service. */
  setKeyActive(active: boolean): void;
  /** Takes the service away; `reopenSandbox` brings it back as it was. */
  closeSandbox(): Promise<void>;
  reopenSandbox(): Promise<void>;
  close(): Promise<void>;
};

export type StartOptions = {
  readonly name?: string;
  /** Texts of the files that the policy names. */
  readonly files?: Readonly<Record<string, string>>;
  readonly id?: string;
  readonly taskQueue?: string;
};

/** The writes that move money. */
export const WRITES = ['createTrade', 'createWithdrawal'] as const;
export type Write = (typeof WRITES)[number];

export type HoldOptions = {
  /** Before or after the service has booked it. */
  readonly when: 'before' | 'after';
  /** What happens to the reply once it is let go; absent: nothing. */
  readonly reply?: FaultEffect;
  readonly taskQueue?: string;
};

/** A run one write of which is held at the service until it is let go. */
export type Held = { readonly run: Run; readonly release: () => void };

export type StageWorker = RunningWorker & { readonly ended: Promise<void> };

/** One request as the service's log has it. */
export type Logged = ReturnType<Sandbox['requests']>[number];

/** What moved at the service under the references of one run, newest first, as its own ledger has it. */
export type Movements = {
  readonly trades: readonly Readonly<Record<string, unknown>>[];
  readonly withdrawals: readonly Readonly<Record<string, unknown>>[];
};

export type Run = {
  readonly name: RunName;
  readonly input: RunInput;
  /** Of the newest Temporal run of this id. */
  readonly handle: WorkflowHandle;
  /** Starts the same run again, as `cambist run` does; `more` is what differs. */
  startAgain(more?: Partial<RunInput>): Promise<void>;
  /** Waits for the end, whatever it is, and reads the report. */
  report(): Promise<Report>;
  /** The report as it stands. */
  now(): Promise<Report>;
  /** The report as soon as it is like this. */
  until(what: (report: Report) => boolean): Promise<Report>;
  /** The report as soon as the run is held by a problem of this code. */
  heldBy(code: string): Promise<Report>;
  /** Ends its waits: it looks at once. */
  wake(): Promise<void>;
  movements(): Movements;
  /** The trades and withdrawals that were sent, oldest first. */
  writes(): readonly Logged[];
};

/** What live workers ask for at least. */
const LIVE_RETENTION_DAYS = 30;
const DAY_MS = 86_400_000;

/** So long Temporal keeps what has ended. */
export async function keepFor({ client, namespace }: Temporal, days: number): Promise<void> {
  const config = { workflowExecutionRetentionTtl: msToTs(days * DAY_MS) };
  await client.workflowService.updateNamespace({ namespace, config });
}

/** Quick settlement and payment, doubt that ends in seconds, trades of any size: everything else is as a user has it. */
const QUICK: NonNullable<SandboxOptions['settings']> = {
  settlementMs: { IMMEDIATE: 0, T0: 300, T1: 600, T2: 900 },
  withdrawalSteps: [{ status: 'PENDING', forMs: 200 }],
  // Runs that wait for money ask for more than anybody has.
  maxTradeUsd: '1000000000000',
};
const SERVICE_FILE = 'list_lag: 1s\nsettle_doubt: { trade: 2s, withdrawal: 4s }\n';

export async function openStage(options: StageOptions = {}): Promise<Stage> {
  const {
    serviceFile = SERVICE_FILE,
    temporalAddress,
    timePasses = false,
    mode = 'SANDBOX',
    sealed = mode === 'LIVE',
    ...sandboxOptions
  } = options;
  const folder = await mkdtemp(join(tmpdir(), 'cambist-test-'));
  const key = generateKey();
  const apiKey = { name: key.name, publicKeyPem: key.publicKeyPem, scope: 'write', mode } as const;
  const openSandbox = (port: number): Promise<Sandbox> =>
    startSandbox({
      statePath: join(folder, 'sandbox.json'),
      ...sandboxOptions,
      port,
      settings: { ...QUICK, ...sandboxOptions.settings },
      keys: [apiKey],
    });
  let sandbox = await openSandbox(await freePort());
  const keyFile = join(folder, 'key.json');
  // In live the folder is also that of the policies, which has no file *.yaml of another kind.
  const facts = join(folder, mode === 'LIVE' ? 'service.facts' : 'service.yaml');
  await writeFile(keyFile, JSON.stringify({ name: key.name, privateKey: key.privateKeyPem }), {
    mode: 0o600,
  });
  await writeFile(facts, serviceFile);
  const sealKeys = join(folder, 'seal.json');
  if (sealed) await makeKeyFile(sealKeys, Date.now());
  const plainAddress = temporalAddress ?? (await testServerAddress());
  const door = mode === 'LIVE' ? await openTlsDoor(plainAddress, folder) : null;
  const env: NodeJS.ProcessEnv = {
    PATH: process.env['PATH'],
    TZ: 'UTC',
    CAMBIST_BASE_URL: sandbox.baseUrl,
    CAMBIST_KEY_FILE: keyFile,
    CAMBIST_APP_MODE: mode,
    CAMBIST_SERVICE_FILE: facts,
    CAMBIST_TASK_QUEUE: uniqueName('queue'),
    TEMPORAL_ADDRESS: plainAddress,
    ...door?.place,
    ...door?.identity,
    ...(sealed && { CAMBIST_SEAL_KEYS: sealKeys }),
  };
  const policies = mode === 'LIVE' ? await ownPolicies(folder) : {};
  const temporal = await connectTemporal(env, mode);
  if (mode === 'LIVE') await keepFor(temporal, LIVE_RETENTION_DAYS);
  const workers: StageWorker[] = [];
  const time = new PassingTime((ms) => void sandbox.clock.advance(ms));
  const queues = new Set([env['CAMBIST_TASK_QUEUE'] ?? '']);
  const stage: Stage = {
    get sandbox() {
      return sandbox;
    },
    temporal,
    env,
    folder,
    time,
    during: (workflowId, work) => time.during(wakeable(temporal.client.workflow.getHandle(workflowId)), work),
    startWorker: async ({ env: more = {}, ...rest } = {}) => {
      const ownEnv = { ...env, ...policies, ...more };
      const settings = await loadSettings(ownEnv, folder);
      const { clock, interceptors } = time;
      // Workflows of a debugged worker run in the thread of the test: another one costs as much as a whole run.
      const temporalOptions = { interceptors, debugMode: true };
      const worker = await startWorker({ settings, env: ownEnv, clock, temporal: temporalOptions, ...rest });
      // For the thread of a worker, which would note the stack of every promise here.
      globalHandlers.uninstall();
      const running = { ...worker, ended: worker.run() };
      workers.push(running);
      return running;
    },
    start: async (policyText, started = {}) => {
      const run = stage.find(policyText, started);
      await run.startAgain();
      return run;
    },
    find: (policyText, started) => {
      if (started.taskQueue !== undefined) queues.add(started.taskQueue);
      return runOn(stage, policyText, { ...started, timePasses });
    },
    startHeld: async (policyText, operation, { when, reply, ...started }) => {
      const name = uniqueName('p');
      const meets = { operation, times: 1, when: { reference: `${name}.*` } } as const;
      const held = sandbox.addFault({ ...meets, effect: { kind: 'hold', when } });
      if (reply !== undefined) sandbox.addFault({ ...meets, effect: reply });
      const run = await stage.start(policyText, { ...started, name });
      await sandbox.faultHit(held);
      return { run, release: () => sandbox.releaseFaults(held) };
    },
    setKeyActive: (active) => sandbox.putKey({ ...apiKey, active }),
    closeSandbox: () => sandbox.close(),
    reopenSandbox: async () => {
      sandbox = await openSandbox(Number(new URL(sandbox.baseUrl).port));
    },
    close: async () => {
      await time.atRest();
      await Promise.all([...queues].map((queue) => terminateAll(temporal, queue)));
      for (const worker of workers) stop(worker);
      await Promise.allSettled(workers.map((worker) => worker.ended));
      await temporal.connection.close();
      await door?.close();
      await sandbox.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return stage;
}

/** The folder of the stage is also the one by which its workers send. A worker does not start where it has no policy. */
async function ownPolicies(folder: string): Promise<NodeJS.ProcessEnv> {
  await copyFile(join(ROOT, 'policies/live-shaped.yaml'), join(folder, 'live-shaped.yaml'));
  await mkdir(join(folder, 'revoked'), { recursive: true });
  for (const name of ['approvals.yaml', 'ceilings.yaml'])
    await copyFile(join(ROOT, 'policies', name), join(folder, name));
  return { CAMBIST_POLICIES: folder };
}

/** Nobody serves them any more: others on the same server would ask them in vain. */
async function terminateAll({ client }: Temporal, taskQueue: string): Promise<void> {
  const query = `TaskQueue = '${taskQueue}' AND ExecutionStatus = 'Running'`;
  try {
    for await (const { workflowId, runId } of client.workflow.list({ query }))
      await client.workflow
        .getHandle(workflowId, runId)
        .terminate('the test is over')
        .catch(() => undefined);
  } catch {
    // A server that the test has killed.
  }
}

function stop(worker: StageWorker): void {
  try {
    worker.shutdown();
  } catch {
    // It has stopped already.
  }
}

function runOn(
  stage: Stage,
  policyTemplate: string,
  options: StartOptions & { readonly timePasses: boolean },
): Run {
  const name = options.name ?? uniqueName('p');
  const policyText = policyTemplate.replace(/^name: .*$/m, `name: ${name}`);
  const loaded = loadPolicy(policyText, 'policy.yaml');
  const zone = loaded.ok ? loaded.policy.zone : 'UTC';
  const run: RunName = { policy: name, id: options.id ?? todayIn(zone, Date.now()) };
  const input: RunInput = {
    run,
    mode: 'SANDBOX',
    policyText,
    policyHash: policyHash(policyText) ?? '',
    policyFile: 'policy.yaml',
    files: options.files ?? {},
    startedBy: 'ana',
  };
  const { client } = stage.temporal;
  const workflowId = workflowIdOf('SANDBOX', run);
  const handle = client.workflow.getHandle(workflowId);
  const isOurs = (text: unknown) => typeof text === 'string' && text.startsWith(runPrefix(run));
  const pageOfChunk = (number: number) => (offset: number) =>
    client.workflow.getHandle(chunkIdOf('SANDBOX', run, number)).query(reportQuery, offset);
  const now = (): Promise<Report> =>
    patiently(() => readReport((offset) => handle.query(reportQuery, offset), pageOfChunk));
  const waits = wakeable(handle);
  const waiting = <T>(work: () => Promise<T>): Promise<T> =>
    options.timePasses ? stage.time.during(waits, work) : work();
  /** As long as the run goes on, or the service is asked for anything. */
  const patienceWith = (follower: Follower): Patience =>
    new Patience(async () => {
      const events = await handle.describe().then(
        ({ historyLength }) => historyLength,
        () => null,
      );
      return [follower.count, stage.sandbox.requests().at(-1)?.seq, events].join(' ');
    });
  const following = async <T>(work: (follower: Follower) => Promise<T>): Promise<T> => {
    const follower = new Follower(workflowId);
    try {
      return await waiting(() => work(follower));
    } finally {
      follower.close();
    }
  };
  const until: Run['until'] = (what) =>
    following(async (follower) => {
      const patience = patienceWith(follower);
      for (;;) {
        // One look after the other.
        const report = await now();
        if (what(report)) return report;
        if (await patience.isOver()) failStuck(workflowId, report);
        await follower.next();
      }
    });
  return {
    name: run,
    input,
    handle,
    startAgain: async (more = {}) => {
      await client.workflow.start(RUN_TYPE, {
        workflowId,
        taskQueue: options.taskQueue ?? stage.env['CAMBIST_TASK_QUEUE'] ?? '',
        args: [{ ...input, ...more }],
        workflowIdConflictPolicy: 'USE_EXISTING',
        typedSearchAttributes: [
          { key: policyAttribute, value: name },
          { key: modeAttribute, value: 'SANDBOX' },
        ],
      });
    },
    report: async () => {
      const ends = (follower: Follower) => patienceWith(follower).lastsFor(handle.result());
      if (!(await following(ends))) failStuck(workflowId, await now());
      return now();
    },
    now,
    until,
    heldBy: (code) =>
      until((report) => report.status === 'HELD' && report.problems.some((problem) => problem.code === code)),
    wake: waits.wake,
    movements: () => {
      const { trades, withdrawals } = stage.sandbox.ledger();
      return {
        trades: trades.filter((trade) => isOurs(trade['clientReferenceId'])),
        withdrawals: withdrawals.filter(({ metadata }) =>
          isOurs((metadata as Readonly<Record<string, unknown>> | null)?.['cambist']),
        ),
      };
    },
    writes: () => stage.sandbox.requests().filter((entry) => isOurs(entry.reference)),
  };
}

function failStuck(workflowId: string, report: Report): never {
  assert.fail(`Run ${workflowId} got stuck: ${JSON.stringify(report, null, 2)}`);
}

/** The run converted and paid everything, and the service booked each movement exactly once. */
export function assertDoneOnce(run: Run, report: Report): void {
  assert.equal(report.status, 'COMPLETED', JSON.stringify(report, null, 2));
  const { trades, withdrawals } = run.movements();
  assert.deepEqual(
    trades.map((trade) => trade['id']),
    report.legs.map((leg) => leg.tradeId),
  );
  assert.equal(withdrawals.length, report.payments.length);
  assert.deepEqual(
    new Set(withdrawals.map((withdrawal) => withdrawal['id'])),
    new Set(report.payments.map((payment) => payment.withdrawalId)),
  );
}

/** The service booked nothing for the run. */
export function assertNothingMoved(run: Run): void {
  assert.deepEqual(run.movements(), { trades: [], withdrawals: [] });
}
