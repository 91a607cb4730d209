/** How a run stands, as the run or Temporal says. Reads only. */
import type { Ending } from '../../domain/endings.ts';
import type { Report } from '../../domain/run/report.ts';
import { isPlanned, type Progress } from '../../domain/run/progress.ts';
import { endingOf } from '../exit-codes.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { failureOf } from '../failure-of.ts';
import type { Place } from '../place.ts';
import { whyNobodyAnswers } from '../watch/builds.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import { INSTRUCTIONS_LIMIT_MS, reasonsOf, readOutline, type RunView } from './read-run.ts';
import { readInput, type RunFacts } from './runs.ts';

export type Standing = { readonly facts: RunFacts; readonly ending: Ending } & (
  | { readonly kind: 'told'; readonly report: Report; readonly progress: Progress }
  /** The run cannot be read. */
  | { readonly kind: 'untold'; readonly problem: Trouble | null }
);

export async function standingOf(place: Place, facts: RunFacts, now: () => number): Promise<Standing> {
  try {
    const view = await withSubmitted(place, await readOutline(place, facts));
    const { report, progress } = await withCanceller(place, view);
    const ending = endingOf(report, facts.isOpen ? reasonsOf(progress) : []);
    return { kind: 'told', facts, ending, report, progress };
  } catch (error) {
    const { ending, problems } = failureOf(error);
    const [problem = null] = problems;
    const why = problem?.code === 'NO_WORKER' ? await whyNobodyAnswers(place, facts, now()) : null;
    return { kind: 'untold', facts, ending, problem: why ?? problem };
  }
}

/** The view of a run that has no plan yet, with how many payments were submitted. */
async function withSubmitted({ client }: Place, view: RunView): Promise<RunView> {
  const { facts, progress } = view;
  if (!facts.isOpen || isPlanned(progress)) return view;
  const batch = (await readInput(client, facts).catch(() => null))?.batch ?? null;
  return batch === null ? view : { ...view, progress: { ...progress, submitted: batch.payments } };
}

/** The view of a run that is being cancelled, with the person who cancelled it, where that can be read in time. */
async function withCanceller({ client, mode }: Place, view: RunView): Promise<RunView> {
  const { facts, progress } = view;
  if (progress.cancel === undefined) return view;
  const read = () => readInstructions({ client, mode, run: facts.run });
  const kept = await client.withDeadline(Date.now() + INSTRUCTIONS_LIMIT_MS, read).catch(() => null);
  const by = kept?.instructions.findLast(({ kind }) => kind === 'cancel')?.by ?? null;
  return { ...view, progress: { ...progress, cancel: { by } } };
}
