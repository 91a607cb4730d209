/** The activities of a worker, made from what the composition root gives. */
import type { Activities } from '../workflows/calls.ts';
import { acceptInstruction } from './accept-instruction.ts';
import { awaitSettlement } from './await-settlement.ts';
import { awaitWithdrawals } from './await-withdrawals.ts';
import { confirmOutcomes } from './confirm-outcomes.ts';
import { createWithdrawals } from './create-withdrawals.ts';
import type { Deps } from './deps.ts';
import { executeTrade } from './execute-trade.ts';
import { guarded } from './failures.ts';
import { chunkMemory } from './of-chunk.ts';
import { observe } from './observe.ts';
import { readChunks } from './read-chunks.ts';
import { readGo } from './read-go.ts';
import { readPlan } from './read-plan.ts';
import { recordInstruction } from './record-instruction.ts';
import { requestQuote } from './request-quote.ts';
import { startScheduled } from './start-scheduled.ts';
import { takeOverInstructions } from './take-over-instructions.ts';
import { tellRun } from './tell-run.ts';
import { tryScheduled } from './try-scheduled.ts';

export function createActivities(deps: Deps): Activities {
  return {
    readPlan: guarded(readPlan(deps)),
    readGo: guarded(readGo(deps, chunkMemory(deps.clock))),
    readChunks: guarded(readChunks(deps)),
    observe: guarded(observe(deps)),
    requestQuote: guarded(requestQuote(deps)),
    executeTrade: guarded(executeTrade(deps)),
    awaitSettlement: guarded(awaitSettlement(deps)),
    createWithdrawals: guarded(createWithdrawals(deps)),
    awaitWithdrawals: guarded(awaitWithdrawals(deps)),
    tellRun,
    confirmOutcomes: guarded(confirmOutcomes(deps)),
    recordInstruction: guarded(recordInstruction(deps)),
    takeOverInstructions: guarded(takeOverInstructions(deps)),
    acceptInstruction: guarded(acceptInstruction(deps)),
    startScheduled: guarded(startScheduled(deps)),
    tryScheduled: guarded(tryScheduled(deps)),
  };
}
