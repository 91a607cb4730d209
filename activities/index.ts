/** The activities of a worker, made from what the composition root gives. */
import type { Activities } from '../workflows/calls.ts';
import { acceptInstruction } from './accept-instruction.ts';
import { awaitSettlement } from './await-settlement.ts';
import { awaitWithdrawals } from './await-withdrawals.ts';
import { createWithdrawals } from './create-withdrawals.ts';
import type { Deps } from './deps.ts';
import { executeTrade } from './execute-trade.ts';
import { observe } from './observe.ts';
import { readPlan } from './read-plan.ts';
import { recordInstruction } from './record-instruction.ts';
import { requestQuote } from './request-quote.ts';
import { takeOverInstructions } from './take-over-instructions.ts';

export function createActivities(deps: Deps): Activities {
  return {
    readPlan: readPlan(deps),
    observe: observe(deps),
    requestQuote: requestQuote(deps),
    executeTrade: executeTrade(deps),
    awaitSettlement: awaitSettlement(deps),
    createWithdrawals: createWithdrawals(deps),
    awaitWithdrawals: awaitWithdrawals(deps),
    recordInstruction: recordInstruction(deps),
    takeOverInstructions: takeOverInstructions(deps),
    acceptInstruction: acceptInstruction(deps),
  };
}
