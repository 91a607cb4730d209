/**
 * Verifies the journals of workers: whether their lines follow each other, and whether a line explains each trade and withdrawal
 * that the service lists in their time. Reads files and lists only.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditLine, AuditOf } from '../../domain/audit.ts';
import { normalise } from '../../domain/money.ts';
import type { Trade, Withdrawal } from '../../domain/service/records.ts';
import type { Trouble } from '../../language/text/problem.ts';
import type { ServiceClient } from '../../service/client.ts';
import { scanList } from '../../service/list-scan.ts';
import { journalLines } from '../../config/journal-lines.ts';
import { CommandFailure } from '../failure.ts';
import { serviceFailure } from '../preflight.ts';

/**
 * A journal that was read. `from`, `until`: the earliest and the latest moment of its lines, ISO 8601. The clock of the worker may
 * have gone back.
 */
export type ReadJournal = {
  readonly path: string;
  readonly begin: AuditOf<'begin'>;
  readonly lines: number;
  readonly sends: readonly Sent[];
  /** What people said, also of halts. */
  readonly words: readonly Word[];
  readonly from: string;
  readonly until: string;
  /** False: the worker still writes it, or was killed, perhaps within its last line. */
  readonly hasEnded: boolean;
};

/** A send, and what came of it; null: the journal does not know. */
type Sent = AuditOf<'send'> & { outcome: AuditOf<'outcome'> | null };

type Word = AuditOf<(typeof WORDS)[number]>;
const WORDS = ['said', 'halt', 'resume', 'approve'] as const;

/**
 * The journals among these files, and of each folder the files that are named like one.
 * @throws CommandFailure with each journal that is not whole
 */
export async function readJournals(paths: readonly string[]): Promise<readonly ReadJournal[]> {
  const files = (await Promise.all(paths.map(filesAt))).flat();
  const journals: ReadJournal[] = [];
  const troubles: Trouble[] = [];
  for (const file of files) {
    // One after the other: a journal of a year may be large.
    const read = await readJournal(file);
    if ('begin' in read) journals.push(read);
    else troubles.push(read);
  }
  const isUnread = troubles.every(({ code }) => code === 'FILE_UNREADABLE');
  if (troubles.length > 0) throw new CommandFailure(isUnread ? 'configuration' : 'needs a human', troubles);
  return journals;
}

async function filesAt(path: string): Promise<readonly string[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [path];
    const names = (await readdir(path)).filter((name) => name.endsWith('.jsonl')).toSorted();
    if (names.length > 0) return names.map((name) => join(path, name));
  } catch (error) {
    throw notFound(path, error instanceof Error ? error.message : String(error));
  }
  throw notFound(path, 'the folder has no file that ends in .jsonl');
}

function unread(place: string, message: string): Trouble {
  const fix = 'Let the user who types the command read the file, or name the others one by one.';
  return { code: 'FILE_UNREADABLE', place, message, fix };
}

function notFound(path: string, message: string): CommandFailure {
  const fix = 'Name the journals that workers have written to their folders CAMBIST_AUDIT, or such a folder.';
  return new CommandFailure('bad input', [{ code: 'FILE_NOT_FOUND', place: path, message, fix }]);
}

async function readJournal(path: string): Promise<ReadJournal | Trouble> {
  let begin: AuditOf<'begin'> | null = null;
  let last: AuditLine | null = null;
  let [fromMs, untilMs] = [Infinity, -Infinity];
  const sends = new Map<number, Sent>();
  const words: Word[] = [];
  let isCut = false;
  try {
    for await (const read of journalLines(path)) {
      if (read.kind === 'cut') isCut = true;
      if (read.kind === 'changed') return changed(path, read.n, read.why);
      if (read.kind === 'unreadable') return unread(path, read.why);
      if (read.kind !== 'line') break;
      const { line } = read;
      last = line;
      fromMs = Math.min(fromMs, Date.parse(line.at));
      untilMs = Math.max(untilMs, Date.parse(line.at));
      if (line.kind === 'begin') begin = line;
      if (line.kind === 'send') sends.set(line.n, { ...line, outcome: null });
      if (isWord(line)) words.push(line);
      const of = line.kind === 'outcome' ? sends.get(line.of) : undefined;
      if (line.kind === 'outcome' && of !== undefined) of.outcome = line;
    }
  } catch (error) {
    return unread(path, error instanceof Error ? error.message : String(error));
  }
  if (begin === null || last === null) return changed(path, 1, 'Its first line does not say who writes it.');
  return {
    path,
    begin,
    lines: last.n,
    sends: [...sends.values()],
    words,
    from: new Date(fromMs).toISOString(),
    until: new Date(untilMs).toISOString(),
    hasEnded: last.kind === 'end' && !isCut,
  };
}

function isWord(line: AuditLine): line is Word {
  return WORDS.some((kind) => kind === line.kind);
}

