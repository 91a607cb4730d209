/**
 * The bytes of a batch file, in pieces of whole lines. At most a chunk and a row are in memory at once. The bytes must be
 * text in UTF-8. Anything else (another encoding, a row without end) stops the reading, with its place.
 */
import { isUtf8 } from 'node:buffer';
import type { Complaint } from '../text/yaml-source.ts';
import { mistakeOf, type Piece } from './pieces.ts';

/** A longer row is no row: most likely a quote is not closed. The bound also limits the memory. */
export const MOST_ROW_BYTES = 1024 * 1024;

const [NEW_LINE, RETURN, QUOTE] = [0x0a, 0x0d, 0x22];

export class PlainBytes {
  /** What stopped the reading; null: nothing has stopped it so far. */
  stopped: Piece | null = null;
  /** Whether the text begins as JSON does; known with the first piece. */
  isJson = false;
  readonly #chunks: AsyncIterable<Uint8Array>;
  /** The number of lines that have been given out. */
  #lines = 0;
  #isQuoted = false;
  #rowBytes = 0;
  #rowLine = 1;

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks;
  }

  /** Each piece ends with a line, but the last one may not. */
  async *lines(): AsyncGenerator<Buffer> {
    let rest = Buffer.alloc(0);
    let isFirst = true;
    for await (const chunk of this.#chunks) {
      const bytes = Buffer.concat([rest, chunk]);
      const whole = bytes.subarray(0, this.#endOfLines(bytes));
      // The first piece must have text, since the beginning of a file tells what kind of file it is.
      const isNothing = whole.length === 0 || (isFirst && whole.toString('utf8').trim() === '');
      rest = isNothing ? bytes : bytes.subarray(whole.length);
      if (rest.length > MOST_ROW_BYTES) {
        this.#stop(1, rest, ENDLESS_ROW);
        return;
      }
      if (isNothing) continue;
      yield* this.#checked(whole, isFirst);
      isFirst = false;
      if (this.stopped !== null) return;
    }
    if (rest.length > 0) yield* this.#checked(rest, isFirst);
  }

  /**
   * The index after the last line end. A line end of an old Mac (CR) may be the first half of one of Windows; in JSON it is
   * a blank.
   */
  #endOfLines(bytes: Buffer): number {
    const ofMac = this.isJson || bytes.length < 2 ? -1 : bytes.lastIndexOf(RETURN, bytes.length - 2);
    return Math.max(bytes.lastIndexOf(NEW_LINE), ofMac) + 1;
  }

  *#checked(bytes: Buffer, isFirst: boolean): Generator<Buffer> {
    const other = isFirst ? otherEncoding(bytes) : null;
    if (other !== null) return this.#stop(1, bytes, notUtf8(other));
    const text = isFirst && bytes.subarray(0, 3).equals(BOM) ? bytes.subarray(3) : bytes;
    if (isFirst) this.isJson = /^\s*[{[]/.test(text.subarray(0, 1_000).toString('utf8'));
    const good = isUtf8(text) ? text : this.#beforeBadLine(text);
    this.#count(good);
    if (good.length > 0) yield good;
  }

  /** The bytes before the first line that is not UTF-8. */
  #beforeBadLine(bytes: Buffer): Buffer {
    let line = 1;
    let start = 0;
    for (;;) {
      const next = bytes.indexOf(NEW_LINE, start);
      const end = next < 0 ? bytes.length : next + 1;
      const one = bytes.subarray(start, end);
      if (!isUtf8(one)) {
        this.#stop(line, one, notUtf8('another encoding, most likely Windows-1252 or Latin-1'));
        return bytes.subarray(0, start);
      }
      line += 1;
      start = end;
    }
  }

  /** Counts lines, and the bytes since the last line end outside quotes. */
  #count(bytes: Buffer): void {
    for (const byte of bytes) {
      this.#rowBytes += 1;
      if (byte === QUOTE && !this.isJson) this.#isQuoted = !this.#isQuoted;
      if (byte !== NEW_LINE) continue;
      this.#lines += 1;
      if (this.#isQuoted) {
        if (this.#rowBytes > MOST_ROW_BYTES)
          this.stopped ??= mistakeOf({ line: this.#rowLine, text: '' }, ENDLESS_ROW);
        continue;
      }
      this.#rowBytes = 0;
      this.#rowLine = this.#lines + 1;
    }
  }

  /** @param line the line in `bytes`, from 1, on which the reading stops */
  #stop(line: number, bytes: Buffer, complaint: Complaint): void {
    const text = bytes
      .subarray(0, 4_096)
      .toString('utf8')
      .replace(/[\r\n][^]*$/, '');
    const bad = text.indexOf('\u{FFFD}');
    const start = bad < 0 ? 0 : bad;
    this.stopped = mistakeOf({ line: this.#lines + line, text }, complaint, {
      place: { start, end: start + 1 },
      isRow: false,
    });
  }
}

const BOM = Buffer.from([0xef, 0xbb, 0xbf]);

/** Another encoding that the first bytes show; null: none. */
function otherEncoding(bytes: Buffer): string | null {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) return 'UTF-16';
  // Every other byte of plain text in UTF-16 is zero.
  const start = bytes.subarray(0, 64);
  const zeros = start.filter((byte) => byte === 0).length;
  return zeros * 4 >= start.length ? 'UTF-16, or no text at all' : null;
}

function notUtf8(found: string): Complaint {
  return {
    mistake: 'ENCODING',
    message: `the file is not UTF-8 from here on; it looks like ${found}`,
    fix: 'save it as UTF-8 (in a spreadsheet: "CSV UTF-8"); nothing behind this place was read',
  };
}

/** The complaint about a row that does not end. */
export const ENDLESS_ROW: Complaint = {
  mistake: 'TOO_LARGE',
  message: `the row that begins here has more than ${MOST_ROW_BYTES} bytes`,
  fix: 'see that every quote is closed; nothing behind this place was read',
};
