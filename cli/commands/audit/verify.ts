/** `cambist audit verify`: holds the journals of workers against themselves and against the service. Reads only. */
import { minuteText } from '../../../domain/waits.ts';
import type { Command } from 'commander';
import { decimalsOf } from '../../../domain/currencies.ts';
import type { Ending } from '../../../domain/endings.ts';
import type { Trade, Withdrawal } from '../../../domain/service/records.ts';
import type { Trouble } from '../../../language/text/problem.ts';
import { EXIT_CODES } from '../../../operations/exit-codes.ts';
import { CommandFailure } from '../../../operations/failure.ts';
import { atService } from '../../../operations/preflight.ts';
import {
  countWords,
  holdAgainstService,
  readJournals,
  type ReadJournal,
} from '../../../operations/watch/verify-audit.ts';
import { readSettings } from '../../arguments.ts';
import { act, teach, type JsonOption, type Session } from '../../command.ts';
import type { Output } from '../../terminal/output.ts';
import { plain } from '../../terminal/safe.ts';
import { table } from '../../terminal/text.ts';
import { cellText } from '../../views/amount-text.ts';

export function addAuditVerify(command: Command, session: Session): void {
  command
    .description(
      'Finds a line that was changed, cut out, added or moved, and says in which file and line. Then it reads the trades and ' +
        'withdrawals of the service in the time of the journals, and names each that no line explains. Give it the journals of ' +
        'all workers, or folders of them. Moves no money.',
    )
    .argument('<file...>', 'journals, or folders of them')
    .action((paths: string[], options: JsonOption) =>
      act(session, options, (output) => verify(output, paths)),
    );
  teach(command, {
    examples: [
      'npx cambist audit verify /var/lib/cambist/audit',
      'npx cambist audit verify a.jsonl b.jsonl --json',
    ],
    endings: ['done', 'bad input', 'configuration', 'needs a human', 'infrastructure'],
  });
}

async function verify(output: Output, paths: readonly string[]): Promise<Ending> {
  const journals = await readJournals(paths);
  const said = countWords(journals);
  output.show(journalsText(journals, output.width));
  if (said.size > 0) output.show(saidText(said));
  const settings = await readSettings(output);
  return atService<Ending>(settings, async (service, address) => {
    const foreign = journals.filter(
      ({ begin }) => begin.organisation !== service.organisation || begin.mode !== settings.mode,
    );
    if (foreign.length > 0) throw new CommandFailure('bad input', foreign.map(foreignJournal));
    output.say('', 'Reading the trades and withdrawals of the service …');
    const { trades, withdrawals, unexplained } = await holdAgainstService(service, journals, address);
    if (unexplained.length > 0) {
      const { decimals } = settings.facts;
      throw new CommandFailure(
        'needs a human',
        unexplained.map((record) => unexplainedRecord(record, decimals)),
      );
    }
    output.document({
      journals: journals.map(documentOf),
      said: Object.fromEntries(said),
      trades,
      withdrawals,
      exitCode: EXIT_CODES.done,
    });
    output.say(
      `A line explains each of ${trades} trades and ${withdrawals} withdrawals that the service lists in that time.`,
    );
    return 'done';
  });
}

function journalsText(journals: readonly ReadJournal[], width: number): string {
  const rows = journals.map(({ path, lines, sends, from, until, hasEnded }) =>
    plain([path, String(lines), String(sends.length), from, `${until}${hasEnded ? '' : ' (no end)'}`]),
  );
  const columns = [
    { title: 'JOURNAL' },
    { title: 'LINES', right: true },
    { title: 'SENDS', right: true },
    { title: 'FROM' },
    { title: 'UNTIL' },
  ];
  return table(columns, rows, width);
}

function saidText(said: ReadonlyMap<string, number>): string {
  const counts = [...said].map(([what, count]) => plain(`${count} × ${what}`));
  return `People said: ${counts.join(', ')}.`;
}

function documentOf({
  path,
  begin,
  lines,
  sends,
  from,
  until,
  hasEnded,
}: ReadJournal): Record<string, unknown> {
  return { path, worker: begin.worker, lines, sends: sends.length, from, until, hasEnded };
}

function foreignJournal({ path, begin }: ReadJournal): Trouble {
  const message = `it is of organisation "${begin.organisation}" in ${begin.mode}`;
  const fix = 'Verify it where the key and the mode are those of its first line.';
  return { code: 'AUDIT_FOREIGN', place: path, message, fix };
}

function unexplainedRecord(record: Trade | Withdrawal, decimals: Parameters<typeof decimalsOf>[1]): Trouble {
  const what =
    'quoteId' in record
      ? `a trade of ${record.sellCurrency} for ${record.buyCurrency} (${record.clientReferenceId ?? 'no reference'})`
      : `${cellText(record.withdrawalAmount, decimalsOf(record.currency, decimals))} ${record.currency} to ${record.withdrawalAccountId ?? 'an account that the list does not show'} (${record.tag ?? 'no tag'})`;
  return {
    code: 'AUDIT_UNEXPLAINED',
    place: record.id,
    message: `${what}, made ${minuteText(Date.parse(record.createdAt))}: no line of these journals says that a worker sent it`,
    fix: 'See whether a journal is missing, or who else has a key of the organisation. If nobody of yours has made it, `npx cambist halt` and replace the keys.',
  };
}
