/** Reads a journal of a worker line by line, and holds each line against the one before it. */
import { StringDecoder } from 'node:string_decoder';
import { NOTHING_WRITTEN, readLine, type AuditEnd, type AuditLine } from '../domain/audit.ts';
import { auditDigest } from './audit-digest.ts';
import { openByteFile } from './read-text-file.ts';

/** A line, or why the reading ends there. */
export type JournalRead =
  | { readonly kind: 'line'; readonly line: AuditLine }
  /** The last line is not whole on the disk. Nothing was sent by it. */
  | { readonly kind: 'cut' }
  /** Line `n` does not follow the one before it. */
  | { readonly kind: 'changed'; readonly n: number; readonly why: string }
  | { readonly kind: 'unreadable'; readonly why: string };

/** The lines of the journal at `path`, in order. Throws where the file cannot be read to its end. */
export async function* journalLines(path: string): AsyncGenerator<JournalRead> {
  const opened = await openByteFile(path);
  if (!opened.ok) return yield { kind: 'unreadable', why: opened.message };
  let end: AuditEnd = NOTHING_WRITTEN;
  for await (const { text, isWhole } of linesOf(opened.chunks)) {
    if (!isWhole) return yield { kind: 'cut' };
    const read = readLine(end, text, auditDigest);
    if (typeof read === 'string') return yield { kind: 'changed', n: end.n + 1, why: read };
    end = read.end;
    yield { kind: 'line', line: read.line };
  }
}

/** Longer than any line of a journal. */
const LONGEST_LINE = 1_000_000;

/** `isWhole`: false for what comes after the last line end. A text that is too long for a line is cut. */
async function* linesOf(
  chunks: AsyncIterable<Uint8Array>,
): AsyncGenerator<{ readonly text: string; readonly isWhole: boolean }> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of chunks) {
    const texts = `${rest}${decoder.write(chunk)}`.split('\n');
    rest = texts.pop() ?? '';
    for (const text of texts) yield { text, isWhole: true };
    if (rest.length > LONGEST_LINE) return yield { text: rest, isWhole: true };
  }
  rest += decoder.end();
  if (rest !== '') yield { text: rest, isWhole: false };
}
