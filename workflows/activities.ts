/**
 * The activities as the workflows call them: all timeouts and the retry policy of each, with the reason for the numbers.
 */
import { proxyActivities } from '@temporalio/workflow';
import type { Activities } from './calls.ts';
import { HEARTBEAT_TIMEOUT_MS, WRITE_LIMITS } from './limits.ts';

/** A read is repeated until it comes back; the backoff is short, because reads are cheap and people wait for them. */
const patient = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

/** Reads: long enough for a list of many pages. */
export const reads = proxyActivities<
  Pick<
    Activities,
    'readPlan' | 'observe' | 'recordInstruction' | 'takeOverInstructions' | 'acceptInstruction'
  >
>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: patient,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/** Pollers: each attempt is one poll; the wait between two is the retry's `nextRetryDelay`, which costs no event. */
export const polls = proxyActivities<Pick<Activities, 'awaitSettlement' | 'awaitWithdrawals'>>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: patient,
  // A poll is a read: giving it up at once loses nothing.
  cancellationType: 'TRY_CANCEL',
});

/** Calls that move money: they end by themselves or by their attempt's deadline, never by a cancel. */
export const writes = proxyActivities<
  Pick<Activities, 'requestQuote' | 'executeTrade' | 'createWithdrawals'>
>({
  startToCloseTimeout: WRITE_LIMITS.startToCloseMs,
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  // Only a crash or a lost worker makes an attempt fail; outcomes come back as results.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m' },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});
