/** `cambist codec`: lets the Temporal UI and Temporal's own command line show what is sealed, until a signal. */
import { randomBytes } from 'node:crypto';
import { InvalidArgumentError, type Command } from 'commander';
import { keysInFile } from '../../config/seal/key-file.ts';
import type { Ending } from '../../domain/endings.ts';
import { openCodecServer } from '../../worker/codec-server.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { nonEmpty, port } from '../terminal/options.ts';
import type { Output } from '../terminal/output.ts';
import { sayReady, untilInterrupted } from '../terminal/ready.ts';
import { keyFileOf } from './keys/show-keys.ts';
import { requireFree } from './port-holder.ts';

const USUAL_PORT = 8234;
/** The UI of a dev server. */
const USUAL_UI = ['http://127.0.0.1:8233', 'http://localhost:8233'];

type CodecOptions = JsonOption & {
  readonly port?: number;
  readonly ui?: readonly string[];
  readonly token?: string;
};

export function addCodec(command: Command, session: Session): void {
  command
    .description(
      'Opens for people what is sealed in Temporal, until Ctrl-C: for its UI and for `temporal workflow show`. It seals nothing, ' +
        'listens on this machine only, and asks for a token, which it prints. In the UI, set the codec endpoint to the printed ' +
        'address. What workers would not read it shows as unreadable.',
    )
    .option('--port <port>', `default: ${USUAL_PORT}; 0: a free one`, port)
    .option('--ui <origin...>', 'origins of the UIs that may ask; default: that of a dev server', origins)
    .option('--token <text>', 'what callers must know; default: a new one', nonEmpty)
    .action((options: CodecOptions) => act(session, options, (output) => serve(output, options)));
  teach(command, {
    examples: ['npx cambist codec', 'npx cambist codec --ui https://temporal.example.com'],
    endings: ['done', 'bad input', 'configuration', 'infrastructure'],
  });
}

async function serve(output: Output, options: CodecOptions): Promise<Ending> {
  const keys = keysInFile(keyFileOf(output, undefined));
  const asked = options.port ?? USUAL_PORT;
  await requireFree(asked, 'npx cambist codec --port 0');
  const interrupted = untilInterrupted(output.io);
  const token = options.token ?? randomBytes(24).toString('base64url');
  const server = await openCodecServer({ keys, port: asked, token, origins: options.ui ?? USUAL_UI });
  sayReady(output, 'codec', { address: server.url, token, endpoint: `${server.url}/${token}` });
  await interrupted;
  await server.close();
  return 'done';
}

function origins(text: string, before: readonly string[] = []): readonly string[] {
  const origin = URL.canParse(text) ? new URL(text).origin : 'null';
  if (origin === text) return [...before, text];
  throw new InvalidArgumentError('It is no origin, such as https://temporal.example.com.');
}
