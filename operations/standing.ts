/** Where a run stands, as it tells itself or as Temporal shows it. Reads only. */
import type { Ending } from '../domain/endings.ts';
import type { Report } from '../domain/run/report.ts';
import type { Progress } from '../domain/run/progress.ts';
import { endingOf } from './exit-codes.ts';
import type { Trouble } from '../language/text/problem.ts';
import { failureOf } from './failure-of.ts';
import type { Place } from './place.ts';
import { reasonsOf, readOutline, type RunFacts } from './runs.ts';

export type Standing = { readonly facts: RunFacts; readonly ending: Ending } & (
  | { readonly kind: 'told'; readonly report: Report; readonly progress: Progress }
  /** It cannot be read. */
  | { readonly kind: 'untold'; readonly problem: Trouble | null }
);

export async function standingOf(place: Place, facts: RunFacts): Promise<Standing> {
  try {
    const { report, progress } = await readOutline(place, facts);
    const ending = endingOf(report, facts.isOpen ? reasonsOf(progress) : []);
    return { kind: 'told', facts, ending, report, progress };
  } catch (error) {
    const { ending, problems } = failureOf(error);
    return { kind: 'untold', facts, ending, problem: problems[0] ?? null };
  }
}
