/** `cambist worker`: runs one worker until a signal. The worker finishes calls that move money before it ends. */
import { hostname } from 'node:os';
import { setFlagsFromString } from 'node:v8';
import { DefaultLogger, Runtime, type RuntimeOptions } from '@temporalio/worker';
import type { Command } from 'commander';
import { loadSettings } from '../../config/config.ts';
import { ConfigurationError } from '../../config/errors.ts';
import { withDevEnvironment } from '../../config/dev-environment.ts';
import { openTraces } from '../../config/traces.ts';
import { unsentText } from '../../config/traces/unsent.ts';
import { workerIdentity } from '../../operations/watch/worker-identity.ts';
import { metricsServedAt } from '../../worker/metrics.ts';
import { startWorker } from '../../worker/worker.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { Ending } from '../../domain/endings.ts';
import type { Output } from '../terminal/output.ts';
import { sayReady } from '../terminal/ready.ts';
import { logLine, logRecord } from '../views/worker-log.ts';
import { packageVersion } from './version.ts';

export function addWorker(command: Command, session: Session): void {
  command
    .description(
      'Runs a worker until Ctrl-C. Prints one line `ready` when it takes work. It finishes the calls under way before ' +
        'it ends; killing it is safe too. With --json its log on stderr is one JSON record a line.',
    )
    .action((options: JsonOption) => act(session, options, work));
  teach(command, {
    examples: [
      'npx cambist worker',
      'CAMBIST_APP_MODE=SANDBOX CAMBIST_KEY_FILE=key.json … npx cambist worker --json',
    ],
    endings: ['done', 'configuration', 'infrastructure'],
  });
}

/** The worker waits this long for its server, since it is often started first. */
const PATIENCE_MS = 120_000;

/**
 * How much each heap of the process (the one of the workflows too) may grow before its old space is collected again. V8 by
 * itself lets a heap grow to several times what is in use, and that is most of the memory of a worker with a large batch.
 */
const HEAP_GROWS_BY_PERCENT = 30;

/** @throws ConfigurationError when the address of the metrics cannot be had */
function installRuntime(options: RuntimeOptions, address: string | null): void {
  try {
    Runtime.install(options);
  } catch (error) {
    if (address === null) throw error;
    throw new ConfigurationError([
      {
        code: 'METRICS_UNSERVED',
        item: null,
        message: `CAMBIST_METRICS is "${address}", and the worker cannot show its metrics there: ${error instanceof Error ? error.message : String(error)}.`,
        fix: 'Give each worker of this machine a port of its own, which no other program uses.',
      },
    ]);
  }
}

async function work(output: Output): Promise<Ending> {
  setFlagsFromString(`--heap-growing-percent=${HEAP_GROWS_BY_PERCENT}`);
  const { io } = output;
  const env = await withDevEnvironment(io.env, io.cwd);
  const settings = await loadSettings(env, io.cwd);
  for (const warning of settings.warnings) output.note(`warning: ${warning}`);
  // The SDK's runtime also listens to signals, and shuts the worker down on the first one.
  const logger = new DefaultLogger('WARN', (entry) => output.log(logLine(entry), logRecord(entry)));
  // The SDK's native part would write to the console by itself, in colours and in a form of its own.
  const logging = { forward: {}, filter: { core: 'WARN', other: 'ERROR' } } as const;
  const { metricsAddress } = settings;
  installRuntime(
    { logger, telemetryOptions: { logging, ...metricsServedAt(metricsAddress) } },
    metricsAddress,
  );
  const patience = { ms: PATIENCE_MS, say: (message: string) => logger.warn(message) };
  const traces = await openTraces(env, { say: (trouble) => logger.warn(unsentText(trouble)) });
  const identity = workerIdentity(packageVersion(), { pid: process.pid, host: hostname() });
  const worker = await startWorker({
    settings,
    env,
    patience,
    identity,
    note: (code, problem) => logger.warn(`${code}: ${problem}`),
    ...(metricsAddress !== null && {
      metrics: { meter: Runtime.instance().metricMeter, version: packageVersion() },
    }),
    ...(traces !== null && { traces: (await import('../../worker/traces.ts')).tracesOfWorker(traces) }),
  });
  const ended = worker.run();
  sayReady(output, 'worker', {
    service: `${settings.address.origin}${settings.address.basePath}`,
    mode: settings.mode,
    temporal: worker.address,
    namespace: worker.namespace,
    taskQueue: worker.taskQueue,
    pid: process.pid,
    ...(worker.journal !== null && { journal: worker.journal }),
    ...(settings.build !== null && { build: settings.build.id }),
    ...(metricsAddress !== null && { metrics: `http://${metricsAddress}/metrics` }),
  });
  if (worker.trouble !== null) {
    const { code, message, fix } = worker.trouble;
    logger.warn(`${code}: ${message}. ${fix}`);
  }
  try {
    await ended;
  } finally {
    await traces?.close();
  }
  return 'done';
}
