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
      const items = await Promise.all(
        call.items.map(async ({ payment, amount, state, unwanted }) => {
          const step = await driver.run(
            payment.id,
            createWithdrawalSteps(context, payment, amount, state, unwanted),
          );
          return { id: payment.id, step };
        }),
      );
      deps.reached('before result');
      return { items, evidence: driver.evidence };
    });
