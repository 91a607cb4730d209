/**
 * The closed shape of what the workflow `instructions` keeps. No instruction and no fact is trusted before it has passed
 * this check, neither when it is sent nor when it is read. Pure, so that the workflow's validators and the readers of
 * histories use the same check.
 */
import {
  MOST_NEEDS,
  isAlikeList,
  lastAlikeList,
  MOST_NUMBER,
  type Accepted,
  type Fact,
  type Instruction,
  type Kept,
  type Recorded,
  type Saying,
} from './instructions.ts';
import { CHUNK, MOST_CHUNKS } from '../batch.ts';
import { SUPERSEDED, SUPERSEDED_FIELDS } from '../replacement.ts';
import { isPart } from '../references.ts';
import {
  isMoment,
  isRecord,
  lineOf,
  listOf,
  misshapen,
  oneOf,
  orNull,
  recordOf,
  type Field,
  type Fields,
  type Shaped,
} from '../shape.ts';

const id: Field = (value) => typeof value === 'string' && /^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$/.test(value);
const item: Field = (value) => typeof value === 'string' && isPart(value);
const recordId: Field = (value) => typeof value === 'string' && /^[A-Za-z0-9][\w.:-]{0,199}$/.test(value);
const number =
  (least: number): Field =>
  (value) =>
    Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= MOST_NUMBER;
const date: Field = (value) =>
  typeof value === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(value) && !Number.isNaN(Date.parse(value));
const paidAgain: Field = (value) =>
  Array.isArray(value) &&
  value.length === 3 &&
  item(value[0]) &&
  number(1)(value[1]) &&
  orNull(recordId)(value[2]);
const listHash: Field = (value) => typeof value === 'string' && /^[\w-]{43}$/.test(value);
const paidAgainOfChunk: Field = (value) =>
  Array.isArray(value) &&
  value.length === 3 &&
  number(1)(value[0]) &&
  number(1)(value[1]) &&
  listHash(value[2]);
/** From one to so many of them. */
const someOf =
  (each: Field, most: number): Field =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= most && value.every(each);
/** The same of a list whose entries begin with what they are about, where nothing may come twice. */
const someOnce =
  (each: Field, most: number): Field =>
  (value) =>
    someOf(each, most)(value) &&
    new Set((value as readonly (readonly unknown[])[]).map(([of]) => of)).size ===
      (value as unknown[]).length;
const need: Field = (value) =>
  Array.isArray(value) &&
  value.length === 3 &&
  lineOf(100)(value[0]) &&
  orNull(lineOf(100))(value[1]) &&
  number(1)(value[2]);
const perGroup: Field = (value) => Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= 500;
const group: Field = (value) => typeof value === 'string' && /^\d{1,4}\.\d{1,3}\.[\w-]{12}$/.test(value);
/** A batch has 1,024 groups, and each chunk may add one more. */
const groups: Field = (value) => listOf(group)(value) && (value as unknown[]).length <= 1_424;
const lookAlikes: Field = (value) =>
  value === undefined || recordOf({ sinceMs: isMoment, untilMs: isMoment, perGroup, groups })(value);
/** Of an RSA key of 16,384 bits, it has not half of this. */
const signature: Field = (value) => typeof value === 'string' && /^[A-Za-z0-9+/]{1,6000}={0,2}$/.test(value);
const SAID: Fields = { id, by: lineOf(200), why: lineOf(2_000) };

const INSTRUCTIONS: Readonly<Record<Instruction['kind'], Fields>> = {
  cancel: SAID,
  'go-on': { ...SAID, item: orNull(item), takesBack: orNull(id), lookAlikes },
  executed: { ...SAID, item, recordId },
  'not executed': { ...SAID, item },
  'not this': { ...SAID, item, recordId },
  'pay again': { ...SAID, item, follows: number(1), recordId: orNull(recordId) },
  'pay these again': { ...SAID, chunks: someOnce(paidAgainOfChunk, MOST_CHUNKS) },
  accept: { ...SAID, item, recordId },
  approve: {
    ...SAID,
    as: oneOf('starter', 'approver'),
    about: orNull(id),
    expiresAtMs: isMoment,
    signature,
  },
  [SUPERSEDED]: { ...SAID, ...SUPERSEDED_FIELDS },
  acknowledge: {
    ...SAID,
    standing: lineOf(300),
    needs: (value) => Array.isArray(value) && value.length <= MOST_NEEDS && value.every(need),
  },
};

const FACTS: Readonly<Record<Fact['kind'], Fields>> = {
  'api key': { keyName: lineOf(300), atMs: isMoment },
  opened: { item, generation: number(2), atMs: isMoment },
  'let go': {
    chunk: number(1),
    places: (value) => listOf(number(0))(value) && (value as unknown[]).length <= CHUNK.payments,
  },
  'to pay again': { said: id, items: someOnce(paidAgain, CHUNK.payments) },
};

const RECORDED: Fields = { number: number(1), atMs: isMoment, date };
const SAYING: Fields = { seen: number(0), untilMs: isMoment };

/** An instruction as a command sends it. */
export function instructionOf(value: unknown): Shaped<Instruction> {
  return shaped<Instruction>(value, INSTRUCTIONS, {});
}

