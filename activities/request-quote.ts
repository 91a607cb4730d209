/**
 * `requestQuote`: a quote inside the guard for one leg, or what stands in its way; for a trade that came out worse than
 * planned, whether people have accepted it.
 */
import { requestQuoteSteps, tradedSteps } from '../domain/writes/trade.ts';
import type { LegAnswer, LegCall, TradedCall } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { Driver, stoppedLeg } from './driver.ts';
import { beating } from './heartbeats.ts';

export const requestQuote =
  (deps: Deps) =>
  (call: LegCall | TradedCall): Promise<LegAnswer> =>
    beating(async () => {
      const driver = await Driver.open(deps, call);
      const stop = await driver.stop();
      if (stop !== null) return stoppedLeg(call, stop, driver);
      const isTraded = 'traded' in call;
      const othersAccepted = isTraded || call.othersAccepted;
      const context = driver.context({ othersAccepted, otherWithdrawalIds: [] });
      const steps = isTraded
        ? tradedSteps(context, call.leg, call.traded)
        : requestQuoteSteps(context, call.leg, call.state);
      const step = await driver.run(call.leg.id, steps);
      deps.reached('before result');
      return { step, evidence: driver.evidence, runId: driver.runId };
    });
