/**
 * The activities as the workflows call them: all timeouts and the retry policy of each, with the reason for the numbers.
 */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from './calls.ts';
import { HEARTBEAT_TIMEOUT_MS, WRITE_LIMITS } from './limits.ts';

/** After so many attempts in about 15 s people are told, and the workflow asks again later (`step-failed.ts`). */
const ATTEMPTS = 5;

/** The backoff is short, because reads are cheap and people wait for them. */
const patient = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

/** Reads: long enough for a list of many pages. */
export const reads = proxyActivities<
  Pick<Activities, 'readPlan' | 'observe' | 'recordInstruction' | 'readGo' | 'readChunks'>
>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: { ...patient, maximumAttempts: ATTEMPTS },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/**
 * What a workflow cannot go on without, and nothing at the service can stop: tried until it works. `instructions` needs two
 * of them before it can answer; whoever waits for that says so.
 */
export const keeping = proxyActivities<Pick<Activities, 'takeOverInstructions' | 'acceptInstruction'>>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: patient,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/**
 * The start of a run by its schedule, which moves nothing itself: tried again while the service or the configuration is at
 * fault, until it says itself that it is too late.
 */
export const starts = proxyActivities<Pick<Activities, 'startScheduled'>>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: patient,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/**
 * What is asked in the very task that may end the run: its answer is no event of its own before that task, so that a reset
 * to any event asks anew. It does nothing but answer.
 */
export const inTheTask = proxyLocalActivities<Pick<Activities, 'tellRun'>>({
  startToCloseTimeout: '5s',
  retry: patient,
});

/**
 * Pollers: short waits are slept inside an attempt; a longer one is the retry's `nextRetryDelay`, which costs no event. So
 * attempts are not counted; what stops a poll is its answer.
 */
export const polls = proxyActivities<
  Pick<Activities, 'awaitSettlement' | 'awaitWithdrawals' | 'confirmOutcomes'>
>({
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
  // Only a crash, a lost worker or a fault of ours makes an attempt fail; outcomes come back as results.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: ATTEMPTS },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});
