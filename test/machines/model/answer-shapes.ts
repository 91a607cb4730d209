/**
 * The shape that the workflow of a run or a chunk takes for an answer, activity by activity (`workflows/run.ts`, `workflows/chunk.ts`):
 * whatever the real steps and activities answer here must have it, or else the workflow counts the call as failed.
 */
import {
  isChunksAnswer,
  isConfirmed,
  isGoAnswer,
  isLegAnswer,
  isNothing,
  isPaymentsAnswer,
  isPlanAnswer,
  isSettlement,
  isWithdrawalsAnswer,
} from '../../../domain/run/answer-shapes.ts';
import type { Field } from '../../../domain/shape.ts';
import type { ActivityName } from './execution.ts';

export const IS_ANSWER: Readonly<Record<ActivityName, Field>> = {
  readPlan: isPlanAnswer,
  requestQuote: isLegAnswer,
  executeTrade: isLegAnswer,
  createWithdrawals: isPaymentsAnswer,
  awaitSettlement: isSettlement,
  awaitWithdrawals: isWithdrawalsAnswer,
  recordInstruction: isNothing,
  confirmOutcomes: isConfirmed,
  readChunks: isChunksAnswer,
  readGo: isGoAnswer,
  tellCoordinator: isNothing,
};
