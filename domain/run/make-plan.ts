/**
 * Makes the plan of a run: looks at the service until a plan can be made of what it shows, and waits in between as a run
 * waits. It knows no Temporal, so that a model can drive the same code.
 */
import { decimalsOf } from '../currencies.ts';
import { inPlace } from '../replacement.ts';
import { compilePlan } from '../plan/compile.ts';
import { isFromBalances, keptPlan, type Credentials, type KeptPlan } from '../plan/plan.ts';
import { forRun, type Problem } from '../problems.ts';
import type { RunName } from '../references.ts';
import type { Wait, Waiting } from '../waits.ts';
import { activityFailed } from './activity-failed.ts';
import type { Observed, PlanInput } from './calls.ts';
import { growing } from './growing.ts';
import type { Pauses } from './pauses.ts';
import { HistoryIsLong, RunRefused, failed, type Ports } from './ports.ts';

/** The longest wait between two looks. It is not shorter because each look costs history. */
const LONGEST_WAIT_MS = 60_000;

export type PlanPorts = Pick<Ports, 'waitUntil' | 'nowMs' | 'historyIsLong' | 'show'> & {
  /** @param safeAtMs what the wait after an earlier look has said, epoch milliseconds; null: none has said it */
  observe(safeAtMs: number | null): Promise<Observed>;
  /** When this fails, the turn lapses by itself. */
  giveTurnBack(of: Credentials): Promise<void>;
};

/**
 * @param state why the plan is not made yet
 * @throws RunRefused when no plan can be made
 * @throws HistoryIsLong when it has waited for so long that it must go on in a new history
 */
export async function makePlan(
  input: PlanInput,
  ports: PlanPorts,
  pauses: Pauses,
  state: { waiting: Waiting | null },
): Promise<KeptPlan> {
  let safeAtMs: number | null = null;
  for (let stops = 0; ; stops += 1) {
    const { asked } = pauses;
    const observed: Observed = await ports.observe(safeAtMs).catch(stopped);
    if (observed.kind !== 'wait') {
      pauses.goesOn(state);
      ports.show();
      return planFrom(observed, input, ports);
    }
    const wait: Wait = observed.wait;
    safeAtMs = wait.safeAtMs ?? safeAtMs;
    // A turn is soon over, and the run has its place in the line. So the pause does not grow.
    const afterMs = wait.reason === 'turn' ? wait.afterMs : growing(wait.afterMs, stops, LONGEST_WAIT_MS);
    await pauses.pause(state, { ...wait, afterMs }, asked);
    if (ports.historyIsLong()) throw new HistoryIsLong();
  }
}

function stopped(error: unknown): Observed {
  return { kind: 'wait', wait: activityFailed(failed(error).message, 1) };
}

async function planFrom(
  observed: Exclude<Observed, { kind: 'wait' }>,
  { run, forRun: madeFor, ...input }: PlanInput,
  ports: PlanPorts,
): Promise<KeptPlan> {
  if (observed.kind === 'made') return observed.plan;
  if (observed.kind === 'refused') throw refused(run, observed.problems);
  const result = compilePlan({
    ...observed,
    run,
    decimalsOf: (currency) => decimalsOf(currency, observed.decimals),
    madeFor,
    ...inPlace(input),
  });
  // A run that trades nothing computed from balances needs the turn no longer. A batch keeps it until its plan can be
  // read: the next batch must see what it holds.
  const keepsTurn = result.ok && (observed.batch !== null || result.plan.legs.some(isFromBalances));
  if (observed.hasTurn && !keepsTurn) await ports.giveTurnBack(observed.observation.credentials);
  if (!result.ok) throw refused(run, result.problems);
  return keptPlan(result.plan);
}

function refused(run: RunName, problems: readonly Problem[]): RunRefused {
  const told = problems.map((problem) => forRun(problem, run));
  return new RunRefused('PLAN_REFUSED', 'Not started: no plan could be made. Nothing was sent.', told);
}
