/** How a run stands, as the run or Temporal says. Reads only. */
import type { Ending } from '../../domain/endings.ts';
import type { Report } from '../../domain/run/report.ts';
import { isPlanned, type Progress } from '../../domain/run/progress.ts';
import { endingOf } from '../exit-codes.ts';
import type { Trouble } from '../../language/text/problem.ts';
import { failureOf } from '../failure-of.ts';
import type { Place } from '../place.ts';
import { whyNobodyAnswers } from '../watch/builds.ts';
import { currentHalts } from '../halt/switch.ts';
import { readInstructions } from '../../durable/instructions/read.ts';
import { isHolding } from '../../domain/waits.ts';
import type { Halt } from '../../domain/halt.ts';
import { INSTRUCTIONS_LIMIT_MS, reasonsOf, readOutline, type RunView } from './read-run.ts';
import { readInput, type RunFacts } from './runs.ts';

export type Standing = { readonly facts: RunFacts; readonly ending: Ending } & (
  | { readonly kind: 'told'; readonly report: Report; readonly progress: Progress }
  /** The run cannot be read. */
  | { readonly kind: 'untold'; readonly problem: Trouble | null }
);

/** @param readHalts called only for a run that waits for a halt to be taken back */
export async function standingOf(
  place: Place,
  facts: RunFacts,
  now: () => number,
  readHalts = () => currentHalts(place),
): Promise<Standing> {
  try {
    const view = await asItIsNow(place, await readOutline(place, facts), readHalts);
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

/** The view, with what the run itself does not know, or learns only seconds later. */
async function asItIsNow(
  place: Place,
  view: RunView,
  readHalts: () => Promise<readonly Halt[]>,
): Promise<RunView> {
  const { facts, progress } = view;
  if (!facts.isOpen) return view;
  if (!isPlanned(progress)) {
    const batch = (await readInput(place.client, facts).catch(() => null))?.batch ?? null;
    return batch === null ? view : { ...view, progress: { ...progress, submitted: batch.payments } };
  }
  if (!reasonsOf(progress).includes('halt')) return view;
  // When the halts cannot be read, what the run tells about them counts.
  const halts = await readHalts().catch(() => null);
  return halts === null ? view : afterHalts(view, halts);
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

/**
 * A run that waits for a halt goes on within seconds after the halt is taken back, so it counts as waiting for nothing.
 * Pure.
 */
export function afterHalts(view: RunView, halts: readonly Halt[]): RunView {
  const { facts, report, progress } = view;
  const { policy } = facts.run;
  // A batch shows only one of its waits, and may have another.
  const needsHuman = (progress.batch?.counts.needsHuman ?? 0) > 0;
  if (needsHuman || halts.some(({ scope }) => scope.policy === null || scope.policy === policy)) return view;
  const items = progress.items.map((item) =>
    item.waiting?.reason === 'halt' ? { ...item, waiting: null } : item,
  );
  const waits = items.some(({ waiting }) => isHolding(waiting));
  const status = report.status === 'HELD' && !waits ? 'RUNNING' : report.status;
  return { facts, report: { ...report, status }, progress: { ...progress, status, items } };
}