function changed(path: string, line: number, why: string): Trouble {
  const fix =
    'Compare it with the copy that was shipped, and find out who has changed the file. What comes after this line proves nothing.';
  return { code: 'AUDIT_CHANGED', place: `${path}:${line}`, message: why, fix };
}

/** How often people have said what, by all journals together: several workers see the same word. */
export function countWords(journals: readonly ReadJournal[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  const seen = new Set<string>();
  for (const word of journals.flatMap(({ words }) => words)) {
    const what = word.kind === 'said' ? word.what : word.kind;
    const name = word.kind === 'said' ? [word.run, word.entry] : [word.saidAt, word.by, word.scope];
    const identity = JSON.stringify([what, name]);
    if (!seen.has(identity)) counts.set(what, (counts.get(what) ?? 0) + 1);
    seen.add(identity);
  }
  return counts;
}

/** What the service lists in the time of the journals. `unexplained`: no line says that it was sent. */
export type AgainstService = {
  readonly trades: number;
  readonly withdrawals: number;
  readonly unexplained: readonly (Trade | Withdrawal)[];
};

/**
 * Holds journals against the lists of the service, from the earliest of their lines to the latest.
 * @throws CommandFailure when a list cannot be read whole
 */
export async function holdAgainstService(
  service: Pick<ServiceClient, 'listTrades' | 'listWithdrawals'>,
  journals: readonly ReadJournal[],
  address: string,
): Promise<AgainstService> {
  const sinceMs = Math.min(...journals.map(({ from }) => Date.parse(from)));
  const untilMs = Math.max(...journals.map(({ until }) => Date.parse(until)));
  const wanted = ({ createdAt }: { readonly createdAt: string }): boolean => {
    const atMs = Date.parse(createdAt);
    return atMs >= sinceMs && atMs <= untilMs;
  };
  const [trades, withdrawals] = await Promise.all([
    scanList(service.listTrades, { sinceMs, wanted }),
    scanList(service.listWithdrawals, { sinceMs, wanted }),
  ]);
  const stopped = trades.stopped ?? withdrawals.stopped;
  if (stopped !== null) throw serviceFailure(stopped, address);
  const sends = journals.flatMap((journal) => journal.sends);
  const unexplained = [
    ...unexplainedTrades(trades.records, sends),
    ...unexplainedWithdrawals(withdrawals.records, sends),
  ];
  return { trades: trades.records.length, withdrawals: withdrawals.records.length, unexplained };
}

function unexplainedTrades(trades: readonly Trade[], sends: readonly Sent[]): readonly Trade[] {
  const { known, open } = explaining(sends, 'trade');
  return trades.filter(
    ({ id, clientReferenceId }) =>
      !known.has(id) && !isTaken(open, ({ reference }) => reference === clientReferenceId),
  );
}

/** A withdrawal without a tag is explained by one unknown send of the same account, currency and amount. */
function unexplainedWithdrawals(
  withdrawals: readonly Withdrawal[],
  sends: readonly Sent[],
): readonly Withdrawal[] {
  const { known, open } = explaining(sends, 'withdrawal');
  // Those with a tag first: no other record may take the send that the tag names.
  const ordered = withdrawals.toSorted((one, other) => Number(one.tag === null) - Number(other.tag === null));
  return ordered.filter((record) => !known.has(record.id) && !isTaken(open, (sent) => couldBe(sent, record)));
}

/**
 * `known`: the records that outcomes name. `open`: one send of each key that may have made a record which no outcome names. All
 * sends of a key make one record at most.
 */
function explaining(
  sends: readonly Sent[],
  write: Sent['write'],
): { readonly known: ReadonlySet<string | null>; readonly open: Sent[] } {
  const ofWrite = sends.filter((sent) => sent.write === write);
  const done = ofWrite.filter(({ outcome }) => outcome?.result === 'DONE');
  const unknown = ofWrite.filter(({ outcome }) => (outcome?.result ?? 'UNKNOWN') === 'UNKNOWN');
  const byKey = new Map(unknown.map((sent) => [sent.idempotencyKey, sent]));
  for (const { idempotencyKey } of done) byKey.delete(idempotencyKey);
  return { known: new Set(done.map(({ outcome }) => outcome?.recordId ?? null)), open: [...byKey.values()] };
}

/** Takes the first send like this out of those that are open; false: there is none. */
function isTaken(open: Sent[], isIt: (sent: Sent) => boolean): boolean {
  const index = open.findIndex(isIt);
  if (index >= 0) open.splice(index, 1);
  return index >= 0;
}

function couldBe({ reference, request }: Sent, record: Withdrawal): boolean {
  if (record.tag !== null) return record.tag === reference;
  const { account, currency, amount = '0' } = request;
  const isSameAccount = record.withdrawalAccountId === null || record.withdrawalAccountId === account;
  return (
    isSameAccount && record.currency === currency && normalise(record.withdrawalAmount) === normalise(amount)
  );
}
