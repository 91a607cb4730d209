/** `cambist sandbox`: the service to try things against, until a signal. */
import type { Command } from 'commander';
import { runSandbox, type RunSandboxOptions, type RunningSandbox } from '../sandbox/main.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import type { Ending } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import { nonEmpty, port } from './options.ts';
import type { Output } from './output.ts';
import { sayReady } from './ready.ts';

type SandboxOptions = JsonOption & {
  readonly port?: number;
  readonly adminPort?: number;
  readonly keyFile: string;
  readonly state?: string;
};

export function addSandbox(program: Command, session: Session): void {
  const command = program
    .command('sandbox')
    .summary('runs the sandbox')
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
    examples: ['cambist sandbox', 'cambist sandbox --port 9000 --state .cambist/sandbox.json --json'],
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
  // It listens to signals by itself.
  await running.stopped;
  return 'done';
}

const USUAL_PORT = 7300;
const USUAL_ADMIN_PORT = 7301;

/** Opens the sandbox on the ports that were asked for, else on the usual ones, else on free ones; says nothing. */
export async function openSandbox(options: RunSandboxOptions): Promise<RunningSandbox> {
  const quiet = { ...options, write: () => {} };
  try {
    return await runSandbox({ port: USUAL_PORT, adminPort: USUAL_ADMIN_PORT, ...quiet });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EADDRINUSE')) throw error;
    const isAsked = options.port !== undefined || options.adminPort !== undefined;
    if (!isAsked) return runSandbox({ port: 0, adminPort: 0, ...quiet });
    throw new CommandFailure('infrastructure', [
      {
        code: 'PORT_TAKEN',
        place: 'sandbox',
        message: `a port is taken: ${error.message}`,
        fix: 'Name another one, or 0 for any free one.',
      },
    ]);
  }
}
