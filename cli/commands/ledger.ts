/**
 * `cambist ledger`: every movement of money that the sandbox has booked. It asks the sandbox's admin interface, on this
 * machine only; the real service has nothing like it.
 */
import type { Command } from 'commander';
import * as z from 'zod';
import type { Ending } from '../../domain/endings.ts';
import { amountText, decimalsOf } from '../../domain/currencies.ts';
import { isDecimal } from '../../domain/money.ts';
import { withDevEnvironment } from '../../config/dev-environment.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import { EXIT_CODES } from '../../operations/exit-codes.ts';
import { CommandFailure, NOT_SET_UP } from '../../operations/failure.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/safe.ts';
import { localZone } from '../terminal/local-zone.ts';
import { momentText } from '../../domain/clock.ts';
import { table } from '../terminal/text.ts';

export function addLedger(command: Command, session: Session): void {
  command
    .description(
      'Shows the ledger of the sandbox: what stands on each account, and the newest 50 entries of the journal, with the ' +
        'trade or withdrawal that moved the money and its reference (--json has all). Only for the sandbox: a running `npx cambist up` in this ' +
        'folder, or the admin address in CAMBIST_SANDBOX_ADMIN_URL.',
    )
    .action((options: JsonOption) => act(session, options, ledger));
  teach(command, {
    examples: ['npx cambist ledger', 'npx cambist ledger --json'],
    endings: ['done', 'bad input', 'configuration', 'infrastructure'],
  });
}

/** At most this many entries of the journal are shown. */
const SHOWN = 50;
/** The sandbox is on this machine. When it has not answered within this time, it is not running. */
const PATIENCE_MS = 10_000;

const amount = z.string().refine(isDecimal);
const ledgerReply = z.object({
  organization: z.string(),
  mode: z.string(),
  balances: z.record(
    z.string(),
    z.object({
      withdrawable: amount,
      total: amount,
      accounts: z.object({ reserved: amount, sold: amount, incoming: amount }),
    }),
  ),
  journal: z.array(
    z.object({
      id: z.string(),
      at: z.iso.datetime(),
      what: z.string(),
      recordId: z.string().nullable(),
      lines: z.array(z.object({ account: z.string(), currency: z.string(), amount })),
    }),
  ),
  trades: z.array(z.object({ id: z.string(), clientReferenceId: z.string().nullish() })),
  withdrawals: z.array(z.object({ id: z.string(), metadata: z.record(z.string(), z.unknown()).nullish() })),
});

/** The ledger of one organisation in one mode, with the parts that are shown. */
export type Ledger = Pick<z.output<typeof ledgerReply>, 'organization' | 'mode' | 'balances' | 'journal'> & {
  /** The reference of each trade and withdrawal that has one, by the id of the record. */
  readonly references: Readonly<Record<string, string>>;
};

async function ledger(output: Output): Promise<Ending> {
  const { io } = output;
  const env = await withDevEnvironment(io.env, io.cwd);
  const found = await readLedger(adminAddress(env));
  output.document({ ...found, exitCode: EXIT_CODES.done });
  output.show(standingText(found, output.width));
  const shown = found.journal.slice(-SHOWN);
  output.show(`\n${journalText(shown, io.now(), output.width)}`);
  const references = referencesText(shown, found.references, output.width);
  if (references !== '') output.show(`\n${references}`);
  if (found.journal.length > SHOWN)
    output.say('', `The newest ${SHOWN} of ${found.journal.length} entries; --json has all.`);
  return 'done';
}

