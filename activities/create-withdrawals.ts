/** `createWithdrawals`: sends a slice of payments side by side and returns an outcome for each. */
import type { Wait } from '../domain/waits.ts';
import { asForgotten } from '../domain/writes/doubt.ts';
import { createWithdrawalSteps } from '../domain/writes/withdrawal.ts';
import type { PaymentsAnswer, PaymentsCall } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { Driver } from './driver.ts';
import { beating } from './heartbeats.ts';

export const createWithdrawals =
  (deps: Deps) =>
  (call: PaymentsCall): Promise<PaymentsAnswer> =>
    beating(async () => {
      const driver = await Driver.open(deps, call);
      const context = driver.context({
        othersAccepted: call.othersAccepted,
        tradedSoFar: [],
        unwanted: null,
        otherWithdrawalIds: call.twinIds,
      });
      const takenBy = new Map<string, string>();
      const stop = await driver.stop();
      const { runId } = driver;
      if (stop !== null)
        return { items: call.items.map((item) => stopped(item, stop, driver)), evidence: [], runId };
      const items = await Promise.all(
        call.items.map(async ({ payment, wanted, state }) => {
          const item = { ...context, take: takeFor(payment.id, takenBy) };
          const step = await driver.run(payment.id, createWithdrawalSteps(item, payment, wanted, state));
          return { id: payment.id, step };
        }),
      );
      deps.reached('before result');
      return { items, evidence: driver.evidence, runId };
    });

/** A record that one item of the slice counts as its own is no other one's. */
function takeFor(item: string, takenBy: Map<string, string>): (recordId: string) => boolean {
  return (recordId) => {
    const owner = takenBy.get(recordId) ?? item;
    takenBy.set(recordId, owner);
    return owner === item;
  };
}

function stopped(
  { payment, state }: PaymentsCall['items'][number],
  stop: Wait,
  { mayHaveSent }: Driver,
): PaymentsAnswer['items'][number] {
  const wait = { ...stop, problem: { ...stop.problem, item: payment.id } };
  return {
    id: payment.id,
    step: { kind: 'wait', state: mayHaveSent ? asForgotten(state) : state, wait },
  };
}
