/** `cambist keys rotate`: brings the next key into use, in two steps. */
import type { Command } from 'commander';
import type { Ending } from '../../../domain/endings.ts';
import { rotateKeyFile } from '../../../operations/seal-keys.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import type { Output } from '../../terminal/output.ts';
import { keyFileOf, showKeys } from './show-keys.ts';

type RotateOptions = JsonOption & { readonly activate?: true };

export function addKeysRotate(command: Command, session: Session): void {
  command
    .description(
      'Adds a key that reads and does not seal yet. Bring the file to every worker and command. Then --activate lets it seal, ' +
        'so that nobody meets a key that he does not have. Older keys go on reading what they have sealed.',
    )
    .argument('[file]', 'the file; default: CAMBIST_SEAL_KEYS')
    .option('--activate', 'let the key that was added last seal from now on')
    .action((file: string | undefined, options: RotateOptions) =>
      act(session, options, (output) => rotate(output, file, options)),
    );
  teach(command, {
    examples: [
      'npx cambist keys rotate                (then bring the file to every worker and command)',
      'npx cambist keys rotate --activate     (then bring it there again)',
    ],
    endings: ['done', 'bad input', 'configuration'],
  });
}

async function rotate(
  output: Output,
  named: string | undefined,
  { activate = false }: { readonly activate?: boolean },
): Promise<Ending> {
  const file = keyFileOf(output, named);
  const keys = await rotateKeyFile(file, { nowMs: output.io.now(), activate });
  const next = activate
    ? 'Bring the file to every worker and command, and start the workers again: each seals by the new key from then on.'
    : 'Bring the file to every worker and command. Then type `npx cambist keys rotate --activate`.';
  showKeys(output, file, keys, next);
  return 'done';
}
