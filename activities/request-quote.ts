/**
 * `requestQuote`: gets a quote inside the guard for one leg, or says what stands in its way. For a trade that
 * came out worse than planned, it tells whether people have accepted that.
 */
import { requestQuoteSteps, tradedSteps } from '../domain/writes/trade.ts';
import type { LegAnswer, LegCall, TradedCall } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { Driver } from './driver.ts';
import { beating } from './heartbeats.ts';
import { carriedOut, stoppedLeg } from './leg-calls.ts';

export const requestQuote =
  (deps: Deps) =>
  (call: LegCall | TradedCall): Promise<LegAnswer> =>
    beating(async () => {
      const driver = await Driver.open(deps, call);
      const answer = await ('traded' in call ? judged(driver, call) : quoted(driver, call));
      deps.tell({ kind: 'reached', point: 'before result' });
      return answer;
    });

async function quoted(driver: Driver, call: LegCall): Promise<LegAnswer> {
  const context = driver.context({ ...call, otherWithdrawalIds: [] });
  return carriedOut(driver, call, () => requestQuoteSteps(context, call.leg, call.state));
}

async function judged(driver: Driver, call: TradedCall): Promise<LegAnswer> {
  const stop = await driver.stop();
  if (stop !== null) return stoppedLeg(call, stop, driver);
  const context = driver.context({
    othersAccepted: true,
    tradedSoFar: call.tradedSoFar,
    unwanted: null,
    otherWithdrawalIds: [],
  });
  const step = await driver.run(call.leg.id, tradedSteps(context, call.leg, call.traded));
  return { step, evidence: driver.evidence, runId: driver.runId };
}
