/**
 * A YAML file as plain values, each with its place. Reads the small, safe part of YAML: one document of maps, lists and
 * scalars; no aliases, anchors, tags, merge keys, directives or duplicate keys. Files are not trusted: size and depth are
 * bounded, and no key ever reaches a prototype. The text of every scalar is kept, so that no amount becomes a `number` (M5).
 */
import { Composer, CST, isAlias, isMap, isScalar, isSeq, LineCounter, Parser, Scalar } from 'yaml';
import type { Document, ErrorCode, ParsedNode, YAMLError, YAMLMap } from 'yaml';
import { printable, quoted } from './printable.ts';
import { excerptOf } from './problem.ts';
import type { FileMistake } from '../../domain/file-mistakes.ts';
import type { FileAtFault } from '../../domain/problems.ts';
import type { PolicyProblem } from './problem.ts';

/** The way from the top of a file to a value: `['withdraw', 0, 'account']`. */
export type Path = readonly (string | number)[];

/** A range of the text, in UTF-16 units: [start, end). */
export type Place = { readonly start: number; readonly end: number };

/** A scalar as it was written: its text after unquoting, and whether it stood in quotes. */
export type Written = { readonly text: string; readonly quoted: boolean };

/** The text of a problem, without its place. */
export type Complaint = { readonly mistake: FileMistake; readonly message: string; readonly fix: string };

type Located = Complaint & { readonly place: Place };

const NOWHERE: Place = { start: 0, end: 0 };

/**
 * A policy goes into Temporal's history, where payloads have a limit. The bound also keeps a text from making a worker busy
 * for long.
 */
const MAX_BYTES = 64 * 1024;
const MAX_DEPTH = 20;
const MAX_PROBLEMS = 100;

type YamlFile = {
  readonly text: string;
  readonly file: string;
  readonly subject: FileAtFault;
  /** A larger limit, for files that do not go into a payload. */
  readonly maxBytes?: number;
};

/** Reads `text`. Throws nothing: every mistake of the text is in `source.problems()`. */
export function readYaml(input: YamlFile): YamlSource {
  return new YamlSource(input);
}

/** One file: its values, their places, and the problems found so far (its own and those that loaders report). */
export class YamlSource {
  /** Maps as plain objects, lists, texts, small whole numbers, booleans and null; any other unquoted number is NaN. */
  readonly value: unknown;
  /** True when the text could not be read as a map at all: then there is nothing to check. */
  readonly broken: boolean;
  readonly #text: string;
  readonly #file: string;
  readonly #subject: FileAtFault;
  readonly #lines = new LineCounter();
  #top: Entry | null = null;
  #hasSyntaxError = false;
  readonly #spoiled = new Set<string>();
  readonly #problems: Located[] = [];
  readonly #warnings: Located[] = [];

  constructor({ text, file, subject, maxBytes = MAX_BYTES }: YamlFile) {
    this.#file = file;
    this.#subject = subject;
    const bytes = Buffer.byteLength(text);
    this.#text = bytes > maxBytes ? '' : text;
    if (bytes > maxBytes) {
      this.report(NOWHERE, tooLarge(bytes, maxBytes));
      this.value = null;
      this.broken = true;
      return;
    }
    this.#checkCharacters();
    const root = this.#parse();
    this.#top = this.#read(root, null, []);
    this.value = root === null ? {} : this.#top.value;
    if (root !== null && !isMap(root) && this.#problems.length === 0) {
      this.report(rangeOf(root), {
        mistake: 'WRONG_TYPE',
        message: 'the file must hold fields, `name: value` on lines of their own',
        fix: 'begin from a sample in `policies/`',
      });
    }
    this.broken =
      this.#problems.some(({ mistake }) => BREAKING.has(mistake)) || (root !== null && !isMap(root));
  }

  /** Notes a mistake; the file is refused. */
  report(place: Place, complaint: Complaint): void {
    this.#problems.push({ ...complaint, place });
  }

  /** Notes something that is allowed but probably not meant. */
  warn(place: Place, complaint: Complaint): void {
    this.#warnings.push({ ...complaint, place });
  }

