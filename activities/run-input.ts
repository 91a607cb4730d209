/**
 * The closed shape of what a run is started with (design: "What a worker believes"): an input is a stranger's until it
 * has passed here, with every field, of its kind and size, and none besides.
 */
import { isPart } from '../domain/references.ts';
import {
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
import type { PlanInput, RunInput } from '../domain/run/calls.ts';

const MOST_FILES = 8;

const isName: Field = (value) => typeof value === 'string' && isPart(value);
const isFiles: Field = (value) =>
  isRecord(value) &&
  Object.keys(value).length <= MOST_FILES &&
  Object.entries(value).every(([name, text]) => lineOf(300)(name) && textOf(INPUT_BYTES.file)(text));

const RUN_INPUT = {
  run: recordOf({ policy: isName, id: isName }),
  mode: oneOf('SANDBOX', 'LIVE'),
  policyText: textOf(INPUT_BYTES.policy),
  policyHash: textOf(100),
  policyFile: lineOf(300),
  files: isFiles,
  startedBy: lineOf(200),
} as const satisfies Readonly<Record<Exclude<keyof RunInput, 'shown'>, Field>>;

const PLAN_INPUT: Fields = {
  ...RUN_INPUT,
  forRun: lineOf(200),
  askedBy: lineOf(200),
} satisfies Readonly<Record<Exclude<keyof PlanInput, 'shown'>, Field>>;

/** What the workflow `run` gives to `readPlan`: the input, and its `originalExecutionRunId`. */
const ASKED: Fields = { ...RUN_INPUT, forRun: lineOf(200) };

/** Why an input is not one that Cambist makes; null when it is. */
export function wrongInput(input: Omit<PlanInput, 'askedBy'> | PlanInput): Problem | null {
  const { shown, ...rest } = input;
  const isShown = shown === undefined || listOf(lineOf(1_000))(shown);
  const why = isShown
    ? misshapen(rest, 'askedBy' in input ? PLAN_INPUT : ASKED)
    : 'Its field "shown" is wrong.';
  return why === null ? null : invalid(why);
}

function invalid(why: string): Problem {
  return makeProblem('INPUT_INVALID', null, {
    message: `The input of this run is not one that Cambist makes. ${why}`,
  });
}
