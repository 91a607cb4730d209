/** `createWithdrawals`: sends a slice of payments side by side and returns an outcome for each. */
import { createWithdrawalSteps } from '../domain/withdrawal-steps.ts';
import type { PaymentsAnswer, PaymentsCall } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { Driver } from './driver.ts';
import { beating } from './heartbeats.ts';

export const createWithdrawals =
  (deps: Deps) =>
  (call: PaymentsCall): Promise<PaymentsAnswer> =>
    beating(async () => {
      const driver = await Driver.open(deps, call);
      const context = driver.context({
        othersAccepted: call.acceptedIds.length > 0,
        otherWithdrawalIds: call.acceptedIds,
      });
      const takenBy = new Map<string, string>();
      const items = await Promise.all(
        call.items.map(async ({ payment, wanted, state }) => {
          const item = { ...context, take: takeFor(payment.id, takenBy) };
          const step = await driver.run(payment.id, createWithdrawalSteps(item, payment, wanted, state));
          return { id: payment.id, step };
        }),
      );
      deps.reached('before result');
      return { items, evidence: driver.evidence };
    });

/** A record that one item of the slice counts as its own is no other one's. */
function takeFor(item: string, takenBy: Map<string, string>): (recordId: string) => boolean {
  return (recordId) => {
    const owner = takenBy.get(recordId) ?? item;
    takenBy.set(recordId, owner);
    return owner === item;
  };
}
