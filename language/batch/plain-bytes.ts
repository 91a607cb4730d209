/**
 * The bytes of a batch file, in pieces of whole lines. At most a chunk and a row are in memory at once. The bytes must be
 * text in UTF-8. Anything else (another encoding, a row without end) stops the reading, with its place.
 */
import { isUtf8 } from 'node:buffer';
import type { BatchEncoding } from '../../domain/policy.ts';
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
  /** Whether the file begins with a byte order mark; known with the first piece. */
  hasMark = false;
  readonly #chunks: AsyncIterable<Uint8Array>;
  /** The number of lines that have been given out. */
  #lines = 0;
  #isQuoted = false;
  #rowBytes = 0;
  #rowLine = 1;

  constructor(chunks: AsyncIterable<Uint8Array>, encoding: BatchEncoding) {
    this.#chunks = encoding === 'utf-8' ? chunks : inUtf8(chunks, encoding);
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
    const wrong = isFirst ? (otherForm(bytes) ?? otherEncoding(bytes)) : null;
    if (wrong !== null) return this.#stop(1, bytes, wrong);
    if (isFirst) this.hasMark = bytes.subarray(0, 3).equals(BOM);
    const text = isFirst && this.hasMark ? bytes.subarray(3) : bytes;
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
        this.#stop(line, one, notUtf8('another encoding, most likely Windows-1252', 'windows-1252'));
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

/**
 * The encoding by its exact name, as the first bytes of a file tell it. The byte order mark tells the order of UTF-16; without it the
 * low byte comes first, as in files of Windows.
 */
export function labelOf(
  beginning: Uint8Array,
  encoding: BatchEncoding,
): Exclude<BatchEncoding, 'utf-16'> | 'utf-16le' | 'utf-16be' {
  if (encoding !== 'utf-16') return encoding;
  return beginning[0] === 0xfe && beginning[1] === 0xff ? 'utf-16be' : 'utf-16le';
}

/** The text in UTF-8. A character that is broken becomes U+FFFD. */
async function* inUtf8(
  chunks: AsyncIterable<Uint8Array>,
  encoding: BatchEncoding,
): AsyncGenerator<Uint8Array> {
  let decoder: InstanceType<typeof TextDecoder> | null = null;
  for await (const chunk of chunks) {
    decoder ??= new TextDecoder(labelOf(chunk, encoding), { ignoreBOM: true });
    yield Buffer.from(decoder.decode(chunk, { stream: true }));
  }
  yield Buffer.from(decoder?.decode() ?? '');
}

/** How files of other programs begin, and what they are. */
const OTHER_FORMS: readonly { readonly begins: RegExp; readonly name: string }[] = [
  { begins: /^PK\u0003\u0004/, name: 'a workbook of a spreadsheet (.xlsx or .ods), or another zip file' },
  { begins: /^\u00D0\u00CF\u0011\u00E0/, name: 'an old workbook of a spreadsheet (.xls)' },
  { begins: /^%PDF/, name: 'a PDF' },
  {
    begins: /^\s*<(?:\?xml|Document|!DOCTYPE|html)/i,
    name: 'XML, such as a payment file of a bank (pain.001)',
  },
  { begins: /^101 [0-9 ]{9,}/, name: 'an ACH file (NACHA)' },
  { begins: /^(?:\{1:|:20:)/, name: 'a SWIFT message (MT101)' },
];

/** The complaint about a file of another form, such as a workbook; null: it may be a batch file. */
function otherForm(bytes: Buffer): Complaint | null {
  const start = bytes.toString('latin1', 0, 200).replace(/^\u00EF\u00BB\u00BF/, '');
  const found = OTHER_FORMS.find(({ begins }) => begins.test(start));
  if (found === undefined) return null;
  return {
    mistake: 'FORM',
    message: `the file is ${found.name}; payments are read from CSV and JSON Lines`,
    fix: 'save or export the payments as CSV (in a spreadsheet: "CSV UTF-8"), with a first line that names the columns',
  };
}

/** The complaint about another encoding that the first bytes show; null: they show none. */
function otherEncoding(bytes: Buffer): Complaint | null {
  const [first, second] = bytes;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff))
    return notUtf8('UTF-16', 'utf-16');
  if (BOM_READ_WRONGLY.some((mark) => bytes.subarray(0, mark.length).equals(mark)))
    return {
      mistake: 'ENCODING',
      message: 'the file is UTF-8, and the policy says another encoding',
      fix: 'delete `encoding` in the policy',
    };
  // Every other byte of plain text in UTF-16 is zero.
  const start = bytes.subarray(0, 64);
  const zeros = start.filter((byte) => byte === 0).length;
  return zeros * 4 >= start.length ? notUtf8('UTF-16, or no text at all', 'utf-16') : null;
}

/** The byte order mark of UTF-8 after it was read as Windows-1252, and the first half of it after it was read as UTF-16. */
const BOM_READ_WRONGLY = ['\u00EF\u00BB\u00BF', '\uBBEF'].map((text) => Buffer.from(text));

function notUtf8(found: string, encoding: BatchEncoding): Complaint {
  return {
    mistake: 'ENCODING',
    message: `the file is not UTF-8 from here on; it looks like ${found}`,
    fix: `save it as UTF-8 (in a spreadsheet: "CSV UTF-8"), or write \`encoding: ${encoding}\` into the policy; nothing behind this place was read`,
  };
}

/** The complaint about a row that does not end. */
export const ENDLESS_ROW: Complaint = {
  mistake: 'TOO_LARGE',
  message: `the row that begins here has more than ${MOST_ROW_BYTES} bytes`,
  fix: 'see that every quote is closed; nothing behind this place was read',
};
