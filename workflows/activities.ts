/** The activities as workflows call them: timeouts and retry policy of each, with their reasons. */
import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { Activities } from './calls.ts';
import { HEARTBEAT_TIMEOUT_MS, WRITE_LIMITS } from './limits.ts';

/**
 * After so many attempts, in about 15 s, people are told, and the workflow asks again later
 * (`step-failed.ts`).
 */
const ATTEMPTS = 5;

/** The backoff is short, because reads are cheap and people wait for them. */
const patient = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '30s' } as const;

/** Reads. The time is enough for a list of many pages. */
export const reads = proxyActivities<
  Pick<Activities, 'readPlan' | 'observe' | 'recordInstruction' | 'readGo' | 'readChunks'>
>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: { ...patient, maximumAttempts: ATTEMPTS },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/**
 * Calls that `instructions` needs before it can answer. They are tried again until they give an answer. A
 * command that waits for them meanwhile says so.
 */
export const keeping = proxyActivities<Pick<Activities, 'takeOverInstructions' | 'acceptInstruction'>>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: patient,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/**
 * The start of a run by its schedule, which moves nothing itself. It is tried again while the service or the
 * configuration is at fault, until the activity itself says that it is too late. It may read the service's list of a month.
 */
export const starts = proxyActivities<Pick<Activities, 'startScheduled'>>({
  startToCloseTimeout: '5m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: patient,
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});

/** A question of a command, which waits for the answer for some seconds and then ends the workflow. It only reads files. */
export const trials = proxyActivities<Pick<Activities, 'tryScheduled'>>({
  startToCloseTimeout: '10s',
  retry: patient,
  cancellationType: 'TRY_CANCEL',
});

/**
 * A question that is asked in the very workflow task that may end the run. The answer is no event of its own
 * before that task, so that after a reset to any event the question is asked anew. The activity answers
 * soon: at most it looks into the service's lists for two seconds.
 */
export const inTheTask = proxyLocalActivities<Pick<Activities, 'tellRun'>>({
  startToCloseTimeout: '5s',
  retry: patient,
});

/**
 * Polls. Short waits are slept inside an attempt, and a longer one is the `nextRetryDelay` of a failure,
 * which costs no event. So attempts are not limited: a poll ends with its answer.
 */
export const polls = proxyActivities<
  Pick<Activities, 'awaitSettlement' | 'awaitWithdrawals' | 'confirmOutcomes'>
>({
  startToCloseTimeout: '2m',
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  retry: patient,
  // A poll only reads, so nothing is lost when it is given up at once.
  cancellationType: 'TRY_CANCEL',
});

/** Calls that move money. They end by themselves or by their attempt's deadline, never by a cancel. */
export const writes = proxyActivities<
  Pick<Activities, 'requestQuote' | 'executeTrade' | 'createWithdrawals'>
>({
  startToCloseTimeout: WRITE_LIMITS.startToCloseMs,
  heartbeatTimeout: HEARTBEAT_TIMEOUT_MS,
  // Only a crash, a lost worker or a fault of ours fails an attempt. All outcomes are results.
  retry: { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1m', maximumAttempts: ATTEMPTS },
  cancellationType: 'WAIT_CANCELLATION_COMPLETED',
});
