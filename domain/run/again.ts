/**
 * What a run keeps for later Temporal runs, and takes over from earlier ones: a cancel, which no reset may lose, and what an
 * earlier history handed on.
 */
import { headOf, type Plan } from '../plan/plan.ts';
import { activityFailed } from './activity-failed.ts';
import type { Confirmed } from './calls.ts';
import { takeOver, type Carried } from './carry.ts';
import { acceptedOf, tradeOf } from './items.ts';
import type { Reading } from './parts.ts';
import { StepFailed, failed } from './ports.ts';
import { forgetAllBut } from './state.ts';

/**
 * Takes over what an earlier history handed on. It counts only for the plan that was read again, and only as far as the
 * service shows it.
 */
export async function takeOverShown(run: Reading, plan: Plan, carried: Carried): Promise<void> {
  const { state, ports, pauses } = run;
  if (!takeOver(state, carried, ports.originalRunId)) return;
  const tradeIds = state.legs.flatMap((record) => tradeOf(record)?.tradeId ?? []);
  const withdrawalIds = state.payments.flatMap((record) => acceptedOf(record)?.withdrawalId ?? []);
  while (tradeIds.length + withdrawalIds.length > 0) {
    const { asked } = pauses;
    const call = { plan: headOf(plan), tradeIds, withdrawalIds };
    const answer: Confirmed = await ports.confirmOutcomes(call).catch(unconfirmed);
    if (answer.kind === 'shown') {
      pauses.goesOn(state);
      return forgetAllBut(state, answer);
    }
    if (ports.historyIsLong()) await run.leaveLongHistory();
    await pauses.pause(state, answer.wait, asked);
  }
}

/** Records a cancel as an instruction. While that fails, it is tried again. */
export async function recordCancel({ input, state, ports, pauses }: Reading): Promise<void> {
  const { mode, run } = input;
  const instruction = { kind: 'cancel', by: 'Temporal', why: 'Cancel was pressed' } as const;
  for (let failures = 1; ; failures += 1) {
    const { asked } = pauses;
    const kept = await ports.recordInstruction({ mode, run, instruction }).catch(failed);
    if (!(kept instanceof StepFailed)) return pauses.goesOn(state);
    await pauses.pause(state, activityFailed(kept.message, failures), asked);
  }
}

function unconfirmed(error: unknown): Confirmed {
  return { kind: 'wait', wait: activityFailed(failed(error).message, 1) };
}
