/**
 * What a person would write for one convert policy without an interpreter: the same activities in the same order, with
 * the same options, straight down. The bench compares it with `run`; nothing else uses it.
 *
 * It knows its policy by heart (one leg, one payment of the proceeds), keeps no state, answers no query, holds nothing
 * and cannot be cancelled. Whatever is not the happy way is a failure.
 */
import { ApplicationFailure, condition, workflowInfo } from '@temporalio/workflow';
import { polls, reads, writes } from '../workflows/activities.ts';
import { headOf, wholePlan } from '../domain/plan/plan.ts';
import type { RunInput } from '../domain/run/calls.ts';
import type { LegState } from '../domain/writes/leg-state.ts';
import type { PaymentState } from '../domain/writes/withdrawal.ts';

/** Items of which nothing has been sent; handed in, so that nothing of the interpreter comes along with them. */
export type NewItems = { readonly leg: LegState; readonly payment: PaymentState };

export async function handWritten(input: RunInput, newItems: NewItems): Promise<string> {
  const { originalExecutionRunId } = workflowInfo();
  const answer = await reads.readPlan({ ...input, forRun: originalExecutionRunId });
  if (answer.kind !== 'plan') throw unexpected('plan', answer.kind);
  const plan = wholePlan(answer.plan);
  const [leg] = plan.legs;
  const [payment] = plan.payments;
  if (leg === undefined || payment === undefined) throw unexpected('plan', 'nothing to do');
  const call = {
    plan: headOf(plan),
    originalRunId: originalExecutionRunId,
  };

  const alone = { othersAccepted: false, tradedSoFar: [], unwanted: null, follows: 'none' as const };
  const quoted = await writes.requestQuote({ ...call, leg, state: newItems.leg, ...alone });
  if (quoted.step.kind !== 'quoted') throw unexpected('quote', quoted.step.kind);
  const traded = await writes.executeTrade({
    ...call,
    leg,
    state: quoted.step.state,
    ...alone,
  });
  if (traded.step.kind !== 'traded') throw unexpected('trade', traded.step.kind);
  const { tradeId, buyAmount } = traded.step.traded;

  const settling = polls.awaitSettlement({
    plan: call.plan,
    leg: leg.id,
    tradeId,
    until: plan.rules.settle.until,
    currency: leg.buy,
    unknownStatus: null,
    unpaid: [{ id: payment.id, account: payment.account, amount: buyAmount }],
    owedByBatch: '0',
    undoneIn: [],
  });
  const settled = await inTime(settling, plan.lateAfterMs.settlement);
  if (settled.kind !== 'settled') throw unexpected('settlement', settled.kind);

  const sent = await writes.createWithdrawals({
    ...call,
    items: [{ payment, wanted: { amount: buyAmount, ahead: '0', unwanted: null }, state: newItems.payment }],
    othersAccepted: false,
    twinIds: [],
  });
  const [item] = sent.items;
  if (item?.step.kind !== 'accepted') throw unexpected('withdrawal', item?.step.kind ?? 'no outcome');
  const { withdrawalId } = item.step.accepted;

  const paying = polls.awaitWithdrawals({
    plan: call.plan,
    undoneIn: [],
    isLast: true,
    items: [
      { id: payment.id, withdrawalId, paid: false, status: item.step.accepted.status, isUnknown: false },
    ],
  });
  const { ended } = await inTime(paying, plan.lateAfterMs.withdrawal);
  if (ended[0]?.paid !== true) throw unexpected('payment', ended[0]?.record?.status ?? 'no word');
  return withdrawalId;
}

/** What takes too long is to be noticed here as well, by a timer of its own. */
async function inTime<T>(work: Promise<T>, lateAfterMs: number): Promise<T> {
  let isOver = false;
  const end = () => {
    isOver = true;
  };
  work.then(end, end);
  if (!(await condition(() => isOver, lateAfterMs))) throw unexpected('wait', 'late');
  return work;
}

function unexpected(step: string, what: string): ApplicationFailure {
  return ApplicationFailure.nonRetryable(`The ${step} came to "${what}".`);
}
