/**
 * `tellRun`: tells which Temporal run asks. By this, a run that is about to end with something undone learns
 * that it was reset. It also looks whether the service shows what the run believes undone: a call may have been
 * answered by a person in its place. No person can answer this one, since it is no activity of its own in Temporal.
 */
import { Context as ActivityContext } from '@temporalio/activity';
import type { UndoneItems } from '../domain/run/state.ts';
import { SEND_OUTLIVES_MS } from '../domain/writes/doubt.ts';
import { LOOK_BACK_MS } from '../domain/writes/lookups.ts';
import { firstReference } from '../domain/references.ts';
import { scanList } from '../service/list-scan.ts';
import { READ_BOUNDS } from '../service/pages.ts';
import type { Activities } from '../workflows/calls.ts';
import { WRITE_LIMITS } from '../workflows/limits.ts';
import type { Deps } from './deps.ts';
import { foreignReader } from './polling.ts';

/** The workflow task that asks must not wait for long. */
const LOOKS_WITHIN_MS = 2_000;

export const tellRun =
  (deps: Deps): Activities['tellRun'] =>
  async (undone) => {
    const runId = ownRunId();
    if (undone === null || undone === undefined) return { runId };
    const [done, eventId] = await Promise.all([doneOf(deps, undone), completedBeside(deps)]);
    const againAfterMs = LISTED_WITHIN_MS + deps.facts.listLagMs;
    return { runId, done, ...(eventId !== null && { beside: { eventId, againAfterMs } }) };
  };

/** An attempt that goes on after its call was completed in its place sends nothing that the service accepts later than this. */
const LISTED_WITHIN_MS = WRITE_LIMITS.sendWithinMs + SEND_OUTLIVES_MS;

/** As `Deps` has it. Where Temporal does not answer in time, what the lists show counts. */
async function completedBeside({ completedBeside: read, facts }: Deps): Promise<number | null> {
  const { workflowExecution } = ActivityContext.current().info;
  if (workflowExecution === undefined) return null;
  const withinMs = 2 * (LISTED_WITHIN_MS + facts.listLagMs);
  return read(workflowExecution, withinMs).catch(() => null);
}

/** The Temporal run in which the activity runs. */
export function ownRunId(): string {
  return ActivityContext.current().info.workflowExecution?.runId ?? '';
}

/** Presence proves. Where the lists cannot be read in time, the lookups of the items themselves count. */
async function doneOf(deps: Deps, { plan, legs, payments }: UndoneItems): Promise<readonly string[]> {
  if (foreignReader(deps, plan) !== null) return [];
  const asked = {
    sinceMs: plan.sendWindows.opensAtMs - LOOK_BACK_MS,
    signal: AbortSignal.timeout(LOOKS_WITHIN_MS),
    bounds: { ...READ_BOUNDS, withinMs: LOOKS_WITHIN_MS },
  };
  const { tradeStatuses, withdrawalStatuses } = deps.facts;
  const done = new Set<string>();
  const ofLegs = new Set(legs);
  const ofPayments = new Set(payments.map(({ reference }) => reference));
  const byId = new Map(payments.map(({ reference, withdrawalId }) => [withdrawalId, reference]));
  const note = (reference: string | undefined, isFailed: boolean): false => {
    if (reference !== undefined && !isFailed) done.add(reference);
    return false;
  };
  const trades =
    legs.length === 0
      ? null
      : scanList(deps.reader.listTrades, {
          ...asked,
          wanted: ({ clientReferenceId, status }) => {
            const name = firstReference(clientReferenceId ?? '');
            return note(ofLegs.has(name) ? name : undefined, tradeStatuses.failed.includes(status));
          },
        });
  const withdrawals =
    payments.length === 0
      ? null
      : scanList(deps.reader.listWithdrawals, {
          ...asked,
          wanted: ({ id, tag, status }) => {
            const name = firstReference(tag ?? '');
            return note(
              ofPayments.has(name) ? name : byId.get(id),
              withdrawalStatuses.failed.includes(status),
            );
          },
        });
  const isLate = new Promise<void>((resolve) => {
    asked.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([Promise.all([trades, withdrawals]).catch(() => null), isLate]);
  return [...done];
}