/** How a command says an instruction. */
export function sayingOf(value: unknown): Shaped<Saying> {
  if (!isRecord(value)) return refused('It is not an object with fields.');
  const why = misshapen(value, SAYING);
  return why === null ? { ok: true, value: value as Saying } : refused(why);
}

/** An instruction as it is kept. */
export function recordedOf(value: unknown): Shaped<Recorded> {
  return shaped<Recorded>(value, INSTRUCTIONS, RECORDED);
}

/** Whether an answer accepts just this instruction, with its moment and the date of that moment. */
export function isAcceptanceOf(instruction: Instruction, value: unknown): value is Accepted {
  if (!isRecord(value)) return false;
  const { atMs, date: on, ...said } = value;
  if (!isMoment(atMs) || on !== new Date(Number(atMs)).toISOString().slice(0, 10)) return false;
  const { ok } = instructionOf(said);
  const fields = Object.entries(instruction);
  // Its shape has every field, and no other one.
  return ok && fields.every(([name, field]) => JSON.stringify(said[name]) === JSON.stringify(field));
}

/** A part of what earlier Temporal runs hold, as the activity that reads them answers. */
export const isPageOfKept: Field = (value) =>
  isRecord(value) &&
  misshapen(value, {
    kept: (kept) => keptOf(kept).ok,
    next: orNull(number(0)),
    all: number(0),
    runId: lineOf(300),
  }) === null;

export function factOf(value: unknown): Shaped<Fact> {
  return shaped<Fact>(value, FACTS, {});
}

/** Reads a list of facts. Either all of them count, or none. */
export function factsOf(value: unknown): Shaped<readonly Fact[]> {
  return allOf(value, factOf);
}

export function keptOf(value: unknown): Shaped<Kept> {
  if (!isRecord(value)) return refused('It is not an object with fields.');
  const unknownField = Object.keys(value).find((key) => key !== 'instructions' && key !== 'facts');
  if (unknownField !== undefined) return refused('It has a field that Cambist does not know.');
  const instructions = allOf(value['instructions'], recordedOf);
  if (!instructions.ok) return instructions;
  const facts = factsOf(value['facts']);
  if (!facts.ok) return facts;
  return { ok: true, value: { instructions: instructions.value, facts: facts.value } };
}

/**
 * Joins what several Temporal runs kept, the oldest run first. Each instruction appears once by its id, as it was first
 * accepted, in the order of their numbers, and each fact once. Of one number, the one that was kept first comes first.
 */
export function unionOf(all: readonly Kept[]): Kept {
  const instructions = new Map<string, Recorded>();
  const facts = new Map<string, Fact>();
  for (const kept of all) {
    for (const said of kept.instructions) if (!instructions.has(said.id)) instructions.set(said.id, said);
    for (const fact of kept.facts) if (!facts.has(identityOf(fact))) facts.set(identityOf(fact), fact);
  }
  const inOrder = [...instructions.values()].toSorted((one, other) => one.number - other.number);
  return { instructions: withLastApproval(inOrder), facts: [...facts.values()] };
}

/** Only the last approval of look-alikes counts. The earlier ones lose their lists, because lists are long. */
function withLastApproval(instructions: readonly Recorded[]): readonly Recorded[] {
  const last = lastAlikeList({ instructions });
  return instructions.map((said) =>
    isAlikeList(said) && said !== last ? { ...said, lookAlikes: { ...said.lookAlikes, groups: [] } } : said,
  );
}

/**
 * Two facts with the same identity are one fact. When a generation is opened twice, the first opening counts. When an API
 * key is named again, this is another fact, because another key may have sent in between.
 */
function identityOf(fact: Fact): string {
  switch (fact.kind) {
    case 'api key':
      return `api key ${fact.keyName} ${fact.atMs}`;
    case 'opened':
      return `opened ${fact.item} ${fact.generation}`;
    case 'let go':
      return `let go ${fact.chunk} ${fact.places.join()}`;
    case 'to pay again':
      return `to pay again ${fact.said} ${fact.items.map(([payment]) => payment).join()}`;
  }
}

function shaped<T>(value: unknown, shapes: Readonly<Record<string, Fields>>, more: Fields): Shaped<T> {
  if (!isRecord(value)) return refused('It is not an object with fields.');
  const { kind, ...rest } = value;
  const fields = typeof kind === 'string' && Object.hasOwn(shapes, kind) ? shapes[kind] : undefined;
  if (fields === undefined) return refused('It is of no known kind.');
  const why = misshapen(rest, { ...fields, ...more });
  if (why !== null) return refused(why);
  return { ok: true, value: value as T };
}

function allOf<T>(value: unknown, read: (each: unknown) => Shaped<T>): Shaped<readonly T[]> {
  if (!Array.isArray(value)) return refused('It is no list.');
  const values: T[] = [];
  for (const each of value) {
    const one = read(each);
    if (!one.ok) return one;
    values.push(one.value);
  }
  return { ok: true, value: values };
}

function refused(why: string): { readonly ok: false; readonly why: string } {
  return { ok: false, why };
}
