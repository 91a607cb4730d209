/** `cambist temporal`: runs Temporal's dev server with its UI, until a signal. */
import type { Command } from 'commander';
import { startDevServer } from '../../worker/dev-server.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { Ending } from '../../domain/endings.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { nonEmpty, port } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { sayReady, untilInterrupted } from '../terminal/ready.ts';
import { requireFree } from './port-holder.ts';

type TemporalOptions = JsonOption & {
  readonly port?: number;
  readonly uiPort?: number;
  readonly headless?: true;
  readonly db?: string;
};

export function addTemporal(command: Command, session: Session): void {
  command
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
    examples: ['npx cambist temporal', 'npx cambist temporal --db .cambist/temporal.db --json'],
    endings: ['done', 'infrastructure'],
  });
}

async function serveTemporal(output: Output, options: TemporalOptions): Promise<Ending> {
  await requireFree(options.port, 'npx cambist temporal --port 0');
  await requireFree(options.uiPort, 'npx cambist temporal --ui-port 0');
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
