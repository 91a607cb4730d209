/** `executeTrade`: trades the quote in hand of one leg, or says what follows from the reply. */
import { executeTradeSteps } from '../domain/writes/trade.ts';
import type { LegAnswer, LegCall } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { Driver, stoppedLeg } from './driver.ts';
import { beating } from './heartbeats.ts';

export const executeTrade =
  (deps: Deps) =>
  (call: LegCall): Promise<LegAnswer> =>
    beating(async () => {
      const driver = await Driver.open(deps, call);
      const stop = await driver.stop();
      if (stop !== null) return stoppedLeg(call, stop, driver);
      const context = driver.context({ othersAccepted: call.othersAccepted, otherWithdrawalIds: [] });
      const step = await driver.run(call.leg.id, executeTradeSteps(context, call.leg, call.state));
      deps.reached('before result');
      return { step, evidence: driver.evidence, runId: driver.runId };
    });
