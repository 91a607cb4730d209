/** `cambist sandbox`: runs the sandbox, a service to try things against, until a signal. */
import type { Command } from 'commander';
import { BadInput } from '../../sandbox/checks.ts';
import { runSandbox, type RunSandboxOptions, type RunningSandbox } from '../../sandbox/main.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { Ending } from '../../domain/endings.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { nonEmpty, port } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { sayReady } from '../terminal/ready.ts';
import { requireFree } from './port-holder.ts';

type SandboxOptions = JsonOption & {
  readonly port?: number;
  readonly adminPort?: number;
  readonly keyFile: string;
  readonly state?: string;
};

export function addSandbox(command: Command, session: Session): void {
  command
    .description(
      'Runs the sandbox until Ctrl-C: a service with a ledger of its own, on this machine only. Prints one line `ready` ' +
        'with its address and that of its admin interface (balances, rates, accounts, faults, clock, ledger).',
    )
    .option('--port <port>', 'port of the service; default: 7300, or a free one', port)
    .option('--admin-port <port>', 'port of the admin interface; default: 7301, or a free one', port)
    .option('--key-file <file>', 'API key record, made when missing', nonEmpty, '.cambist/key.json')
    .option('--state <file>', 'a file in which its state outlives it; default: in memory', nonEmpty)
    .action((options: SandboxOptions) => act(session, options, (output) => serveSandbox(output, options)));
  teach(command, {
    examples: ['npx cambist sandbox', 'npx cambist sandbox --port 9000 --state .cambist/sandbox.json --json'],
    endings: ['done', 'infrastructure'],
  });
}

async function serveSandbox(output: Output, options: SandboxOptions): Promise<Ending> {
  const { keyFile, state } = options;
  const running = await openSandbox({
    keyFile,
    ...(options.port !== undefined && { port: options.port }),
    ...(options.adminPort !== undefined && { adminPort: options.adminPort }),
    ...(state !== undefined && { statePath: state }),
  });
  const { baseUrl, adminUrl } = running.sandbox;
  sayReady(output, 'sandbox', { baseUrl, adminUrl, keyFile, pid: process.pid });
  // The sandbox itself listens to signals.
  await running.stopped;
  return 'done';
}

export const USUAL_PORT = 7300;
const USUAL_ADMIN_PORT = 7301;

/**
 * Opens the sandbox on the ports that the person asked for, otherwise on the usual ones, otherwise on free ones. Prints
 * nothing.
 */
export async function openSandbox(options: RunSandboxOptions): Promise<RunningSandbox> {
  const quiet = { ...options, write: () => {} };
  try {
    return await runSandbox({ port: USUAL_PORT, adminPort: USUAL_ADMIN_PORT, ...quiet });
  } catch (error) {
    if (error instanceof BadInput) {
      const { message } = error;
      throw new CommandFailure('bad input', [
        { code: 'SANDBOX_INPUT', place: 'sandbox', message, fix: 'Correct it, then start again.' },
      ]);
    }
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    await requireFree(options.port, 'npx cambist sandbox --port 0');
    await requireFree(options.adminPort, 'npx cambist sandbox --admin-port 0');
    return runSandbox({ port: 0, adminPort: 0, ...quiet });
  }
}
