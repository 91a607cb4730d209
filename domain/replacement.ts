/**
 * One run takes the place of another one of its policy (design: "One run, one plan"). That a run is replaced is one fact: a
 * person has said it by the instruction `superseded`, of which a run has at most one, and no person can take it back. In whose
 * place a run is stands in its input and in its plan. Pure.
 */
import { makeProblem, type Problem } from './problems.ts';
import { isRunPart, runName, type RunName } from './references.ts';
import type { Field, Fields } from './shape.ts';

/** The kind of the instruction, and its one id. So when two runs want to take the place of one, only the first gets it. */
export const SUPERSEDED = 'superseded';

/** What the instruction has beside what every instruction has. */
export const SUPERSEDED_FIELDS: Fields = {
  id: (value) => value === SUPERSEDED,
  instead: (value) => typeof value === 'string' && isRunPart(value),
};

/** As far as this file reads an instruction. */
type Said = { readonly kind: string; readonly instead?: string };

/** Part of the input of a run, and of its plan. */
export type InPlace = {
  /** Id of the run of the same policy whose place it takes, of which nothing was executed. Absent: it takes no place. */
  readonly insteadOf?: string;
};

export const IN_PLACE = {
  insteadOf: (value) => value === undefined || (typeof value === 'string' && isRunPart(value)),
} as const satisfies Readonly<Record<keyof InPlace, Field>>;

/** This part alone. */
export function inPlace({ insteadOf }: InPlace): InPlace {
  return insteadOf === undefined ? {} : { insteadOf };
}

/** A run may take the place of another run, but not with a batch. */
export function mayTakePlace({
  run,
  batch,
  insteadOf,
}: InPlace & { readonly run: RunName; readonly batch?: unknown }): boolean {
  return insteadOf === undefined || (insteadOf !== run.id && batch === undefined);
}

/**
 * The wait before planning is for one other run only: the run in whose place this one comes. So a run that was planned in
 * another place, or in none, is refused. Null: both are in the same place.
 */
export function otherPlace(run: RunName, planned: InPlace, asked: InPlace): Problem | null {
  if (planned.insteadOf === asked.insteadOf) return null;
  const placeOf = ({ insteadOf: id }: InPlace): string => (id === undefined ? 'of no run' : `of ${id}`);
  const message = `Run ${runName(run)} was planned in the place ${placeOf(planned)}, but this start says that it is in the place ${placeOf(asked)}.`;
  return makeProblem('INSTEAD_REFUSED', null, { message });
}

/** For people who start a run or look at it; null: it takes no place. */
export function placeText({ insteadOf }: InPlace): string | null {
  return insteadOf === undefined
    ? null
    : `It takes the place of ${insteadOf}, of which nothing was executed.`;
}

/** The command by which another run takes the place of this one. */
export function replacingCommand({ id }: Pick<RunName, 'id'>, policyFile = 'POLICY'): string {
  return `npx cambist run ${policyFile} --id NEW --instead-of ${id}`;
}

/** The command that starts a run again which has ended; it takes a cancel back. */
export function goOnCommand({ id }: Pick<RunName, 'id'>): string {
  return `npx cambist run POLICY --id ${id} --go-on`;
}

/** Id of the run of the same policy that has taken the place of this one; null: no run has. */
export function successorIn(instructions: readonly Said[]): string | null {
  return instructions.find((said) => said.kind === SUPERSEDED)?.instead ?? null;
}

/** Whether another run has taken the place of this one, of which nothing is sent any more. */
export function isReplaced(instructions: readonly Said[]): boolean {
  return successorIn(instructions) !== null;
}

/** The command that shows the run which has taken the place of this one; null: no run has. */
export function replacedBy({ policy }: RunName, instructions: readonly Said[]): string | null {
  const id = successorIn(instructions);
  return id === null ? null : `npx cambist status ${runName({ policy, id })}`;
}

/** The end of an item that was not sent before its run was cancelled or replaced. */
export function cancelledItem(
  { policy }: RunName,
  { item, name }: { readonly item: string; readonly name: string },
  { successor }: { readonly successor: string | null },
): Problem {
  if (successor === null)
    return makeProblem('CANCELLED', item, { message: `The run was cancelled before ${name} was sent.` });
  const other = runName({ policy, id: successor });
  return makeProblem('CANCELLED', item, {
    message: `Another run, ${other}, took the place of this one before ${name} was sent.`,
    fix: `See \`npx cambist status ${other}\`.`,
  });
}
