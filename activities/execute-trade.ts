/** `executeTrade`: trades the quote that one leg has, or says what follows from the reply. */
import { executeTradeSteps } from '../domain/writes/trade.ts';
import type { LegAnswer, LegCall } from '../domain/run/calls.ts';
import type { Deps } from './deps.ts';
import { Driver } from './driver.ts';
import { beating } from './heartbeats.ts';
import { carriedOut } from './leg-calls.ts';

export const executeTrade =
  (deps: Deps) =>
  (call: LegCall): Promise<LegAnswer> =>
    beating(async () => {
      const driver = await Driver.open(deps, call);
      const context = driver.context({ ...call, otherWithdrawalIds: [] });
      const answer = await carriedOut(driver, call, () => executeTradeSteps(context, call.leg, call.state));
      deps.tell({ kind: 'reached', point: 'before result' });
      return answer;
    });
