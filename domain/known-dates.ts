/**
 * What is known of the dates of a schedule for longer than Temporal keeps a workflow that has ended
 * (`operations/schedules/known-dates.ts` keeps it). It decides nothing about money. Pure.
 */
import type { Problem } from './problems.ts';
import { isRunPart } from './references.ts';
import { isMoment, lineOf, misshapen, oneOf, textOf, type Field, type Fields } from './shape.ts';

/** What is noted of a date of a schedule. `id`: the id of its run, which is the date. */
export type AboutDate =
  /** The date has had its run. */
  | { readonly kind: 'started'; readonly id: string }
  /** It was missed when the schedule was changed or paused, after which the schedule itself does not tell it any more. */
  | ({ readonly kind: 'missed'; readonly id: string; readonly atMs: number } & Pick<
      Problem,
      'code' | 'message'
    >)
  /** A person knows that it was missed. */
  | { readonly kind: 'acknowledged'; readonly id: string; readonly by: string; readonly why: string };

/** What is known of the dates of a schedule. */
export type KnownDates = {
  /** The ids of runs that were started, and those of missed dates that a person has acknowledged. */
  readonly closed: ReadonlySet<string>;
  readonly missed: readonly Extract<AboutDate, { kind: 'missed' }>[];
};

const id: Field = (value) => typeof value === 'string' && isRunPart(value);
const SHAPES: Readonly<Record<AboutDate['kind'], Fields>> = {
  started: { kind: oneOf('started'), id },
  missed: { kind: oneOf('missed'), id, atMs: isMoment, code: lineOf(100), message: textOf(4_000) },
  acknowledged: { kind: oneOf('acknowledged'), id, by: lineOf(500), why: lineOf(2_000) },
};

/** @param noted oldest first; what another program has written is left out */
export function knownDates(noted: readonly unknown[]): KnownDates {
  const said = noted.filter(isAboutDate);
  return {
    closed: new Set(said.flatMap((about) => (about.kind === 'missed' ? [] : about.id))),
    missed: said.filter((about) => about.kind === 'missed'),
  };
}

function isAboutDate(value: unknown): value is AboutDate {
  return Object.values(SHAPES).some((shape) => misshapen(value, shape) === null);
}
