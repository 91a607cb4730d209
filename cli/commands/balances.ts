/** `cambist balances`: the balances that the service shows, per currency, and the credit line. Reads only. */
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { amountText, decimalsOf } from '../../domain/currencies.ts';
import type { Balances, Exposure } from '../../domain/service/records.ts';
import type { Reply } from '../../domain/service/reply.ts';
import type { ServiceFacts } from '../../domain/service/facts.ts';
import { explainWithCode } from '../../domain/writes/step.ts';
import { cellText } from '../views/amount-text.ts';
import { readSettings } from '../arguments.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import type { Output } from '../terminal/output.ts';
import { atService, serviceFailure } from '../../operations/preflight.ts';
import { plain } from '../terminal/safe.ts';
import { table } from '../terminal/text.ts';

export function addBalances(command: Command, session: Session): void {
  command
    .description(
      'Shows the balances at the service. WITHDRAWABLE can be traded or withdrawn now; TOTAL counts what is reserved for ' +
        'trades and withdrawals too, and is negative when something is owed. Needs the service and a key (read scope is ' +
        'enough), not Temporal.',
    )
    .action((options: JsonOption) => act(session, options, balances));
  teach(command, {
    examples: ['npx cambist balances', 'npx cambist balances --json'],
    endings: ['done', 'configuration', 'infrastructure'],
  });
}

/** The credit line that trades may use. */
export type CreditLine =
  | ({ readonly kind: 'open' } & Exposure)
  /** The service has no credit line for this organisation. */
  | { readonly kind: 'none' }
  /** There may be a credit line, but it could not be read. */
  | { readonly kind: 'unread'; readonly why: string };

async function balances(output: Output): Promise<Ending> {
  const settings = await readSettings(output);
  return atService<Ending>(settings, async (service, address) => {
    const [reply, exposure] = await Promise.all([service.balances(), service.exposure()]);
    if (reply.kind !== 'DONE') throw serviceFailure(reply, address);
    const found = reply.value;
    const creditLine = creditLineOf(exposure);
    output.document({
      organisation: service.organisation,
      mode: settings.mode,
      balances: found.balances,
      aggregateUsd: found.aggregateUsd,
      creditLine,
      exitCode: EXIT_CODES.done,
    });
    output.show(balancesText(found, settings.facts.decimals, output.width));
    output.say('', ceilingSentence(found), creditSentence(creditLine));
    return 'done';
  });
}

function creditLineOf(reply: Reply<Exposure>): CreditLine {
  if (reply.kind === 'DONE') return { kind: 'open', ...reply.value };
  const code = reply.kind === 'NOT_SENT' ? null : reply.error?.code;
  return code === 'EXPOSURE_NOT_ENABLED' ? { kind: 'none' } : { kind: 'unread', why: explainWithCode(reply) };
}

/** The balances as a table, in the order of the service. */
function balancesText(found: Balances, decimals: ServiceFacts['decimals'], width: number): string {
  if (found.balances.length === 0) return 'The service shows no balance in any currency.';
  return table(
    [{ title: 'CURRENCY' }, { title: 'WITHDRAWABLE', right: true }, { title: 'TOTAL', right: true }],
    plain(found.balances).map(({ currency, withdrawable, total }) => [
      currency,
      cellText(withdrawable, decimalsOf(currency, decimals)),
      cellText(total, decimalsOf(currency, decimals)),
    ]),
    width,
  );
}

function ceilingSentence({ aggregateUsd }: Balances): string {
  return `In all currencies together, at most ${usd(aggregateUsd)} can be withdrawn.`;
}

function creditSentence(line: CreditLine): string {
  switch (line.kind) {
    case 'open':
      return `Credit line: ${usd(line.usedUsd)} of ${usd(line.limitUsd)} are used, ${usd(line.availableUsd)} are left.`;
    case 'none':
      return 'There is no credit line.';
    case 'unread':
      return `The credit line could not be read. ${line.why}`;
  }
}

function usd(amount: string): string {
  return `${amountText(amount, 2)} USD`;
}
