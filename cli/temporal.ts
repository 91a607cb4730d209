/** `cambist temporal`: Temporal's dev server with its UI, until a signal. */
import type { Command } from 'commander';
import { startDevServer } from '../worker/dev-server.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import type { Ending } from './exit-codes.ts';
import { CommandFailure } from './failure.ts';
import { nonEmpty, port } from './options.ts';
import type { Output } from './output.ts';
import { sayReady, untilInterrupted } from './ready.ts';

type TemporalOptions = JsonOption & {
  readonly port?: number;
  readonly uiPort?: number;
  readonly headless?: true;
  readonly db?: string;
};

export function addTemporal(program: Command, session: Session): void {
  const command = program
    .command('temporal')
    .summary('runs a Temporal dev server')
    .description(
      'Runs a Temporal dev server with its UI until Ctrl-C, for one machine. Prints one line `ready` with its addresses. ' +
        'Gets the server first where there is none.',
    )
    .option('--port <port>', 'port of gRPC; default: 7233, or a free one', port)
    .option('--ui-port <port>', 'port of the UI; default: 8233, or a free one', port)
    .option('--headless', 'without the UI')
    .option('--db <file>', 'keep everything in this file; default: in memory', nonEmpty)
    .action((options: TemporalOptions) => act(session, options, (output) => serveTemporal(output, options)));
  teach(command, {
    examples: ['cambist temporal', 'cambist temporal --db .cambist/temporal.db --json'],
    endings: ['done', 'infrastructure'],
  });
}

async function serveTemporal(output: Output, options: TemporalOptions): Promise<Ending> {
  const server = await startDevServer({
    ...(options.port !== undefined && { port: options.port }),
    ...(options.uiPort !== undefined && { uiPort: options.uiPort }),
    ...(options.db !== undefined && { dbFile: options.db }),
    headless: options.headless === true,
  });
  const interrupted = untilInterrupted(output.io);
  sayReady(output, 'temporal', { address: server.address, uiUrl: server.uiUrl, pid: server.pid });
  const how = await Promise.race([
    interrupted.then(() => 'interrupted' as const),
    server.exited.then(() => 'exited' as const),
  ]);
  await server.stop();
  if (how === 'interrupted') return 'done';
  throw new CommandFailure('infrastructure', [
    {
      code: 'TEMPORAL_ENDED',
      place: server.address,
      message: 'the Temporal dev server ended by itself',
      fix: 'Start it again; with --db nothing is lost.',
    },
  ]);
}