  /** Every problem so far, in the order of the places. */
  problems(): readonly PolicyProblem[] {
    return this.#finish(this.#problems);
  }

  /** Every warning so far, in the order of the places. */
  warnings(): readonly PolicyProblem[] {
    return this.#finish(this.#warnings);
  }

  /** True when the file has something at `path`, even an empty value. */
  has(path: Path): boolean {
    return path.length === 0 || this.#entryAt(path) !== null;
  }

  /** Marks the value at `path` as reported, so that later checks skip it. */
  spoil(path: Path): void {
    this.#spoiled.add(idOf(path));
  }

  /** True when a mistake in the value at `path`, or in a value that contains it, has been reported. */
  isSpoiled(path: Path): boolean {
    return (
      this.#spoiled.size > 0 && path.some((_, index) => this.#spoiled.has(idOf(path.slice(0, index + 1))))
    );
  }

  /** What kind of value the file has at `path`; null when there is none. */
  shapeAt(path: Path): 'map' | 'list' | 'scalar' | 'empty' | null {
    const entry = this.#entryAt(path);
    if (entry === null) return null;
    if (entry.value === null) return 'empty';
    if (entry.inside === null) return 'scalar';
    return isMap(entry.node) ? 'map' : 'list';
  }

  /** The scalar at `path` as it was written; null when there is none. */
  written(path: Path): Written | null {
    const node = this.#entryAt(path)?.node;
    return isScalar(node) ? { text: String(node.value), quoted: isQuoted(node) } : null;
  }

