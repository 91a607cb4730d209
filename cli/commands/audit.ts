/** `cambist audit …`: the journals in which workers keep what they send. */
import type { Command } from 'commander';

export function addAudit(command: Command): void {
  command
    .description(
      'A worker with CAMBIST_AUDIT keeps a journal in that folder: a line for each quote, trade and withdrawal before it is ' +
        'sent, and one for what came of it. Each line carries a hash over the line before it.',
    )
    .addHelpText('after', ['', 'Examples:', '  npx cambist audit verify /var/lib/cambist/audit'].join('\n'));
}
