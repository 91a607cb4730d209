/** `cambist keys …`: the file of keys that seal what is in Temporal. */
import type { Command } from 'commander';

export function addKeys(command: Command): void {
  command
    .description(
      'With CAMBIST_SEAL_KEYS, workers and commands seal everything that they give to Temporal: inputs, results, what people ' +
        'say, texts and failures. Then nobody reads it, or puts words into it, without the file of keys. One key of the file ' +
        'seals, all of them read. In live the file is required.',
    )
    .addHelpText(
      'after',
      [
        '',
        'Examples:',
        '  npx cambist keys new /etc/cambist/seal.json',
        '  export CAMBIST_SEAL_KEYS=/etc/cambist/seal.json      (for each worker and command)',
        '  npx cambist keys list',
      ].join('\n'),
    );
}
