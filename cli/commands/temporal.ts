/** `cambist temporal`: runs Temporal's dev server with its UI, until a signal; with `--tls` as live asks for one. */
import { join } from 'node:path';
import type { Command } from 'commander';
import { startDevServer, type DevServer, type DevServerOptions } from '../../worker/dev-server.ts';
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
  readonly tls?: true;
};

/** Certificates and profile of `--tls`; a path in the working folder. */
const TLS_FOLDER = '.cambist/tls';

export function addTemporal(command: Command, session: Session): void {
  command
    .description(
      'Runs a Temporal dev server with its UI until Ctrl-C, for one machine. Prints one line `ready` with its addresses. ' +
        'Gets the server first where there is none. With --tls it makes an authority and a client certificate in .cambist/tls, and ' +
        'a profile file for TEMPORAL_CONFIG_FILE, so that a rehearsal walks the whole way of live on one machine. It is none ' +
        'for live money: programs on this machine reach the port behind TLS, and the UI, without a certificate.',
    )
    .option('--port <port>', 'port of gRPC; default: 7233, or a free one', port)
    .option('--ui-port <port>', 'port of the UI; default: 8233, or a free one', port)
    .option('--headless', 'without the UI')
    .option('--db <file>', 'keep everything in this file; default: in memory', nonEmpty)
    .option('--tls', 'by TLS with a client certificate, for a rehearsal of live')
    .action((options: TemporalOptions) => act(session, options, (output) => serveTemporal(output, options)));
  teach(command, {
    examples: [
      'npx cambist temporal',
      'npx cambist temporal --db .cambist/temporal.db --json',
      'npx cambist temporal --tls      (then TEMPORAL_CONFIG_FILE=.cambist/tls/temporal.toml for the others)',
    ],
    endings: ['done', 'infrastructure'],
  });
}

async function serveTemporal(output: Output, options: TemporalOptions): Promise<Ending> {
  await requireFree(options.port, 'npx cambist temporal --port 0');
  await requireFree(options.uiPort, 'npx cambist temporal --ui-port 0');
  const { server, profile } = await start(output, options.tls === true, {
    ...(options.port !== undefined && { port: options.port }),
    ...(options.uiPort !== undefined && { uiPort: options.uiPort }),
    ...(options.db !== undefined && { dbFile: options.db }),
    headless: options.headless === true,
  });
  const interrupted = untilInterrupted(output.io);
  const { address, uiUrl, pid } = server;
  sayReady(output, 'temporal', { address, uiUrl, pid, ...(profile !== null && { profile }) });
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

/** `profile`: the file that says how to reach a server by TLS; null without TLS. */
async function start(
  output: Output,
  isSecured: boolean,
  options: DevServerOptions,
): Promise<{ readonly server: DevServer; readonly profile: string | null }> {
  if (!isSecured) return { server: await startDevServer(options), profile: null };
  const { startSecuredDevServer } = await import('../../worker/secured-dev-server.ts');
  const server = await startSecuredDevServer(options, join(output.io.cwd, TLS_FOLDER));
  return { server, profile: server.profileFile };
}
