/**
 * `cambist accounts`: the withdrawal accounts that a policy can name. Reads only, and shows no more of an account than
 * its id, currency and status: whose it is stays with the service (M6).
 */
import type { Command } from 'commander';
import type { LenientRecord } from '../domain/records.ts';
import type { ServiceClient } from '../service/client.ts';
import { pages } from '../service/pages.ts';
import { loadSettings } from '../worker/config.ts';
import { act, teach, type JsonOption, type Session } from './command.ts';
import { EXIT_CODES, type Ending } from './exit-codes.ts';
import type { Output } from './output.ts';
import { atService, serviceFailure } from './preflight.ts';
import { plain } from './safe.ts';
import { count, table } from './text.ts';

export function addAccounts(program: Command, session: Session): void {
  const command = program
    .command('accounts')
    .summary('lists the withdrawal accounts at the service')
    .description(
      'Lists the withdrawal accounts that are registered at the service, newest first: the ids that a policy names under ' +
        'withdraw.account. It never shows whose an account is. Needs the service and a key (read scope is enough), not ' +
        'Temporal.',
    )
    .action((options: JsonOption) => act(session, options, accounts));
  teach(command, {
    examples: ['cambist accounts', 'cambist accounts --json'],
    endings: ['done', 'configuration', 'infrastructure'],
  });
}

async function accounts(output: Output): Promise<Ending> {
  const { io } = output;
  const settings = await loadSettings(io.env, io.cwd);
  for (const warning of settings.warnings) output.note(warning);
  return atService<Ending>(settings, async (service, address) => {
    const found = await readAll(service, address);
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

/**
 * Every account once, newest first. A list that was not read to its end is not shown: what is not in it would seem not
 * to be registered.
 * @throws CommandFailure
 */
async function readAll(
  service: Pick<ServiceClient, 'listWithdrawalAccounts'>,
  address: string,
): Promise<readonly LenientRecord[]> {
  const found = new Map<string, LenientRecord>();
  for await (const reply of pages(service.listWithdrawalAccounts, { direction: 'older' })) {
    if (reply.kind !== 'DONE') throw serviceFailure(reply, address);
    for (const record of reply.value.items) found.set(record.id, record);
  }
  return [...found.values()];
}

/** The accounts as a table; `-` where the service does not say. */
export function accountsText(found: readonly LenientRecord[], width: number): string {
  if (found.length === 0)
    return 'No withdrawal account is registered. Register one at the service before a policy names it.';
  return table(
    [{ title: 'ACCOUNT' }, { title: 'CURRENCY' }, { title: 'STATUS' }],
    plain(found).map(({ id, currency, status }) => [id, currency ?? '-', status ?? '-']),
    width,
  );
}
