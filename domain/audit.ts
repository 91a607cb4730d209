/**
 * The journal of a worker: one line of JSON for each write before it is sent, and one for what came of it. Each line has a hash
 * over itself and the line before it. So a line that a person has changed, cut out or moved is found. Pure.
 */
import type { HaltSaid, HaltScope } from './halt.ts';
import {
  isMoment,
  isRecord,
  lineOf,
  listOf,
  misshapen,
  oneOf,
  orNull,
  recordOf,
  textOf,
  type Field,
  type Fields,
} from './shape.ts';

/** What a line tells. */
export type AuditFact =
  /** The first line of a file: who writes it. */
  | {
      readonly kind: 'begin';
      readonly worker: string;
      readonly mode: string;
      readonly organisation: string;
      readonly keyName: string;
    }
  /**
   * Is on the disk before a byte leaves. `request`: what the service is asked for, by the names of the interface. `reference`:
   * null for a quote, which moves no money.
   */
  | {
      readonly kind: 'send';
      readonly write: AuditedWrite;
      readonly reference: string | null;
      readonly idempotencyKey: string;
      readonly request: Readonly<Record<string, string>>;
    }
  /** What came of the send in line `of`. `recordId`: of a record that was made. `why`: a code or a reason; null where it was. */
  | {
      readonly kind: 'outcome';
      readonly of: number;
      readonly result: 'DONE' | 'REFUSED' | 'NOT_SENT' | 'UNKNOWN';
      readonly recordId: string | null;
      readonly why: string | null;
    }
  /**
   * What a person has said about a run, as this worker has seen it. `entry`: its id. `number`: its place among those that are kept
   * about the run; null: this worker has accepted it, and the run may still refuse it. `what`: its kind. `recordId`: the record of the service that
   * it names. `signed`: of an approval; null: it is none.
   */
  | {
      readonly kind: 'said';
      readonly run: string;
      readonly entry: string;
      readonly number: number | null;
      readonly what: string;
      readonly items: readonly string[];
      readonly recordId: string | null;
      readonly by: string;
      readonly why: string;
      readonly saidAt: string;
      readonly signed: (AuditedSignature & { readonly about: string | null }) | null;
    }
  | ({ readonly kind: 'halt'; readonly saidAt: string } & HaltSaid)
  /** `haltAt`: when the halt was said that this takes back. */
  | ({ readonly kind: 'resume'; readonly saidAt: string; readonly haltAt: string } & HaltSaid)
  /** A person has signed that this halt may end. */
  | ({ readonly kind: 'approve'; readonly saidAt: string; readonly haltAt: string } & HaltSaid &
      AuditedSignature)
  /** The worker goes by this halt no more: a resume of it counts, or a later halt of the same scope has taken its place. */
  | { readonly kind: 'over'; readonly scope: HaltScope; readonly haltAt: string }
  /** The worker has ended in order. */
  | { readonly kind: 'end' };

type AuditedWrite = 'quote' | 'trade' | 'withdrawal';
/**
 * As whom a person has signed, and the fingerprint of the key that the signature names; null: it names none. A journal does not verify
 * it.
 */
type AuditedSignature = { readonly as: 'starter' | 'approver'; readonly key: string | null };
/** `n`: the number of the line, from 1. `at`: by the worker's clock. Moments are ISO 8601. */
export type AuditLine = AuditFact & { readonly n: number; readonly at: string };
export type AuditOf<Kind extends AuditFact['kind']> = Extract<AuditLine, { readonly kind: Kind }>;

/** SHA-256 in hex. */
export type AuditDigest = (text: string) => string;

/** The end of a journal so far: what the next line continues. */
export type AuditEnd = { readonly n: number; readonly hash: string };

export const NOTHING_WRITTEN: AuditEnd = { n: 0, hash: '0'.repeat(64) };

/** A fact as the next line of a journal, without its line end. */
export function nextLine(
  { n, hash }: AuditEnd,
  fact: AuditFact,
  at: string,
  digest: AuditDigest,
): { readonly text: string; readonly end: AuditEnd } {
  const body = JSON.stringify({ n: n + 1, at, ...fact });
  const own = digest(`${hash}\n${body}`);
  return { text: `${body.slice(0, -1)},"hash":"${own}"}`, end: { n: n + 1, hash: own } };
}

const LINE = /^(\{.*),"hash":"([0-9a-f]{64})"\}$/s;

/**
 * Reads the next line of a journal.
 * @param last the end of what was read before
 * @returns the line and the new end; or, in a short sentence, why it does not follow what was before
 */
export function readLine(
  last: AuditEnd,
  text: string,
  digest: AuditDigest,
): { readonly line: AuditLine; readonly end: AuditEnd } | string {
  const [, body, hash] = LINE.exec(text) ?? [];
  if (body === undefined || hash === undefined) return 'It is no whole line of a journal.';
  if (digest(`${last.hash}\n${body}}`) !== hash)
    return 'It does not follow the line before it: one of the two was changed, or lines were cut out, added or moved.';
  const line = parsed(`${body}}`);
  if (line === null || line.n !== last.n + 1 || (line.kind === 'begin') !== (line.n === 1))
    return 'It has not the form of a line.';
  return { line, end: { n: line.n, hash } };
}

const TEXT = textOf(4_000);
const isTime: Field = (value) => lineOf(30)(value) && !Number.isNaN(Date.parse(String(value)));
const AT: Fields = { n: isMoment, at: isTime };
const WRITES: readonly AuditedWrite[] = ['quote', 'trade', 'withdrawal'];
const SAID: Fields = { by: TEXT, why: TEXT, saidAt: isTime };
const SCOPE = recordOf({ policy: orNull(TEXT), currency: orNull(TEXT) });
const HALT: Fields = { ...SAID, scope: SCOPE };
const SIGNED: Fields = { as: oneOf('starter', 'approver'), key: orNull(TEXT) };
const FIELDS: Readonly<Record<AuditFact['kind'], Fields>> = {
  begin: { worker: TEXT, mode: TEXT, organisation: TEXT, keyName: TEXT },
  send: {
    write: oneOf(...WRITES),
    reference: orNull(TEXT),
    idempotencyKey: TEXT,
    request: (value) => isRecord(value) && Object.values(value).every(TEXT),
  },
  outcome: {
    of: isMoment,
    result: oneOf('DONE', 'REFUSED', 'NOT_SENT', 'UNKNOWN'),
    recordId: orNull(TEXT),
    why: orNull(TEXT),
  },
  said: {
    ...SAID,
    run: TEXT,
    entry: TEXT,
    number: orNull(isMoment),
    what: TEXT,
    items: listOf(TEXT),
    recordId: orNull(TEXT),
    signed: orNull(recordOf({ ...SIGNED, about: orNull(TEXT) })),
  },
  halt: HALT,
  resume: { ...HALT, haltAt: isTime },
  approve: { ...HALT, ...SIGNED, haltAt: isTime },
  over: { scope: SCOPE, haltAt: isTime },
  end: {},
};

function parsed(text: string): AuditLine | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (!isRecord(value)) return null;
  const { kind } = value;
  if (!isKind(kind)) return null;
  const fields = { ...AT, ...FIELDS[kind], kind: oneOf(kind) };
  return misshapen(value, fields) === null ? (value as AuditLine) : null;
}

function isKind(kind: unknown): kind is AuditFact['kind'] {
  return typeof kind === 'string' && Object.hasOwn(FIELDS, kind);
}
