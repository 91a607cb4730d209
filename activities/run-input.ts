/**
 * The shape of the input with which a run is started (design: "What a worker believes"). Nothing in an input
 * is believed until it has passed here: every field is there, of the right kind and size, and no other field
 * is.
 */
import { CHUNK, MOST_CHUNKS, type Manifest } from '../domain/batch.ts';
import { DESTINATION_BYTES } from '../domain/destinations.ts';
import { isDecimal, isPositive, normalise } from '../domain/money.ts';
import { IN_PLACE, mayTakePlace } from '../domain/replacement.ts';
import { isPart } from '../domain/references.ts';
import {
  isFlag,
  isRecord,
  lineOf,
  listOf,
  misshapen,
  oneOf,
  recordOf,
  textOf,
  type Field,
  type Fields,
} from '../domain/shape.ts';
import { makeProblem, type Problem } from '../domain/problems.ts';
import { INPUT_BYTES } from '../workflows/limits.ts';
import type { ChunkInput, PlanInput, RunInput } from '../domain/run/calls.ts';

const MOST_FILES = 8;

const isName: Field = (value) => typeof value === 'string' && isPart(value);
export const isFiles: Field = (value) =>
  isRecord(value) &&
  Object.keys(value).length <= MOST_FILES &&
  Object.entries(value).every(([name, text]) => lineOf(300)(name) && textOf(INPUT_BYTES.file)(text));

/** Fields that are not always there. */
type Optional = 'shown' | 'batch' | 'destinations';

const isCurrency: Field = (value) => typeof value === 'string' && /^[A-Z0-9]{2,12}$/.test(value);
/** Above zero, and without needless zeros, so that the same payment is always the same text. */
const isAmount: Field = (value) =>
  typeof value === 'string' &&
  value.length <= 40 &&
  isDecimal(value) &&
  normalise(value) === value &&
  isPositive(value);
const isCount: Field = (value) => Number.isSafeInteger(value) && Number(value) > 0;

const MANIFEST = {
  payments: isCount,
  totals: listOf(recordOf({ value: isAmount, currency: isCurrency })),
  chunks: (value) =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MOST_CHUNKS &&
    value.every(recordOf({ payments: isCount, hash: lineOf(64) })),
} as const satisfies Readonly<Record<keyof Manifest, Field>>;

const isPayment: Field = (value) =>
  Array.isArray(value) &&
  value.length === 4 &&
  isName(value[0]) &&
  lineOf(300)(value[1]) &&
  isCurrency(value[2]) &&
  isAmount(value[3]);

const CHUNK_INPUT = {
  run: recordOf({ policy: isName, id: isName }),
  mode: oneOf('SANDBOX', 'LIVE'),
  number: isCount,
  payments: (value) =>
    Array.isArray(value) && value.length > 0 && value.length <= CHUNK.payments && value.every(isPayment),
  isFirst: isFlag,
} as const satisfies Readonly<Record<keyof ChunkInput, Field>>;

const RUN_INPUT = {
  run: recordOf({ policy: isName, id: isName }),
  mode: oneOf('SANDBOX', 'LIVE'),
  policyText: textOf(INPUT_BYTES.policy),
  policyHash: textOf(100),
  policyFile: lineOf(300),
  files: isFiles,
  startedBy: lineOf(200),
  ...IN_PLACE,
} as const satisfies Readonly<Record<Exclude<keyof RunInput, Optional>, Field>>;

const OPTIONAL: Readonly<Record<Optional, Field>> = {
  shown: listOf(lineOf(1_000)),
  batch: recordOf(MANIFEST),
  destinations: textOf(DESTINATION_BYTES),
};

const PLAN_INPUT: Fields = {
  ...RUN_INPUT,
  forRun: lineOf(200),
  askedBy: lineOf(200),
} satisfies Readonly<Record<Exclude<keyof PlanInput, Optional>, Field>>;

/** The fields that the workflow `run` gives to `readPlan`: its input, and its `originalExecutionRunId`. */
const ASKED: Fields = { ...RUN_INPUT, forRun: lineOf(200) };

/** Why Cambist cannot have made this input; null when it can. */
export function wrongInput(input: Omit<PlanInput, 'askedBy'> | PlanInput): Problem | null {
  const { shown, batch, destinations, ...rest }: Omit<PlanInput, 'askedBy'> = input;
  const given = Object.entries({ shown, batch, destinations });
  const wrong = given.find(([name, value]) => value !== undefined && !OPTIONAL[name as Optional](value));
  const why =
    wrong === undefined
      ? misshapen(rest, 'askedBy' in input ? PLAN_INPUT : ASKED)
      : `Its field "${wrong[0]}" is wrong.`;
  if (why !== null) return invalid(why);
  return mayTakePlace(input) ? null : invalid('It names a run whose place it cannot take.');
}

/** Why this input is not that of the chunk of this number and run; null when it is. */
export function wrongChunk(
  input: ChunkInput,
  of: { readonly mode: ChunkInput['mode']; readonly run: ChunkInput['run']; readonly number: number },
): string | null {
  const why = misshapen(input, CHUNK_INPUT);
  if (why !== null) return why;
  const { mode, run, number } = input;
  const isOfRun = mode === of.mode && run.policy === of.run.policy && run.id === of.run.id;
  return isOfRun && number === of.number ? null : 'It is of another run, or another chunk of it.';
}

function invalid(why: string): Problem {
  return makeProblem('INPUT_INVALID', null, {
    message: `The input of this run is not one that Cambist makes. ${why}`,
  });
}
