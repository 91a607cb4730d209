/**
 * What the journals in a folder of this machine show as sent, under the worker's own API key. A worker that was started anew asks
 * them: it may send the same once more under its key, because that is a lookup (`domain/writes/sent-before.ts`). They are read
 * only once something is not allowed, and not again for a while. What of them cannot be read shows nothing.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { journalLines } from '../config/journal-lines.ts';
import type { AuditLine, AuditOf } from '../domain/audit.ts';
import { KEY_LIVES_MS, SentBefore, keyOf } from '../domain/writes/sent-before.ts';
import type { Clock } from '../activities/deps.ts';
import type { Note } from './note.ts';

/** Another worker on this machine may have ended meanwhile. */
const READ_AGAIN_MS = 600_000;
/** What left a shorter while ago may be under way, and may still be said never to have left. */
const UNDER_WAY_MS = 120_000;

export type Owner = Pick<AuditOf<'begin'>, 'mode' | 'organisation' | 'keyName'>;

/** @param note called with each journal that cannot be read whole */
export function sentInJournals(
  folder: string,
  owner: Owner,
  { clock, note }: { readonly clock: Clock; readonly note: Note },
): (key: string) => Promise<boolean> {
  let last: { readonly atMs: number; readonly read: Promise<Read> } | null = null;
  return async (key) => {
    const nowMs = clock.monotonicMs();
    const againMs = (await last?.read)?.isUnderWay === true ? UNDER_WAY_MS : READ_AGAIN_MS;
    if (last === null || nowMs - last.atMs > againMs)
      last = { atMs: nowMs, read: readFolder(folder, owner, { nowMs: clock.wallMs(), note }) };
    return (await last.read).sent.has(key, clock.wallMs());
  };
}

type Read = { readonly sent: SentBefore; isUnderWay: boolean };
type Reading = { readonly nowMs: number; readonly note: Note };

async function readFolder(folder: string, owner: Owner, reading: Reading): Promise<Read> {
  const found: Read = { sent: new SentBefore(), isUnderWay: false };
  try {
    // One after the other: they are large, and in the order of their times.
    for await (const path of journalsSince(folder, reading.nowMs - KEY_LIVES_MS))
      await readJournal(path, owner, found, reading);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    reading.note('FILE_UNREADABLE', `CAMBIST_AUDIT: ${why}`);
  }
  return found;
}

/** The journals in a folder that were written to since this moment, epoch milliseconds, in the order of their times. */
async function* journalsSince(folder: string, sinceMs: number): AsyncGenerator<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.jsonl'));
  for (const name of names.toSorted()) {
    const path = join(folder, name);
    // One after the other.
    if ((await stat(path)).mtimeMs > sinceMs) yield path;
  }
}

/** The lines of a journal, as far as they can be read; none of one of somebody else. */
export async function* linesOf(
  path: string,
  isOurs: (begin: Owner) => boolean,
  note: Note,
): AsyncGenerator<AuditLine> {
  for await (const read of journalLines(path)) {
    if (read.kind === 'changed') note('AUDIT_CHANGED', `"${path}:${read.n}": ${read.why}`);
    if (read.kind === 'unreadable') note('FILE_UNREADABLE', `"${path}": ${read.why}`);
    if (read.kind !== 'line') return;
    if (read.line.kind === 'begin' && !isOurs(read.line)) return;
    yield read.line;
  }
}

type Sent = AuditOf<'send'>;

async function readJournal(path: string, owner: Owner, found: Read, reading: Reading): Promise<void> {
  const { sent } = found;
  /** Those of which no line says yet what came of them. */
  const open = new Map<number, Sent>();
  for await (const line of linesOf(path, (begin) => isOf(owner, begin), reading.note)) {
    if (line.kind === 'send' && line.write !== 'quote') open.set(line.n, line);
    const send = line.kind === 'outcome' ? open.get(line.of) : undefined;
    if (line.kind !== 'outcome' || send === undefined) continue;
    open.delete(line.of);
    const came = { result: line.result, code: line.why };
    sent.note(keyOfLine(send), came, { sentAtMs: Date.parse(send.at), atMs: Date.parse(line.at) });
  }
  for (const send of open.values()) {
    const sentAtMs = Date.parse(send.at);
    if (reading.nowMs - sentAtMs < UNDER_WAY_MS) found.isUnderWay = true;
    else sent.note(keyOfLine(send), null, { sentAtMs, atMs: sentAtMs });
  }
}

function isOf(owner: Owner, begin: Owner): boolean {
  return (
    begin.mode === owner.mode && begin.organisation === owner.organisation && begin.keyName === owner.keyName
  );
}

function keyOfLine({ write, reference, request }: Sent): string {
  const { account = null, currency = '', amount = '0', quoteId = null } = request;
  const kind = write === 'withdrawal' ? 'paid' : 'traded';
  const spending = { kind, policy: null, account, amounts: [{ value: amount, currency }] } as const;
  return keyOf({ reference: reference ?? '', quoteId, spending });
}