  /** The text of a scalar that no check has reported; null otherwise. */
  clean(path: Path): string | null {
    return this.isSpoiled(path) ? null : (this.#entryAt(path)?.text ?? null);
  }

  /**
   * The content of the document as one text, without the content of `field`. The text is the same for two documents that
   * differ only in comments, white space, quotes or the order of their fields. It has a meaning only where there are no
   * problems.
   */
  canonicalWithout(field: string): string {
    return this.#top === null ? '' : canonicalOf(this.#top, field);
  }

  /** How many items the list at `path` has; 0 when there is no list. */
  lengthAt(path: Path): number {
    const node = this.#entryAt(path)?.node;
    return isSeq(node) ? node.items.length : 0;
  }

  /** The place of the value at `path`; the place of its key when the value is empty or spans lines. */
  placeAt(path: Path): Place {
    const entry = this.#entryAt(path);
    if (entry === null) return this.keyPlaceAt(path.slice(0, -1));
    const place = entry.node === null ? NOWHERE : rangeOf(entry.node);
    return place.end > place.start || entry.key === null ? place : rangeOf(entry.key);
  }

  /** The place of the key of `path`; for an item of a list or for the whole file, its beginning. */
  keyPlaceAt(path: Path): Place {
    if (path.length === 0) return NOWHERE;
    const key = this.#entryAt(path)?.key ?? null;
    return key === null ? this.placeAt(path) : rangeOf(key);
  }

  /** The place of `part` inside the scalar at `path`, searched from its end or its beginning. */
  placeWithin(path: Path, part: string, from: 'start' | 'end'): Place {
    const whole = this.placeAt(path);
    const source = this.#text.slice(whole.start, whole.end);
    const index = from === 'start' ? source.indexOf(part) : source.lastIndexOf(part);
    return index < 0 ? whole : { start: whole.start + index, end: whole.start + index + part.length };
  }

  /** The line (from 1) on which a place begins, for messages that name another place. */
  lineOf(place: Place): number {
    return this.#lines.linePos(place.start).line;
  }

  #checkCharacters(): void {
    // Characters that YAML itself forbids, and characters that would hide or reorder the text that a person reviews.
    const forbidden =
      /(?:[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x84\x86-\x9F\u2028\u2029\uFFFE\uFFFF\p{Cs}\p{Bidi_Control}]|\r(?!\n))+/gu;
    for (const match of this.#text.matchAll(forbidden)) {
      const code = (match[0].codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
      this.report(
        { start: match.index, end: match.index + match[0].length },
        {
          mistake: 'CONTROL_CHARACTER',
          message: `the text holds the invisible character U+${code}`,
          fix: 'delete it; save the file as plain UTF-8 text',
        },
      );
    }
  }

  #parse(): ParsedNode | null {
    // The failsafe schema keeps every scalar as text; duplicate keys are found below, in linear time.
    const options = { schema: 'failsafe', uniqueKeys: false, prettyErrors: false } as const;
    let documents: readonly Document.Parsed[];
    try {
      const tokens = [...new Parser(this.#lines.addNewLine).parse(this.#text)];
      const deep = tooDeepToken(tokens);
      if (deep !== null) {
        this.report({ start: deep.offset, end: deep.offset }, TOO_DEEP);
        return null;
      }
      documents = [...new Composer(options).compose(tokens)];
    } catch {
      this.report(NOWHERE, SYNTAX_UNREADABLE);
      return null;
    }
    const lines = new Set<number>();
    for (const error of documents.flatMap((document) => [...document.errors, ...document.warnings])) {
      // One slip often makes several errors on its line, so only the first is reported. Aliases and tags are reported below.
      const line = this.#lines.linePos(error.pos[0]).line;
      if (OWN_REPORT.has(error.code) || lines.has(line)) continue;
      lines.add(line);
      this.#hasSyntaxError = true;
      this.report({ start: error.pos[0], end: error.pos[1] }, syntaxComplaint(error));
    }
    const [first, second] = documents;
    if (second !== undefined) this.report(this.#lineAt(second.range[0]), SEVERAL_DOCUMENTS);
    if (first === undefined) return null;
    if (first.directives.yaml.explicit === true || Object.keys(first.directives.tags).length > 1) {
      this.report(this.#lineAt(Math.max(0, this.#text.search(/^%/m))), DIRECTIVE);
    }
    const contents = first.contents;
    return isScalar(contents) && isEmpty(contents) ? null : contents;
  }

  #entryAt(path: Path): Entry | null {
    let entry = this.#top;
    for (const step of path) entry = entry?.inside?.get(step) ?? null;
    return entry;
  }

  /** Reads the value at `path`. The array is shared: it gets longer only while the values inside are read. */
  #read(node: ParsedNode | null, key: ParsedNode | null, path: (string | number)[]): Entry {
    if (node === null) return { key, node, value: null, text: null, inside: null };
    this.#refuseProperties(node);
    if (isMap(node)) return this.#readMap(node, key, path);
    if (isScalar(node)) {
      if (!this.#isAsWritten(node)) this.spoil(path);
      const text = String(node.value);
      const value = node.type === Scalar.PLAIN ? plainValue(text) : text;
      return { key, node, value, text: value === null ? null : text, inside: null };
    }
    if (isAlias(node)) {
      this.spoil(path);
      return { key, node, value: null, text: null, inside: null };
    }
    const inside = new Map<number, Entry>();
    for (const [index, item] of node.items.entries()) {
      path.push(index);
      inside.set(index, this.#read(item, null, path));
      path.pop();
    }
    return { key, node, value: Array.from(inside.values(), ({ value }) => value), text: null, inside };
  }

  #readMap(node: YAMLMap.Parsed, key: ParsedNode | null, path: (string | number)[]): Entry {
    const inside = new Map<string, Entry>();
    // `#nameOf` refuses `__proto__`, the one name that would not become a field. A map without a prototype would be slower
    // for zod to read.
    const fields: Record<string, unknown> = {};
    for (const pair of node.items) {
      const name = this.#nameOf(pair.key, inside);
      if (name === null) continue;
      path.push(name);
      const entry = this.#read(pair.value, pair.key, path);
      path.pop();
      if (isMergeKey(pair.key)) continue;
      inside.set(name, entry);
      fields[name] = entry.value;
    }
    return { key, node, value: fields, text: null, inside };
  }

  /** The name of a field; null where a field may not have this name, or where the map has it already. */
  #nameOf(key: ParsedNode, before: ReadonlyMap<string, Entry>): string | null {
    this.#refuseProperties(key);
    if (isScalar(key)) this.#isAsWritten(key);
    const name = isScalar(key) ? String(key.value) : '';
    if (name === '' || name === '__proto__') {
      if (!isAlias(key)) this.report(rangeOf(key), name === '' ? BAD_KEY : BAD_NAME);
      return null;
    }
    const known = before.get(name)?.key ?? null;
    if (isMergeKey(key)) this.report(rangeOf(key), MERGE_KEY);
    else if (known !== null) {
      this.report(rangeOf(key), {
        mistake: 'DUPLICATE_KEY',
        message: `${quoted(name)} is written twice; the first is on line ${this.lineOf(rangeOf(known))}`,
        fix: 'delete one of the two',
      });
      return null;
    }
    return name;
  }

  /**
   * True when a reviewer sees the text that is read. An escape, a fold or a block text could hide another amount or account.
   */
  #isAsWritten(scalar: Scalar.Parsed): boolean {
    // After an error of syntax, the parser's reading of a text proves nothing.
    if (this.#hasSyntaxError) return true;
    const [start, end] = scalar.range;
    const value = String(scalar.value);
    const quotes = isQuoted(scalar) ? 1 : 0;
    if (end - start === value.length + 2 * quotes && this.#text.startsWith(value, start + quotes))
      return true;
    const fix = printable(value) === value ? `write "${value.slice(0, 60)}"` : 'write the text itself';
    this.report({ start, end }, { mistake: 'TEXT', message: TEXT_MESSAGE, fix: `${fix}, on one line` });
    return false;
  }

  /** Reports the other properties of a node: an alias, an anchor, a tag. */
  #refuseProperties(node: ParsedNode): void {
    if (isAlias(node)) {
      this.report(rangeOf(node), ALIAS);
      return;
    }
    if (typeof node.tag === 'string') this.report(this.#before(rangeOf(node), '!'), TAG);
    if (node.anchor !== undefined) this.report(this.#before(rangeOf(node), '&'), ANCHOR);
  }

  /** The place of a tag or anchor, the last word before `place` that begins with `sign`. */
  #before(place: Place, sign: '!' | '&'): Place {
    const from = Math.max(0, place.start - 500);
    const words = this.#text.slice(from, place.start).matchAll(/(?<![^\s,[{:?-])[!&][^\s,\]}]*/g);
    const word = [...words].findLast((match) => match[0].startsWith(sign));
    if (word === undefined) return place;
    return { start: from + word.index, end: from + word.index + word[0].length };
  }

  #lineAt(offset: number): Place {
    const end = this.#text.indexOf('\n', offset);
    return { start: offset, end: end < 0 ? this.#text.length : end };
  }

  #finish(located: readonly Located[]): readonly PolicyProblem[] {
    const sorted = located.toSorted((left, right) => left.place.start - right.place.start);
    const shown = sorted.slice(0, MAX_PROBLEMS).map((one) => this.#problem(one));
    const next = sorted[MAX_PROBLEMS];
    if (next === undefined) return shown;
    const message = `${sorted.length - MAX_PROBLEMS} more problems from here on are not shown`;
    return [
      ...shown,
      this.#problem({
        place: next.place,
        mistake: 'TOO_MANY_PROBLEMS',
        message,
        fix: 'correct those that are shown, then check the file again',
      }),
    ];
  }

  #problem({ place, mistake, message, fix }: Located): PolicyProblem {
    // A problem at the end of the file is shown on the last line with text.
    const start = Math.min(place.start, this.#text.trimEnd().length);
    const position = this.#lines.linePos(start);
    const line = Math.max(1, position.line);
    const lineStart = this.#lines.lineStarts[line - 1] ?? 0;
    const lineEnd = this.#text.indexOf('\n', lineStart);
    const text = this.#text.slice(lineStart, lineEnd < 0 ? undefined : lineEnd).replace(/\r$/, '');
    const range = { start: start - lineStart, end: Math.min(place.end - lineStart, text.length) };
    return Object.freeze({
      code: `${this.#subject}_${mistake}` as const,
      file: this.#file,
      line,
      column: start - lineStart + 1,
      message,
      fix,
      excerpt: excerptOf(text, range),
    });
  }
}

/** After one of these mistakes, the values of the file may not be those that the person meant. */
const BREAKING: ReadonlySet<FileMistake> = new Set(['SYNTAX', 'TOO_LARGE', 'TOO_DEEP', 'WRONG_TYPE']);

/** Errors of the parser that `#refuseProperties` reports in our own words. */
const OWN_REPORT: ReadonlySet<ErrorCode> = new Set([
  'BAD_ALIAS',
  'TAG_RESOLVE_FAILED',
  'BAD_COLLECTION_TYPE',
]);

const SYNTAX_FIX: Readonly<Record<ErrorCode, string>> = {
  ALIAS_PROPS: 'write the value out',
  BAD_ALIAS: 'write the value out',
  BAD_COLLECTION_TYPE: 'delete the tag',
  BAD_DIRECTIVE: 'delete the line that begins with `%`',
  BAD_DQ_ESCAPE: 'write the text in single quotes, or without the backslash',
  BAD_INDENT: 'close every bracket, brace and quote, and indent with two blanks per level',
  BAD_PROP_ORDER: 'delete the tag or anchor',
  BAD_SCALAR_START: 'put the text in double quotes',
  BLOCK_AS_IMPLICIT_KEY: 'put nested fields on lines of their own, indented by two blanks',
  BLOCK_IN_FLOW: 'inside braces or brackets write everything on one line, with commas',
  DUPLICATE_KEY: 'delete one of the two',
  IMPOSSIBLE: 'begin from a sample in `policies/`',
  KEY_OVER_1024_CHARS: 'a name stands before the colon: write a short one',
  MISSING_CHAR: 'add what is missing: a closing quote, bracket or brace, a comma, or a blank after the colon',
  MULTILINE_IMPLICIT_KEY: 'write the name and its colon on one line, and close every quote',
  MULTIPLE_ANCHORS: 'delete the anchors',
  MULTIPLE_DOCS: 'keep one policy per file',
  MULTIPLE_TAGS: 'delete the tags',
  NON_STRING_KEY: 'write a plain name before the colon',
  RESOURCE_EXHAUSTION: 'write it with less nesting',
  TAB_AS_INDENT: 'indent with blanks, not with tabs',
  TAG_RESOLVE_FAILED: 'delete the tag',
  UNEXPECTED_TOKEN: 'delete it, or put the text in double quotes',
};

function syntaxComplaint(error: YAMLError): Complaint {
  return { mistake: 'SYNTAX', message: `not YAML: ${printable(error.message)}`, fix: SYNTAX_FIX[error.code] };
}

function tooLarge(bytes: number, maxBytes: number): Complaint {
  return {
    mistake: 'TOO_LARGE',
    message: `the file has ${bytes} bytes; at most ${maxBytes} are read`,
    fix: 'make it smaller; a policy can be split into several, each with a name of its own',
  };
}

const SYNTAX_UNREADABLE: Complaint = {
  mistake: 'SYNTAX',
  message: 'not YAML: the text cannot be read at all',
  fix: 'begin from a sample in `policies/`',
};
const SEVERAL_DOCUMENTS: Complaint = {
  mistake: 'SEVERAL_DOCUMENTS',
  message: 'a second document begins here; a file holds one',
  fix: 'delete the line `---` or `...`, or move what follows into a file of its own',
};
const DIRECTIVE: Complaint = {
  mistake: 'DIRECTIVE',
  message: 'directives are not allowed: the file is read as YAML 1.2',
  fix: 'delete the line that begins with `%`',
};
const ALIAS: Complaint = {
  mistake: 'ALIAS',
  message: 'aliases are not allowed: each value must be written where it is used',
  fix: 'write the value out, or put a text that begins with `*` in quotes',
};
const ANCHOR: Complaint = {
  mistake: 'ANCHOR',
  message: 'anchors are not allowed',
  fix: 'delete the anchor, or put a text that begins with `&` in quotes',
};
const TAG: Complaint = {
  mistake: 'TAG',
  message: 'tags are not allowed',
  fix: 'delete the tag, or put a text that begins with `!` in quotes',
};
const MERGE_KEY: Complaint = {
  mistake: 'MERGE_KEY',
  message: 'merge keys are not allowed',
  fix: 'write the fields out',
};
const TEXT_MESSAGE = 'a text must be written as it reads: no escapes, no line breaks, no block texts';
const BAD_KEY: Complaint = {
  mistake: 'KEY',
  message: 'a plain name must stand before the colon',
  fix: 'write `name: value`',
};
const BAD_NAME: Complaint = {
  mistake: 'UNKNOWN_FIELD',
  message: '"__proto__" is no field',
  fix: 'delete it',
};
const TOO_DEEP: Complaint = {
  mistake: 'TOO_DEEP',
  message: `more than ${MAX_DEPTH} levels of nesting`,
  fix: 'write it with less nesting',
};

/**
 * The first token that is nested too deeply. This is checked before composing, which recurses: at the end of the stack
 * the engine can abort the whole process, and no `catch` sees that.
 */
function tooDeepToken(tokens: readonly CST.Token[]): CST.Token | null {
  for (const token of tokens) {
    const found = token.type === 'document' ? deeperThan(MAX_DEPTH, token.value) : null;
    if (found !== null) return found;
  }
  return null;
}

/** The first token that is nested more than `levels` deeper. The function calls itself at most this many levels deep. */
function deeperThan(levels: number, token: CST.Token | null | undefined): CST.Token | null {
  if (token === null || token === undefined) return null;
  if (levels < 0) return token;
  if (!CST.isCollection(token)) return null;
  for (const { key, value } of token.items) {
    const found = deeperThan(levels - 1, key) ?? deeperThan(levels - 1, value);
    if (found !== null) return found;
  }
  return null;
}

/** `without` names a field of this entry itself, not of the entries inside it. */
function canonicalOf({ node, text, inside }: Entry, without: string | null = null): string {
  if (inside === null) return text === null ? '' : JSON.stringify(text);
  if (isSeq(node)) return `[${Array.from(inside.values(), (entry) => canonicalOf(entry)).join(',')}]`;
  const fields: string[] = [];
  for (const [name, entry] of inside) {
    if (name === without) continue;
    const key = isScalar(entry.key) && isEmpty(entry.key) ? '' : JSON.stringify(name);
    fields.push(`${key}:${canonicalOf(entry)}`);
  }
  return `{${fields.toSorted().join(',')}}`;
}

/** The value at one path, and the entries inside it. */
type Entry = {
  readonly key: ParsedNode | null;
  readonly node: ParsedNode | null;
  readonly value: unknown;
  /** The text of a scalar that is not empty, after unquoting. */
  readonly text: string | null;
  /** The entries by name in a map, by index in a list; null where the value can have none. */
  readonly inside: ReadonlyMap<string | number, Entry> | null;
};

function rangeOf(node: ParsedNode): Place {
  const [start, end] = node.range;
  return { start, end };
}

function idOf(path: Path): string {
  return JSON.stringify(path);
}

function isMergeKey(key: ParsedNode): boolean {
  return isScalar(key) && key.value === '<<' && !isQuoted(key);
}

function isQuoted(scalar: Scalar): boolean {
  return scalar.type === Scalar.QUOTE_DOUBLE || scalar.type === Scalar.QUOTE_SINGLE;
}

/** True for a value that was left out, or written as `null` or `~`. */
function isEmpty(scalar: Scalar): boolean {
  return scalar.type === Scalar.PLAIN && /^(?:~|null|Null|NULL)?$/.test(String(scalar.value));
}

/**
 * An unquoted scalar by the rules of YAML 1.2, except that no number but a small whole one exists: all others are NaN,
 * so that no amount can pass as a `number` (M5).
 */
function plainValue(text: string): unknown {
  if (/^(?:~|null|Null|NULL)?$/.test(text)) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  if (/^(?:0|[1-9][0-9]{0,5})$/.test(text)) return Number(text);
  const number =
    /^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?)$/;
  return number.test(text) || /^(?:[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$/.test(text) ? Number.NaN : text;
}
