/**
 * `cambist accounts`: the withdrawal accounts that a policy can name. Reads only. It shows only id, currency and status of
 * an account; the owner is not shown (M6).
 */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import type { LenientRecord } from '../../domain/service/records.ts';
import { readSettings } from '../arguments.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { readAccounts } from '../../operations/watch/accounts.ts';
import { atService } from '../../operations/preflight.ts';
import { plain } from '../terminal/safe.ts';
import { count, table } from '../terminal/text.ts';

export function addAccounts(command: Command, session: Session): void {
  command
    .description(
      'Lists the withdrawal accounts that are registered at the service, newest first: the ids that a policy names under ' +
        'withdraw.account. It never shows whose an account is. Needs the service and a key (read scope is enough), not ' +
        'Temporal.',
    )
    .action((options: JsonOption) => act(session, options, accounts));
  teach(command, {
    examples: ['npx cambist accounts', 'npx cambist accounts --json'],
    endings: ['done', 'configuration', 'infrastructure'],
  });
}

async function accounts(output: Output): Promise<Ending> {
  const settings = await readSettings(output);
  return atService<Ending>(settings, async (service, address) => {
    const found = await readAccounts(service, address);
    output.document({
      organisation: service.organisation,
      mode: settings.mode,
      accounts: found.map(({ id, currency, status }) => ({ id, currency, status })),
      exitCode: EXIT_CODES.done,
    });
    output.show(accountsText(found, output.width));
    if (found.length > 0) output.say('', `${count(found.length, 'account')} of ${service.organisation}.`);
    return 'done';
  });
}

/** The accounts as a table, with `-` where the service gives no value. */
export function accountsText(found: readonly LenientRecord[], width: number): string {
  if (found.length === 0)
    return 'No withdrawal account is registered. Register one at the service before a policy names it.';
  return table(
    [{ title: 'ACCOUNT' }, { title: 'CURRENCY' }, { title: 'STATUS' }],
    plain(found).map(({ id, currency, status }) => [id, currency ?? '-', status ?? '-']),
    width,
  );
}
