/** `cambist worker`: one worker, until a signal. Calls that move money are finished before it ends. */
import { hostname } from 'node:os';
import { DefaultLogger, Runtime, type LogEntry } from '@temporalio/worker';
import type { Command } from 'commander';
import { loadSettings } from '../../config/config.ts';
import { withDevEnvironment } from '../../config/dev-environment.ts';
import { workerIdentity } from '../../operations/worker-identity.ts';
import { startWorker } from '../../worker/worker.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { Ending } from '../../domain/endings.ts';
import type { Output } from '../terminal/output.ts';
import { sayReady } from '../terminal/ready.ts';
import { packageVersion } from './version.ts';

export function addWorker(command: Command, session: Session): void {
  command
    .description(
      'Runs a worker until Ctrl-C. Prints one line `ready` when it takes work. It finishes the calls under way before ' +
        'it ends; killing it is safe too.',
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

/** A worker is often started before its server is up. */
const PATIENCE_MS = 120_000;

async function work(output: Output): Promise<Ending> {
  const { io } = output;
  const env = await withDevEnvironment(io.env, io.cwd);
  const settings = await loadSettings(env, io.cwd);
  for (const warning of settings.warnings) output.note(`warning: ${warning}`);
  // It also listens to signals, and shuts the worker down on the first one.
  Runtime.install({ logger: new DefaultLogger('WARN', (entry) => output.note(logLine(entry))) });
  const patience = { ms: PATIENCE_MS, say: (message: string) => output.note(message) };
  const identity = workerIdentity(packageVersion(), { pid: process.pid, host: hostname() });
  const worker = await startWorker({ settings, env, patience, identity });
  const ended = worker.run();
  sayReady(output, 'worker', {
    service: `${settings.address.origin}${settings.address.basePath}`,
    mode: settings.mode,
    temporal: worker.address,
    namespace: worker.namespace,
    taskQueue: worker.taskQueue,
    pid: process.pid,
  });
  await ended;
  return 'done';
}

/** Levels of Temporal's log, as a person reads them. */
const LEVELS: Readonly<Record<string, string>> = { WARN: 'warning' };

/** One line per message; how a run failed is in its report, not in a stack trace here. */
function logLine({ level, message, meta }: LogEntry): string {
  const facts: Record<string, unknown> = { ...meta };
  const error = facts['error'] instanceof Error ? `: ${facts['error'].message.split('\n')[0] ?? ''}` : '';
  const workflowId = typeof facts['workflowId'] === 'string' ? ` ${facts['workflowId']}` : '';
  return `${LEVELS[level] ?? level.toLowerCase()}${workflowId} ${message}${error}`;
}
