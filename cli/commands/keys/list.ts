/** `cambist keys list`: which keys a file has, without their secrets. */
import type { Command } from 'commander';
import { keysInFile } from '../../../config/seal/key-file.ts';
import type { Ending } from '../../../domain/endings.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import type { Output } from '../../terminal/output.ts';
import { keyFileOf, showKeys } from './show-keys.ts';

export function addKeysList(command: Command, session: Session): void {
  command
    .description(
      'Lists the keys of a file, newest first: the id by which Temporal names each, the day on which it was made, and which ' +
        'one seals. Shows no secret.',
    )
    .argument('[file]', 'the file; default: CAMBIST_SEAL_KEYS')
    .action((file: string | undefined, options: JsonOption) =>
      act(session, options, (output) => list(output, file)),
    );
  teach(command, {
    examples: ['npx cambist keys list', 'npx cambist keys list /etc/cambist/seal.json --json'],
    endings: ['done', 'bad input', 'configuration'],
  });
}

async function list(output: Output, named: string | undefined): Promise<Ending> {
  const file = keyFileOf(output, named);
  showKeys(
    output,
    file,
    keysInFile(file).now(),
    'Keep a key for as long as Temporal keeps what it has sealed.',
  );
  return 'done';
}
