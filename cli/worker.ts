/** `cambist worker`: one worker, until a signal. Calls that move money are finished before it ends. */
import { DefaultLogger, Runtime } from '@temporalio/worker';
import type { Command } from 'commander';
import { loadSettings, withDevEnvironment } from '../worker/config.ts';
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

async function work(output: Output): Promise<Ending> {
  const { io } = output;
  const env = await withDevEnvironment(io.env, io.cwd);
  const settings = await loadSettings(env, io.cwd);
  for (const warning of settings.warnings) output.note(warning);
  // It also listens to signals, and shuts the worker down on the first one.
  Runtime.install({ logger: new DefaultLogger('WARN') });
  const worker = await startWorker({ settings, env });
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
