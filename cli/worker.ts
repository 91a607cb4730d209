/** `cambist worker`: one worker, until a signal. Calls that move money are finished before it ends. */
import { DefaultLogger, Runtime, type LogEntry } from '@temporalio/worker';
import type { Command } from 'commander';
import { loadSettings } from '../worker/config.ts';
import { withDevEnvironment } from '../worker/dev-environment.ts';
import { startWorker } from '../worker/worker.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import type { Ending } from './exit-codes.ts';
import type { Output } from './output.ts';
import { sayReady } from './ready.ts';

export function addWorker(program: Command, session: Session): void {
  const command = program
    .command('worker')
    .summary('runs a worker')
    .description(
      'Runs a worker until Ctrl-C. Prints one line `ready` when it takes work. It finishes the calls under way before ' +
        'it ends; killing it is safe too.',
    )
    .action((options: JsonOption) => act(session, options, work));
  teach(command, {
    examples: [
      'cambist worker',
      'CAMBIST_APP_MODE=SANDBOX CAMBIST_KEY_FILE=key.json … cambist worker --json',
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
  for (const warning of settings.warnings) output.note(warning);
  // It also listens to signals, and shuts the worker down on the first one.
  Runtime.install({ logger: new DefaultLogger('WARN', (entry) => output.note(logLine(entry))) });
  const patience = { ms: PATIENCE_MS, say: (message: string) => output.note(message) };
  const worker = await startWorker({ settings, env, patience });
  const ended = worker.run();
  sayReady(output, 'worker', {
    service: `${settings.address.origin}${settings.address.basePath}`,
    mode: settings.mode,
    namespace: worker.namespace,
    taskQueue: worker.taskQueue,
    pid: process.pid,
  });
  await ended;
  return 'done';
}

/** One line per message; how a run failed is in its report, not in a stack trace here. */
function logLine({ level, message, meta }: LogEntry): string {
  const facts: Record<string, unknown> = { ...meta };
  const error = facts['error'] instanceof Error ? `: ${facts['error'].message.split('\n')[0] ?? ''}` : '';
  const workflowId = typeof facts['workflowId'] === 'string' ? ` ${facts['workflowId']}` : '';
  return `${level.toLowerCase()}${workflowId} ${message}${error}`;
}