/** @throws CommandFailure */
function adminAddress(env: NodeJS.ProcessEnv): URL {
  const place = 'CAMBIST_SANDBOX_ADMIN_URL';
  const text = env[place];
  if (text === undefined || text === '') {
    throw new CommandFailure('configuration', [
      ...(env['CAMBIST_BASE_URL'] ? [] : [NOT_SET_UP]),
      {
        code: 'SANDBOX_ADMIN_MISSING',
        place,
        message: 'it is not set',
        fix: 'Set it to the admin address that `npx cambist sandbox` prints.',
      },
    ]);
  }
  const url = URL.canParse(text) ? new URL('/ledger', text) : null;
  if (url?.protocol === 'http:' && ['127.0.0.1', 'localhost'].includes(url.hostname)) return url;
  throw new CommandFailure('configuration', [
    {
      code: 'SANDBOX_ADMIN_FOREIGN',
      place,
      message: `"${text}" is no address of a sandbox on this machine`,
      fix: 'Give it as `npx cambist sandbox` prints it, like "http://127.0.0.1:7301".',
    },
  ]);
}

/** @throws CommandFailure */
async function readLedger(url: URL): Promise<Ledger> {
  const failure = (message: string): CommandFailure =>
    new CommandFailure('infrastructure', [
      {
        code: 'SANDBOX_UNREACHABLE',
        place: url.origin,
        message,
        fix: 'See that the sandbox runs (`npx cambist up`, or `npx cambist sandbox`), then try again.',
      },
    ]);
  const answer = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(PATIENCE_MS) }).catch(
    () => null,
  );
  if (answer === null) throw failure('nothing answers there');
  const body: unknown = await answer.json().catch(() => null);
  const read = ledgerReply.safeParse(body);
  if (!answer.ok || !read.success)
    throw failure('what answers there is not the admin interface of a sandbox');
  const { trades, withdrawals, ...rest } = read.data;
  const references = [
    ...trades.map(({ id, clientReferenceId }) => [id, clientReferenceId] as const),
    ...withdrawals.map(({ id, metadata }) => [id, metadata?.['cambist']] as const),
  ].filter((pair): pair is readonly [string, string] => typeof pair[1] === 'string');
  return { ...rest, references: Object.fromEntries(references) };
}

/** The balance of each account of the organisation. */
function standingText({ organization, mode, balances }: Ledger, width: number): string {
  const titles = ['WITHDRAWABLE', 'RESERVED', 'SOLD', 'INCOMING', 'TOTAL'];
  const rows = Object.entries(balances).map(([currency, { withdrawable, total, accounts }]) =>
    plain([
      currency,
      ...[withdrawable, accounts.reserved, accounts.sold, accounts.incoming, total].map((value) =>
        amountText(value, decimalsOf(currency, {})),
      ),
    ]),
  );
  const columns = [{ title: 'CURRENCY' }, ...titles.map((title) => ({ title, right: true }))];
  const head = `Ledger of ${plain(organization)} (${plain(mode.toLowerCase())})`;
  return `${head}\n\n${table(columns, rows, width)}`;
}

/** The entries from the oldest to the newest. Each line of an entry is a row; the first row of an entry names it. */
export function journalText(entries: Ledger['journal'], nowMs: number, width: number): string {
  const zone = localZone();
  const rows = plain(entries).flatMap(({ at, what, recordId, lines }) =>
    lines.map((line, index) => [
      index === 0 ? momentText(Date.parse(at), nowMs, zone) : '',
      [what, recordId ?? ''][index] ?? '',
      line.account,
      `${line.amount.startsWith('-') ? '' : '+'}${amountText(line.amount, decimalsOf(line.currency, {}))}`,
      line.currency,
    ]),
  );
  const titles = [`TIME (${zone})`, 'ENTRY', 'ACCOUNT', 'AMOUNT', 'CURRENCY'];
  return table(
    titles.map((title) => ({ title, right: title === 'AMOUNT' })),
    rows,
    width,
  );
}

/** The leg or payment of each record, in the order of the entries; empty where no record has a reference. */
export function referencesText(
  entries: Ledger['journal'],
  references: Ledger['references'],
  width: number,
): string {
  const ids = new Set(entries.flatMap(({ recordId }) => recordId ?? []));
  const rows = [...ids].flatMap((id) => {
    const reference = references[id];
    return reference === undefined ? [] : [plain([id, reference])];
  });
  return rows.length === 0 ? '' : table([{ title: 'RECORD' }, { title: 'REFERENCE' }], rows, width);
}
