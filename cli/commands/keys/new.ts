/** `cambist keys new`: makes a file of keys. */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { makeKeyFile } from '../../../operations/seal-keys.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import type { Output } from '../../terminal/output.ts';
import { keyFileOf, showKeys } from './show-keys.ts';

export function addKeysNew(command: Command, session: Session): void {
  command
    .description(
      'Makes a file with a new key, which only you may read (mode 0600). Never over a file that is there. Keep a copy in a ' +
        'safe place: what was sealed by a key that is lost, nobody reads again.',
    )
    .argument('[file]', 'the file; default: CAMBIST_SEAL_KEYS')
    .action((file: string | undefined, options: JsonOption) =>
      act(session, options, (output) => make(output, file)),
    );
  teach(command, {
    examples: ['npx cambist keys new /etc/cambist/seal.json'],
    endings: ['done', 'bad input'],
  });
}

async function make(output: Output, named: string | undefined): Promise<Ending> {
  const file = keyFileOf(output, named);
  const keys = await makeKeyFile(file, output.io.now());
  const next = `Set CAMBIST_SEAL_KEYS to "${file}" for every worker and command, with a namespace in which nothing was run without keys.`;
  showKeys(output, file, keys, next);
  return 'done';
}
